r"""Text → words as `\w+` finds them in the lower-case text, in three passes that hardly branch.

1. Fold: 64 ASCII bytes at a time, word characters to lower case, all others to 0; the rest goes through a table.
2. Split: a bit mask of the non-zero bytes, words between its borders found by counting zeros.
3. (Only for n-grams) close the gaps, so that a run of words is one piece of text: "new york".
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

from bunrui.kernel.primitives import M64, ONE, U64, ZERO, ctz, fold_words64, i64, inline, nonzero64, popcount, u64

TWO = U64(2)
THREE = U64(3)
S8 = U64(8)
S63 = U64(63)
S64 = U64(64)


def fold_words(src: Sequence[int], lo: int, hi: int, out: MutableSequence[int], lower: Sequence[int]) -> int:
    """Fold `src[lo:hi]` into `out`; the number of bytes written.

    `lower[c]` is the folded code point, 0 for a separator.  `out` holds 2 * (hi - lo) + 128 bytes (a
    lower-case form has at most 3 bytes where the character had 2).
    """
    i = lo
    o = i64(0)
    last = len(src) - 64
    while i < hi:
        if i <= last:
            wide = fold_words64(src, i, out, o)
            if wide == ZERO:
                i += 64
                o += 64
                continue
            skip = i64(ctz(wide))
            i += skip
            o += skip
        else:
            while i < hi and src[i] < 0x80:
                out[o] = lower[src[i]]
                i += 1
                o += 1
        while i < hi and src[i] >= 0x80:
            c = i64(src[i])
            if c < 0xE0:
                point = ((c & 0x1F) << 6) | (i64(src[i + 1]) & 0x3F)
                i += 2
            elif c < 0xF0:
                point = ((c & 0x0F) << 12) | ((i64(src[i + 1]) & 0x3F) << 6) | (i64(src[i + 2]) & 0x3F)
                i += 3
            else:
                point = (
                    ((c & 0x07) << 18)
                    | ((i64(src[i + 1]) & 0x3F) << 12)
                    | ((i64(src[i + 2]) & 0x3F) << 6)
                    | (i64(src[i + 3]) & 0x3F)
                )
                i += 4
            o = put(out, o, i64(lower[point]))
    # The last chunk may have read on into the next document (or all of the rest of it, in wide characters).
    if i > hi:
        o -= i - hi
    for k in range(64):
        out[o + k] = 0
    return o


@inline
def put(out: MutableSequence[int], o: int, point: int) -> int:
    """Write a code point as UTF-8; the place after it."""
    # Unsigned: an index that might be negative is tested by numba, each time.
    at = u64(o)
    if point < 0x80:
        out[at] = point
        return o + 1
    if point < 0x800:
        out[at] = 0xC0 | (point >> 6)
        out[at + ONE] = 0x80 | (point & 0x3F)
        return o + 2
    if point < 0x10000:
        out[at] = 0xE0 | (point >> 12)
        out[at + ONE] = 0x80 | ((point >> 6) & 0x3F)
        out[at + TWO] = 0x80 | (point & 0x3F)
        return o + 3
    out[at] = 0xF0 | (point >> 18)
    out[at + ONE] = 0x80 | ((point >> 12) & 0x3F)
    out[at + TWO] = 0x80 | ((point >> 6) & 0x3F)
    out[at + THREE] = 0x80 | (point & 0x3F)
    return o + 4


def split_words(buf: Sequence[int], n: int, borders: MutableSequence[int]) -> int:
    """Find the runs of non-zero bytes of `buf[:n]`; `borders` gets start, end, start, end …; the number of runs.

    `borders` has room for 8 more than it gets.
    """
    b = u64(0)
    carry = u64(0)
    i = u64(0)
    end = u64(n)
    while i <= end:
        mask = nonzero64(buf, i)
        edges = mask ^ (((mask << ONE) & M64) | carry)
        carry = mask >> S63
        found = popcount(edges)
        # Eight at a time, whether there are so many or not: a loop that ends at the last one is mispredicted each time.
        k = u64(0)
        while k < found:
            for j in range(8):
                borders[b + k + u64(j)] = i + ctz(edges)
                edges = edges & (edges - ONE) if edges != ZERO else edges
            k = k + S8
        b = b + found
        i = i + S64
    return i64(b >> ONE)


def close_gaps(buf: MutableSequence[int], borders: MutableSequence[int], n_words: int) -> None:
    """Move words to the left until one space stands between neighbours."""
    o = i64(0)
    for w in range(n_words):
        start = i64(borders[2 * w])
        n = i64(borders[2 * w + 1]) - start
        for k in range(n):
            buf[o + k] = buf[start + k]
        borders[2 * w] = o
        borders[2 * w + 1] = o + n
        buf[o + n] = 32
        o += n + 1
