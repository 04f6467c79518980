"""Normalised strings, exact for every text, from our own tables: tests check the folding loops against them.

    nfkc_casefold   unicodedata.normalize("NFKC", s).casefold() as of `unicode.UNICODE_VERSION`
    lower           s.lower()
    aligned         either of them, with the place in the original of every character

The loops of `fold.py` send the rare text here that they cannot fold; explanations come here for the places.  Most of a
text goes through `str.translate`, and only a run with code points that may join is decomposed, put in order and
composed: 5 to 8 MB/s.

No call into C takes more than a slice of the text, so that other threads run meanwhile: one `str.translate` of 9 MB of
ﷺ kept all of them waiting for 3 s, one `sorted` of 20 MB of marks for 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import Literal

import numpy as np

from bunrui.kernel import unicode

_SLICE = 1 << 14
_SHORT = 8
_SIGMA = "Σ"
_L_FIRST, _V_FIRST, _T_BEFORE, _S_FIRST = 0x1100, 0x1161, 0x11A7, 0xAC00
_L_COUNT, _V_COUNT, _T_COUNT = 19, 21, 28
_S_COUNT = _L_COUNT * _V_COUNT * _T_COUNT


def nfkc_casefold(text: str) -> str:
    """NFKC, then full case folding.

    >>> nfkc_casefold("Ｂｕｎｒｕｉ ﾌﾞﾝﾙｲ ß")
    'bunrui ブンルイ ss'
    """
    return "".join(folded(text, "nfkc"))


def lower(text: str) -> str:
    """`str.lower`, the final sigma included.

    >>> lower("ΟΔΥΣΣΕΥΣ")
    'οδυσσευς'
    """
    return "".join(folded(text, "lower"))


def folded(text: str, form: Literal["nfkc", "lower"]) -> Iterator[str]:
    """The normalised string in pieces: a long one is better encoded piece by piece, too."""
    return _lower_pieces(text) if form == "lower" else _nfkc_pieces(text)


def _nfkc_pieces(text: str) -> Iterator[str]:
    single, joining = _single("nfkc"), _joining()
    composer = _Composer()
    for piece in _slices(text):
        found: list[str] = []
        done = 0
        for run in chain(joining.finditer(piece), [None]):
            start = run.start() if run else len(piece)
            if start > done:  # all but the last stand alone
                found += composer.end(), piece[done : start - 1]
                if run and run.end() < len(piece) and run.end() - start < _SHORT:
                    found.append(_known(piece[start - 1 : run.end()]))
                    done = run.end()
                    continue
                composer.add(piece[start - 1])
            if run:
                composer.add(run[0])
                done = run.end()
        # Every character of a string in NFKC is in NFKC by itself, so the table of single code points folds its case.
        yield "".join([*found, composer.settled()]).translate(single)
    yield from (piece.translate(single) for piece in _slices(composer.end()))


def _lower_pieces(text: str) -> Iterator[str]:
    if _SIGMA in text:
        text = re.sub(_SIGMA, lambda found: _lower_sigma(text, found.start()), text)
    single = _single("lower")
    return (piece.translate(single) for piece in _slices(text))


def _slices(text: str) -> Iterator[str]:
    return (text[start : start + _SLICE] for start in range(0, len(text), _SLICE))


def aligned(text: str, form: Literal["nfkc", "lower"]) -> tuple[str, list[int], list[int]]:
    """The normalised string, and for each of its characters the start and the end of its segment in `text`.

    A segment is the smallest piece that can be normalised by itself: the segments, normalised one by one and joined,
    are the normalised text.

    >>> aligned("ﾌﾞ½", "nfkc")
    ('ブ1⁄2', [0, 2, 2, 2], [2, 3, 3, 3])
    """
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end, piece in _lower_segments(text) if form == "lower" else _nfkc_segments(text):
        pieces.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
    return "".join(pieces), starts, ends


def _lower_segments(text: str) -> Iterator[tuple[int, int, str]]:
    single = _single("lower")
    for i, c in enumerate(text):
        yield i, i + 1, _lower_sigma(text, i) if c == _SIGMA else c.translate(single)


def _nfkc_segments(text: str) -> Iterator[tuple[int, int, str]]:
    single = _single("nfkc")
    done = 0
    for run in _joining().finditer(text):
        start = max(done, run.start() - 1)
        for i in range(done, start):
            yield i, i + 1, text[i].translate(single)
        for end in (*_cuts(text, start, run.end()), run.end()):
            piece = nfkc_casefold(text[start:end])
            alone = [c.translate(single) for c in text[start:end]]
            if piece == "".join(alone):
                for i, folded in enumerate(alone, start):
                    yield i, i + 1, folded
            else:
                yield start, end, piece
            start = end
        done = run.end()
    for i in range(done, len(text)):
        yield i, i + 1, text[i].translate(single)


def _cuts(text: str, start: int, end: int) -> Iterator[int]:
    """The places where a run can be cut: before a starter that does not compose with the characters before it."""
    orders = unicode.combining_classes()
    for i in range(start + 1, end):
        if _decomposed(text[i])[0] in orders:
            continue
        if _composed(text[start : i + 1]) == _composed(text[start:i]) + _composed(text[i]):
            yield i
            start = i


def _lower_sigma(text: str, i: int) -> str:
    """A final sigma stands after a cased letter and not before one, whatever is case-ignorable between."""
    context = unicode.sigma_context()

    def meets_cased(places: range) -> bool:
        for k in places:
            if context[ord(text[k])] != unicode.CASE_IGNORABLE:
                return bool(context[ord(text[k])] == unicode.CASED)
        return False

    return "ς" if meets_cased(range(i - 1, -1, -1)) and not meets_cased(range(i + 1, len(text))) else "σ"


@cache
def _single(form: Literal["nfkc", "lower"]) -> dict[int, str]:
    """For `str.translate`: code points that become others when they stand alone."""
    table = unicode.nfkc_table() if form == "nfkc" else unicode.lower_table()
    changed = np.flatnonzero(table.codes != np.arange(unicode.N_CODES))
    expanded = (unicode.OPEN, unicode.CLOSED, unicode.SEQUENCE)
    found = {}
    for code, entry in zip(changed.tolist(), table.codes[changed].tolist(), strict=True):
        kind, payload = entry >> unicode.KIND_SHIFT, entry & unicode.PAYLOAD_MASK
        if kind in expanded:
            size = int(table.expansions[payload])
            found[code] = "".join(map(chr, table.expansions[payload + 1 : payload + 1 + size].tolist()))
        elif kind != unicode.HARD:
            found[code] = chr(payload)
    return found


@cache
def _joining() -> re.Pattern[str]:
    """Characters that may join the one before them."""
    kinds = unicode.nfkc_table().codes[:0x10000] >> unicode.KIND_SHIFT
    codes = np.flatnonzero((kinds >= unicode.TRAILING) & (kinds <= unicode.SEQUENCE))
    ranges = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
    joins = "".join(f"\\u{r[0]:04x}-\\u{r[-1]:04x}" for r in ranges)
    # All of the other planes as one range: naming those that join made the search ten times slower, and a run may be
    # longer than it has to be.
    return re.compile(f"[{joins}\U00010000-\U0010ffff]+")


def _decomposed(c: str) -> str:
    """The full compatibility decomposition of a character."""
    return _jamo(ord(c)) if "\uac00" <= c <= "\ud7a3" else unicode.decompositions().get(ord(c), c)


def _jamo(syllable: int) -> str:
    rest, final = divmod(syllable - _S_FIRST, _T_COUNT)
    leading, vowel = divmod(rest, _V_COUNT)
    return chr(_L_FIRST + leading) + chr(_V_FIRST + vowel) + (chr(_T_BEFORE + final) if final else "")


def _composed(text: str) -> str:
    """The canonical composition of the compatibility decomposition."""
    composer = _Composer()
    composer.add(text)
    return composer.end()


_known = lru_cache(1 << 12)(_composed)
"""Letters with marks repeat: three times as fast, where all do."""


class _Composer:
    """Decomposes, puts in order and composes a text that comes piece by piece (UAX #15).

    Marks wait by combining class, which is their order, until a starter follows.
    """

    def __init__(self) -> None:
        self._settled: list[str] = []
        self._starter = ""  # none before the first
        self._marks: dict[int, list[str]] = {}
        self._packed: dict[int, int] = {}  # by class, the number of waiting pieces that came with other calls

    def add(self, text: str) -> None:
        """The next piece."""
        orders, decompositions = unicode.combining_classes(), unicode.decompositions()
        marks = self._marks
        for c in text:
            for d in _jamo(ord(c)) if "\uac00" <= c <= "\ud7a3" else decompositions.get(ord(c), c):
                if order := orders.get(d, 0):
                    marks.setdefault(order, []).append(d)
                    continue
                # Any mark that is left blocks a starter.
                rest = self._join_marks() if marks else ""
                both = None if rest or not self._starter else _pair(self._starter, d)
                if both is None:
                    self._settled += self._starter, rest
                self._starter = both or d
        for order, waiting in marks.items():
            # A character of its own takes 76 bytes; joined, two.
            packed = self._packed.get(order, 0)
            if len(waiting) > packed:
                waiting[packed:] = ["".join(waiting[packed:])]
                self._packed[order] = packed + 1

    def _join_marks(self) -> str:
        """Let the starter take in all marks that it composes with; return the others."""
        rest = []
        for order in sorted(self._marks):
            waiting = "".join(self._marks[order])
            n = 0
            # Whatever is left blocks all of its class that follow.
            while n < len(waiting) and self._starter and (both := _pair(self._starter, waiting[n])):
                self._starter = both
                n += 1
            rest.append(waiting[n:])
        self._marks.clear()
        self._packed.clear()
        return "".join(rest)

    def settled(self) -> str:
        """The characters that nothing can change any more; each is returned once."""
        found = "".join(self._settled)
        self._settled.clear()
        return found

    def end(self) -> str:
        """All that is left."""
        rest = self._join_marks()
        self._settled += self._starter, rest
        self._starter = ""
        return self.settled()


def _pair(first: str, second: str) -> str | None:
    a, b = ord(first), ord(second)
    if 0 <= a - _L_FIRST < _L_COUNT and 0 <= b - _V_FIRST < _V_COUNT:
        return chr(_S_FIRST + ((a - _L_FIRST) * _V_COUNT + b - _V_FIRST) * _T_COUNT)
    if 0 <= a - _S_FIRST < _S_COUNT and (a - _S_FIRST) % _T_COUNT == 0 and 0 < b - _T_BEFORE < _T_COUNT:
        return chr(a + b - _T_BEFORE)
    return unicode.composites().get(first + second)
