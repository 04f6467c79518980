"""Units (words or characters) → items: the n-grams that end at each unit, shorter ones first, with keys and hashes.

Units stand in one buffer of folded text such that every n-gram is one piece of it; so an item is a start and a length.
"""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.hashing import BYTE, S8, S16, hash_key, hash_long, key_high, key_low
from bunrui.kernel.primitives import ONE, U64, u64
from bunrui.kernel.signature import U8s, U32s, U64s, Unsigned, kernel, record

TWO = U64(2)
S4 = U64(4)
NIBBLE = U64(15)
MAX_ORDER = 15


@record
class Items(NamedTuple):
    """Features of a document in the order of its text: hash, key, place in the folded text, id."""

    hashes: U64s
    low: U64s
    high: U64s
    starts: U32s
    lengths: U32s
    ids: U32s


@record
class Units(NamedTuple):
    """The words and characters of a document.

    `borders` has start, end, start, end … in `text`.  `orders` has for each unit the longest n-gram that ends there
    and, 16 times, the shortest.
    """

    text: U8s  # padded
    borders: U32s
    orders: U8s


@kernel
def put_items(text: U8s, items: Items, n_items: Unsigned, narrow: Unsigned) -> int:
    """Keys and hashes of items whose places are known; the bytes of all of them."""
    starts = items.starts
    lengths = items.lengths
    hashes = items.hashes
    lows = items.low
    highs = items.high
    total = u64(0)
    k = u64(0)
    while k < n_items:
        start = u64(starts[k])
        n = u64(lengths[k])
        total = total + n
        if n <= S16:
            low = key_low(text, start, n)
            high = key_high(text, start, n)
            h = hash_key(low, high) & narrow
        else:
            h = hash_long(text, start, n) & narrow
            low = h
            high = BYTE | (n << S8)
        hashes[k] = h
        lows[k] = low
        highs[k] = high
        k = k + ONE
    return total


def unigrams(units: Units, first: int, n_units: int, items: Items) -> tuple[int, int]:
    """Places of the units from `first` on; how many, at most the room of `items`, and the unit to go on with."""
    borders = units.borders
    starts = items.starts
    lengths = items.lengths
    n = min(n_units - first, u64(len(starts)))
    b = first << ONE
    k = u64(0)
    while k < n:
        start = u64(borders[b])
        starts[k] = start
        lengths[k] = u64(borders[b + ONE]) - start
        b = b + TWO
        k = k + ONE
    return n, first + n


def ngrams(units: Units, first: int, n_units: int, items: Items) -> tuple[int, int]:
    """Places of the n-grams that end at the units from `first` on; how many, and the unit to go on with."""
    borders = units.borders
    all_orders = units.orders
    starts = items.starts
    lengths = items.lengths
    room = u64(len(starts)) - NIBBLE
    k = u64(0)
    i = first
    while i < n_units and k < room:
        end = u64(borders[(i << ONE) + ONE])
        orders = u64(all_orders[i])
        order = orders >> S4
        longest = orders & NIBBLE
        while order <= longest:
            start = u64(borders[(i + ONE - order) << ONE])
            starts[k] = start
            lengths[k] = end - start
            k = k + ONE
            order = order + ONE
        i = i + ONE
    return k, i
