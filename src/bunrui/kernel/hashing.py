"""Bytes of a feature → a key of two words and a 64-bit hash.

    up to 16 bytes   the key is the bytes, padded with 0xFF, which UTF-8 does not contain: equal key, equal feature
    longer           the key is (hash, 0xFF | length << 8): equal keys are not enough, the bytes must be compared

Eight bytes go into one multiply.  Tables are indexed by the high bits of the hash.
"""

from __future__ import annotations

from collections.abc import Sequence

from bunrui.kernel.primitives import M64, U64, ZERO, inline, load64, popcount

K1 = U64(0x9E37_79B9_7F4A_7C15)
K2 = U64(0xD6E8_FEB8_6659_FD93)
K3 = U64(0xA076_1D64_78BD_642F)
S1 = U64(1)
S2 = U64(2)
S3 = U64(3)
S4 = U64(4)
S7 = U64(7)
S8 = U64(8)
S16 = U64(16)
S29 = U64(29)
S32 = U64(32)
BYTE = U64(0xFF)
LOWEST = U64(0x0101_0101_0101_0101)  # the lowest bit of each byte


@inline
def mix(k: int) -> int:
    """Scramble 64 bits, one to one."""
    k = k ^ (k >> S32)
    k = (k * K1) & M64
    k = k ^ (k >> S29)
    k = (k * K2) & M64
    return k ^ (k >> S32)


@inline
def padding(n: int) -> int:
    """0xFF in all but the lowest `n` < 8 bytes of a word."""
    return (M64 << (n << S3)) & M64


@inline
def key_low(buffer: Sequence[int], start: int, n: int) -> int:
    """The first word of the key of `buffer[start : start + n]`, n <= 16."""
    # Selected, not branched on: word lengths are as good as random, and a branch on them costs more than the work.
    return load64(buffer, start) | (padding(n) if n < S8 else ZERO)


@inline
def key_high(buffer: Sequence[int], start: int, n: int) -> int:
    """The second word of the key, n <= 16."""
    rest = load64(buffer, start + S8) | (padding(n & S7) if n < S16 else ZERO)
    return rest if n > S8 else M64


@inline
def key_length(low: int, high: int) -> int:
    """The bytes of a text of up to 16 bytes, from its key: those that are not padding."""
    return popcount(not_padding(low)) + popcount(not_padding(high))


@inline
def not_padding(word: int) -> int:
    """A bit for each byte of a word that is not 0xFF."""
    x = ~word & M64
    x = x | (x >> S4)
    x = x | (x >> S2)
    return (x | (x >> S1)) & LOWEST


@inline
def hash_key(low: int, high: int) -> int:
    """The hash of a key of up to 16 bytes; only its high bits are good, and only they are used."""
    # A second multiply does not shorten the way to the slot (0.43 slots at a load of 0.47, Japanese n-grams).
    h = low ^ ((high * K3) & M64)
    return ((h ^ (h >> S32)) * K1) & M64


def hash_long(buffer: Sequence[int], start: int, n: int) -> int:
    """The hash of more than 16 bytes."""
    h = (n * K3) & M64
    end = start + (n & ~S7 & M64)
    while start < end:
        h = ((h ^ load64(buffer, start)) * K1) & M64
        h = h ^ (h >> S32)
        start = start + S8
    return mix(((h ^ (load64(buffer, start) | padding(n & S7))) * K1) & M64)


@inline
def equal_bytes(a: Sequence[int], i: int, b: Sequence[int], j: int, n: int) -> bool:
    """Whether `a[i : i + n]` equals `b[j : j + n]`; may read 8 bytes past the ends."""
    end = i + (n & ~S7 & M64)
    while i < end:
        if load64(a, i) != load64(b, j):
            return False
        i = i + S8
        j = j + S8
    return (load64(a, i) | padding(n & S7)) == (load64(b, j) | padding(n & S7))
