"""Features → the buckets of a stable hash, by number or by names that stand in the place of the features.

A name is "#" and seven hexadecimal digits: eight bytes, one word of a key.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

from bunrui.kernel.ngrams import Items
from bunrui.kernel.primitives import M64, U64, i64, load64, u64

HASH_BITS = 32
HASHES = 1 << HASH_BITS
MOST_BITS = 28  # that seven digits can tell apart
NAME = 8

# Of the stable hash; never to be changed
H0 = U64(0xA076_1D64_78BD_642F)
H1 = U64(0x9E37_79B9_7F4A_7C15)
H2 = U64(0xD6E8_FEB8_6659_FD93)
THREE = U64(3)
SEVEN = U64(7)
EIGHT = U64(8)
HALF = U64(32)

SIGN = 35  # "#"
ZERO_DIGIT = 48
TO_LETTERS = 39  # from what would follow 9 to "a"
PADDING = 64


def hash_columns(text: Sequence[int], items: Items, n_items: int, width: int) -> None:
    """ids[k]: the stable hash of item k modulo `width`.

    Matrices and models are stored with these columns, so this hash is on its own and never changes, where that of the
    vocabulary is free to become faster (and is good in its high bits only).
    """
    starts = items.starts
    lengths = items.lengths
    ids = items.ids
    for k in range(n_items):
        at = u64(starts[k])
        n = u64(lengths[k])
        h = (n * H0) & M64
        end = at + (n & ~SEVEN & M64)
        while at < end:
            h = ((h ^ load64(text, at)) * H1) & M64
            h = h ^ (h >> HALF)
            at = at + EIGHT
        # The bytes that are left, padded with 0xFF, which UTF-8 does not contain.
        last = load64(text, at) | ((M64 << ((n & SEVEN) << THREE)) & M64)
        h = ((h ^ last) * H1) & M64
        h = ((h ^ (h >> HALF)) * H2) & M64
        ids[k] = (h ^ (h >> HALF)) % u64(width)


def name_buckets(text: MutableSequence[int], items: Items, n_items: int, bits: int) -> None:
    """Let items be the names of their buckets, which are written to the end of the text.

    The bucket of an item is the high bits of its hash.  The text has room behind the units for as many names as there
    is room for items.
    """
    hash_columns(text, items, n_items, HASHES)
    starts = items.starts
    lengths = items.lengths
    ids = items.ids
    at = i64(len(text)) - PADDING - NAME * i64(len(starts))
    for k in range(n_items):
        bucket = i64(ids[k]) >> (HASH_BITS - bits)
        text[at] = SIGN
        for place in range(1, NAME):
            digit = (bucket >> (4 * (NAME - 1 - place))) & 15
            text[at + place] = ZERO_DIGIT + digit + (TO_LETTERS if digit > 9 else 0)
        starts[k] = at
        lengths[k] = NAME
        at += NAME
