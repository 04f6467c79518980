"""A growing hash table of features: items in, ids out.

A slot is four words: the two of the key, the id plus one (0 marks a free slot), and one for whoever counts.  Slots are
indexed by the high bits of the hash and probed upwards, round the end.  Equal hashes are never taken
for equal features: the key holds the bytes, and where a feature is longer than a key, the bytes are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bunrui.kernel.hashing import BYTE, S8, equal_bytes
from bunrui.kernel.ngrams import TWO, Items
from bunrui.kernel.primitives import M64, ONE, U64, ZERO, i64, inline, prefetch, u64
from bunrui.kernel.signature import I64s, U8s, U64s, Unsigned, kernel, record

AHEAD = U64(32)
THREE = U64(3)
FOUR = U64(4)
ID = U64(0xFFFF_FFFF)
MISSING = 0xFFFF_FFFF
SLOT = 4

# Places in `Vocabulary.size`
FEATURES = 0
BYTES = 1
SHIFT = 2
NARROW = 3  # mask of the hashes: all ones, but in tests


@record
class Vocabulary(NamedTuple):
    """The arrays of a table."""

    slots: U64s  # (SLOT * capacity), capacity a power of two
    hashes: U64s  # (room)
    starts: I64s  # (room + 1): the text of feature f is text[starts[f] : starts[f + 1]]
    text: U8s  # padded
    size: U64s  # (4): features, bytes of text, 64 - log2(capacity), mask of the hashes


@inline
def find(
    v: Vocabulary, items: Items, k: int, text: Sequence[int], slots: Sequence[int], low: int, high: int, s: int
) -> int:
    """From slot `s` on, the slot of item `k`, or the free one where it belongs."""
    mask = u64(len(slots)) - ONE
    entry = slots[s + TWO]
    while entry != ZERO:
        # Bits, not branches: whether a word has more than eight letters cannot be predicted.
        if ((slots[s] ^ low) | (slots[s + ONE] ^ high)) == ZERO:
            # A key whose second word begins with 0xFF, but is not all of it, stands for a longer text.
            is_long = ((high & BYTE) == BYTE) & (high != M64)
            if not is_long or same_text(v, (entry & ID) - ONE, items, k, text):
                break
        s = (s + FOUR) & mask
        entry = slots[s + TWO]
    return s


@kernel
def probe(v: Vocabulary, items: Items, n_items: Unsigned, text: U8s, grows: int) -> None:
    """Set `items.ids`, MISSING where the table lacks the feature.

    Where `grows` is not 0, features that are new are added; the caller has made room.
    """
    # Arrays are taken out of their tuples before the loop: inside, that would cost for each item.
    slots = v.slots
    hashes = items.hashes
    lows = items.low
    highs = items.high
    ids = items.ids
    shift = v.size[SHIFT]
    k = u64(0)
    while k < n_items:
        prefetch(slots, (hashes[k + AHEAD] >> shift) << TWO)
        s = find(v, items, k, text, slots, lows[k], highs[k], (hashes[k] >> shift) << TWO)
        entry = slots[s + TWO]
        if entry == ZERO and grows != 0:
            entry = add(v, s, items, k, text)
        ids[k] = (entry - ONE) & ID
        k = k + ONE


def same_text(v: Vocabulary, f: int, items: Items, k: int, text: Sequence[int]) -> bool:
    return equal_bytes(v.text, u64(v.starts[f]), text, u64(items.starts[k]), u64(items.lengths[k]))


def add(v: Vocabulary, s: int, items: Items, k: int, text: Sequence[int]) -> int:
    """Put item `k` into the free slot `s` as a new feature."""
    f = v.size[FEATURES]
    at = v.size[BYTES]
    start = u64(items.starts[k])
    n = u64(items.lengths[k])
    j = u64(0)
    while j < n:
        v.text[at + j] = text[start + j]
        j = j + ONE
    v.hashes[f] = items.hashes[k]
    v.starts[f + ONE] = i64(at + n)
    v.size[FEATURES] = f + ONE
    v.size[BYTES] = at + n
    v.slots[s] = items.low[k]
    v.slots[s + ONE] = items.high[k]
    v.slots[s + TWO] = f + ONE
    return f + ONE


def has_room(v: Vocabulary, n_items: int, n_bytes: int) -> bool:
    """Whether so many new features with so many bytes of text fit without growing."""
    return v.size[FEATURES] + n_items <= u64(len(v.hashes)) and v.size[BYTES] + n_bytes + S8 <= u64(len(v.text))


@kernel
def move_slots(old: U64s, v: Vocabulary) -> None:
    """Fill the slots of a table that has grown from those that it had."""
    shift = v.size[SHIFT]
    mask = u64(len(v.slots)) - ONE
    n = u64(len(old))
    o = u64(0)
    while o < n:
        entry = old[o + TWO]
        if entry != ZERO:
            s = (v.hashes[(entry & ID) - ONE] >> shift) << TWO
            while v.slots[s + TWO] != ZERO:
                s = (s + FOUR) & mask
            v.slots[s] = old[o]
            v.slots[s + ONE] = old[o + ONE]
            v.slots[s + TWO] = entry
            v.slots[s + THREE] = old[o + THREE]
        o = o + FOUR
