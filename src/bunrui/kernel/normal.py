"""Normalised strings, exact for every text, from our own tables: what the folding loops are checked against.

    nfkc_casefold   unicodedata.normalize("NFKC", s).casefold() as of `unicode.UNICODE_VERSION`
    lower           s.lower()
    aligned         either of them, with the place in the original of every character

The loops of `fold.py` send the rare text here that they cannot fold; explanations come here for the places.  Text is
cut where nothing joins; most of it goes through `str.translate`, and only a run with code points that may join is
decomposed, put in order and composed: 5 to 8 MB/s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal

import numpy as np

from bunrui.kernel import unicode

_SIGMA = "Σ"
_L_FIRST, _V_FIRST, _T_BEFORE, _S_FIRST = 0x1100, 0x1161, 0x11A7, 0xAC00
_L_COUNT, _V_COUNT, _T_COUNT = 19, 21, 28
_S_COUNT = _L_COUNT * _V_COUNT * _T_COUNT


def nfkc_casefold(text: str) -> str:
    """NFKC, then full case folding.

    >>> nfkc_casefold("Ｂｕｎｒｕｉ ﾌﾞﾝﾙｲ ß")
    'bunrui ブンルイ ss'
    """
    # Every character of a string in NFKC is in NFKC by itself, so the table of single code points folds its case.
    return _joined_runs().sub(lambda run: _compose(_decompose(run[0])), text).translate(_single("nfkc"))


def lower(text: str) -> str:
    """`str.lower`, the final sigma included.

    >>> lower("ΟΔΥΣΣΕΥΣ")
    'οδυσσευς'
    """
    if _SIGMA in text:
        text = re.sub(_SIGMA, lambda found: _lower_sigma(text, found.start()), text)
    return text.translate(_single("lower"))


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
    for run in _joined_runs().finditer(text):
        for i in range(done, run.start()):
            yield i, i + 1, text[i].translate(single)
        start = run.start()
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
    """Where a run can be cut: before a starter that does not compose with what it meets."""
    orders = unicode.combining_classes()
    for i in range(start + 1, end):
        after = _decompose(text[i])
        if after[0] not in orders:
            before = _decompose(text[start:i])
            if _compose(before + after) == _compose(before) + _compose(after):
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
    """For `str.translate`: what a code point becomes alone, where that is another."""
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
def _joined_runs() -> re.Pattern[str]:
    """A character and those that may join it."""
    kinds = unicode.nfkc_table().codes[:0x10000] >> unicode.KIND_SHIFT
    codes = np.flatnonzero((kinds >= unicode.TRAILING) & (kinds <= unicode.SEQUENCE))
    ranges = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
    joins = "".join(f"\\u{r[0]:04x}-\\u{r[-1]:04x}" for r in ranges)
    # All of the other planes as one range: naming those that join made the search ten times slower, and a run may be
    # longer than it has to be.
    return re.compile(f".?[{joins}\U00010000-\U0010ffff]+", re.DOTALL)


def _decompose(text: str) -> str:
    """The full compatibility decomposition, in canonical order."""
    orders = unicode.combining_classes()
    decompositions = unicode.decompositions()
    found: list[str] = []
    for c in text:
        found += _jamo(ord(c)) if "\uac00" <= c <= "\ud7a3" else decompositions.get(ord(c), c)
    start = 0
    for i in range(len(found) + 1):
        if i == len(found) or found[i] not in orders:
            if i - start > 1:
                found[start:i] = sorted(found[start:i], key=orders.__getitem__)
            start = i + 1
    return "".join(found)


def _jamo(syllable: int) -> str:
    rest, final = divmod(syllable - _S_FIRST, _T_COUNT)
    leading, vowel = divmod(rest, _V_COUNT)
    return chr(_L_FIRST + leading) + chr(_V_FIRST + vowel) + (chr(_T_BEFORE + final) if final else "")


def _compose(text: str) -> str:
    """Canonical composition of a decomposed text (UAX #15)."""
    orders = unicode.combining_classes()
    found: list[str] = []
    starter = -1
    last = 0  # combining class of the mark before, 0 right after the starter
    for c in text:
        order = orders.get(c, 0)
        # Whatever has the same class, or any mark before a starter, blocks.
        if starter >= 0 and (len(found) == starter + 1 or last < order):
            both = _pair(found[starter], c)
            if both:
                found[starter] = both
                continue
        if order == 0:
            starter = len(found)
        last = order
        found.append(c)
    return "".join(found)


def _pair(first: str, second: str) -> str | None:
    a, b = ord(first), ord(second)
    if 0 <= a - _L_FIRST < _L_COUNT and 0 <= b - _V_FIRST < _V_COUNT:
        return chr(_S_FIRST + ((a - _L_FIRST) * _V_COUNT + b - _V_FIRST) * _T_COUNT)
    if 0 <= a - _S_FIRST < _S_COUNT and (a - _S_FIRST) % _T_COUNT == 0 and 0 < b - _T_BEFORE < _T_COUNT:
        return chr(a + b - _T_BEFORE)
    return unicode.composites().get(first + second)
