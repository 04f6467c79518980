"""An explanation with its marked text: as plain text, in the terminal, as HTML and JSON.

Blue speaks for the label, orange against it; colour-blind people can tell this pair apart.  A stronger colour adds
more.  The text is data, never code: markup is escaped, and characters that would move the cursor or turn the line
around are replaced by a picture or a name.
"""

from __future__ import annotations

import heapq
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bunrui.analysis.rewrite import PLACEHOLDERS
from bunrui.labels import text_of
from bunrui.phrases import excerpt, one_line, some, visible
from bunrui.views.charts import BLUE, ORANGE
from bunrui.views.markup import Markup, Phrase, element, fragment, isolated, joined
from bunrui.views.tables import shade

if TYPE_CHECKING:
    from rich.console import Group
    from rich.style import Style

    from bunrui.counts import Label

_ROWS = 15  # of a table
_NAMES = 8  # under the pointer, or of words that are not known
_LEVELS = 5  # depths of a colour: few, so that neighbours share one

# A page of text with a tooltip for each run of characters; a book would be a page of 100 MB.
LONGEST_SHOWN = 10_000
LONGEST_FEATURE = 80

# A long text is shown in windows of characters, around the heaviest words.  A window may grow by some
# characters, to begin and end between words.
_WINDOW, _N_WINDOWS, _SNAP = 160, 2, 16
_TELLING = 6


@dataclass(frozen=True, slots=True)
class Contribution:
    """A feature of an explanation, and its share of the difference of the scores.

    Attributes
    ----------
    feature : str
    value : float
        All occurrences of the feature together add this to the difference of the scores.
    count : int
        Occurrences in the document, also if the model reads only presence.
    spans : tuple of (start, end)
        Their places, `text[start:end]`; empty if no text was given.
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
        The label that it is compared with; None if there is no other.
    probabilities : dict from label to float
        P(class | text) of all classes, the highest first; calibrated if the classifier is, so that they do not follow
        from the scores alone.
    score, against_score : float
        As `TextClassifier.scores` gives them.
    bias : float
        The difference of the scores before reading.
    contributions : tuple of Contribution
        The largest absolute value first.
    unknown : tuple of str
        Features that the model does not know, in the order of the text; they contribute only if `unseen="smooth"`.
    text : str or None
        The text; None if tokens or counts were given.

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
        """The score of the label minus that of the other; the score alone if there is no other."""
        return self.score - (self.against_score or 0.0)

    def characters(self) -> list[float]:
        """A value for each character of the text.

        The value of a feature is spread evenly over the characters of all its places; overlapping features add up.  The
        sum over the text is the sum of the contributions, without features that have no place in the text.
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
        contributions = [  # `asdict` takes 15 times as long: it copies each span by itself
            {"feature": one.feature, "value": one.value, "count": one.count, "spans": list(map(list, one.spans))}
            for one in self.contributions
        ]
        copies = {"probabilities": dict(self.probabilities), "unknown": list(self.unknown)}
        return vars(self) | copies | {"contributions": contributions}

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def to_html(self) -> str:
        """HTML that needs nothing else: the text in colours, and a table of the largest contributions."""
        return fragment(explanation_html(self, shares=True))

    _repr_html_ = to_html

    def reverse(self) -> Explanation:
        """The same from the other side: why `against`, and not `label`."""
        if self.against is None or self.against_score is None:
            return self
        values = tuple(replace(one, value=-one.value) for one in self.contributions)
        sides = {"label": self.against, "against": self.label, "score": self.against_score, "against_score": self.score}
        return replace(self, **sides, bias=-self.bias, contributions=values)

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.style import Style
        from rich.table import Column, Table
        from rich.text import Text

        (label, share), *other = _header(self)
        header = Text.assemble((f" {label} ", _style(1, 1)), f" {share}")
        for name, its_share in other:
            header.append(" against ").append(f" {name} ", _style(-1, 1)).append(f" {its_share}")
        parts: list[Any] = [header]
        if self.text:
            body = Text()
            runs = list(_runs(self))
            largest = max(abs(run.value) for run in runs)
            for run in runs:
                body.append(visible(self.text[run.start : run.end]), _style(run.value, largest))
            more = len(self.text) - LONGEST_SHOWN
            parts += ["", body.append(f" … ({more:,} more characters)" if more > 0 else "", "dim")]
        right, left = Column(justify="right", no_wrap=True), Column(no_wrap=True)
        table = Table.grid(right, left, Column(overflow="fold"), padding=(0, 2, 0, 0))
        write, rows = signed(c.value for c in self.contributions), _rows(self)
        largest = abs(rows[0].value)
        for row in rows:
            style = _style(row.value, largest) if row.is_feature else Style.null()
            table.add_row(Text(write(row.value), style), row.times, Text(row.name, "" if row.is_feature else "dim"))
        parts += ["", table]
        if self.unknown:
            parts.append(Text(f"not known: {_unknown(self)}", "dim"))
        return Group(*parts)

    def __repr__(self) -> str:
        return f"<Explanation: {str(self).splitlines()[0]}; print it, or rich.print it for colour>"

    def __str__(self) -> str:
        write = signed(c.value for c in self.contributions)
        rows = [(write(row.value), row.times, row.name) for row in _rows(self)]
        widths = [max(len(row[k]) for row in rows) for k in (0, 1)]
        lines = [" against ".join(f"{name} {share}" for name, share in _header(self))]
        lines += [f"  {value:>{widths[0]}}  {times:<{widths[1]}}  {name}" for value, times, name in rows]
        if self.unknown:
            lines.append(f"not known: {_unknown(self)}")
        return "\n".join(lines)


# --- the parts that all of them show


def spell(feature: str) -> str:
    """A feature as people read it.

    >>> spell("new \\ue002"), spell(" 無")
    ('new␣‹number›', '␣無')
    """
    feature = excerpt(feature, LONGEST_FEATURE)
    for sign, name in PLACEHOLDERS.items():
        feature = feature.replace(sign, name)
    return visible(re.sub("[ \n\t]", "␣", feature)) or "‹empty›"


def _header(explanation: Explanation) -> list[tuple[str, str]]:
    """Labels with their probabilities: the one explained, and the one it is held against."""
    names = [name for name in (explanation.label, explanation.against) if name is not None]
    return [(one_line(text_of(name)), f"{explanation.probabilities[name]:.1%}") for name in names]


class _Row(NamedTuple):
    name: str
    times: str
    value: float
    is_feature: bool = False


def _rows(explanation: Explanation) -> list[_Row]:
    """The largest contributions, the rest, the bias, and their sum."""
    rows = [_Row(spell(c.feature), f"×{c.count}", c.value, is_feature=True) for c in explanation.contributions[:_ROWS]]
    rest = explanation.contributions[_ROWS:]
    if rest:
        total = math.fsum(c.value for c in rest)
        rows.append(_Row(Phrase(f"({len(rest):,} more)", "explain.rest", n=len(rest)), "", total))
    rows.append(_Row(Phrase("(before reading)", "explain.bias"), "", explanation.bias))
    rows.append(_Row(Phrase("(in all)", "explain.sum"), "", explanation.difference))
    return rows


def signed(values: Iterable[float], figures: int = 3) -> Callable[[float], str]:
    """How to write values: so many figures after the point, more where all of them are small.

    >>> signed([0.25, 1.5])(0.25), signed([0.00012])(0.00012)
    ('+0.250', '+0.000120')
    """
    largest = max(map(abs, values), default=0.0)
    if 0 < largest < 1:
        figures = min(figures - 1 - math.floor(math.log10(largest)), 15)
    return lambda value: f"{value:+.{figures}f}"


def _strength(value: float, largest: float) -> float:
    """From 0 to 1.  The root, so that there is something to see beside one strong word."""
    return math.sqrt(min(abs(value) / largest, 1.0)) if largest else 0.0


def _unknown(explanation: Explanation) -> str:
    return some(map(spell, explanation.unknown), _NAMES)


class _Run(NamedTuple):
    """Neighbouring characters of equal value, and the contributions (by place) that stand on them."""

    start: int
    end: int
    value: float
    places: set[int]


def _runs(explanation: Explanation) -> Iterator[_Run]:
    values = explanation.characters()[:LONGEST_SHOWN]
    standing: list[set[int]] = [set() for _ in values]
    for place, contribution in enumerate(explanation.contributions):
        for start, end in contribution.spans:
            for at in range(start, min(end, len(values))):
                standing[at].add(place)
    for value, equal in groupby(range(len(values)), values.__getitem__):
        inside = list(equal)
        yield _Run(inside[0], inside[-1] + 1, value, set().union(*(standing[at] for at in inside)))


# --- the terminal

_FOR = (86, 180, 233)
_AGAINST = (230, 159, 0)


def _style(value: float, largest: float) -> Style:
    """Without colours, underlined is against and bold is strong."""
    from rich.style import Style

    strength = _strength(value, largest)
    if strength < 0.1:
        return Style()
    return shade(_FOR if value > 0 else _AGAINST, strength) + Style(bold=strength > 0.7, underline=value < 0)


# --- HTML


def explanation_html(
    explanation: Explanation, *, shares: bool = False, table: bool = True, left_out: int = 0
) -> Markup:
    """The labels, the text in colours and, unless told otherwise, a table of the largest contributions.

    Parameters
    ----------
    shares : bool
        Show the probabilities of the labels.
    left_out : int
        Characters after the text that are not explained.
    """
    parts = [_legend(explanation, shares=shares)]
    if explanation.text:
        parts.append(_marked_text(explanation, left_out))
    if table:
        parts.append(_contributions(explanation))
        if explanation.unknown:
            told, n = element("span", Phrase("Not known:", "explain.unknown")), len(explanation.unknown) - _NAMES
            more = element("span", Phrase(f" and {n:,} more", "explain.others", n=n)) if n > 0 else None
            names = isolated(", ".join(map(spell, explanation.unknown[:_NAMES])))
            parts.append(element("p", told, " ", names, " ", more, class_="muted"))
    return element("div", *parts, class_="explanation")


def _legend(explanation: Explanation, *, shares: bool) -> Markup:
    said = (
        ("for", Phrase("blue: speaks for it", "explain.for")),
        ("against", Phrase("orange: speaks for this one instead", "explain.against")),
    )
    parts = []
    for (side, about), (name, its_share) in zip(said, _header(explanation), strict=False):
        share = f"{its_share} " if shares else None
        chip = element("b", isolated(name), class_=f"chip {side}")
        parts.append(element("span", chip, share, element("span", about, class_="muted")))
    return element("p", *parts, class_="legend")


def _marked_text(explanation: Explanation, left_out: int) -> Markup:
    """The text.  Where there is a script, the arrow keys go from word to word, and each says what stands on it."""
    text, write = explanation.text or "", signed(c.value for c in explanation.contributions)
    runs = list(_runs(explanation))
    largest = max(abs(run.value) for run in runs)
    pieces: list[Any] = []
    stop = 0  # the first word can be reached by the tabulator
    for run in runs:
        piece = text[run.start : run.end]
        if run.places:
            look = {
                "class_": f"run {_level(run.value, largest)}".rstrip(),
                "title": _title(explanation, run.places, write),
            }
            piece = element("span", piece, **look, tabindex=stop)
            stop = -1
        pieces.append(piece)
    left = max(len(text) - LONGEST_SHOWN, 0) + left_out
    if left:
        more = Phrase(f" … ({left:,} more characters)", "explain.more", left=left)
        pieces.append(element("span", more, class_="muted"))
    name = Phrase("The text", "explain.text")
    return element("div", *pieces, class_="text", dir="auto", role="group", aria_label=name)


def _title(explanation: Explanation, places: set[int], write: Callable[[float], str]) -> str:
    """The contributions on a run of characters, the largest first."""
    largest = [explanation.contributions[place] for place in heapq.nsmallest(_NAMES, places)]
    lines = [f"{spell(c.feature)} ×{c.count}: {write(c.value)}" for c in largest]
    more = len(places) - len(lines)
    return "\n".join([*lines, f"… +{more:,}"] if more else lines).replace(": -", ": −")


def _contributions(explanation: Explanation) -> Markup:
    write, rows = signed(c.value for c in explanation.contributions), _rows(explanation)
    largest = abs(rows[0].value) or 1.0
    lines = []
    for row in rows:
        name = isolated(row.name) if row.is_feature else element("span", row.name)
        size = 50 * min(abs(row.value) / largest, 1.0) if row.is_feature else 0.0
        x, colour = (50 - size, ORANGE) if row.value < 0 else (50, BLUE)
        bar = element("rect", x=x, width=size, height=8, fill=colour)
        cells = (
            element("th", name, scope="row"),
            element("td", row.times, class_="number"),
            element("td", write(row.value).replace("-", "−"), class_="number"),
            element("td", element("svg", bar, viewBox="0 0 100 8", preserveAspectRatio="none", aria_hidden="true")),
        )
        lines.append(element("tr", *cells, class_=None if row.is_feature else "muted"))
    caption = element("caption", Phrase("What the words add", "explain.table"))
    return element("table", caption, element("tbody", *lines), class_="contributions")


def _level(value: float, largest: float) -> str:
    """The class of a colour: f1 to f5 speak for the label, a1 to a5 against it; the root, as in the terminal.

    >>> _level(4.0, 4.0), _level(-1.0, 4.0), _level(0.0, 4.0)
    ('f5', 'a2', '')
    """
    depth = round(_LEVELS * _strength(value, largest))
    return f"{'f' if value > 0 else 'a'}{depth}" if depth else ""


# --- excerpts


def excerpt_html(text: str, explanation: Explanation | None) -> Markup:
    """The text, or the parts of it that weigh most, in colours.

    >>> excerpt_html("see you at noon", None)
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
        shown: list[int] = []
        for at in range(start, end):  # empty lines, and spaces at the beginning of a line, tell nothing
            if not text[at].isspace() or not shown or text[shown[-1]] != "\n":
                shown.append(at)
        pieces.append(" … " if k else "")
        for depth, places in groupby(shown, levels.__getitem__):
            piece = "".join(text[at] for at in places)
            pieces.append(element("span", piece, class_=depth) if depth else piece)
    pieces.append(" …" if windows and windows[-1][1] < len(text) else "")
    return element("p", *pieces, class_="text", dir="auto")


def telling_words(explanation: Explanation) -> Markup | None:
    """The words that say most, with their values."""
    first = explanation.contributions[:_TELLING]
    if not first:
        return None
    largest = abs(first[0].value)
    words = []
    for one in first:
        value = f" {one.value:+.2f}".replace("-", "−")
        words.append(element("span", isolated(spell(one.feature)), value, class_=_level(one.value, largest)))
    return element("p", joined(words), class_="said")


def _windows(text: str, weights: Any) -> list[tuple[int, int]]:
    """Where to cut: all of a short text, else the windows that weigh most, in the order of the text."""
    if len(text) <= _WINDOW * _N_WINDOWS:
        return [(0, len(text))]
    if not weights.any():
        return [_snap(text, 0, _WINDOW * _N_WINDOWS)]
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    within = sums[_WINDOW:] - sums[:-_WINDOW]
    found = []
    for _ in range(_N_WINDOWS):
        at = int(within.argmax())
        if within[at] <= 0:
            break
        found.append((at, at + _WINDOW))
        within[max(at - _WINDOW, 0) : at + _WINDOW] = -1.0
    snapped = [_snap(text, *window) for window in sorted(found)]
    if len(snapped) == 2 and snapped[0][1] >= snapped[1][0]:
        return [(snapped[0][0], snapped[1][1])]
    return snapped


def _snap(text: str, start: int, end: int) -> tuple[int, int]:
    """A window that begins and ends where words do, if they do so nearby."""
    before, after = text.rfind(" ", max(start - _SNAP, 0), start), text.find(" ", end, end + _SNAP)
    if start <= _SNAP:
        before = -1
        start = 0
    return before + 1 if before >= 0 else start, after if after >= 0 else min(end, len(text))
