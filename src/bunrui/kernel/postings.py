"""The sparse table of counts: for each feature the classes it occurs in, ascending, with occurrences and documents.

A list that outgrows its room moves to the end of the cells and leaves a hole; whoever owns the arrays closes the holes
(`close_holes`) when they take too much.  Adding and subtracting touch only the features of what is added or subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bunrui.kernel.ngrams import Items, put_items
from bunrui.kernel.primitives import i64, inline, prefetch, u64
from bunrui.kernel.signature import I32s, I64s, kernel, record
from bunrui.kernel.vocabulary import FEATURES, MISSING, NARROW, Vocabulary, has_room, probe

BLOCK = 512

# Places in `Postings.size`
USED = 0  # cells, holes included
LIVE = 1  # features with a document
HOLES = 2
SIZES = 3

DONE = -1
GROW_FEATURES = 1
GROW_CELLS = 2


@record
class Postings(NamedTuple):
    """Cells by feature, and the totals over distinct documents."""

    starts: I64s  # (room of the vocabulary)
    lengths: I32s
    rooms: I32s
    term_total: I64s
    doc_total: I64s
    classes: I32s  # (room for cells)
    terms: I64s
    docs: I64s
    size: I64s  # (SIZES)


def block_items(ov: Vocabulary, first: int, items: Items, narrow: int) -> tuple[int, int]:
    """Items for the features of a vocabulary from `first` on; how many, and their bytes."""
    n = min(i64(ov.size[FEATURES]) - first, BLOCK)
    for k in range(n):
        start = ov.starts[first + k]
        items.starts[k] = start
        items.lengths[k] = ov.starts[first + k + 1] - start
    return n, i64(put_items(ov.text, items, u64(n), narrow))


@kernel
def absorb(
    v: Vocabulary, p: Postings, ov: Vocabulary, op: Postings, class_map: I64s, first: int, items: Items
) -> tuple[int, int]:
    """Add the counts (ov, op) to (v, p); class c there is class_map[c] here, and the map is ascending.

    Returns (DONE, _), or what must grow and the feature to go on with.
    """
    n_features = i64(ov.size[FEATURES])
    while first < n_features:
        n, n_bytes = block_items(ov, first, items, v.size[NARROW])
        if not has_room(v, u64(n), u64(n_bytes)):
            return GROW_FEATURES, first
        known = i64(v.size[FEATURES])
        probe(v, items, u64(n), ov.text, 1)
        for f in range(known, i64(v.size[FEATURES])):
            p.starts[f] = p.size[USED]
            p.lengths[f] = 0
            p.rooms[f] = 0
            p.term_total[f] = 0
            p.doc_total[f] = 0
        for k in range(n):
            o = first + k
            if op.doc_total[o] == 0:
                continue
            f = i64(items.ids[k])
            prefetch_list(p, i64(items.ids[min(k + 8, n - 1)]), i64(items.ids[min(k + 4, n - 1)]))
            if not absorb_list(p, f, op, o, class_map):
                return GROW_CELLS, o
            if p.doc_total[f] == 0:
                p.size[LIVE] += 1
            p.term_total[f] += op.term_total[o]
            p.doc_total[f] += op.doc_total[o]
        first += n
    return DONE, first


@inline
def prefetch_list(p: Postings, later: int, soon: int) -> None:
    """The lists lie anywhere in memory: ask for all of one feature, then for the cells of an earlier one."""
    prefetch(p.starts, later)
    prefetch(p.lengths, later)
    prefetch(p.rooms, later)
    prefetch(p.term_total, later)
    prefetch(p.doc_total, later)
    at = i64(p.starts[soon])
    prefetch(p.classes, at)
    prefetch(p.terms, at)
    prefetch(p.docs, at)


def absorb_list(p: Postings, f: int, op: Postings, o: int, class_map: Sequence[int]) -> bool:
    """Merge one list into another from the back; False when the cells must grow."""
    a = i64(p.starts[f])
    n = i64(p.lengths[f])
    b = i64(op.starts[o])
    m = i64(op.lengths[o])
    new = i64(0)
    i = i64(0)
    for j in range(b, b + m):
        c = class_map[op.classes[j]]
        while i < n and p.classes[a + i] < c:
            i += 1
        if i == n or p.classes[a + i] != c:
            new += 1
    if new == 0:
        i = a
        for j in range(b, b + m):
            c = class_map[op.classes[j]]
            while p.classes[i] < c:
                i += 1
            p.terms[i] += op.terms[j]
            p.docs[i] += op.docs[j]
        return True
    total = n + new
    if total > p.rooms[f]:
        # The first list of a feature gets exactly its room: most features stay rare.
        room = total if n == 0 else total + (total >> 1) + 1
        at = i64(p.size[USED])
        if at + room > len(p.classes):
            return False
        for k in range(n):
            p.classes[at + k] = p.classes[a + k]
            p.terms[at + k] = p.terms[a + k]
            p.docs[at + k] = p.docs[a + k]
        p.size[USED] = at + room
        p.size[HOLES] += p.rooms[f]
        p.starts[f] = at
        p.rooms[f] = room
        a = at
    p.lengths[f] = total
    i = a + n - 1
    j = b + m - 1
    k = a + total - 1
    while j >= b:
        c = class_map[op.classes[j]]
        if i >= a and p.classes[i] > c:
            p.classes[k] = p.classes[i]
            p.terms[k] = p.terms[i]
            p.docs[k] = p.docs[i]
            i -= 1
        else:
            terms = op.terms[j]
            docs = op.docs[j]
            if i >= a and p.classes[i] == c:
                terms += p.terms[i]
                docs += p.docs[i]
                i -= 1
            p.classes[k] = c
            p.terms[k] = terms
            p.docs[k] = docs
            j -= 1
        k -= 1
    return True


@kernel
def close_holes(p: Postings, order: I64s) -> None:
    """Move the lists together where they lie; `order` are all features, by where their lists start."""
    at = i64(0)
    for k in range(len(order)):
        f = i64(order[k])
        a = i64(p.starts[f])
        n = i64(p.lengths[f])
        room = max(i64(p.rooms[f]), n)
        if a > at:
            for j in range(n):
                p.classes[at + j] = p.classes[a + j]
                p.terms[at + j] = p.terms[a + j]
                p.docs[at + j] = p.docs[a + j]
        p.starts[f] = at
        p.rooms[f] = room
        at += room
    p.size[USED] = at
    p.size[HOLES] = 0


@kernel
def find_lacking(v: Vocabulary, p: Postings, ov: Vocabulary, op: Postings, class_map: I64s, items: Items) -> int:
    """The first feature of (ov, op) that (v, p) does not have as often, or -1: then it can be subtracted."""
    n_features = i64(ov.size[FEATURES])
    first = i64(0)
    while first < n_features:
        n, _ = block_items(ov, first, items, v.size[NARROW])
        probe(v, items, u64(n), ov.text, 0)
        for k in range(n):
            o = first + k
            if op.doc_total[o] == 0:
                continue
            f = i64(items.ids[k])
            if f == MISSING or not covers(p, f, op, o, class_map):
                return o
        first += n
    return -1


def covers(p: Postings, f: int, op: Postings, o: int, class_map: Sequence[int]) -> bool:
    """Whether what would stay of feature `f` could have been learned."""
    terms = i64(p.term_total[f]) - i64(op.term_total[o])
    docs = i64(p.doc_total[f]) - i64(op.doc_total[o])
    if not could_be(terms, docs):
        return False
    all_terms = i64(0)
    all_docs = i64(0)
    j = i64(op.starts[o])
    end = j + i64(op.lengths[o])
    a = i64(p.starts[f])
    for i in range(a, a + i64(p.lengths[f])):
        cell_terms = i64(p.terms[i])
        cell_docs = i64(p.docs[i])
        if j < end and p.classes[i] == class_map[op.classes[j]]:
            cell_terms -= i64(op.terms[j])
            cell_docs -= i64(op.docs[j])
            j += 1
        if not could_be(cell_terms, cell_docs) or cell_terms > terms or cell_docs > docs:
            return False
        all_terms += cell_terms
        all_docs += cell_docs
    return j == end and terms <= all_terms and docs <= all_docs


def could_be(terms: int, docs: int) -> bool:
    """Whether a feature can occur so often in so many documents."""
    return 0 <= docs <= terms and (docs > 0 or terms == 0)


@kernel
def subtract(v: Vocabulary, p: Postings, ov: Vocabulary, op: Postings, class_map: I64s, items: Items) -> None:
    """Take the counts (ov, op), which (v, p) has, away; cells that reach zero go."""
    n_features = i64(ov.size[FEATURES])
    first = i64(0)
    while first < n_features:
        n, _ = block_items(ov, first, items, v.size[NARROW])
        probe(v, items, u64(n), ov.text, 0)
        for k in range(n):
            o = first + k
            if op.doc_total[o] == 0:
                continue
            f = i64(items.ids[k])
            subtract_list(p, f, op, o, class_map)
            p.term_total[f] -= op.term_total[o]
            p.doc_total[f] -= op.doc_total[o]
            if p.doc_total[f] == 0:
                p.size[LIVE] -= 1
        first += n


def subtract_list(p: Postings, f: int, op: Postings, o: int, class_map: Sequence[int]) -> None:
    a = i64(p.starts[f])
    n = i64(p.lengths[f])
    j = i64(op.starts[o])
    end = j + i64(op.lengths[o])
    kept = i64(0)
    for i in range(a, a + n):
        terms = p.terms[i]
        docs = p.docs[i]
        if j < end and p.classes[i] == class_map[op.classes[j]]:
            terms -= op.terms[j]
            docs -= op.docs[j]
            j += 1
        if docs > 0:
            p.classes[a + kept] = p.classes[i]
            p.terms[a + kept] = terms
            p.docs[a + kept] = docs
            kept += 1
    p.lengths[f] = kept


@kernel
def add_groups(p: Postings, n_features: int, cells: Postings, members: I64s, labels: I32s) -> None:
    """Turn cells by group into cells by class: group g counts for labels[members[g]] … labels[members[g + 1] - 1].

    `p` is empty and has room for all.
    """
    used = i64(0)
    for f in range(n_features):
        start = used
        b = i64(cells.starts[f])
        for k in range(b, b + i64(cells.lengths[f])):
            g = i64(cells.classes[k])
            for m in range(i64(members[g]), i64(members[g + 1])):
                c = labels[m]
                # Insertion into an ascending list: few labels, nearly always near the end.
                i = used
                while i > start and p.classes[i - 1] > c:
                    i -= 1
                if i > start and p.classes[i - 1] == c:
                    p.terms[i - 1] += cells.terms[k]
                    p.docs[i - 1] += cells.docs[k]
                    continue
                for j in range(used - i):
                    p.classes[used - j] = p.classes[used - j - 1]
                    p.terms[used - j] = p.terms[used - j - 1]
                    p.docs[used - j] = p.docs[used - j - 1]
                p.classes[i] = c
                p.terms[i] = cells.terms[k]
                p.docs[i] = cells.docs[k]
                used += 1
        p.starts[f] = start
        p.lengths[f] = used - start
        p.rooms[f] = used - start
    p.size[USED] = used
