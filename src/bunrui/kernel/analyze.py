"""A document → its items, by the analyzer that the recipe names: every kernel that reads text takes this one walk.

    bytes ─► fold ─► units ─► n-grams = items ─► keys and hashes ─► ids
                units_of   items_of            keys_of           ids_of

A document has any number of items, and there is room for a block of them.  So a kernel reads document d like this:

    n_units = units_of(walk, d)
    unit = u64(0)
    while unit < n_units:
        n_items, first, unit = ids_of(walk, v, d, unit, n_units)
        ...

The items are in `walk.scratch.items`; item k counts `walk.docs.counts[first + k]` times, if counts are given.

`find_hard` finds the documents that the loops cannot fold; `normal.py` folds them first.

    WORDS       lower case: a text with İ, or with Σ, whose form depends on the letters around it
    UNIVERSAL   NFKC: a text that `fold_nfkc` calls hard, because its marks are many and out of order

Few texts are hard, and most have no character that could make them so.  Neighbouring bytes show this, 64 at a time; the
table decides about a character in doubt; and only a text with a mark, or with a character that becomes more characters
than it has bytes, is folded to find out.
"""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.fold import SLACK, close_gaps, copy_codepoints, decode, fold_nfkc, fold_words, split_words
from bunrui.kernel.ngrams import Items, Units, hash_columns, name_buckets, ngrams, put_items, unigrams
from bunrui.kernel.primitives import ONE, U64, ZERO, ctz, doubtful64, i64, inline, lowering64, u64, wide64
from bunrui.kernel.signature import I64s, Read, U8s, U32s, kernel, record
from bunrui.kernel.unicode import CLOSED, KIND_SHIFT, PAYLOAD_MASK, NfkcTable
from bunrui.kernel.universal import Characters, Scanner, is_ascii, is_stop, scan, scan_ascii
from bunrui.kernel.vocabulary import NARROW, Vocabulary, probe

# Kinds of recipe
WORDS = 0
UNIVERSAL = 1
GIVEN = 2  # features made elsewhere: a document is a list of strings

# Places in `Recipe.params`
KIND = 0
ORDER = 1  # longest n-gram of words (WORDS)
BUCKETS = 2  # bits of the hash whose buckets are the features; 0 where features are not hashed

READS = U64(66)  # bytes that are read to look at 64
LEAD, SIGMA, DOTTED = map(U64, (0xC0, ord("Σ"), ord("İ")))
PAYLOAD, LAST_ALONE = U64(PAYLOAD_MASK), U64(CLOSED)


@record
class Recipe(NamedTuple):
    """An analyzer as the kernels read it."""

    params: I64s  # (3)
    lower: U32s  # (0x110000): for WORDS
    nfkc: NfkcTable
    chars: Characters
    stop: Vocabulary


@record
class Documents(NamedTuple):
    """UTF-8 text: document d is data[offsets[d] : offsets[d + 1]].

    Where `folded` is set, Python has folded the text (see `find_hard`), and the loops must not do it again.

    For the recipe GIVEN, `lists` groups these strings: document d is the strings lists[d] … lists[d + 1] - 1, and
    string s counts counts[s] times (once where `counts` is empty).
    """

    data: Read[U8s]
    offsets: I64s
    lists: I64s
    counts: I64s
    folded: U8s  # (documents), or empty where none is


@record
class Scratch(NamedTuple):
    """Room for one document."""

    codes: U32s
    units: Units
    items: Items
    rows: U32s  # (items): for kernels that look items up
    longs: U32s  # (items)


@record
class Walk(NamedTuple):
    """Documents, the recipe for reading them, and room for one of them."""

    docs: Documents
    recipe: Recipe
    scratch: Scratch


@inline
def units_of(walk: Walk, d: int) -> int:
    """Fill `scratch.units` from a document; return the number of units (u64)."""
    docs, recipe, scratch = walk
    units = scratch.units
    if recipe.params[KIND] == GIVEN:
        return u64(copy_strings(docs, d, units))
    lo = i64(docs.offsets[d])
    hi = i64(docs.offsets[d + 1])
    if recipe.params[KIND] == WORDS:
        # Python has folded some texts: they are in lower case, and stay as they are.
        n = fold_words(docs.data, lo, hi, units.text, recipe.lower)
        n_units = split_words(units.text, n, units.borders)
        order = i64(recipe.params[ORDER])
        if len(recipe.stop.hashes) > 0:
            n_units = drop_stop(recipe.stop, units, n_units, scratch.items)
        if order > 1:
            close_gaps(units.text, units.borders, n_units)
            for u in range(n_units):
                units.orders[u] = 16 | min(u + 1, order)
        return u64(n_units)
    scanner = Scanner(recipe.chars, recipe.stop, units, scratch.items)
    if is_ascii(docs.data, lo, hi):
        return u64(scan_ascii(docs.data, lo, hi, scanner))
    if len(docs.folded) > 0 and docs.folded[d] != 0:
        n = copy_codepoints(docs.data, lo, hi, scratch.codes)
    else:
        n = fold_nfkc(docs.data, lo, hi, scratch.codes, recipe.nfkc)
    return u64(scan(scratch.codes, n, scanner))


def copy_strings(docs: Documents, d: int, units: Units) -> int:
    first = i64(docs.lists[d])
    last = i64(docs.lists[d + 1])
    base = i64(docs.offsets[first])
    for k in range(base, i64(docs.offsets[last])):
        units.text[k - base] = docs.data[k]
    for s in range(first, last):
        units.borders[2 * (s - first)] = docs.offsets[s] - base
        units.borders[2 * (s - first) + 1] = docs.offsets[s + 1] - base
        units.orders[s - first] = 17
    return last - first


def drop_stop(stop: Vocabulary, units: Units, n_units: int, items: Items) -> int:
    kept = i64(0)
    for u in range(n_units):
        start = i64(units.borders[2 * u])
        end = i64(units.borders[2 * u + 1])
        if not is_stop(stop, units.text, start, end, items):
            units.borders[2 * kept] = start
            units.borders[2 * kept + 1] = end
            kept += 1
    return kept


@inline
def items_of(walk: Walk, d: int, unit: int, n_units: int) -> tuple[int, int, int]:
    """Find the items that end at the units from `unit` on, as many as there is room for.

    Returns their number, the place of the first in `docs.counts`, and the unit to go on with (`n_units` at the end).
    """
    docs, recipe, scratch = walk
    units = scratch.units
    items = scratch.items
    if recipe.params[KIND] == WORDS and recipe.params[ORDER] == 1:
        n_items, after = unigrams(units, unit, n_units, items)
    else:
        n_items, after = ngrams(units, unit, n_units, items)
    if recipe.params[BUCKETS] != 0:
        name_buckets(units.text, items, i64(n_items), i64(recipe.params[BUCKETS]))
    first = i64(docs.lists[d]) + i64(unit) if len(docs.counts) > 0 else i64(0)
    return n_items, first, after


@inline
def keys_of(walk: Walk, v: Vocabulary, d: int, unit: int, n_units: int) -> tuple[int, int, int, int]:
    """Find items, and set their keys and hashes as a vocabulary has them; the bytes of all items come last."""
    n_items, first, after = items_of(walk, d, unit, n_units)
    n_bytes = put_items(walk.scratch.units.text, walk.scratch.items, n_items, v.size[NARROW])
    return n_items, first, after, n_bytes


@inline
def ids_of(walk: Walk, v: Vocabulary, d: int, unit: int, n_units: int) -> tuple[int, int, int]:
    """Find items, and set their ids: MISSING where the vocabulary lacks a feature."""
    n_items, first, after, _ = keys_of(walk, v, d, unit, n_units)
    probe(v, walk.scratch.items, n_items, walk.scratch.units.text, 0)
    return n_items, first, after


@inline
def columns_of(walk: Walk, width: int, d: int, unit: int, n_units: int) -> tuple[int, int, int]:
    """Find items, and set their stable hashes modulo `width` as ids."""
    n_items, first, after = items_of(walk, d, unit, n_units)
    hash_columns(walk.scratch.units.text, walk.scratch.items, i64(n_items), width)
    return n_items, first, after


# Hard documents


@kernel
def find_hard(docs: Documents, lo: int, hi: int, recipe: Recipe, codes: U32s, hard: U8s) -> int:
    """Set `hard` for those of the documents lo … hi - 1 that the loops cannot fold; return their number.

    `codes` is room to fold a document.  One that is too long for it is left out.
    """
    # A loop for each: in one loop for both, the masks were made one bit after the other (words: 29 → 2 GB/s).
    if recipe.params[KIND] == WORDS:
        return mark_hard(docs, lo, hi, recipe.nfkc, codes, hard, True)
    return mark_hard(docs, lo, hi, recipe.nfkc, codes, hard, False)


@inline
def mark_hard(docs: Documents, lo: int, hi: int, t: NfkcTable, codes: U32s, hard: U8s, lowers: bool) -> int:
    """Go through all documents at once: each ends where a character does."""
    end = u64(docs.offsets[hi])
    i = u64(docs.offsets[lo])
    d = lo
    n_hard = i64(0)
    while True:
        i = next_lowering(docs.data, i, end) if lowers else next_joining(docs.data, i, end, t)
        if i >= end:
            return n_hard
        while u64(docs.offsets[d + 1]) <= i:
            d += 1
        start = i64(docs.offsets[d])
        i = u64(docs.offsets[d + 1])
        has_room = i64(i) - start + SLACK <= len(codes)
        if lowers or (has_room and fold_nfkc(docs.data, start, i64(i), codes, t) < 0):
            hard[d] = 1
            n_hard += 1


def next_lowering(data: U8s, i: int, end: int) -> int:
    """Find the first Σ or İ from `i` on; return its place, or `end` or more if there is none."""
    n_data = u64(len(data))
    while i < end and i + READS <= n_data:
        found = lowering64(data, i)
        if found != ZERO:
            return i + ctz(found)
        i = i + u64(64)
    while i < end:
        if u64(data[i]) >= LEAD:
            code, _ = decode(data, i, end)
            if code == SIGMA or code == DOTTED:
                return i
        i = i + ONE
    return end


def next_joining(data: U8s, i: int, end: int, t: NfkcTable) -> int:
    """Find the first character from `i` on that may make a text hard; return its place, or `end`."""
    n_data = u64(len(data))
    while i < end:
        if i + READS <= n_data:
            found = doubtful64(data, i) if wide64(data, i) != ZERO else ZERO
            if found == ZERO:
                i = i + u64(64)
                continue
            i = i + ctz(found)
        elif u64(data[i]) < LEAD:
            i = i + ONE
            continue
        # After a doubtful character, others follow (in Greek, say): the table decides about all up to the next ASCII.
        while i < end and u64(data[i]) >= LEAD:
            code, after = decode(data, i, end)
            if may_be_hard(code, after - i, t):
                return i
            i = after
    return end


def may_be_hard(code: int, n_bytes: int, t: NfkcTable) -> bool:
    """Tell whether a character joins those before it, or becomes more characters than it has bytes."""
    entry = u64(t.codes[code])
    kind = entry >> KIND_SHIFT
    return kind > LAST_ALONE or (kind != ZERO and u64(t.expansions[entry & PAYLOAD]) > n_bytes)
