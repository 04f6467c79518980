"""A table made for reading: items in, places of their weights out, one line of the cache for each item.

A bucket is eight words, a line:

    low 0   low 1   low 2   high 0   high 1   high 2   places 0 and 1   place 2, and whether to go on

three keys (see ngrams.py), their places of 32 bits, and whether a feature that belongs here stands in the next bucket.
All keys are compared at once, without a branch.  Where half of the keys are taken, one lookup of twenty goes on to the
next bucket.  A table has any number of buckets: a hash is multiplied by it, and shifted.

The table is filled from the slots of a vocabulary, which have the order of hashes: each thread fills its own stretch.
Features that do not fit into it (those near its end) are put in later, by one thread.

A row is a key with its place: 4 * bucket + 0, 1 or 2.  A row with 3 there stands for a feature that the table lacks.
docs/decisions/021 has the numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bunrui.kernel.analyze import Scratch
from bunrui.kernel.library import run
from bunrui.kernel.ngrams import BYTE, K1, Items, equal_bytes, hash_of, is_long
from bunrui.kernel.primitives import M32, M64, ONE, THREE, TWO, U64, ZERO, ctz, equal4, i64, inline, prefetch, u64
from bunrui.kernel.signature import U8s, U32s, U64s, kernel, record
from bunrui.kernel.slices import each_slice, stretches
from bunrui.kernel.vocabulary import MISSING, NARROW, SHIFT, SLOT, Vocabulary

BUCKET = U64(8)  # words
KEYS = 3

_ROOMY = 2  # keys for each feature

# Slots for which a thread is worth while.
_WORTH_A_THREAD = 1 << 16

# Rows for which marks of all of them stay in the cache of a core.
_FEW_ROWS = 1 << 18

# The second word of the key of nothing: a long text of no bytes.
FREE = BYTE

FAR = U64(24)

# Places of 32 bits in a bucket
FIRST = U64(12)
ON = U64(15)


@record
class Index(NamedTuple):
    """The features that a model knows."""

    words: U64s  # (BUCKET * buckets)
    places: U32s  # the same memory
    starts: U32s  # (4 * buckets): where the text of a long feature begins, by row
    text: U8s  # of the vocabulary
    size: U64s  # (1): buckets


def new_index(v: Vocabulary, places: Any, n_known: int) -> Index:
    """The features of a vocabulary that have places (n_known of them), filled in on all threads."""
    n = 1 + n_known * _ROOMY // KEYS
    words = np.empty(BUCKET * (n + 1), np.uint64)
    skip = (-words.ctypes.data % 64) // 8
    words = words[skip : skip + BUCKET * n]
    index = Index(words, words.view(np.uint32), np.empty(4 * n, np.uint32), v.text, np.array([n], np.uint64))

    def fill(first: int, last: int) -> Any:
        rest = np.empty(last - first, np.uint32)
        return rest[: run(fill_stretch, v, places, index, first, last, rest)]

    rest = each_slice(fill, stretches(len(v.slots) // SLOT, _WORTH_A_THREAD))
    run(fill_rest, v, places, index, np.concatenate(rest))
    return index


def new_seen(index: Index, most: int, n_docs: int) -> Any:
    """Make room to find repeats in documents that have at most `most` items.

    It has the last document of each row, and of all; or, in a larger table, rows + 1 of a document (a power of two, at
    least twice its items).
    """
    n_rows = 4 * int(index.size[0])
    if most and n_rows <= min(_FEW_ROWS, n_docs << 8):
        return np.zeros(n_rows + 1, np.uint32)
    # Memory that no document needs is never touched, and costs nothing.
    size = 4 * min(most, n_rows)
    return np.empty(1 << (size - 1).bit_length() if size else 0, np.uint32)


@inline
def bucket_of(h: int, n: int) -> int:
    """The bucket of a hash among n."""
    return ((h >> 32) * n) >> 32


def find_rows(index: Index, scratch: Scratch, n_items: int) -> None:
    """Set `scratch.rows` to the rows of the items; `scratch.longs` lists those that are longer than a key."""
    items = scratch.items
    n = index.size[0]
    n_long = u64(0)
    for k in range(n_items):
        prefetch(index.words, bucket_of(items.hashes[k + FAR], n) << 3)
        low = items.low[k]
        high = items.high[k]
        s = bucket_of(items.hashes[k], n) << 3
        same = keys_at(index.words, s, low, high)
        while same == ZERO and index.places[(s << 1) + ON] != 0:
            s = next_bucket(index.words, s)
            same = keys_at(index.words, s, low, high)
        scratch.rows[k] = (s >> 1) | ctz(same | u64(8))
        # Long texts are compared in a loop of their own: here they would double the time of all others.
        scratch.longs[n_long] = k
        n_long = n_long + u64(is_long(high))
    check_long(index, items, scratch.units.text, scratch.rows, scratch.longs, n_long)


@inline
def check_long(index: Index, items: Items, text: U8s, rows: U32s, longs: U32s, n_long: int) -> None:
    """Compare the text of items that have the key of a longer text; look for others with this key if it differs."""
    last = n_long - ONE
    for i in range(n_long):
        prefetch(index.starts, u64(rows[u64(longs[min(i + u64(8), last)])]))
        prefetch(index.text, u64(index.starts[u64(rows[u64(longs[min(i + u64(4), last)])])]))
        k = u64(longs[i])
        row = u64(rows[k])
        if (row & THREE) != THREE and not is_text(index, row, items, k, text):
            rows[k] = find_long(index, items, k, text)


@inline
def is_text(index: Index, row: int, items: Items, k: int, text: U8s) -> bool:
    """Tell whether a row has the text of item k, which is as long."""
    return equal_bytes(index.text, u64(index.starts[row]), text, u64(items.starts[k]), u64(items.lengths[k]))


def find_long(index: Index, items: Items, k: int, text: U8s) -> int:
    """The row of item k, which is longer than a key."""
    s = bucket_of(items.hashes[k], index.size[0]) << 3
    while True:
        same = keys_at(index.words, s, items.low[k], items.high[k])
        while same != ZERO:
            row = (s >> 1) | ctz(same)
            if is_text(index, row, items, k, text):
                return row
            same = same & (same - ONE)
        if index.places[(s << 1) + ON] == 0:
            return (s >> 1) | THREE
        s = next_bucket(index.words, s)


@inline
def keys_at(words: U64s, s: int, low: int, high: int) -> int:
    """Compare a key with the three of the bucket at `s`: a bit for each."""
    return equal4(words, s, low) & equal4(words, s + THREE, high) & u64(7)


@inline
def next_bucket(words: U64s, s: int) -> int:
    """Find the bucket after the one at `s`; the first follows the last."""
    return s + BUCKET if s + BUCKET < u64(len(words)) else ZERO


@inline
def place_at(places: U32s, row: int) -> int:
    """The place in a row; anything where the table lacks a feature."""
    return places[(row << 2) - (row & THREE) * THREE + FIRST]


@inline
def is_there(row: int) -> int:
    """1, or 0 for a feature that the table lacks."""
    return u64((row & THREE) != THREE)


def put_places(index: Index, rows: U32s, n_items: int, ids: U32s) -> None:
    """Put the places of all items, MISSING where the table lacks one."""
    for k in range(n_items):
        row = u64(rows[k])
        ids[k] = place_at(index.places, row) if is_there(row) != ZERO else M32


def put_known(index: Index, rows: U32s, n_items: int, ids: U32s) -> int:
    """Put the places of the items that the table has; return their number."""
    n_known = u64(0)
    for k in range(n_items):
        row = u64(rows[k])
        # Every place is written, and the next overwrites one that does not count: a branch would be mispredicted.
        ids[n_known] = place_at(index.places, row)
        n_known = n_known + is_there(row)
    return n_known


def put_new(
    index: Index, rows: U32s, n_items: int, ids: U32s, seen: U32s, most: int, is_first: bool
) -> tuple[int, int]:
    """Put the places of the items that are new in the document; return their number, and the number of unknown items.

    The rows of the document stand in a table of its own, which is as large as its items, `most` or fewer, need it: the
    table of a usual document fits the first-level cache.  The first block of items clears it.
    """
    if u64(len(seen)) == (index.size[0] << 2) + ONE:
        return put_stamped(index, rows, n_items, ids, seen, is_first)
    mask = u64(len(seen)) - ONE
    while mask >> 3 > most:
        mask = mask >> 1
    if is_first:
        for i in range(mask + ONE):
            seen[i] = 0
    n_new = u64(0)
    n_known = u64(0)
    for k in range(n_items):
        row = u64(rows[k])
        mine = row + ONE
        ids[n_new] = place_at(index.places, row)
        # Mixed: neighbouring rows, of a document with most of all features, would stand in each other's way.
        i = ((row * K1 & M64) >> 32) & mask
        mark = u64(seen[i])
        while (mark != mine) & (mark != ZERO):
            i = (i + ONE) & mask
            mark = u64(seen[i])
        seen[i] = mine
        n_known = n_known + is_there(row)
        n_new = n_new + (u64(mark != mine) & is_there(row))
    return n_new, n_items - n_known


def put_stamped(index: Index, rows: U32s, n_items: int, ids: U32s, seen: U32s, is_first: bool) -> tuple[int, int]:
    """Do the same with a stamp for every row, the last document that had it; the last stamp is the present document."""
    last = u64(len(seen)) - ONE
    stamp = u64(seen[last]) + u64(is_first)
    seen[last] = stamp
    n_new = u64(0)
    n_known = u64(0)
    for k in range(n_items):
        row = u64(rows[k])
        ids[n_new] = place_at(index.places, row)
        n_known = n_known + is_there(row)
        n_new = n_new + (u64(seen[row] != stamp) & is_there(row))
        seen[row] = stamp
    return n_new, n_items - n_known


@kernel
def fill_stretch(v: Vocabulary, places: U32s, index: Index, first: int, last: int, rest: U32s) -> int:
    """Put the features of the slots first … last - 1 into the table, those that fit into their stretch of it.

    The others, whose number is returned, go to `rest`, by slot.
    """
    n = index.size[0]
    shift = v.size[SHIFT]
    narrow = v.size[NARROW]
    n_slots = u64(len(v.slots)) >> 2
    lo = bucket_of(u64(first) << shift, n)
    hi = bucket_of(u64(last) << shift, n) if u64(last) < n_slots else n
    for b in range(lo, hi):
        s = b << 3
        for j in range(u64(KEYS)):
            index.words[s + THREE + j] = FREE
        index.words[s + u64(7)] = ZERO
    n_rest = i64(0)
    for at in range(u64(first), u64(last)):
        later = v.slots[(min(at + FAR, n_slots - ONE) << 2) + TWO] & M32
        prefetch(places, later - ONE if later != ZERO else ZERO)
        s = at << 2
        entry = v.slots[s + TWO] & M32
        if entry != ZERO and places[entry - ONE] != MISSING:
            b = bucket_of(hash_of(v.slots[s], v.slots[s + ONE], narrow), n)
            # A feature that went round its region may belong before this stretch, or behind it.
            if b < lo or b >= hi or put(v, places, index, s, b, hi) == hi:
                rest[n_rest] = at
                n_rest += 1
    return n_rest


@kernel
def fill_rest(v: Vocabulary, places: U32s, index: Index, rest: U32s) -> None:
    """Put the features of some slots into the table, wherever there is room."""
    n = index.size[0]
    for k in range(len(rest)):
        s = u64(rest[k]) << 2
        b = bucket_of(hash_of(v.slots[s], v.slots[s + ONE], v.size[NARROW]), n)
        if put(v, places, index, s, b, n) == n:
            put(v, places, index, s, ZERO, n)


@inline
def put(v: Vocabulary, places: U32s, index: Index, s: int, b: int, end: int) -> int:
    """Put the feature of slot `s` into the first bucket with room from `b` on; return that bucket, or `end`."""
    at = u64(0)
    j = u64(0)
    while b < end:
        at = b << 3
        j = ctz((equal4(index.words, at + THREE, FREE) & u64(7)) | u64(8))
        if j != THREE:
            break
        index.places[(at << 1) + ON] = 1
        b = b + ONE
    if b < end:
        f = (v.slots[s + TWO] & M32) - ONE
        high = v.slots[s + ONE]
        index.words[at + j] = v.slots[s]
        index.words[at + THREE + j] = high
        index.places[(at << 1) + FIRST + j] = places[f]
        if is_long(high):
            index.starts[(b << 2) | j] = v.starts[f]
    return b
