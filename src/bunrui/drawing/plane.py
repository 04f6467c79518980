"""Two axes, and what is drawn between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bunrui.drawing.markup import Markup, element, number, text_width

__all__ = ["Axis", "Plane"]

BLUE = "#0072b2"
FAINT = {"stroke": "currentColor", "stroke_opacity": "0.18"}
SIZE = 12.0  # of letters

_WIDTH, _HEIGHT = 400.0, 300.0
_RIGHT, _TOP, _BOTTOM = 22.0, 24.0, 40.0


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
        """Numbers that grow by ratios; as many of them are named as have room."""
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
    """Where points are drawn.

    Examples
    --------
    >>> plane = Plane(Axis.share("x"), Axis.share("y"))
    >>> plane.points([0, 0.5, 1], [0, 0.5, 1])
    '50,260 378,24'
    >>> plane.drawn("A line").startswith('<svg viewBox="0 0 400 300" class="chart" role="img" aria-label="A line"')
    True
    """

    def __init__(self, across: Axis, up: Axis) -> None:
        self.across, self.up = across, up
        self._left = 14 + max((text_width(tick, SIZE) for _, tick in up.ticks), default=0.0)
        self._left = float(math.ceil(self._left))

    def x(self, value: Any) -> Any:
        return self._left + (_WIDTH - _RIGHT - self._left) * self.across.at(value)

    def y(self, value: Any) -> Any:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * self.up.at(value)

    def points(self, xs: Any, ys: Any) -> str:
        """Points of a line; those that fall on the one before, to half a unit, are left out."""
        places = np.round(np.column_stack([self.x(xs), self.y(ys)]) * 2) / 2
        keep = np.ones(len(places), bool)
        keep[1:] = (np.diff(places, axis=0) != 0).any(axis=1)
        places = places[keep]
        if len(places) > 2:
            # What lies on a straight line between its neighbours says nothing.
            before, after = places[1:-1] - places[:-2], places[2:] - places[1:-1]
            bends = np.concatenate([[True], before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0], [True]])
            places = places[bends]
        return " ".join(f"{number(x)},{number(y)}" for x, y in places.tolist())

    def line(self, xs: Any, ys: Any, **attributes: Any) -> Markup:
        """A line through points."""
        usual = {"class_": "line", "fill": "none", "stroke": BLUE, "stroke_width": 2.5, "stroke_linejoin": "round"}
        return element("polyline", points=self.points(xs, ys), **(usual | attributes))

    def band(self, xs: Any, low: Any, high: Any) -> Markup:
        """What lies between two lines."""
        there, back = self.points(xs, low), self.points(np.asarray(xs)[::-1], np.asarray(high)[::-1])
        return element("polygon", points=f"{there} {back}", class_="area", fill=BLUE, fill_opacity="0.2")

    def column(self, low: float, high: float, value: float) -> Markup:
        """From the ground to a value, between two places."""
        left, right, top, ground = (float(p) for p in (self.x(low), self.x(high), self.y(value), self.y(self.up.low)))
        places = {"x": left + 0.5, "y": top, "width": max(right - left - 1, 1.0), "height": ground - top}
        return element("rect", **places, class_="area", fill=BLUE, fill_opacity="0.2")

    def dot(self, x: float, y: float, title: str, radius: float = 4.0) -> Markup:
        """A point, with what it says under the pointer."""
        places = {"cx": float(self.x(x)), "cy": float(self.y(y)), "r": radius}
        return element("circle", element("title", title), **places, class_="point", fill=BLUE)

    def diagonal(self) -> Markup:
        """From corner to corner."""
        (x1, x2), (y1, y2) = (
            [float(place(end)) for end in (axis.low, axis.high)]
            for place, axis in ((self.x, self.across), (self.y, self.up))
        )
        dashes = {"stroke": "currentColor", "stroke_opacity": "0.5", "stroke_dasharray": "5 4"}
        return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_="ideal", **dashes)

    def drawn(self, label: str, *marks: Markup) -> Markup:
        """The drawing, with its axes."""
        attributes = {"viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}", "class_": "chart", "role": "img", "aria_label": label}
        size = {"width": _WIDTH, "height": _HEIGHT, "font_size": SIZE, "fill": "currentColor"}
        return element("svg", self._axes(), *marks, **attributes, **size)

    def _axes(self) -> Markup:
        left, right, ground = self._left, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        lines, numbers = [], []
        for value, text in self.up.ticks:
            y = float(self.y(value))
            lines.append(element("line", x1=left, y1=y, x2=right, y2=y))
            numbers.append(element("text", text, x=left - 6, y=y + 4, text_anchor="end"))
        for value, text in self.across.ticks:
            x = float(self.x(value))
            numbers.append(element("text", text, x=x, y=ground + 17, text_anchor="middle"))
        names = [
            element("text", self.up.name, x=left - 6 if left < 40 else 4.0, y=13.0),
            element("text", self.across.name, x=(left + right) / 2, y=_HEIGHT - 6, text_anchor="middle"),
        ]
        grid = element("g", *lines, class_="grid", **FAINT)
        return element("g", grid, element("g", *numbers), element("g", *names, class_="axis", fill_opacity="0.7"))
