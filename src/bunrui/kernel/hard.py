"""Which documents the loops cannot fold: `normal.py` folds them, before anybody walks through them.

    WORDS       lower case: a text with Σ, whose form depends on what stands around it, or with İ
    UNIVERSAL   NFKC: a text of which `fold_nfkc` says so, because its marks are many and out of order

Few texts are, and most have no character that could make them so.  That is seen from neighbouring bytes, 64 at a time;
where one is in doubt, the table tells; and only a text with a mark, or with a character that becomes more than it has
bytes, is folded to see.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

from bunrui.kernel import unicode
from bunrui.kernel.analyze import KIND, WORDS, Documents, Recipe
from bunrui.kernel.fold import SLACK, decode, fold_nfkc
from bunrui.kernel.primitives import ONE, U64, ZERO, ctz, doubtful64, i64, lowering64, u64, wide64
from bunrui.kernel.signature import U8s, U32s, kernel

S64 = U64(64)
READS = U64(66)  # bytes, to look at 64
LEAD = U64(0xC0)
SIGMA = U64(ord("Σ"))
DOTTED = U64(ord("İ"))
KIND_SHIFT = U64(unicode.KIND_SHIFT)
PAYLOAD = U64(unicode.PAYLOAD_MASK)
CLOSED = U64(unicode.CLOSED)


@kernel
def find_hard(docs: Documents, lo: int, hi: int, recipe: Recipe, codes: U32s, hard: U8s) -> int:
    """Set `hard` for those of the documents lo … hi - 1 that the loops cannot fold; how many.

    `codes` is room to fold a document.  One that is too long for it is left out.
    """
    # Two loops: where the masks of both met, they were made one bit after the other (words: 29 → 2 GB/s).
    if recipe.params[KIND] == WORDS:
        return find_lowering(docs, lo, hi, hard)
    return find_joining(docs, lo, hi, recipe.nfkc, codes, hard)


# Both go through all documents at once: each ends where a character does.


def find_lowering(docs: Documents, lo: int, hi: int, hard: MutableSequence[int]) -> int:
    offsets = docs.offsets
    end = u64(offsets[hi])
    i = u64(offsets[lo])
    d = lo
    n_hard = i64(0)
    while True:
        i = next_lowering(docs.data, i, end)
        if i >= end:
            return n_hard
        while u64(offsets[d + 1]) <= i:
            d += 1
        i = u64(offsets[d + 1])
        hard[d] = 1
        n_hard += 1


def next_lowering(data: Sequence[int], i: int, end: int) -> int:
    """From `i` on, the place of the first Σ or İ; `end` or more where there is none."""
    n_data = u64(len(data))
    while i < end and i + READS <= n_data:
        found = lowering64(data, i)
        if found != ZERO:
            return i + ctz(found)
        i = i + S64
    while i < end:
        if u64(data[i]) >= LEAD:
            code, _ = decode(data, i, end)
            if code == SIGMA or code == DOTTED:
                return i
        i = i + ONE
    return end


def find_joining(
    docs: Documents, lo: int, hi: int, t: unicode.NfkcTable, codes: MutableSequence[int], hard: MutableSequence[int]
) -> int:
    offsets = docs.offsets
    end = u64(offsets[hi])
    i = u64(offsets[lo])
    d = lo
    n_hard = i64(0)
    while True:
        i = next_joining(docs.data, i, end, t)
        if i >= end:
            return n_hard
        while u64(offsets[d + 1]) <= i:
            d += 1
        start = i64(offsets[d])
        i = u64(offsets[d + 1])
        if i64(i) - start + SLACK <= len(codes) and fold_nfkc(docs.data, start, i64(i), codes, t) < 0:
            hard[d] = 1
            n_hard += 1


def next_joining(data: Sequence[int], i: int, end: int, t: unicode.NfkcTable) -> int:
    """From `i` on, the place of the first character that may make a text hard; `end` where there is none."""
    n_data = u64(len(data))
    while i < end:
        if i + READS <= n_data:
            found = doubtful64(data, i) if wide64(data, i) != ZERO else ZERO
            if found == ZERO:
                i = i + S64
                continue
            i = i + ctz(found)
        elif u64(data[i]) < LEAD:
            i = i + ONE
            continue
        # Where one character is in doubt, so is the next (Greek, say): until ASCII comes the table tells.
        while i < end and u64(data[i]) >= LEAD:
            code, after = decode(data, i, end)
            if may_be_hard(code, after - i, t):
                return i
            i = after
    return end


def may_be_hard(code: int, n_bytes: int, t: unicode.NfkcTable) -> bool:
    """Whether a character joins those before it, or becomes more characters than it has bytes."""
    entry = u64(t.codes[code])
    kind = entry >> KIND_SHIFT
    return kind > CLOSED or (kind != ZERO and u64(t.expansions[entry & PAYLOAD]) > n_bytes)
