"""A bar, or an interval, for each name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bunrui.drawing.markup import Markup, cut, element, text_width
from bunrui.drawing.plane import BLUE, FAINT, SIZE, Axis

__all__ = ["Bar", "bars", "ranges"]

_LINE = 20.0


class Bar(NamedTuple):
    """A name, its value, and how that is written; for `ranges`, where the value lies between."""

    name: str
    value: float
    text: str
    low: float = 0.0
    high: float = 0.0
    is_first: bool = False


def bars(rows: Sequence[Bar], *, label: str, width: float = 260.0) -> Markup:
    """A bar for each row, from zero to the largest value.

    >>> bars([Bar("pills", 3.0, "3.0"), Bar("cheap", 1.5, "1.5")], label="Words").count('class="bar"')
    2
    """
    largest = max((abs(row.value) for row in rows), default=0.0) or 1.0
    left, right = _columns(rows, 0.5 * width)
    room = width - left - right
    drawn = []
    for k, row in enumerate(rows):
        y = k * _LINE
        size = max(room * abs(row.value) / largest, 1.0)
        bar = {"x": left, "y": y + 4, "width": size, "height": _LINE - 8, "rx": 2}
        drawn += [_name(row, left, y), element("rect", **bar, class_="bar", fill=BLUE, fill_opacity="0.6")]
        drawn.append(element("text", row.text, x=width, y=y + 14, text_anchor="end", fill_opacity="0.7", class_="axis"))
    return _svg(drawn, width, len(rows) * _LINE, label)


def ranges(rows: Sequence[Bar], axis: Axis, *, label: str, width: float = 640.0) -> Markup:
    """A point for each row, and the line between its low and its high.

    >>> rows = [Bar("binary", 0.8, "80 %", 0.7, 0.9), Bar("mixed", 0.75, "75 %", 0.6, 0.85)]
    >>> ranges(rows, Axis.share("accuracy", 0.6), label="Models").count("<circle")
    2
    """
    left, right = _columns(rows, 0.45 * width)
    room, bottom = width - left - right, len(rows) * _LINE + 4

    def x(value: float) -> float:
        return left + room * float(min(max(axis.at(value), 0.0), 1.0))

    grid = [element("line", x1=x(value), y1=0.0, x2=x(value), y2=bottom) for value, _ in axis.ticks]
    drawn = [element("g", *grid, class_="grid", **FAINT)]
    drawn += [element("text", text, x=x(value), y=bottom + 14, text_anchor="middle") for value, text in axis.ticks]
    name = {"x": left + room / 2, "y": bottom + 32, "text_anchor": "middle"}
    drawn.append(element("text", axis.name, **name, class_="axis", fill_opacity="0.7"))
    for k, row in enumerate(rows):
        y = k * _LINE + _LINE / 2
        line = {"x1": x(row.low), "y1": y, "x2": x(row.high), "y2": y, "stroke_width": 3}
        words = element("title", f"{row.name}: {row.text}")
        drawn += [
            _name(row, left, k * _LINE),
            element("line", **line, class_="line", stroke=BLUE, stroke_opacity="0.4", stroke_linecap="round"),
            element("circle", words, cx=x(row.value), cy=y, r=5.0, class_="point", fill=BLUE),
            element("text", row.text, x=width, y=y + 4, text_anchor="end", fill_opacity="0.7", class_="axis"),
        ]
    return _svg(drawn, width, bottom + 38, label)


def _columns(rows: Sequence[Bar], most: float) -> tuple[float, float]:
    """How wide the names are, and what is written at the end."""
    names = max((text_width(row.name, SIZE) for row in rows), default=0.0)
    texts = max((text_width(row.text, SIZE) for row in rows), default=0.0)
    return min(names, most) + 10, texts + 10


def _name(row: Bar, left: float, y: float) -> Markup:
    weight = "bold" if row.is_first else None
    short = cut(row.name, left - 8, SIZE)
    return element(
        "text", element("title", row.name), short, x=left - 8, y=y + 14, text_anchor="end", font_weight=weight
    )


def _svg(drawn: list[Markup], width: float, height: float, label: str) -> Markup:
    attributes = {"viewBox": f"0 0 {width:g} {height:g}", "class_": "chart", "role": "img", "aria_label": label}
    return element("svg", *drawn, **attributes, width=width, height=height, font_size=SIZE, fill="currentColor")
