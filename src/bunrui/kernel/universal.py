"""Folded code points → units of any script: words, marks, emoticons, emoji, and characters where no spaces are written.

The units are written to one text in which a single space stands between neighbours.  In scripts with spaces a unit is a
word, a punctuation mark, an emoticon or an emoji sequence, and n-grams are runs of them.  In scripts without (Kana and
Han; Hangul, whose words carry their endings with them; Thai, Lao, Khmer, Myanmar) a unit is a character, n-grams are
runs of characters, and the space at either edge is a character too.  `reference.py` says the same in plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bunrui.kernel import unicode
from bunrui.kernel.fold import put
from bunrui.kernel.ngrams import Items, Units, put_items
from bunrui.kernel.primitives import M64, ONE, ZERO, copy16, ctz, fold_ascii64, i64, inline, printable64, u64, wide64
from bunrui.kernel.signature import I32s, I64s, U8s, U32s, record
from bunrui.kernel.vocabulary import MISSING, NARROW, Vocabulary, probe

SPACE = unicode.SPACE
WORD = unicode.WORD
MARK = unicode.MARK
KANA_HAN = unicode.KANA_HAN
HANGUL = unicode.HANGUL
UNSPACED = unicode.UNSPACED
PUNCT = unicode.PUNCT
EMOJI = unicode.EMOJI
REGIONAL = unicode.REGIONAL
MODIFIER = unicode.MODIFIER
ZWJ = unicode.ZWJ
VS16 = unicode.VS16
KEYCAP = unicode.KEYCAP

LONGEST_EMOTICON = 16

# Places in `Characters.orders`
WORD_ORDER = 0
PUNCTUATION = 1
ACROSS = 2
FIRST_SCRIPT = 3  # shortest and longest for KANA_HAN, HANGUL, UNSPACED


@record
class Characters(NamedTuple):
    """Classes of characters, emoticons, and n-gram orders."""

    classes: U8s  # (0x110000)
    emoticon_index: I32s  # (129): emoticons that begin with an ASCII character stand at [index[c], index[c + 1])
    emoticon_starts: I32s  # places in emoticon_codes, longest first among those with the same first character
    emoticon_codes: U32s
    orders: I64s  # (9)


class Scanner(NamedTuple):
    """The tables of the scanner, and room for the units; `items` is scratch."""

    chars: Characters
    stop: Vocabulary  # words to leave out
    units: Units
    items: Items


def scan(codes: Sequence[int], n: int, scanner: Scanner) -> int:
    """Write the units of `codes[:n]`; return their number.

    `units.text` holds 5 * n + 64 bytes, `units.orders` 3 * n + 8 units.
    """
    units = scanner.units
    units.text[0] = 32
    o = i64(1)
    u = i64(0)
    chain = i64(0)
    i = i64(0)
    while i < n:
        kind = i64(scanner.chars.classes[codes[i]])
        if kind == SPACE or kind == ZWJ or kind == VS16 or kind == KEYCAP:
            i += 1
            continue
        if is_digit(codes[i]):
            j = digits_end(codes, n, i)
            if j < n and KANA_HAN <= scanner.chars.classes[codes[j]] <= UNSPACED:
                kind = i64(scanner.chars.classes[codes[j]])
        if KANA_HAN <= kind <= UNSPACED:
            i, o, u = scan_unspaced(codes, n, i, kind, scanner.chars, units, o, u)
            chain = 0
            continue
        start = o
        if kind == WORD or kind == MARK:
            i, o = scan_word(codes, n, i, scanner.chars.classes, units.text, o)
            if o == start:  # the digit of a keycap, which is an emoji
                i, o = scan_keycap(codes, i, scanner.chars.classes, units.text, o)
        elif kind == PUNCT:
            if not is_keycap(codes, n, i, scanner.chars.classes):
                o, u, chain, i = scan_mark(codes, n, i, scanner, o, u, chain)
                continue
            i, o = scan_keycap(codes, i, scanner.chars.classes, units.text, o)
        else:
            i, o = scan_emoji(codes, n, i, scanner.chars.classes, units.text, o)
        o, u, chain = put_unit(scanner, start, o, u, chain)
    return u


def is_ascii(data: U8s, lo: int, hi: int) -> bool:
    """Tell whether `data[lo:hi]` is ASCII, and has at least 64 bytes behind it in `data`."""
    if hi + 64 > len(data):
        return False
    i = lo
    while i + 64 <= hi:
        if wide64(data, i) != ZERO:
            return False
        i += 64
    return i == hi or (wide64(data, i) << (u64(64 - (hi - i)))) & M64 == ZERO


def scan_ascii(data: U8s, lo: int, hi: int, scanner: Scanner) -> int:
    """Write the units of `data[lo:hi]`, which is ASCII, as `scan` finds them in the folded text; return their number.

    It reads 64 bytes at a time: one mask has the letters and digits, another the marks, and a word lies between two
    edges of the first.  `scan` goes from character to character.
    """
    n = hi - lo
    # The text in lower case lies behind all that can be written: four bytes for each of it.
    low = 4 * n + 192
    scanner.units.text[0] = 32
    o = i64(1)
    u = i64(0)
    chain = i64(0)
    start = i64(0)
    behind = low  # where the last emoticon ends
    carry = u64(0)
    i = i64(0)
    while i <= n:
        words = fold_ascii64(data, lo + i, scanner.units.text, low + i)
        marks = printable64(data, lo + i) & ~words
        if n - i < 64:
            inside = (ONE << u64(n - i)) - ONE
            words = words & inside
            marks = marks & inside
        edges = words ^ (((words << 1) & M64) | carry)
        carry = words >> 63
        found = edges | marks
        while found != ZERO:
            bit = found & (~found + ONE) & M64
            at = low + i + i64(ctz(found))
            found = found ^ bit
            if edges & bit != ZERO:
                if words & bit != ZERO:
                    start = at
                    continue
                if start >= behind:
                    o, u, chain = put_unit(scanner, o, put_word(scanner.units.text, start, at, o), u, chain)
            if marks & bit != ZERO and at >= behind:
                # An emoticon may go on in the next block, which is not folded yet.
                if i + 64 < n and at + LONGEST_EMOTICON >= low + i + 64:
                    fold_ascii64(data, lo + i + 64, scanner.units.text, low + i + 64)
                o, u, chain, behind = scan_mark(scanner.units.text, low + n, at, scanner, o, u, chain)
        i += 64
    return u


@inline
def put_word(text: U8s, start: int, end: int, o: int) -> int:
    """Copy text[start:end], and perhaps more, to `o`, which is before it; return the place after it."""
    copy16(text, start, text, o)
    k = i64(16)
    while start + k < end:
        copy16(text, start + k, text, o + k)
        k += 16
    return o + (end - start)


def scan_mark(
    codes: Sequence[int], n: int, i: int, scanner: Scanner, o: int, u: int, chain: int
) -> tuple[int, int, int, int]:
    """Write the units of the mark at `i`, or of the emoticon that begins with it.

    Returns the new `o`, `u` and `chain`, and the place to go on with.
    """
    size = emoticon_size(codes, n, i, scanner.chars)
    n_marks = max(size, i64(1))
    # Its marks one by one, then all of it: a few tokens in a short text may be all the evidence there is.
    first = i64(0) if scanner.chars.orders[PUNCTUATION] != 0 else n_marks
    for k in range(first, size + 1 if size > 0 else 1):
        end = o
        for j in range(k if k < n_marks else i64(0), k + 1 if k < n_marks else size):
            end = put(scanner.units.text, end, i64(codes[i + j]))
        o, u, chain = put_unit(scanner, o, end, u, chain)
    return o, u, chain, i + n_marks


@inline
def put_unit(scanner: Scanner, start: int, end: int, u: int, chain: int) -> tuple[int, int, int]:
    """Let start … end - 1 be unit `u`, the next of its chain, with a space after it, unless it is a stop word.

    Returns the place to go on with, and the new `u` and `chain`.
    """
    if len(scanner.stop.hashes) > 0 and is_stop(scanner.stop, scanner.units.text, start, end, scanner.items):
        return start, u, chain
    put_orders(scanner.units, u, start, end, 1, min(chain + 1, i64(scanner.chars.orders[WORD_ORDER])))
    scanner.units.text[end] = 32
    return end + 1, u + 1, chain + 1


@inline
def is_digit(code: int) -> bool:
    return 48 <= code <= 57


def digits_end(codes: Sequence[int], n: int, i: int) -> int:
    """Find the end of the digits that begin at `i`."""
    while i < n and is_digit(codes[i]):
        i += 1
    return i


def scan_word(codes: U32s, n: int, i: int, classes: U8s, text: U8s, o: int) -> tuple[int, int]:
    """Write a run of letters, digits and marks; leave a last digit that is part of a keycap."""
    while i < n:
        c = i64(codes[u64(i)])
        kind = i64(classes[u64(c)])
        if kind != WORD and kind != MARK:
            if (kind == VS16 or kind == KEYCAP) and is_keycap(codes, n, i - 1, classes):
                return i - 1, o - 1
            break
        o = put(text, o, c)
        i += 1
    return i, o


def is_keycap(codes: Sequence[int], n: int, i: int, classes: U8s) -> bool:
    """Tell whether a keycap sequence begins at `i`: [0-9#*], perhaps a variation selector, and the key."""
    c = i64(codes[i])
    if not (48 <= c <= 57 or c == 35 or c == 42):
        return False
    j = i + 1
    if j < n and classes[codes[j]] == VS16:
        j += 1
    return j < n and classes[codes[j]] == KEYCAP


def scan_keycap(codes: U32s, i: int, classes: U8s, text: U8s, o: int) -> tuple[int, int]:
    o = put(text, o, i64(codes[i]))
    i += 1
    if classes[codes[i]] == VS16:
        i += 1
    return i + 1, put(text, o, i64(codes[i]))


def scan_emoji(codes: U32s, n: int, i: int, classes: U8s, text: U8s, o: int) -> tuple[int, int]:
    """Write a flag, or a picture with its skin tone and all pictures joined to it; drop variation selectors."""
    kind = i64(classes[codes[i]])
    o = put(text, o, i64(codes[i]))
    i += 1
    if kind == REGIONAL:
        if i < n and classes[codes[i]] == REGIONAL:
            o = put(text, o, i64(codes[i]))
            i += 1
        return i, o
    while i < n:
        kind = i64(classes[codes[i]])
        if kind == MODIFIER:
            o = put(text, o, i64(codes[i]))
        elif kind == ZWJ and i + 1 < n and classes[codes[i + 1]] == EMOJI:
            o = put(text, o, i64(codes[i]))
            i += 1
            o = put(text, o, i64(codes[i]))
        elif kind != VS16:
            break
        i += 1
    return i, o


def emoticon_size(codes: Sequence[int], n: int, i: int, chars: Characters) -> int:
    """Find the length of the longest emoticon at `i`, or 0.

    One that ends in a letter or digit does not run into a word (":dog"), one that ends in a slash not into "//".
    """
    c = i64(codes[i])
    if c >= 128:
        return 0
    for e in range(i64(chars.emoticon_index[c]), i64(chars.emoticon_index[c + 1])):
        start = i64(chars.emoticon_starts[e])
        size = i64(chars.emoticon_starts[e + 1]) - start
        if i + size > n:
            continue
        k = i64(1)
        while k < size and codes[i + k] == chars.emoticon_codes[start + k]:
            k += 1
        if k < size:
            continue
        if i + size < n:
            last = i64(codes[i + size - 1])
            after = i64(codes[i + size])
            kind = i64(chars.classes[after])
            if chars.classes[last] == WORD and (kind == WORD or kind == MARK):
                continue
            if last == 47 and after == 47:
                continue
        return size
    return 0


def is_stop(stop: Vocabulary, text: U8s, start: int, end: int, items: Items) -> bool:
    items.starts[0] = start
    items.lengths[0] = end - start
    put_items(text, items, ONE, stop.size[NARROW])
    probe(stop, items, ONE, text, 0)
    return items.ids[0] != MISSING


def scan_unspaced(
    codes: Sequence[int], n: int, i: int, script: int, chars: Characters, units: Units, o: int, u: int
) -> tuple[int, int, int]:
    """Write a run of one script without spaces, a unit for each character and for the space at either edge.

    Digits belong to the run (10점, 2011年) unless a word goes on after them (3D).  With `ACROSS` the run goes on over
    punctuation and (single) spaces.
    """
    shortest = i64(chars.orders[FIRST_SCRIPT + 2 * (script - KANA_HAN)])
    longest = i64(chars.orders[FIRST_SCRIPT + 2 * (script - KANA_HAN) + 1])
    across = chars.orders[ACROSS] != 0
    at_edge = max(shortest, 2)
    put_orders(units, u, o - 1, o, at_edge, 1)
    u += 1
    order = i64(2)
    in_space = False
    digits = i64(0)
    while i < n:
        kind = i64(chars.classes[codes[i]])
        while kind == script:
            start = o
            o = put(units.text, o, i64(codes[u64(i)]))
            put_orders(units, u, start, o, shortest, min(order, longest))
            in_space = False
            u += 1
            order += 1
            i += 1
            if i == n:
                kind = SPACE
            elif not is_common(i64(codes[u64(i)]), script):
                kind = i64(chars.classes[codes[u64(i)]])
        if i == n:
            break
        if i >= digits and is_digit(codes[i]):
            digits = digits_end(codes, n, i)
            after = i64(chars.classes[codes[digits]]) if digits < n else SPACE
            if after == WORD or after == MARK or after == VS16 or after == KEYCAP:
                break
        start = o
        if kind == MARK or i < digits or (across and kind == PUNCT):
            o = put(units.text, o, i64(codes[i]))
            put_orders(units, u, start, o, shortest, min(order, longest))
            in_space = False
        elif across and kind == SPACE:
            if in_space:
                i += 1
                continue
            units.text[o] = 32
            o += 1
            put_orders(units, u, start, o, at_edge, min(order, longest))
            in_space = True
        else:
            break
        u += 1
        order += 1
        i += 1
    if not in_space:
        units.text[o] = 32
        put_orders(units, u, o, o + 1, at_edge, min(order, longest))
        o += 1
        u += 1
    return i, o, u


@inline
def is_common(c: int, script: int) -> bool:
    """Tell whether a character is one of the usual ones of a script; the table of classes knows the others."""
    if script == HANGUL:
        return 0xAC00 <= c <= 0xD7A3
    return script == KANA_HAN and (0x4E00 <= c <= 0x9FFF or 0x3041 <= c <= 0x3096 or 0x30A1 <= c <= 0x30FA)


@inline
def put_orders(units: Units, u: int, start: int, end: int, shortest: int, longest: int) -> None:
    at = u64(u)
    units.borders[at << 1] = start
    units.borders[(at << 1) + ONE] = end
    units.orders[at] = (shortest << 4) | longest
