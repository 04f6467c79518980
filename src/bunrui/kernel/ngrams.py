"""Units (words or characters) → items: the n-grams that end at each unit, shorter ones first, with keys and hashes.

Units stand in one buffer of folded text such that every n-gram is one piece of it; so an item is a start and a length.

The bytes of an item become a key of two words and a 64-bit hash:

    up to 16 bytes   the key is the bytes, padded with 0xFF, which UTF-8 does not contain: equal key, equal feature
    longer           the key is (hash, 0xFF | length << 8): equal keys are not enough, the bytes must be compared

Eight bytes go into one multiply.  Tables are indexed by the high bits of the hash.

Where features are hashed, items become the buckets of another hash, which is stable: by number, or by names that stand
in the place of the features.  A name is "#" and seven hexadecimal digits: eight bytes, one word of a key.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

from bunrui.kernel.primitives import EIGHT, M64, ONE, SEVEN, TWO, U64, ZERO, copy16, i64, inline, load64, popcount, u64
from bunrui.kernel.signature import U8s, U32s, U64s, Unsigned, kernel, record

NIBBLE = U64(15)
MAX_ORDER = 15

K1 = U64(0x9E37_79B9_7F4A_7C15)
K2 = U64(0xD6E8_FEB8_6659_FD93)
K3 = U64(0xA076_1D64_78BD_642F)
BYTE = U64(0xFF)
LOWEST = U64(0x0101_0101_0101_0101)  # the lowest bit of each byte

AHEAD = U64(32)  # hashes behind the last item that may be read
HASH_BITS = 32
HASHES = 1 << HASH_BITS
MOST_BITS = 28  # that seven digits can tell apart
NAME = 8

# Of the stable hash; never to be changed
H0 = U64(0xA076_1D64_78BD_642F)
H1 = U64(0x9E37_79B9_7F4A_7C15)
H2 = U64(0xD6E8_FEB8_6659_FD93)

SIGN = 35  # "#"
ZERO_DIGIT = 48
TO_LETTERS = 39  # from ":", which follows "9", to "a"
PADDING = 64


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


# Keys and hashes


@inline
def mix(k: int) -> int:
    """Scramble 64 bits, one to one."""
    k = k ^ (k >> 32)
    k = (k * K1) & M64
    k = k ^ (k >> 29)
    k = (k * K2) & M64
    return k ^ (k >> 32)


@inline
def padding(n: int) -> int:
    """0xFF in all but the lowest `n` < 8 bytes of a word."""
    return (M64 << (n << 3)) & M64


@inline
def key_low(buffer: Sequence[int], start: int, n: int) -> int:
    """The first word of the key of `buffer[start : start + n]`, n <= 16."""
    # Selected, not branched on: word lengths are as good as random, and a branch on them costs more than the work.
    return load64(buffer, start) | (padding(n) if n < EIGHT else ZERO)


@inline
def key_high(buffer: Sequence[int], start: int, n: int) -> int:
    """The second word of the key, n <= 16."""
    rest = load64(buffer, start + EIGHT) | (padding(n & SEVEN) if n < u64(16) else ZERO)
    return rest if n > EIGHT else M64


@inline
def key_length(low: int, high: int) -> int:
    """The bytes of a text of up to 16 bytes, from its key: those that are not padding."""
    return popcount(not_padding(low)) + popcount(not_padding(high))


@inline
def not_padding(word: int) -> int:
    """A bit for each byte of a word that is not 0xFF."""
    x = ~word & M64
    x = x | (x >> 4)
    x = x | (x >> 2)
    return (x | (x >> 1)) & LOWEST


@inline
def hash_key(low: int, high: int) -> int:
    """The hash of a key of up to 16 bytes; only its high bits are good, and only they are used."""
    # A second multiply does not shorten the way to the slot (0.43 slots at a load of 0.47, Japanese n-grams).
    h = low ^ ((high * K3) & M64)
    return ((h ^ (h >> 32)) * K1) & M64


@inline
def hash_of(low: int, high: int, narrow: int) -> int:
    """The hash of the feature with a key."""
    return low if is_long(high) else hash_key(low, high) & narrow


@inline
def is_long(high: int) -> bool:
    """Tell whether a key stands for a text that does not fit into it: its second word begins with 0xFF, but goes on."""
    return ((high & BYTE) == BYTE) & (high != M64)


def hash_long(buffer: Sequence[int], start: int, n: int) -> int:
    """The hash of more than 16 bytes."""
    h = (n * K3) & M64
    end = start + (n & ~SEVEN & M64)
    while start < end:
        h = ((h ^ load64(buffer, start)) * K1) & M64
        h = h ^ (h >> 32)
        start = start + EIGHT
    return mix(((h ^ (load64(buffer, start) | padding(n & SEVEN))) * K1) & M64)


@inline
def equal_bytes(a: Sequence[int], i: int, b: Sequence[int], j: int, n: int) -> bool:
    """Tell whether `a[i : i + n]` equals `b[j : j + n]`; may read 8 bytes past the ends."""
    end = i + (n & ~SEVEN & M64)
    while i < end:
        if load64(a, i) != load64(b, j):
            return False
        i = i + EIGHT
        j = j + EIGHT
    return (load64(a, i) | padding(n & SEVEN)) == (load64(b, j) | padding(n & SEVEN))


@inline
def copy_text(text: U8s, start: int, n: int, out: U8s, at: int) -> None:
    """Copy `text[start : start + n]`, and up to 16 bytes that follow it, to `out[at:]`."""
    copy16(text, start, out, at)
    j = u64(16)
    while j < n:
        copy16(text, start + j, out, at + j)
        j = j + u64(16)


@kernel
def put_items(text: U8s, items: Items, n_items: Unsigned, narrow: Unsigned) -> int:
    """Set the keys and hashes of items whose places are known; return the bytes of all of them."""
    total = u64(0)
    for k in range(n_items):
        start = u64(items.starts[k])
        n = u64(items.lengths[k])
        total = total + n
        if n <= u64(16):
            low = key_low(text, start, n)
            high = key_high(text, start, n)
            h = hash_key(low, high) & narrow
        else:
            h = hash_long(text, start, n) & narrow
            low = h
            high = BYTE | (n << 8)
        items.hashes[k] = h
        items.low[k] = low
        items.high[k] = high
    return total


def unigrams(units: Units, first: int, n_units: int, items: Items) -> tuple[int, int]:
    """Let the units from `first` on be items, as many as there is room for; return their number and the next unit."""
    n = min(n_units - first, u64(len(items.starts)))
    b = first << 1
    for k in range(n):
        start = u64(units.borders[b])
        items.starts[k] = start
        items.lengths[k] = u64(units.borders[b + ONE]) - start
        b = b + TWO
    return n, first + n


def ngrams(units: Units, first: int, n_units: int, items: Items) -> tuple[int, int]:
    """Let the n-grams that end at the units from `first` on be items; return their number and the next unit."""
    room = u64(len(items.starts)) - NIBBLE
    k = u64(0)
    i = first
    while i < n_units and k < room:
        end = u64(units.borders[(i << 1) + ONE])
        orders = u64(units.orders[i])
        order = orders >> 4
        longest = orders & NIBBLE
        while order <= longest:
            start = u64(units.borders[(i + ONE - order) << 1])
            items.starts[k] = start
            items.lengths[k] = end - start
            k = k + ONE
            order = order + ONE
        i = i + ONE
    return k, i


# Buckets


def hash_columns(text: Sequence[int], items: Items, n_items: int, width: int) -> None:
    """Set ids[k] to the stable hash of item k modulo `width`.

    Matrices and models are stored with these columns, so this hash is on its own and never changes.  The hash of the
    vocabulary is free to become faster (and is good in its high bits only).
    """
    ids = items.ids
    for k in range(n_items):
        at = u64(items.starts[k])
        n = u64(items.lengths[k])
        h = (n * H0) & M64
        end = at + (n & ~SEVEN & M64)
        while at < end:
            h = ((h ^ load64(text, at)) * H1) & M64
            h = h ^ (h >> 32)
            at = at + EIGHT
        # The bytes that are left, padded with 0xFF, which UTF-8 does not contain.
        last = load64(text, at) | ((M64 << ((n & SEVEN) << 3)) & M64)
        h = ((h ^ last) * H1) & M64
        h = ((h ^ (h >> 32)) * H2) & M64
        ids[k] = (h ^ (h >> 32)) % u64(width)


def name_buckets(text: MutableSequence[int], items: Items, n_items: int, bits: int) -> None:
    """Let items be the names of their buckets, which are written to the end of the text.

    The bucket of an item is the high bits of its hash.  The text has room behind the units for as many names as there
    is room for items.
    """
    hash_columns(text, items, n_items, HASHES)
    ids = items.ids
    at = i64(len(text)) - PADDING - NAME * i64(len(items.starts))
    for k in range(n_items):
        bucket = i64(ids[k]) >> (HASH_BITS - bits)
        text[at] = SIGN
        for place in range(1, NAME):
            digit = (bucket >> (4 * (NAME - 1 - place))) & 15
            text[at + place] = ZERO_DIGIT + digit + (TO_LETTERS if digit > 9 else 0)
        items.starts[k] = at
        items.lengths[k] = NAME
        at += NAME
