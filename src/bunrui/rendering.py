"""An explanation, and how it is shown: as plain text, in the terminal, as HTML and JSON.

Blue speaks for the label and orange against it, a pair that colour-blind people tell apart; the stronger, the more a
character adds.  Whatever the text holds is shown, never obeyed: markup is escaped, and characters that would move the
cursor or turn the line around are replaced by a picture or a name.
"""

from __future__ import annotations

import heapq
import html as entities
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bunrui.analysis.rewrite import PLACEHOLDERS

if TYPE_CHECKING:
    from rich.console import Group
    from rich.style import Style

    from bunrui.counts import Label

__all__ = ["Contribution", "Explanation"]

_ROWS = 15  # of a table
_NAMES = 8  # under the pointer, or of words that are not known

Colour = tuple[int, int, int]

# A page of text with a tooltip for each run of characters; a book would be a page of 100 MB.
LONGEST_SHOWN = 10_000
LONGEST_FEATURE = 80


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one feature adds.

    Attributes
    ----------
    feature : str
    value : float
        What all occurrences of the feature add to the difference of the scores.
    count : int
        Occurrences in the document, also where the model reads presence alone.
    spans : tuple of (start, end)
        Where they stand, `text[start:end]`; empty where no text was given.
    """

    feature: str
    value: float
    count: int
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why `label`, and not `against`: `bias` and the values of `contributions` add up to `difference`.

    Attributes
    ----------
    label : str, int or bool
        The label that is explained.
    against : str, int, bool or None
        The label that it is held against; None where there is no other.
    probabilities : dict from label to float
        P(class | text) of all classes, the highest first.
    score, against_score : float
        As `TextClassifier.scores` gives them.
    bias : float
        By how much the scores differ before a word is read.
    contributions : tuple of Contribution
        The largest in size first.
    unknown : tuple of str
        Features that the model does not know, in the order of the text; they contribute only if `unseen="smooth"`.
    text : str or None
        The text; None where tokens or counts were given.

    Examples
    --------
    >>> from bunrui.classifier import TextClassifier
    >>> clf = TextClassifier("multinomial", analyzer="words")
    >>> _ = clf.learn(["cheap pills", "pills now", "see you at noon"], ["spam", "spam", "ham"])
    >>> print(clf.explain("Cheap pills before noon!"))
    spam 97.7% against ham 2.3%
      +3.045  ×1  pills
      +2.398  ×1  cheap
      -2.398  ×1  noon
      +0.693      (before reading)
      +3.738      (in all)
    not known: before
    """

    label: Label
    against: Label | None
    probabilities: dict[Label, float]
    score: float
    against_score: float | None
    bias: float
    contributions: tuple[Contribution, ...]
    unknown: tuple[str, ...]
    text: str | None

    @property
    def difference(self) -> float:
        """The score of the label less that of the other; the score alone where there is no other."""
        return self.score - (self.against_score or 0.0)

    def characters(self) -> list[float]:
        """A value for each character of the text.

        The value of a feature is spread evenly over the characters of all places where it stands; where features
        overlap, they add up.  The sum over the text is that of the contributions, less those of features that stand
        nowhere.
        """
        values = np.zeros(len(self.text or ""))
        for contribution in self.contributions:
            size = sum(end - start for start, end in contribution.spans)
            for start, end in contribution.spans:
                if end > start:
                    values[start:end] += contribution.value / size
        return [float(value) for value in values]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the types of JSON."""
        contributions = [
            {"feature": c.feature, "value": c.value, "count": c.count, "spans": [list(span) for span in c.spans]}
            for c in self.contributions
        ]
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        lists = {"contributions": contributions, "unknown": list(self.unknown)}
        return fields | lists | {"probabilities": dict(self.probabilities)}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def to_html(self) -> str:
        """HTML that needs nothing else: the text in colours, and a table of the largest contributions."""
        return _html(self)

    def _repr_html_(self) -> str:
        return _html(self)

    def __rich__(self) -> Group:
        return _terminal(self)

    def __repr__(self) -> str:
        return f"<Explanation: {str(self).splitlines()[0]}; print it, or rich.print it for colour>"

    def __str__(self) -> str:
        return _plain(self)


# --- what all ways of showing share

_UNSEEN = re.compile("\r\n|[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text without characters that would do something in place of being shown.

    >>> visible("a\\0b\\x1b[2J\\u202ec\\r\\n")
    'a␀b␛[2J‹U+202E›c\\n'
    """
    return _UNSEEN.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    if match.group() == "\r\n":
        return "\n"
    code = ord(match.group())
    return chr(0x2400 + code) if code < 32 else "␡" if code == 127 else f"‹U+{code:04X}›"


def shown(feature: str) -> str:
    """A feature as people read it.

    >>> shown("new \\ue002"), shown(" 無")
    ('new␣‹number›', '␣無')
    """
    if len(feature) > LONGEST_FEATURE:
        feature = feature[:LONGEST_FEATURE] + "…"
    for sign, name in PLACEHOLDERS.items():
        feature = feature.replace(sign, name)
    return visible(re.sub("[ \n\t]", "␣", feature)) or "‹empty›"


def _more(explanation: Explanation) -> str:
    """What stands in place of the end of a long text."""
    left = len(explanation.text or "") - LONGEST_SHOWN
    return f" … ({left:,} more characters)" if left > 0 else ""


def _header(explanation: Explanation) -> list[tuple[str, str]]:
    """Labels with their probabilities: the one explained, and the one it is held against."""
    names = [name for name in (explanation.label, explanation.against) if name is not None]
    return [(visible(str(name)), f"{explanation.probabilities[name]:.1%}") for name in names]


class _Row(NamedTuple):
    name: str
    times: str
    value: float
    is_feature: bool


def _rows(explanation: Explanation) -> list[_Row]:
    """The largest contributions, the rest, the bias, and their sum."""
    rows = [_Row(shown(c.feature), f"×{c.count}", c.value, True) for c in explanation.contributions[:_ROWS]]
    rest = explanation.contributions[_ROWS:]
    if rest:
        rows.append(_Row(f"({len(rest):,} more)", "", math.fsum(c.value for c in rest), False))
    rows.append(_Row("(before reading)", "", explanation.bias, False))
    rows.append(_Row("(in all)", "", explanation.difference, False))
    return rows


def _format(explanation: Explanation) -> Callable[[float], str]:
    """How to write values: three figures after the point, more where all of them are small."""
    largest = max([abs(c.value) for c in explanation.contributions], default=0.0)
    figures = 3 if largest >= 1 or not largest else min(2 - math.floor(math.log10(largest)), 15)
    return lambda value: f"{value:+.{figures}f}"


def _strength(value: float, largest: float) -> float:
    """From 0 to 1.  The root, so that there is something to see beside one strong word."""
    return math.sqrt(min(abs(value) / largest, 1.0)) if largest else 0.0


def _not_known(explanation: Explanation) -> str:
    names = ", ".join(shown(feature) for feature in explanation.unknown[:_NAMES])
    more = len(explanation.unknown) - _NAMES
    return f"not known: {names}" + (f" and {more:,} more" if more > 0 else "") if names else ""


# --- plain


def _plain(explanation: Explanation) -> str:
    write = _format(explanation)
    rows = [(write(row.value), row.times, row.name) for row in _rows(explanation)]
    widths = [max(len(row[k]) for row in rows) for k in (0, 1)]
    lines = [" against ".join(f"{name} {share}" for name, share in _header(explanation))]
    lines += [f"  {value:>{widths[0]}}  {times:<{widths[1]}}  {name}" for value, times, name in rows]
    return "\n".join(line for line in (*lines, _not_known(explanation)) if line)


# --- the terminal

# Black is readable on all of these, and none is lost on a light or a dark screen.
_NEUTRAL: Colour = (160, 165, 170)
_FOR: Colour = (86, 180, 233)
_AGAINST: Colour = (230, 159, 0)


def _style(value: float, largest: float) -> Style:
    """Without colours, underlined is against and bold is strong."""
    from rich.color import Color
    from rich.style import Style

    strength = _strength(value, largest)
    if strength < 0.1:
        return Style()
    end = _FOR if value > 0 else _AGAINST
    mixed = [round(a + (b - a) * strength) for a, b in zip(_NEUTRAL, end, strict=True)]
    background = Color.from_rgb(*mixed)
    return Style(color="black", bgcolor=background, bold=strength > 0.7, underline=value < 0)


def _terminal(explanation: Explanation) -> Group:
    from rich.console import Group
    from rich.style import Style
    from rich.table import Table
    from rich.text import Text

    (label, share), *other = _header(explanation)
    header = Text.assemble((f" {label} ", _style(1, 1)), f" {share}")
    for name, its_share in other:
        header.append(" against ").append(f" {name} ", _style(-1, 1)).append(f" {its_share}")
    parts: list[Any] = [header]
    if explanation.text:
        body = Text()
        values = explanation.characters()[:LONGEST_SHOWN]
        largest = max(map(abs, values))
        for value, run in groupby(range(len(values)), values.__getitem__):
            places = list(run)
            piece = explanation.text[places[0] : places[-1] + 1]
            body.append(visible(piece), _style(value, largest))
        parts += ["", body.append(_more(explanation), "dim")]
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    write = _format(explanation)
    rows = _rows(explanation)
    largest = abs(rows[0].value)
    for row in rows:
        style = _style(row.value, largest) if row.is_feature else Style.null()
        table.add_row(Text(write(row.value), style), row.times, Text(row.name, "" if row.is_feature else "dim"))
    parts += ["", table]
    if explanation.unknown:
        parts.append(Text(_not_known(explanation), "dim"))
    return Group(*parts)


# --- HTML

# Half transparent: the same colours on a light page and on a dark one, under text in the page's own colour.
_HTML_FOR = "0,114,178"
_HTML_AGAINST = "230,159,0"
_DEEPEST = 0.6


def _html(explanation: Explanation) -> str:
    (label, share), *other = _header(explanation)
    header = f"<b style='{_background(1, 1)}{_CHIP}'><bdi>{_escape(label)}</bdi></b> {share}"
    for name, its_share in other:
        header += f" against <b style='{_background(-1, 1)}{_CHIP}'><bdi>{_escape(name)}</bdi></b> {its_share}"
    parts = [f"<div style='margin:0 0 .6em'>{header}</div>"]
    if explanation.text:
        parts.append(f"<div dir='auto' style='{_TEXT}'>{_html_text(explanation)}</div>")
    parts.append(_html_table(explanation))
    if explanation.unknown:
        parts.append(f"<div style='opacity:.7'><bdi>{_escape(_not_known(explanation))}</bdi></div>")
    return f"<div style='{_FRAME}'>{''.join(parts)}</div>"


def html_legend(explanation: Explanation) -> str:
    """A line of HTML that says what the signs and colours of `Explanation.to_html` mean."""
    label, *other = (f"<bdi>{_escape(name)}</bdi>" for name, _ in _header(explanation))
    blue, orange = (f"<span style='{_background(sign, 1)}{_CHIP}'>" for sign in (1, -1))
    against, total = (f"for {other[0]}", "difference of the scores") if other else ("against it", "score")
    return (
        f"{blue}+ blue</span> speaks for {label}, {orange}− orange</span> {against}; the deeper, the more. "
        f"The values add up to the {total}."
    )


_FRAME = "color:inherit;background:none;line-height:1.6;unicode-bidi:isolate;text-align:start"
_CHIP = "padding:.1em .4em;border-radius:.3em"
_TEXT = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate;margin:0 0 .8em"
_CELL = "padding:.05em .8em .05em 0;border:0;background:none;color:inherit"


def _html_text(explanation: Explanation) -> str:
    assert explanation.text is not None
    runs = list(_runs(explanation))
    largest = max(abs(run.value) for run in runs)
    pieces = []
    for run in runs:
        piece = _escape(visible(explanation.text[run.start : run.end]))
        if run.places:
            style = _background(run.value, largest)
            piece = f"<span style='{style}' title='{_title(explanation, run.places)}'>{piece}</span>"
        pieces.append(piece)
    return "".join(pieces) + _more(explanation)


def _html_table(explanation: Explanation) -> str:
    write = _format(explanation)
    rows = _rows(explanation)
    lines = []
    for row in rows:
        colour = _background(row.value, abs(rows[0].value)) if row.is_feature else "opacity:.7;"
        name = f"<bdi>{_escape(row.name)}</bdi>"
        lines.append(
            "<tr style='background:none'>"
            f"<td style='{_CELL};text-align:right;font-variant-numeric:tabular-nums'>"
            f"<span style='{colour}padding:0 .3em'>{write(row.value)}</span></td>"
            f"<td style='{_CELL};text-align:left;opacity:.7'>{row.times}</td>"
            f"<td style='{_CELL};text-align:left{'' if row.is_feature else ';opacity:.7'}'>{name}</td></tr>"
        )
    return f"<table style='border-collapse:collapse;border:0;margin:0;color:inherit'>{''.join(lines)}</table>"


def _background(value: float, largest: float) -> str:
    depth = round(_DEEPEST * _strength(value, largest), 2)
    return f"background:rgba({_HTML_FOR if value > 0 else _HTML_AGAINST},{depth:g});" if depth else ""


def _escape(text: str) -> str:
    return entities.escape(text).replace("\n", "&#10;")


def _title(explanation: Explanation, places: set[int]) -> str:
    """What stands on a run of characters, the largest first."""
    largest = [explanation.contributions[place] for place in heapq.nsmallest(_NAMES, places)]
    lines = [f"{shown(c.feature)} ×{c.count}: {c.value:+.6g}" for c in largest]
    more = len(places) - len(lines)
    return _escape("\n".join([*lines, f"and {more:,} more"] if more else lines))


class _Run(NamedTuple):
    """Neighbouring characters of equal value, and the contributions (by place) that stand on them."""

    start: int
    end: int
    value: float
    places: set[int]


def _runs(explanation: Explanation) -> Iterator[_Run]:
    values = explanation.characters()[:LONGEST_SHOWN]
    changes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, contribution in enumerate(explanation.contributions):
        for start, end in contribution.spans:
            changes[start].append((place, 1))
            changes[end].append((place, -1))
    standing: Counter[int] = Counter()
    for value, equal in groupby(range(len(values)), values.__getitem__):
        inside = list(equal)
        places: set[int] = set(standing)
        for at in inside:
            if at in changes:
                for place, change in changes[at]:
                    standing[place] += change
                standing = +standing
                places = set(standing) if at == inside[0] else places | set(standing)
        yield _Run(inside[0], inside[-1] + 1, value, places)
