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
    offsets = docs.offsets
    end = u64(offsets[hi])
    i = u64(offsets[lo])
    d = lo
    n_hard = i64(0)
    # Through all documents at once: each ends where a character does.
    while True:
        i = next_suspect(docs.data, i, end, recipe)
        if i >= end:
            return n_hard
        while u64(offsets[d + 1]) <= i:
            d += 1
        i = u64(offsets[d + 1])
        if is_hard(docs.data, i64(offsets[d]), i64(i), recipe, codes):
            hard[d] = 1
            n_hard += 1


def next_suspect(data: Sequence[int], i: int, end: int, recipe: Recipe) -> int:
    """From `i` on, the place of the first character that may make a text hard; `end` where there is none."""
    n_data = u64(len(data))
    lowers = recipe.params[KIND] == WORDS
    while i < end:
        if i + READS <= n_data:
            found = u64(0)
            if lowers:
                found = lowering64(data, i)
            elif wide64(data, i) != ZERO:
                found = doubtful64(data, i)
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
            if (code == SIGMA or code == DOTTED) if lowers else may_be_hard(code, after - i, recipe.nfkc):
                return i
            i = after
    return end


def may_be_hard(code: int, n_bytes: int, t: unicode.NfkcTable) -> bool:
    """Whether a character joins those before it, or becomes more characters than it has bytes."""
    entry = u64(t.codes[code])
    kind = entry >> KIND_SHIFT
    return kind > CLOSED or (kind != ZERO and u64(t.expansions[entry & PAYLOAD]) > n_bytes)


def is_hard(data: Sequence[int], lo: int, hi: int, recipe: Recipe, codes: MutableSequence[int]) -> bool:
    """Whether the loops give up a text that has a suspect."""
    if recipe.params[KIND] == WORDS:
        return True
    return hi - lo + SLACK <= len(codes) and fold_nfkc(data, lo, hi, codes, recipe.nfkc) < 0
