"""The tables of characters: folds, classes and the data of an exact normaliser, as flat arrays.

Everything comes from `unicode.npz`, which `scripts/make_unicode_tables.py` generates, and nothing from the running
Python's `unicodedata`: a newer Python must not change the features of a classifier that was stored by an older one.
The file keeps tables in two levels (blocks of 128 code points, equal blocks once); loading expands them, so that a
kernel finds a code point with one look.
"""

from __future__ import annotations

from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.kernel.signature import U32s, U64s, record

UNICODE_VERSION = "15.1.0"
N_CODES = 0x110000
PATH = Path(__file__).with_name("unicode.npz")

# Classes of characters.
SPACE = 0  # white space, controls, format characters, unassigned: whatever separates and is never a feature
WORD = 1  # letters and numbers of scripts that use spaces; private use U+E000..U+E007 (placeholders)
MARK = 2  # combining marks of those scripts and ZWNJ: they continue a word
KANA_HAN = 3
HANGUL = 4
UNSPACED = 5  # letters and marks of Thai, Lao, Khmer, Myanmar
PUNCT = 6  # punctuation and symbols, "_" too
EMOJI = 7  # Extended_Pictographic beyond Latin-1 that NFKC leaves alone
REGIONAL = 8  # the letters of flags
MODIFIER = 9  # skin tones and tag characters
ZWJ = 10
VS16 = 11
KEYCAP = 12

# An entry of a fold table is `kind << KIND_SHIFT | combining class << ORDER_SHIFT | payload`.  The payload is the
# folded code point, or the place in `expansions` of a length and as many code points.
KIND_SHIFT = 29
ORDER_SHIFT = 21
PAYLOAD_MASK = (1 << ORDER_SHIFT) - 1
PLAIN = 0  # one code point, never joined to the code points before it
OPEN = 1  # an expansion whose last code point meets marks as if it stood in the text
CLOSED = 2  # an expansion that does not
TRAILING = 3  # a mark that composes with nothing
JOINING = 4  # composes with some code points before it
SEQUENCE = 5  # several marks in one code point
HARD = 6  # depends on context that the loops do not keep

# The characters around a capital sigma (str.lower); the property Case_Ignorable wins over Cased.
UNCASED = 0
CASED = 1
CASE_IGNORABLE = 2

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]


@record
class NfkcTable(NamedTuple):
    """NFKC and case folding: the argument `t` of `fold.fold_nfkc`."""

    codes: U32s  # (N_CODES,)
    expansions: U32s
    pair_keys: U64s  # folded base << 21 | folded joining code point, ascending
    pair_values: U32s  # the results, entries of kind PLAIN, CLOSED or HARD


class LowerTable(NamedTuple):
    """`str.lower`, for the words of `fold.py` and for `normal.py`."""

    codes: U32s  # (N_CODES,)
    expansions: U32s


@cache
def _file() -> Any:
    return np.load(BytesIO(PATH.read_bytes()), allow_pickle=False)


@cache  # one by one: most questions need a third of them
def _stored(name: str) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = _file()[name]
    return array


def _flat(name: str) -> npt.NDArray[Any]:
    flat: npt.NDArray[Any] = _stored(f"{name}_blocks")[_stored(f"{name}_index")].reshape(-1)
    return flat


def _codes(name: str) -> npt.NDArray[np.uint32]:
    # Stored as the difference (xor) from the code point itself: whatever folds to itself is a block of zeros.
    codes = _flat(name)
    codes ^= np.arange(N_CODES, dtype=np.uint32)
    return codes


@cache
def nfkc_table() -> NfkcTable:
    """`unicodedata.normalize("NFKC", s).casefold()`, code point by code point and pair by pair."""
    return NfkcTable(_codes("nfkc"), _stored("expansions"), _stored("pair_keys"), _stored("pair_values"))


@cache
def lower_table() -> LowerTable:
    """`chr(c).lower()` for every code point; the capital sigma is HARD."""
    return LowerTable(_codes("lower"), _stored("expansions"))


@cache
def word() -> Bools:
    r"""Mark the code points that match `\w`, (N_CODES,)."""
    return _flat("word")


@cache
def char_class() -> Bytes:
    """The class of every code point, (N_CODES,): SPACE … KEYCAP."""
    return _flat("class")


@cache
def sigma_context() -> Bytes:
    """UNCASED, CASED or CASE_IGNORABLE for every code point, (N_CODES,)."""
    return _flat("sigma")


@cache
def combining_classes() -> dict[str, int]:
    """The canonical combining class where it is not 0."""
    return dict(zip(map(chr, _stored("mark_codes").tolist()), _stored("mark_classes").tolist(), strict=True))


@cache
def decompositions() -> dict[int, str]:
    """The full compatibility decomposition where it is not the code point itself, Hangul syllables left out."""
    flat = "".join(map(chr, _stored("decomposed").tolist()))
    ends = np.cumsum(_stored("decomposed_lengths"), dtype=np.int64).tolist()
    starts = [0, *ends[:-1]]
    codes = _stored("decomposed_codes").tolist()
    return {code: flat[a:b] for code, a, b in zip(codes, starts, ends, strict=True)}


@cache
def composites() -> dict[str, str]:
    """Primary composites: two characters and the one that they become, Hangul left out."""
    return {chr(first) + chr(second): chr(both) for first, second, both in _stored("composites").tolist()}
