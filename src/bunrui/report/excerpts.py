"""A document, cut around the words that say most, in colours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from bunrui.drawing import Markup, element, isolated, joined
from bunrui.rendering import Explanation, shown

__all__ = ["coloured", "readable", "telling"]

_WINDOW = 160  # characters around the heaviest words
_N_WINDOWS = 2
_SNAP = 16  # a window may grow by so many characters, to begin and end between words
_LEVELS = 5
_WORDS = 6


def readable(document: Any) -> str:
    """A document as people read it.

    >>> readable(["cheap", "pills"]), readable({"pills": 2})
    ('cheap pills', 'pills ×2')
    """
    if isinstance(document, dict):
        document = (f"{word} ×{n}" for word, n in document.items())
    return document if isinstance(document, str) else " ".join(document)


def coloured(text: str, explanation: Explanation | None) -> Markup:
    """The text, or what weighs most in it; blue speaks for the label that is explained, orange against it.

    >>> coloured("see you at noon", None)
    '<p class="text" dir="auto">see you at noon</p>'
    """
    values = np.zeros(len(text))
    if explanation is not None and explanation.text == text:
        values = np.array(explanation.characters())
    largest = float(np.abs(values).max(initial=0.0))
    levels = [_level(value, largest) for value in values.tolist()]
    windows = _windows(text, np.abs(values))
    pieces: list[Markup | str] = ["… " if windows and windows[0][0] > 0 else ""]
    for k, (start, end) in enumerate(windows):
        pieces += [" … " if k else "", *_runs(text, levels, start, end)]
    pieces.append(" …" if windows and windows[-1][1] < len(text) else "")
    return element("p", *pieces, class_="text", dir="auto")


def telling(explanation: Explanation) -> Markup | None:
    """The words that say most, with what they add."""
    first = explanation.contributions[:_WORDS]
    if not first:
        return None
    largest = abs(first[0].value)
    words = [
        element(
            "span",
            isolated(shown(one.feature)),
            f" {one.value:+.2f}".replace("-", "−"),
            class_=_level(one.value, largest),
        )
        for one in first
    ]
    return element("p", joined(words), class_="said")


def _runs(text: str, levels: list[str], start: int, end: int) -> Iterator[Markup | str]:
    # Of empty lines and the spaces at their beginnings, nothing is to be learned.
    shown: list[int] = []
    for at in range(start, end):
        if not text[at].isspace() or not shown or text[shown[-1]] != "\n":
            shown.append(at)
    for level, places in groupby(shown, levels.__getitem__):
        piece = "".join(text[at] for at in places)
        yield element("span", piece, class_=level) if level else piece


def _level(value: float, largest: float) -> str:
    """The class of a colour: of few depths, so that neighbours share one.  The root, as in `rendering`."""
    strength = math.sqrt(abs(value) / largest) if largest else 0.0
    depth = round(_LEVELS * strength)
    return f"{'f' if value > 0 else 'a'}{depth}" if depth else ""


def _windows(text: str, weights: Any) -> list[tuple[int, int]]:
    """Where to cut: all of a short text, else the windows that weigh most, in the order of the text."""
    if len(text) <= _WINDOW * _N_WINDOWS:
        return [(0, len(text))]
    if not weights.any():
        return [_snapped(text, 0, _WINDOW * _N_WINDOWS)]
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    within = sums[_WINDOW:] - sums[:-_WINDOW]
    found = []
    for _ in range(_N_WINDOWS):
        at = int(within.argmax())
        if within[at] <= 0:
            break
        found.append((at, at + _WINDOW))
        within[max(at - _WINDOW, 0) : at + _WINDOW] = -1.0
    found.sort()
    snapped = [_snapped(text, *window) for window in found]
    if len(snapped) == 2 and snapped[0][1] >= snapped[1][0]:
        return [(snapped[0][0], snapped[1][1])]
    return snapped


def _snapped(text: str, start: int, end: int) -> tuple[int, int]:
    """A window that begins and ends where words do, if they do so nearby."""
    before, after = text.rfind(" ", max(start - _SNAP, 0), start), text.find(" ", end, end + _SNAP)
    if start <= _SNAP:
        before = -1
        start = 0
    return before + 1 if before >= 0 else start, after if after >= 0 else min(end, len(text))
