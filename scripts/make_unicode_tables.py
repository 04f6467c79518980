"""Generate src/bunrui/kernel/unicode.npz from the `unicodedata` of the Python that runs this.

    python scripts/make_unicode_tables.py          (needs NumPy; Python 3.13 for Unicode 15.1)

`tables()` makes every array; the same Python gives the same file.  What each array means is said where it is read,
in `bunrui.kernel.unicode`.

A code point *joins* when its decomposition starts with a mark, or with a character that may compose with one before
it.  Text can be cut before everything else, so that NFKC of the whole is NFKC of the pieces: most pieces are one code
point (a table), the next most frequent are a base and a joining code point (the pairs, found by asking `unicodedata`
about every base that folds to the same code point; where the answers differ the pair is HARD).
"""

from __future__ import annotations

import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from bunrui.kernel import unicode as u  # noqa: E402

BLOCK = 128
Arrays = dict[str, npt.NDArray[Any]]

# Extended_Pictographic of emoji-data.txt 15.1, the part beyond Latin-1 (first and last code point).
PICTOGRAPHIC = """
203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 2388 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 25C0
25FB-25FE 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E
2753-2755 2757 2763-2767 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299
1F000-1F0FF 1F10D-1F10F 1F12F 1F16C-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F1AD-1F1E5 1F201-1F20F 1F21A 1F22F
1F232-1F23A 1F23C-1F23F 1F249-1F3FA 1F400-1F53D 1F546-1F64F 1F680-1F6FF 1F774-1F77F 1F7D5-1F7FF 1F80C-1F80F
1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8FF 1F90C-1F93A 1F93C-1F945 1F947-1FAFF 1FC00-1FFFD
"""
KANA_HAN_NAMES = (
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC ", "HANGZHOU NUMERAL", "BOPOMOFO",
    "HIRAGANA", "KATAKANA", "HENTAIGANA", "HALFWIDTH KATAKANA", "VERTICAL KANA", "VERTICAL IDEOGRAPHIC", "MASU MARK",
    "COMBINING KATAKANA-HIRAGANA",
)  # fmt: skip
HANGUL_NAMES = ("HANGUL", "HALFWIDTH HANGUL")
UNSPACED_NAMES = ("THAI ", "LAO ", "KHMER ", "MYANMAR ")
VOICING_SYMBOLS = (0x309B, 0x309C)


def nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def fold(text: str) -> str:
    return nfkc(text).casefold()


def nfkd(text: str) -> str:
    return unicodedata.normalize("NFKD", text)


def two_level(name: str, flat: npt.NDArray[Any]) -> Arrays:
    blocks, index = np.unique(flat.reshape(-1, BLOCK), axis=0, return_inverse=True)
    return {f"{name}_blocks": blocks, f"{name}_index": index.reshape(-1).astype(np.uint16)}


def primary_composites() -> dict[str, str]:
    found = {}
    for c in map(chr, range(u.N_CODES)):
        parts = unicodedata.decomposition(c).split()
        if len(parts) == 2 and "<" not in parts[0] and unicodedata.normalize("NFC", c) == c:
            found[chr(int(parts[0], 16)) + chr(int(parts[1], 16))] = c
    return found


class Expansions:
    """One flat array of (length, code points …); equal strings once."""

    def __init__(self) -> None:
        self.flat: list[int] = []
        self.places: dict[str, int] = {}

    def place(self, text: str) -> int:
        if text not in self.places:
            self.places[text] = len(self.flat)
            self.flat += [len(text), *map(ord, text)]
        return self.places[text]


def entry(kind: int, payload: int, order: int = 0) -> int:
    return kind << u.KIND_SHIFT | order << u.ORDER_SHIFT | payload


def single_or_expanded(text: str, kind: int, expansions: Expansions) -> int:
    return entry(u.PLAIN, ord(text)) if len(text) == 1 else entry(kind, expansions.place(text))


def find_pairs(composites: dict[str, str], bases: list[str], joining: list[str]) -> dict[tuple[str, str], str | None]:
    """(folded base, folded joining) → what they become, where NFKC composes them; None where bases disagree.

    Also where the result is both in a row, as they were: h and U+0331 become ẖ, which folds to h and U+0331, but is
    one character for what follows.
    """
    firsts = {pair[0] for pair in composites}
    touched = {fold(c) for c in bases if c in firsts or unicodedata.normalize("NFD", c) != c}
    answers: dict[tuple[str, str], set[str]] = defaultdict(set)
    composed: set[tuple[str, str]] = set()
    for base in bases:
        folded = fold(base)
        if len(folded) == 1 and folded in touched and not "\uac00" <= folded <= "\ud7a3":
            for mark in joining:
                pair = folded, fold(mark)
                answers[pair].add(fold(base + mark))
                if nfkc(base + mark) != nfkc(base) + nfkc(mark):
                    composed.add(pair)
    return {pair: answers[pair].pop() if len(answers[pair]) == 1 else None for pair in composed}


def nfkc_arrays(composites: dict[str, str], expansions: Expansions) -> Arrays:
    seconds = {pair[1] for pair in composites}
    vowels_and_finals = {*map(chr, range(0x1161, 0x1176)), *map(chr, range(0x11A8, 0x11C3))}
    everything = [chr(code) for code in range(u.N_CODES)]
    opening = {c: nfkd(c)[0] for c in everything}
    order = {c: unicodedata.combining(opening[c]) for c in everything}
    joins = {c for c in everything if order[c] or opening[c] in seconds or opening[c] in vowels_and_finals}
    simple = sorted(c for c in joins if len(fold(c)) == 1)
    joining = [c for c in simple if opening[c] in seconds]
    assert len({fold(c) for c in joining}) == len({nfkd(c) for c in joining}), "two marks fold to one"
    bases = [c for c in everything if not order[c]]
    pairs = find_pairs(composites, bases, joining)

    def is_open(text: str) -> bool:
        """Whether marks after this expansion meet a character that is folded to one code point, its last."""
        last = nfkc(text)[-1]
        return last not in joins and len(fold(last)) == 1

    codes = np.arange(u.N_CODES, dtype=np.uint32)
    for code, c in enumerate(everything):
        folded = fold(c)
        if c in joins:
            composes = opening[c] in seconds or opening[c] in vowels_and_finals
            kind = u.JOINING if composes else u.TRAILING
            if len(folded) > 1:
                codes[code] = entry(u.SEQUENCE, expansions.place(folded))
            else:
                codes[code] = entry(kind, ord(folded), order[c])
        elif folded != c:
            kind = u.OPEN if is_open(c) else u.CLOSED
            codes[code] = single_or_expanded(folded, kind, expansions)

    keys = {ord(base) << 21 | ord(mark): result for (base, mark), result in pairs.items()}
    values = [
        entry(u.HARD, 0) if result is None else single_or_expanded(result, u.CLOSED, expansions)
        for _, result in sorted(keys.items())
    ]
    return {
        **two_level("nfkc", codes ^ np.arange(u.N_CODES, dtype=np.uint32)),
        "pair_keys": np.array(sorted(keys), np.uint64),
        "pair_values": np.array(values, np.uint32),
    }


def lower_arrays(expansions: Expansions) -> Arrays:
    codes = np.arange(u.N_CODES, dtype=np.uint32)
    for code in range(u.N_CODES):
        codes[code] = single_or_expanded(chr(code).lower(), u.CLOSED, expansions)
    codes[0x3A3] = entry(u.HARD, 0)
    return two_level("lower", codes ^ np.arange(u.N_CODES, dtype=np.uint32))


def sigma_class(c: str) -> int:
    """The properties Cased and Case_Ignorable, as str.lower shows them next to a capital sigma."""
    if f"{c}Σ".lower().endswith("ς"):
        return u.CASED
    return u.CASE_IGNORABLE if f"a{c}Σ".lower().endswith("ς") else u.UNCASED


def pictographs() -> set[int]:
    found: set[int] = set()
    for item in PICTOGRAPHIC.split():
        first, _, last = item.partition("-")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return {code for code in found if nfkc(chr(code)) == chr(code)}


def class_by_name(c: str) -> int:
    category, name = unicodedata.category(c), unicodedata.name(c, "")
    if category[0] in "PS":
        return u.PUNCT
    if category[0] not in "LNM":
        return u.SPACE
    if name.startswith(KANA_HAN_NAMES):
        return u.KANA_HAN
    if name.startswith(HANGUL_NAMES):
        return u.HANGUL
    if name.startswith(UNSPACED_NAMES) and category[0] != "N":
        return u.UNSPACED
    return u.MARK if category[0] == "M" else u.WORD


def classes() -> npt.NDArray[np.uint8]:
    found = np.array([class_by_name(chr(code)) for code in range(u.N_CODES)], np.uint8)
    named: list[tuple[int, Iterable[int]]] = [
        (u.SPACE, range(0xFE00, 0xFE0F)),  # variation selectors, the ideographic ones too
        (u.SPACE, range(0xE0100, 0xE01F0)),
        (u.WORD, range(0xE000, 0xE008)),
        (u.MARK, [0x200C]),
        (u.KANA_HAN, VOICING_SYMBOLS),
        (u.EMOJI, pictographs()),
        (u.REGIONAL, range(0x1F1E6, 0x1F200)),
        (u.MODIFIER, [*range(0x1F3FB, 0x1F400), *range(0xE0020, 0xE0080)]),
        (u.ZWJ, [0x200D]),
        (u.VS16, [0xFE0F]),
        (u.KEYCAP, [0x20E3]),
    ]
    for value, codes in named:
        found[list(codes)] = value
    return found


def normaliser_arrays(composites: dict[str, str]) -> Arrays:
    everything = [chr(code) for code in range(u.N_CODES)]
    decomposed = {c: nfkd(c) for c in everything if nfkd(c) != c and not "\uac00" <= c <= "\ud7a3"}
    marks = [c for c in everything if unicodedata.combining(c)]
    return {
        "decomposed_codes": np.array([ord(c) for c in decomposed], np.uint32),
        "decomposed_lengths": np.array([len(text) for text in decomposed.values()], np.uint8),
        "decomposed": np.array([ord(c) for text in decomposed.values() for c in text], np.uint32),
        "mark_codes": np.array([ord(c) for c in marks], np.uint32),
        "mark_classes": np.array([unicodedata.combining(c) for c in marks], np.uint8),
        "composites": np.array([[*map(ord, pair), ord(c)] for pair, c in sorted(composites.items())], np.uint32),
    }


def tables() -> Arrays:
    """Every array of `unicode.npz`."""
    composites = primary_composites()
    expansions = Expansions()
    everything = [chr(code) for code in range(u.N_CODES)]
    arrays = {
        "version": np.array(unicodedata.unidata_version),
        **nfkc_arrays(composites, expansions),
        **lower_arrays(expansions),
        **normaliser_arrays(composites),
        **two_level("class", classes()),
        **two_level("word", np.array([c.isalnum() or c == "_" for c in everything])),
        **two_level("sigma", np.array([sigma_class(c) for c in everything], np.uint8)),
        **two_level("assigned", np.array([unicodedata.category(c) != "Cn" for c in everything])),
    }
    return {**arrays, "expansions": np.array(expansions.flat, np.uint32)}


if __name__ == "__main__":
    made = tables()
    np.savez_compressed(u.PATH, **made)
    print(f"{u.PATH.name}: Unicode {made['version']}, {u.PATH.stat().st_size:,} bytes", file=sys.stderr)
