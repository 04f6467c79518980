"""A growing hash table of features: items in, ids out.

A slot is four words: the two of the key, the id plus one (0 marks a free slot), and a counter.  Slots are
indexed by the high bits of the hash and probed upwards.  Equal hashes are never taken for equal features: the key holds
the bytes, and where a feature is longer than a key, the bytes are compared.

The slots of a large table form regions, one for each value of the highest bits of the hash.  Probing goes round inside
a region, so a feature stays in its own, and threads that work on different regions never meet.
"""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.ngrams import BYTE, S16, TWO, Items, equal_bytes, hash_key, put_items
from bunrui.kernel.primitives import M64, ONE, U64, ZERO, copy16, ctz, i64, inline, prefetch, u64
from bunrui.kernel.signature import I64s, U8s, U32s, U64s, Unsigned, kernel, record

AHEAD = U64(32)
THREE = U64(3)
FOUR = U64(4)
ID = U64(0xFFFF_FFFF)
MISSING = 0xFFFF_FFFF
SLOT = 4
S63 = U64(63)
S64 = U64(64)
BLOCK = 512  # features that are looked up at a time

# Places in `Vocabulary.size`
FEATURES = 0
BYTES = 1
SHIFT = 2
NARROW = 3  # mask of the hashes: all ones, but in tests
REGION = 4  # words of a region, less one
FULLEST = 5  # features of the region that has most
SIZES = 6


@record
class Vocabulary(NamedTuple):
    """The arrays of a table."""

    slots: U64s  # (SLOT * capacity), capacity a power of two
    hashes: U64s  # (room)
    starts: I64s  # (room + 1): the text of feature f is text[starts[f] : starts[f + 1]]
    text: U8s  # padded
    size: U64s  # (SIZES): features, bytes of text, 64 - log2(capacity), mask of the hashes, …
    loads: I64s  # (regions): features of each


@inline
def hash_of(low: int, high: int, narrow: int) -> int:
    """The hash of the feature with a key."""
    return low if is_long(high) else hash_key(low, high) & narrow


@inline
def is_long(high: int) -> bool:
    """Tell whether a key stands for a text that does not fit into it: its second word begins with 0xFF, but goes on."""
    return ((high & BYTE) == BYTE) & (high != M64)


@inline
def region_of(h: int, n_regions: int) -> int:
    """The region of a hash; there is a power of two of them."""
    return (h >> ONE) >> (S63 - ctz(n_regions))


@inline
def find(v: Vocabulary, items: Items, k: int, text: U8s, slots: U64s, low: int, high: int, s: int) -> int:
    """Find the slot of item `k`, or the free one where it belongs, from slot `s` on."""
    mask = v.size[REGION]
    entry = slots[s + TWO]
    while entry != ZERO:
        # Bits, not branches: whether a word has more than eight letters cannot be predicted.
        is_same = ((slots[s] ^ low) | (slots[s + ONE] ^ high)) == ZERO
        if is_same and (not is_long(high) or same_text(v, (entry & ID) - ONE, items, k, text)):
            break
        s = next_slot(s, mask)
        entry = slots[s + TWO]
    return s


@inline
def next_slot(s: int, mask: int) -> int:
    """The slot after `s` in its region, whose last word has all bits of `mask`."""
    return (s & ~mask & M64) | ((s + FOUR) & mask)


@kernel
def probe(v: Vocabulary, items: Items, n_items: Unsigned, text: U8s, grows: int) -> None:
    """Set `items.ids`, MISSING where the table lacks the feature.

    Where `grows` is not 0, features that are new are added; the caller has made room.
    """
    ids = items.ids
    shift = v.size[SHIFT]
    for k in range(n_items):
        prefetch(v.slots, (items.hashes[k + AHEAD] >> shift) << TWO)
        s = find(v, items, k, text, v.slots, items.low[k], items.high[k], (items.hashes[k] >> shift) << TWO)
        entry = v.slots[s + TWO]
        if entry == ZERO and grows != 0:
            entry = add(v, s, items, k, text)
        ids[k] = (entry - ONE) & ID


def same_text(v: Vocabulary, f: int, items: Items, k: int, text: U8s) -> bool:
    return equal_bytes(v.text, u64(v.starts[f]), text, u64(items.starts[k]), u64(items.lengths[k]))


def add(v: Vocabulary, s: int, items: Items, k: int, text: U8s) -> int:
    """Put item `k` into the free slot `s` as a new feature."""
    f = v.size[FEATURES]
    at = v.size[BYTES]
    n = u64(items.lengths[k])
    copy_text(text, u64(items.starts[k]), n, v.text, at)
    v.hashes[f] = items.hashes[k]
    v.starts[f + ONE] = i64(at + n)
    v.size[FEATURES] = f + ONE
    v.size[BYTES] = at + n
    v.slots[s] = items.low[k]
    v.slots[s + ONE] = items.high[k]
    v.slots[s + TWO] = f + ONE
    region = s // (v.size[REGION] + ONE)
    v.loads[region] += 1
    v.size[FULLEST] = max(v.size[FULLEST], u64(v.loads[region]))
    return f + ONE


@inline
def copy_text(text: U8s, start: int, n: int, out: U8s, at: int) -> None:
    """Copy `text[start : start + n]`, and up to 16 bytes that follow it, to `out[at:]`."""
    copy16(text, start, out, at)
    j = u64(16)
    while j < n:
        copy16(text, start + j, out, at + j)
        j = j + S16


def has_room(v: Vocabulary, n_items: int, n_bytes: int) -> bool:
    """Tell whether `n_items` new features with `n_bytes` of text fit without growing."""
    return (
        v.size[FEATURES] + n_items <= u64(len(v.hashes))
        and v.size[BYTES] + n_bytes + S16 <= u64(len(v.text))
        # One slot of a region stays free: the search for a feature that is not there ends at it.
        and v.size[FULLEST] + n_items <= v.size[REGION] >> TWO
    )


@kernel
def move_slots(old: U64s, v: Vocabulary) -> None:
    """Fill the slots of a table that has grown from those, or some of those, that it had."""
    shift = v.size[SHIFT]
    mask = v.size[REGION]
    narrow = v.size[NARROW]
    n = u64(len(old))
    o = u64(0)
    while o < n:
        entry = old[o + TWO]
        if entry != ZERO:
            s = (hash_of(old[o], old[o + ONE], narrow) >> shift) << TWO
            while v.slots[s + TWO] != ZERO:
                s = next_slot(s, mask)
            v.slots[s] = old[o]
            v.slots[s + ONE] = old[o + ONE]
            v.slots[s + TWO] = entry
            v.slots[s + THREE] = old[o + THREE]
        o = o + FOUR


# Features that have ids and texts already → the slots in which they are found


def block_items(ov: Vocabulary, first: int, last: int, items: Items, narrow: int) -> int:
    """Make items of the features of a vocabulary from `first` on, up to `last` or a block; return their number."""
    n = min(last - first, BLOCK)
    for k in range(n):
        place_item(ov, first + k, items, k)
    put_items(ov.text, items, u64(n), narrow)
    return n


@inline
def place_item(ov: Vocabulary, f: int, items: Items, k: int) -> None:
    """Let item k be feature f of a vocabulary."""
    start = ov.starts[f]
    items.starts[k] = start
    items.lengths[k] = ov.starts[f + 1] - start


def rotate(items: Items, n: int, skip: int) -> None:
    """Turn hashes to the left: the features of a few partitions have the same high bits, and differ in the next."""
    if skip != ZERO:
        back = S64 - skip
        for k in range(n):
            h = items.hashes[k]
            items.hashes[k] = ((h << skip) & M64) | (h >> back)


@kernel
def put_hashes(v: Vocabulary, first: int, last: int, items: Items) -> None:
    """Set the hashes of the features first … last - 1."""
    while first < last:
        n = block_items(v, first, last, items, v.size[NARROW])
        for k in range(n):
            v.hashes[first + k] = items.hashes[k]
        first += n


@kernel
def put_slots(v: Vocabulary, order: U32s, is_ordered: int, first: int, last: int, skip: Unsigned, items: Items) -> bool:
    """Put the features order[first] … order[last - 1] into the slots; return False if one is there already.

    If not `is_ordered`, put the features first … last - 1 there.
    """
    shift = v.size[SHIFT]
    region = v.size[REGION] + ONE
    while first < last:
        n = min(last - first, BLOCK)
        for k in range(n):
            place_item(v, i64(order[first + k]) if is_ordered != 0 else first + k, items, k)
        put_items(v.text, items, u64(n), v.size[NARROW])
        rotate(items, n, skip)
        for j in range(u64(n)):
            prefetch(v.slots, (items.hashes[min(j + AHEAD, u64(n) - ONE)] >> shift) << TWO)
            s = find(v, items, j, v.text, v.slots, items.low[j], items.high[j], (items.hashes[j] >> shift) << TWO)
            if v.slots[s + TWO] != ZERO:
                return False
            v.slots[s] = items.low[j]
            v.slots[s + ONE] = items.high[j]
            f = i64(order[first + i64(j)]) if is_ordered != 0 else first + i64(j)
            v.slots[s + TWO] = u64(f) + ONE
            v.loads[s // region] += 1
        first += n
    return True
