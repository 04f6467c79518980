"""Tables with a caption, and figures that are read at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bunrui.drawing.markup import Markup, element, isolated

__all__ = ["Column", "figures", "table"]


class Column(NamedTuple):
    """The head of a column."""

    name: str
    is_number: bool = True


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    *,
    feet: Sequence[Sequence[Any]] = (),
    values: Sequence[Sequence[Any]] | None = None,
    bold: int | None = None,
    is_long: bool = False,
) -> Markup:
    """A table; its first column are the names of the rows.

    Parameters
    ----------
    rows, feet : sequence of rows
        Cells: text, or markup.  Feet stay below.
    values : sequence of rows, optional
        What the cells are sorted by; a table with values can be sorted, where there are scripts.
    bold : int, optional
        A row that stands out.
    is_long : bool
        Whether it scrolls in a box that is not as high as all rows.

    Examples
    --------
    >>> print(table("Two", [Column("label", is_number=False), Column("n")], [["a<b", "3"]]).replace("><", ">\\n<"))
    <div class="scroll" tabindex="0" role="group" aria-label="Two">
    <table>
    <caption>Two</caption>
    <thead>
    <tr>
    <th scope="col">label</th>
    <th scope="col" class="number">n</th>
    </tr>
    </thead>
    <tbody>
    <tr>
    <th scope="row">
    <bdi>a&lt;b</bdi>
    </th>
    <td class="number">3</td>
    </tr>
    </tbody>
    </table>
    </div>
    """
    head = element("tr", *(_head(column, sortable=values is not None) for column in columns))
    lines = [
        _row(columns, row, values[k] if values is not None else None, is_bold=k == bold) for k, row in enumerate(rows)
    ]
    foot = element("tfoot", *(_row(columns, row, None) for row in feet)) if feet else None
    body = element("tbody", *lines)
    whole = element(
        "table",
        element("caption", caption),
        element("thead", head),
        body,
        foot,
        class_="sortable" if values is not None else None,
    )
    # What scrolls must be within reach of the keyboard.
    return element(
        "div", whole, class_="scroll long" if is_long else "scroll", tabindex=0, role="group", aria_label=caption
    )


def _head(column: Column, *, sortable: bool) -> Markup:
    return element(
        "th",
        element("button", column.name, type="button") if sortable else column.name,
        scope="col",
        class_="number" if column.is_number else None,
    )


def _row(
    columns: Sequence[Column], cells: Sequence[Any], values: Sequence[Any] | None, *, is_bold: bool = False
) -> Markup:
    drawn = []
    for k, (column, cell) in enumerate(zip(columns, cells, strict=True)):
        value = None if values is None else repr(values[k]) if isinstance(values[k], float) else values[k]
        inside = cell if column.is_number or isinstance(cell, Markup) else isolated(str(cell))
        attributes = {"class_": "number" if column.is_number else None, "data_value": value}
        drawn.append(element("td", inside, **attributes) if k else element("th", inside, scope="row", **attributes))
    return element("tr", *drawn, class_="bold" if is_bold else None)


def figures(found: Sequence[tuple[str, str, str]]) -> Markup:
    """Names with their numbers, and what is to be said of them.

    >>> figures([("Accuracy", "91.2 %", "90 – 92 %")])
    '<dl class="figures"><div><dt>Accuracy</dt><dd>91.2 %<small>90 – 92 %</small></dd></div></dl>'
    """
    items = (
        element("div", element("dt", name), element("dd", value, element("small", about) if about else None))
        for name, value, about in found
    )
    return element("dl", *items, class_="figures")
