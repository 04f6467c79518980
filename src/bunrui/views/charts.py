"""Diagrams in SVG: lines, bands and points between two axes; a bar, or an interval, for each name.

A drawing has its colours in attributes, so that it is readable anywhere, on a light or a dark ground; a style sheet may
refine them with variables.  There is no attribute `style`, because a page may forbid it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bunrui.views.markup import Markup, element, fit, number, text_width

BLUE, ORANGE = "var(--for, #0072b2)", "var(--against, #e69f00)"
SIZE = 12.0  # of letters
_INK, MUTED = "currentColor", {"class_": "axis", "fill_opacity": "0.7"}
FAINT = {"stroke": _INK, "stroke_opacity": "0.18"}

_WIDTH, _HEIGHT = 400.0, 300.0
_RIGHT, _TOP, _BOTTOM = 22.0, 24.0, 40.0
_LINE = 20.0  # of a bar


def svg(
    drawn: Sequence[Markup], width: float, height: float, label: str, *, class_: str = "chart", role: str = "img"
) -> Markup:
    """A drawing; the label describes it in words."""
    attributes = {"viewBox": f"0 0 {width:g} {height:g}", "class_": class_, "role": role, "aria_label": label}
    return element("svg", *drawn, **attributes, width=width, height=height, font_size=SIZE, fill=_INK)


@dataclass(frozen=True)
class Axis:
    """From low to high; ticks are places with their names.

    Attributes
    ----------
    is_log : bool
        Whether equal steps are equal ratios.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    ticks: tuple[tuple[float, str], ...] = ()
    is_log: bool = False

    @classmethod
    def share(cls, name: str, low: float = 0.0) -> Axis:
        """Percent, from a low that is a share to 100.

        >>> [tick for _, tick in Axis.share("accuracy", 0.63).ticks]
        ['60 %', '70 %', '80 %', '90 %', '100 %']
        """
        low = max(math.floor(low * 10 + 1e-9) / 10, 0.0)
        step = 0.25 if low == 0 else 0.1 if low < 0.8 else 0.05
        n = round((1 - low) / step)
        places = [1 - k * step for k in range(n, -1, -1)]
        return cls(name, low, 1.0, tuple((place, f"{100 * place:.0f} %") for place in places))

    @classmethod
    def counts(cls, name: str, places: Sequence[int]) -> Axis:
        """Numbers that grow by ratios; a tick has its number where there is room."""
        ticks: list[tuple[float, str]] = []
        low, high = float(places[0]), float(places[-1])
        span = math.log(high / low) if high > low else 1.0
        for place in reversed(places):
            text = f"{place:,}"
            gap = 1.0 if not ticks else math.log(ticks[-1][0] / place) / span
            if gap * (_WIDTH - 70) >= text_width(text, SIZE) + 12:
                ticks.append((float(place), text))
        return cls(name, low, high, tuple(reversed(ticks)), is_log=True)

    def at(self, value: Any) -> Any:
        """A value, or an array, as shares of the axis."""
        if self.high == self.low:
            return np.full(np.shape(value), 0.5)
        if self.is_log:
            return np.log(np.asarray(value, float) / self.low) / math.log(self.high / self.low)
        return (np.asarray(value, float) - self.low) / (self.high - self.low)


class Plane:
    """Two axes, and places between them.

    Examples
    --------
    >>> plane = Plane(Axis.share("x"), Axis.share("y"))
    >>> plane.points([0, 0.5, 1], [0, 0.5, 1])
    '50,260 378,24'
    >>> plane.draw("A line").startswith('<svg viewBox="0 0 400 300" class="chart" role="img" aria-label="A line"')
    True
    """

    def __init__(self, across: Axis, up: Axis) -> None:
        self.across, self.up = across, up
        self._left = float(math.ceil(14 + max((text_width(tick, SIZE) for _, tick in up.ticks), default=0.0)))

    def x(self, value: Any) -> Any:
        """The place of a value on the horizontal axis."""
        return self._left + (_WIDTH - _RIGHT - self._left) * self.across.at(value)

    def y(self, value: Any) -> Any:
        """The place of a value on the vertical axis."""
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * self.up.at(value)

    def points(self, xs: Any, ys: Any) -> str:
        """Points of a line, to half a unit; a point on the one before it is left out."""
        places = np.round(np.column_stack([self.x(xs), self.y(ys)]) * 2) / 2
        keep = np.ones(len(places), bool)
        keep[1:] = (np.diff(places, axis=0) != 0).any(axis=1)
        places = places[keep]
        if len(places) > 2:
            # A point on a straight line between its neighbours says nothing.
            before, after = places[1:-1] - places[:-2], places[2:] - places[1:-1]
            bends = np.concatenate([[True], before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0], [True]])
            places = places[bends]
        return " ".join(f"{number(x)},{number(y)}" for x, y in places.tolist())

    def line(self, xs: Any, ys: Any, **attributes: Any) -> Markup:
        """A line through points."""
        usual = {"class_": "line", "fill": "none", "stroke": BLUE, "stroke_width": 2.5, "stroke_linejoin": "round"}
        return element("polyline", points=self.points(xs, ys), **(usual | attributes))

    def band(self, xs: Any, low: Any, high: Any) -> Markup:
        """The area between two lines."""
        there, back = self.points(xs, low), self.points(np.asarray(xs)[::-1], np.asarray(high)[::-1])
        return element("polygon", points=f"{there} {back}", class_="area", fill=BLUE, fill_opacity="0.2")

    def column(self, left: float, right: float, height: float) -> Markup:
        """A column from the ground up."""
        x, y = float(self.x(left)), float(self.y(height))
        width, ground = max(float(self.x(right)) - x - 1, 1.0), float(self.y(self.up.low))
        box = {"x": x + 0.5, "y": y, "width": width, "height": ground - y}
        return element("rect", **box, class_="area", fill=BLUE, fill_opacity="0.2")

    def dot(self, x: float, y: float, title: str, radius: float = 4.0) -> Markup:
        """A point with a tooltip."""
        place = {"cx": float(self.x(x)), "cy": float(self.y(y)), "r": radius}
        return element("circle", element("title", title), **place, class_="point", fill=BLUE)

    def diagonal(self) -> Markup:
        """From corner to corner."""
        x, y, across, up = self.x, self.y, self.across, self.up
        ends = {"x1": x(across.low), "y1": y(up.low), "x2": x(across.high), "y2": y(up.high)}
        return element("line", **ends, stroke=_INK, stroke_opacity="0.5", stroke_dasharray="5 4")

    def draw(self, label: str, *marks: Markup) -> Markup:
        """The drawing, with its axes."""
        left, right, ground = self._left, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        lines, numbers = [], []
        for value, text in self.up.ticks:
            y = float(self.y(value))
            lines.append(element("line", x1=left, y1=y, x2=right, y2=y))
            numbers.append(element("text", text, x=left - 6, y=y + 4, text_anchor="end"))
        for value, text in self.across.ticks:
            numbers.append(element("text", text, x=float(self.x(value)), y=ground + 17, text_anchor="middle"))
        names = [
            element("text", self.up.name, x=left - 6 if left < 40 else 4.0, y=13.0),
            element("text", self.across.name, x=(left + right) / 2, y=_HEIGHT - 6, text_anchor="middle"),
        ]
        axes = element("g", element("g", *lines, **FAINT), element("g", *numbers), element("g", *names, **MUTED))
        return svg([axes, *marks], _WIDTH, _HEIGHT, label)


# --- rows


class Bar(NamedTuple):
    """A name, its value as a number and as a text; for `ranges`, the ends of its interval."""

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
    left, right = _margins(rows, 0.5 * width)
    drawn = []
    for k, row in enumerate(rows):
        size = max((width - left - right) * abs(row.value) / largest, 1.0)
        bar = {"x": left, "y": k * _LINE + 4, "width": size, "height": _LINE - 8, "rx": 2, "class_": "bar"}
        drawn += [*_texts(row, k, left, width), element("rect", **bar, fill=BLUE, fill_opacity="0.6")]
    return svg(drawn, width, len(rows) * _LINE, label)


def ranges(rows: Sequence[Bar], axis: Axis, *, label: str, width: float = 640.0) -> Markup:
    """A point for each row, and the line between its low and its high.

    >>> rows = [Bar("binary", 0.8, "80 %", 0.7, 0.9), Bar("mixed", 0.75, "75 %", 0.6, 0.85)]
    >>> ranges(rows, Axis.share("accuracy", 0.6), label="Models").count("<circle")
    2
    """
    left, right = _margins(rows, 0.45 * width)
    room, bottom = width - left - right, len(rows) * _LINE + 4

    def x(value: float) -> float:
        return left + room * float(min(max(axis.at(value), 0.0), 1.0))

    grid = [element("line", x1=x(value), y1=0.0, x2=x(value), y2=bottom) for value, _ in axis.ticks]
    drawn = [element("g", *grid, **FAINT)]
    drawn += [element("text", text, x=x(value), y=bottom + 14, text_anchor="middle") for value, text in axis.ticks]
    drawn.append(element("text", axis.name, x=left + room / 2, y=bottom + 32, text_anchor="middle", **MUTED))
    for k, row in enumerate(rows):
        y = k * _LINE + _LINE / 2
        line = {"x1": x(row.low), "y1": y, "x2": x(row.high), "y2": y, "stroke_width": 3, "stroke_linecap": "round"}
        title = element("title", f"{row.name}: {row.text}")
        drawn += [
            *_texts(row, k, left, width),
            element("line", **line, stroke=BLUE, stroke_opacity="0.4"),
            element("circle", title, cx=x(row.value), cy=y, r=5.0, class_="point", fill=BLUE),
        ]
    return svg(drawn, width, bottom + 38, label)


def _margins(rows: Sequence[Bar], most: float) -> tuple[float, float]:
    """The room for the names on the left, and for the values on the right."""
    names = max((text_width(row.name, SIZE) for row in rows), default=0.0)
    texts = max((text_width(row.text, SIZE) for row in rows), default=0.0)
    return min(names, most) + 10, texts + 10


def _texts(row: Bar, k: int, left: float, width: float) -> list[Markup]:
    """The name of a row, and its value."""
    place = {"x": left - 8, "y": k * _LINE + 14, "text_anchor": "end", "font_weight": "bold" if row.is_first else None}
    name = element("text", element("title", row.name), fit(row.name, left - 8, SIZE), **place)
    return [name, element("text", row.text, x=width, y=k * _LINE + 14, text_anchor="end", **MUTED)]
