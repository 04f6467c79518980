"""A growing hash table of features: items in, ids out.

A slot is four words: the two of the key, the id plus one (0 marks a free slot), and a counter.  Slots are
indexed by the high bits of the hash and probed upwards.  Equal hashes are never taken for equal features: the key holds
the bytes, and where a feature is longer than a key, the bytes are compared.

The slots of a large table form regions, one for each value of the highest bits of the hash.  Probing goes round inside
a region, so a feature stays in its own, and threads that work on different regions never meet.
"""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.ngrams import AHEAD, Items, copy_text, equal_bytes, hash_of, is_long, put_items
from bunrui.kernel.primitives import FOUR, M32, M64, ONE, THREE, TWO, ZERO, ctz, i64, inline, prefetch, u64
from bunrui.kernel.signature import I64s, U8s, U32s, U64s, Unsigned, kernel, record

MISSING = 0xFFFF_FFFF
SLOT = 4
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
def region_of(h: int, n_regions: int) -> int:
    """The region of a hash; there is a power of two of them."""
    return (h >> 1) >> (u64(63) - ctz(n_regions))


@inline
def find(v: Vocabulary, items: Items, k: int, text: U8s, s: int) -> int:
    """Find the slot of item `k`, or the free one where it belongs, from slot `s` on."""
    low = items.low[k]
    high = items.high[k]
    mask = v.size[REGION]
    entry = v.slots[s + TWO]
    while entry != ZERO:
        # Bits, not branches: whether a word has more than eight letters cannot be predicted.
        is_same = ((v.slots[s] ^ low) | (v.slots[s + ONE] ^ high)) == ZERO
        if is_same and (not is_long(high) or same_text(v, (entry & M32) - ONE, items, k, text)):
            break
        s = next_slot(s, mask)
        entry = v.slots[s + TWO]
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
    shift = v.size[SHIFT]
    for k in range(n_items):
        prefetch(v.slots, (items.hashes[k + AHEAD] >> shift) << 2)
        s = find(v, items, k, text, (items.hashes[k] >> shift) << 2)
        entry = v.slots[s + TWO]
        if entry == ZERO and grows != 0:
            entry = add(v, s, items, k, text)
        items.ids[k] = (entry - ONE) & M32


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


def has_room(v: Vocabulary, n_items: int, n_bytes: int) -> bool:
    """Tell whether `n_items` new features with `n_bytes` of text fit without growing."""
    return (
        v.size[FEATURES] + n_items <= u64(len(v.hashes))
        and v.size[BYTES] + n_bytes + u64(16) <= u64(len(v.text))
        # One slot of a region stays free: the search for a feature that is not there ends at it.
        and v.size[FULLEST] + n_items <= v.size[REGION] >> 2
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
            s = (hash_of(old[o], old[o + ONE], narrow) >> shift) << 2
            while v.slots[s + TWO] != ZERO:
                s = next_slot(s, mask)
            v.slots[s] = old[o]
            v.slots[s + ONE] = old[o + ONE]
            v.slots[s + TWO] = entry
            v.slots[s + THREE] = old[o + THREE]
        o = o + FOUR


# Features that have ids and texts already → the slots in which they are found


def block_items(v: Vocabulary, ov: Vocabulary, first: int, last: int, items: Items, skip: int) -> int:
    """Make items of the features of `ov` from `first` on, up to `last` or a block, with their hashes in `v`.

    Hashes are turned to the left by `skip` bits: the features of a few partitions have the same high bits, and differ
    in the next.  Returns the number of items.
    """
    n = min(last - first, BLOCK)
    for k in range(n):
        place_item(ov, first + k, items, k)
    put_items(ov.text, items, u64(n), v.size[NARROW])
    rotate(items, n, skip)
    return n


@inline
def place_item(ov: Vocabulary, f: int, items: Items, k: int) -> None:
    """Let item k be feature f of a vocabulary."""
    start = ov.starts[f]
    items.starts[k] = start
    items.lengths[k] = ov.starts[f + 1] - start


def rotate(items: Items, n: int, skip: int) -> None:
    if skip != ZERO:
        for k in range(n):
            h = items.hashes[k]
            items.hashes[k] = ((h << skip) & M64) | (h >> (u64(64) - skip))


@kernel
def put_hashes(v: Vocabulary, first: int, last: int, items: Items) -> None:
    """Set the hashes of the features first … last - 1."""
    while first < last:
        n = block_items(v, v, first, last, items, ZERO)
        for k in range(n):
            v.hashes[first + k] = items.hashes[k]
        first += n


@kernel
def put_slots(v: Vocabulary, order: U32s, first: int, last: int, skip: Unsigned, items: Items) -> bool:
    """Put the features order[first] … order[last - 1] into the slots; return False if one is there already.

    If there is no order, put the features first … last - 1 there.
    """
    shift = v.size[SHIFT]
    region = v.size[REGION] + ONE
    is_ordered = len(order) > 0
    while first < last:
        n = min(last - first, BLOCK)
        for k in range(n):
            place_item(v, i64(order[first + k]) if is_ordered else first + k, items, k)
        put_items(v.text, items, u64(n), v.size[NARROW])
        rotate(items, n, skip)
        for j in range(u64(n)):
            prefetch(v.slots, (items.hashes[min(j + AHEAD, u64(n) - ONE)] >> shift) << 2)
            s = find(v, items, j, v.text, (items.hashes[j] >> shift) << 2)
            if v.slots[s + TWO] != ZERO:
                return False
            v.slots[s] = items.low[j]
            v.slots[s + ONE] = items.high[j]
            f = i64(order[first + i64(j)]) if is_ordered else first + i64(j)
            v.slots[s + TWO] = u64(f) + ONE
            v.loads[s // region] += 1
        first += n
    return True


def add_slots(v: Vocabulary, order: U32s, n: int, n_bytes: int, items: Items) -> None:
    """Let `n` more features, which have texts and hashes, be found; their texts end at `n_bytes`."""
    first = i64(v.size[FEATURES])
    v.size[FEATURES] = u64(first + n)
    v.size[BYTES] = u64(n_bytes)
    if n > 0:
        put_slots(v, order, first, first + n, ZERO, items)
        for r in range(len(v.loads)):
            v.size[FULLEST] = max(v.size[FULLEST], u64(v.loads[r]))
