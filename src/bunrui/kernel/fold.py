r"""UTF-8 → folded code points, or words, at the speed of the decoder.

    fold_nfkc         unicodedata.normalize("NFKC", s).casefold()
    copy_codepoints   s as it is

Both read `src[lo:hi]` (uint8), never a byte beyond, write uint32 code points to `out` and return their number, or

    HARD_TEXT (-1)    the text needs more context than the loop keeps: use `normal.py`, which is exact for everything
    BAD_UTF8  (-2)    the bytes are not valid UTF-8 (overlong forms, surrogates, beyond U+10FFFF, cut short)

`out` has at least `hi - lo + SLACK` elements.  A few characters expand to more code points than they have bytes (½ to
three, ﷺ to eighteen); whatever would pass the bound is HARD_TEXT.

The effect of a mark depends on the characters before it.  This state (`seam`, `base`, `last`) is touched only where a
code point is special; a plain one costs one look into the table and one comparison.

**Words**, as `\w+` finds them in the lower-case text, take three passes that hardly branch:

1. Fold: 64 ASCII bytes at a time, word characters to lower case, all others to 0; the rest goes through a table.
2. Split: a bit mask of the non-zero bytes, words between its borders found by counting zeros.
3. (Only for n-grams) close the gaps, so that a run of words is one piece of text: "new york".
"""

from __future__ import annotations

from bunrui.kernel.primitives import M64, U64, ctz, fold_words64, i64, inline, load64, nonzero64, popcount, u64
from bunrui.kernel.signature import U8s, U32s
from bunrui.kernel.unicode import CLOSED, HARD, JOINING, KIND_SHIFT, ORDER_SHIFT, PAYLOAD_MASK, SEQUENCE, NfkcTable

HARD_TEXT = -1
BAD_UTF8 = -2
SLACK = 64

_0, _1, _2, _3, _4, _8, _64 = map(U64, (0, 1, 2, 3, 4, 8, 64))
_0F, _1F, _3F, _7F, _80, _C2, _E0, _F0, _FF = map(U64, (0x0F, 0x1F, 0x3F, 0x7F, 0x80, 0xC2, 0xE0, 0xF0, 0xFF))
_800, _FC0, _10000, _BEYOND, _SURROGATES = map(U64, (0x800, 0xFC0, 0x10000, 0x110000, 0xD800 >> 11))

# Lead byte and two continuations, in the low bytes of a little-endian word.
_THREE_MASK, _THREE_BYTES = U64(0xC0C0F0), U64(0x8080E0)
_HIGH_BITS = U64(0x8080_8080_8080_8080)
_FROM_A = U64((0x80 - ord("A")) * 0x0101_0101_0101_0101)
_BEYOND_Z = U64((0x7F - ord("Z")) * 0x0101_0101_0101_0101)

_CLOSED, _JOINING, _SEQUENCE, _HARD = map(U64, (CLOSED, JOINING, SEQUENCE, HARD))
_PAYLOAD, _SPECIAL = U64(PAYLOAD_MASK), U64(1 << KIND_SHIFT)

# A value of `last` beyond every combining class: nothing that joins may follow.
_SEALED = U64(256)

_L_FIRST, _L_END = U64(0x1100), U64(0x1113)
_V_FIRST, _V_END, _V_COUNT = U64(0x1161), U64(0x1176), U64(21)
_T_FIRST, _T_END, _T_STEP = U64(0x11A8), U64(0x11C3), U64(28)
_S_FIRST, _S_END = U64(0xAC00), U64(0xD7A4)


def decode(src: U8s, i: int, end: int) -> tuple[int, int]:
    """Decode the code point at `i`; return it and the place of the next, or U+110000 if the bytes are none."""
    a = u64(src[i])
    if a >= _E0:
        if a < _F0:
            if end - i > _2:
                b, c = u64(src[i + _1]) ^ _80, u64(src[i + _2]) ^ _80
                code = (a & _0F) << 12 | b << 6 | c
                if (b | c) <= _3F and code >= _800 and code >> 11 != _SURROGATES:
                    return code, i + _3
        elif end - i > _3:
            b, c, d = u64(src[i + _1]) ^ _80, u64(src[i + _2]) ^ _80, u64(src[i + _3]) ^ _80
            code = (a & _0F) << 18 | b << 12 | c << 6 | d
            if (b | c | d) <= _3F and code >= _10000 and code < _BEYOND:
                return code, i + _4
    elif a < _80:
        return a, i + _1
    elif a >= _C2 and end - i > _1:
        b = u64(src[i + _1]) ^ _80
        if b <= _3F:
            return (a & _1F) << 6 | b, i + _2
    return _BEYOND, i + _1


def three_bytes(word: int) -> int:
    """The code point of a word that begins with three bytes of UTF-8."""
    return (word & _0F) << 12 | word >> 2 & _FC0 | word >> 16 & _3F


def lower_ascii(word: int) -> int:
    """Eight ASCII characters in one word, capitals to small letters."""
    # The sums set the high bit of a byte from "A" on, and of a byte beyond "Z".
    capital = ((word + _FROM_A) ^ (word + _BEYOND_Z)) & _HIGH_BITS
    return word | capital >> 2


def spread(word: int, out: U32s, n: int) -> None:
    """The eight bytes of `word` as eight elements of `out`."""
    for k in range(u64(8)):
        out[n + k] = word >> (k << 3) & _FF


def compose(base: int, mark: int, t: NfkcTable) -> int:
    """Find the entry of two folded code points that become another; M64 if they stay."""
    if mark >= _V_FIRST and mark < _T_END:
        if mark < _V_END and base >= _L_FIRST and base < _L_END:
            return _S_FIRST + ((base - _L_FIRST) * _V_COUNT + mark - _V_FIRST) * _T_STEP
        if mark >= _T_FIRST and base >= _S_FIRST and base < _S_END and (base - _S_FIRST) % _T_STEP == _0:
            return base + mark - _T_FIRST + _1
        return M64
    key = base << ORDER_SHIFT | mark
    low, high = u64(0), u64(len(t.pair_keys))
    while low < high:
        middle = (low + high) >> 1
        if u64(t.pair_keys[middle]) < key:
            low = middle + _1
        else:
            high = middle
    if low < u64(len(t.pair_keys)) and u64(t.pair_keys[low]) == key:
        return u64(t.pair_values[low])
    return M64


def expand(entry: int, expansions: U32s, out: U32s, n: int, room: int) -> int:
    """Write an expansion to `out` from `n` on; return the new length, or M64 if it passes `room`."""
    place = entry & _PAYLOAD
    size = u64(expansions[place])
    if n + size > room:
        return M64
    for k in range(i64(size)):
        out[n + u64(k)] = expansions[place + _1 + u64(k)]
    return n + size


def join(entry: int, out: U32s, n: int, base: int, last: int, room: int, t: NfkcTable) -> tuple[int, int, int]:
    """Add a code point that may act on those before it; return the new (n, base, last), with n = M64 if it is too hard.

    base   place in `out` of the character that marks act on, M64 where there is none
    last   combining class of the last mark between that and the end, 0 where there is none, or _SEALED
    """
    kind, order, code = entry >> KIND_SHIFT, entry >> ORDER_SHIFT & _FF, entry & _PAYLOAD
    if last == _SEALED:
        return M64, base, last
    if kind == _SEQUENCE:
        if n != _0:
            return M64, base, last
        return expand(entry, t.expansions, out, n, room), base, _SEALED
    moves = order != _0 and order < last
    # A mark of the same class in between blocks composition; a starter is blocked by any mark.
    if kind == _JOINING and base != M64 and (last == _0 or (order != _0 and order != last)):
        found = compose(u64(out[base]), code, t)
        if found < _SPECIAL and not moves:
            out[base] = found
            return n, base, last
        if found != M64:
            if moves or last != _0 or found >> KIND_SHIFT == _HARD:
                return M64, base, last
            return expand(found, t.expansions, out, base, room), base, _SEALED
    if order == _0:
        out[n] = code
        return n + _1, n, _0
    if moves:
        # Two marks in the wrong order are usual in vocalised Arabic and Hebrew, three are not.
        if base == M64 or n - base != _2:
            return M64, base, last
        out[n] = out[n - _1]
        out[n - _1] = code
        return n + _1, base, last
    out[n] = code
    return n + _1, base, order


def fold_nfkc(src: U8s, lo: int, hi: int, out: U32s, t: NfkcTable) -> int:
    """NFKC and case folding of `src[lo:hi]`; `t` is `unicode.nfkc_table()`."""
    start, end = u64(lo), u64(hi)
    i, n = start, u64(0)
    # `base` and `last` hold for a code point that starts at `seam`; elsewhere a plain one stands before it.
    seam, base, last = start, u64(M64), u64(0)
    while i < end:
        if i + _8 <= end:
            word = load64(src, i)
            if word & _THREE_MASK == _THREE_BYTES:
                code = three_bytes(word)
                entry = u64(t.codes[code])
                if entry < _SPECIAL and code >= _800 and code >> 11 != _SURROGATES:
                    out[n] = entry
                    n += _1
                    i += _3
                    continue
            elif word & _HIGH_BITS == _0:
                spread(lower_ascii(word), out, n)
                n += _8
                i += _8
                continue
            elif word & _80 == _0:
                out[n] = t.codes[word & _7F]
                n += _1
                i += _1
                continue
        code, next_i = decode(src, i, end)
        if code == _BEYOND:
            return i64(BAD_UTF8)
        entry = u64(t.codes[code])
        if entry < _SPECIAL:
            out[n] = entry
            n += _1
        else:
            room = next_i - start + u64(SLACK)
            kind = entry >> KIND_SHIFT
            if kind <= _CLOSED:
                n = expand(entry, t.expansions, out, n, room)
                if kind == _CLOSED:
                    seam, last = next_i, _SEALED
            else:
                if seam != i:
                    base, last = n - _1, _0
                n, base, last = join(entry, out, n, base, last, room, t)
                seam = next_i
            if n == M64:
                return i64(HARD_TEXT)
        i = next_i
    return i64(n)


def copy_codepoints(src: U8s, lo: int, hi: int, out: U32s) -> int:
    """The code points of `src[lo:hi]`."""
    # Only texts that Python has folded come here, and they are few: no fast path.
    i, end, n = u64(lo), u64(hi), u64(0)
    while i < end:
        code, i = decode(src, i, end)
        if code == _BEYOND:
            return i64(BAD_UTF8)
        out[n] = code
        n += _1
    return i64(n)


# Words


def fold_words(src: U8s, lo: int, hi: int, out: U8s, lower: U32s) -> int:
    """Fold `src[lo:hi]` into `out`; return the number of bytes written.

    `lower[c]` is the folded code point, 0 for a separator.  `out` holds 2 * (hi - lo) + 128 bytes (a
    lower-case form has at most 3 bytes where the character had 2).
    """
    i = lo
    o = i64(0)
    last = len(src) - 64
    while i < hi:
        if i <= last:
            wide = fold_words64(src, i, out, o)
            if wide == _0:
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
            # The text is valid: `decode`, which checks it, took 13 % more time for all of learning Korean words.
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
def put(out: U8s, o: int, point: int) -> int:
    """Write a code point as UTF-8; return the place after it."""
    # Unsigned: an index that might be negative is tested by numba, each time.
    at = u64(o)
    if point < 0x80:
        out[at] = point
        return o + 1
    if point < 0x800:
        out[at] = 0xC0 | (point >> 6)
        out[at + _1] = 0x80 | (point & 0x3F)
        return o + 2
    if point < 0x10000:
        out[at] = 0xE0 | (point >> 12)
        out[at + _1] = 0x80 | ((point >> 6) & 0x3F)
        out[at + _2] = 0x80 | (point & 0x3F)
        return o + 3
    out[at] = 0xF0 | (point >> 18)
    out[at + _1] = 0x80 | ((point >> 12) & 0x3F)
    out[at + _2] = 0x80 | ((point >> 6) & 0x3F)
    out[at + _3] = 0x80 | (point & 0x3F)
    return o + 4


def split_words(buf: U8s, n: int, borders: U32s) -> int:
    """Find the runs of non-zero bytes of `buf[:n]`: `borders` gets start, end, start, end …; return their number.

    `borders` has room for 8 more than it gets.
    """
    b = u64(0)
    carry = u64(0)
    i = u64(0)
    end = u64(n)
    while i <= end:
        mask = nonzero64(buf, i)
        edges = mask ^ (((mask << 1) & M64) | carry)
        carry = mask >> 63
        found = popcount(edges)
        # Always eight at a time: a loop that ends at the last one is mispredicted each time.
        k = u64(0)
        while k < found:
            for j in range(8):
                borders[b + k + u64(j)] = i + ctz(edges)
                edges = edges & (edges - _1) if edges != _0 else edges
            k = k + _8
        b = b + found
        i = i + _64
    return i64(b >> 1)


def close_gaps(buf: U8s, borders: U32s, n_words: int) -> None:
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
