"""A square of numbers, the darker the larger their share of the row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bunrui.drawing.markup import Markup, cut, element, text_width

__all__ = ["matrix"]

_SIZE = 12.0
_RIGHT, _WRONG = "#0072b2", "#e69f00"
_LONGEST = 150.0  # of a name


def matrix(
    names: Sequence[str],
    counts: Sequence[Sequence[int]],
    *,
    label: str,
    links: Mapping[tuple[int, int], str] | None = None,
) -> Markup:
    """A row for each true label, a column for each predicted one.

    Parameters
    ----------
    names : sequence of str
    counts : (n, n)
    label : str
        What it shows, for those who do not see it.
    links : mapping from (row, column) to str, optional
        Where cells lead.

    Examples
    --------
    >>> drawn = matrix(["ham", "spam"], [[3, 0], [1, 2]], label="Two labels", links={(1, 0): "#pair-1-0"})
    >>> drawn.count("<rect"), drawn.count("<a ")
    (4, 1)
    """
    n = len(names)
    cell = 60.0 if n <= 4 else 38.0 if n <= 12 else 31.0
    longest = max((text_width(name, _SIZE) for name in names), default=0.0)
    left = 14 + min(max(longest, text_width("true ↓", _SIZE)), _LONGEST)
    top = left + 16
    width, height = max(left + n * cell + 2, left + 90), top + n * cell + 2
    totals = [sum(row) or 1 for row in counts]
    cells = [
        _cell(names, i, j, counts[i][j], totals[i], (left + j * cell, top + i * cell, cell), (links or {}).get((i, j)))
        for i in range(n)
        for j in range(n)
    ]
    return element(
        "svg",
        element("text", "predicted →", x=left, y=11.0, class_="axis", fill_opacity="0.7"),
        element("text", "true ↓", x=left - 8, y=top - 5, text_anchor="end", class_="axis", fill_opacity="0.7"),
        _names(names, left, top, cell),
        *cells,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
        class_=f"matrix {'small' if n <= 6 else 'middle' if n <= 12 else 'large'}",
        # An image has no links in it.
        role="group" if links else "img",
        aria_label=label,
        font_size=_SIZE,
        fill="currentColor",
    )


def _names(names: Sequence[str], left: float, top: float, cell: float) -> Markup:
    drawn = []
    for k, name in enumerate(names):
        short, x, y = cut(name, left - 14, _SIZE), left + (k + 0.5) * cell + 4, top + (k + 0.5) * cell + 4
        title = element("title", name)
        drawn.append(element("text", title, short, x=left - 8, y=y, text_anchor="end"))
        drawn.append(element("text", title, short, x=x, y=top - 6, transform=f"rotate(-90 {x:.1f} {top - 6:.1f})"))
    return element("g", *drawn, class_="names")


def _cell(
    names: Sequence[str], i: int, j: int, count: int, total: int, place: tuple[float, float, float], link: str | None
) -> Markup:
    x, y, size = place
    n_docs = "1 document" if count == 1 else f"{count:,} documents"
    words = f"{names[i]}, predicted as {names[j]}: {n_docs}"
    strength = math.sqrt(count / total)  # one in a hundred is still seen
    depth = f"{(0.55 if i == j else 0.85) * strength:.2f}"
    box = element(
        "rect",
        x=x + 1,
        y=y + 1,
        width=size - 2,
        height=size - 2,
        rx=3,
        fill=_RIGHT if i == j else _WRONG,
        fill_opacity=depth,
        stroke="currentColor",
        stroke_opacity="0.18",
        class_="right" if i == j else "wrong",
    )
    text = None
    if count:
        written = f"{count:,}" if count < 10_000 else f"{count / 1000:.0f}k"
        letters = min(_SIZE, _SIZE * (size - 5) / text_width(written, _SIZE))
        middle = {"x": x + size / 2, "y": y + size / 2 + 0.36 * letters, "text_anchor": "middle"}
        text = element("text", written, **middle, font_size=letters if letters < _SIZE else None)
    if link is None:
        return element("g", element("title", words), box, text)
    return element("a", element("title", words), box, text, href=link, class_="cell", aria_label=words)
