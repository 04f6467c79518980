"""The sparse table of counts: for each feature the classes it occurs in, ascending, with occurrences and documents.

Adding goes in two steps over the features of other counts: `plan` finds them, and adds up the room that they need; when
there is room, `merge` adds them.  Both, and `find_lacking` and `subtract`, take a range of features: several threads
work on several ranges, and the result does not depend on their number.  A list that outgrows its room moves to the end
of the cells and leaves a hole; the owner of the arrays closes the holes (`close_holes`) when they take too much.
"""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.ngrams import Items, copy_text
from bunrui.kernel.primitives import ZERO, i64, inline, prefetch, u64
from bunrui.kernel.signature import I32s, I64s, U32s, U64s, Unsigned, kernel, record
from bunrui.kernel.vocabulary import BYTES, FEATURES, MISSING, Vocabulary, add_slots, block_items, has_room, probe

# Places in `Postings.size`
USED = 0  # cells, holes included
LIVE = 1  # features with a document
HOLES = 2
SIZES = 3

# Places in `need`
NEW = 0  # features
TEXT = 1  # their bytes
CELLS = 2  # for their lists, and for those that move
LEFT = 3  # cells that those leave behind
BORN = 4  # features that had no documents
NEEDS = 5


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


@record
class Plan(NamedTuple):
    """Where the features of other counts go."""

    ids: U32s  # MISSING where they are new
    hashes: U64s
    lengths: I32s  # of the lists, when they are merged


@record
class Both(NamedTuple):
    """Counts, and others that are added or subtracted: class c there is class_map[c] here, and the map is ascending."""

    v: Vocabulary
    p: Postings
    ov: Vocabulary
    op: Postings
    class_map: I64s


@kernel
def plan(both: Both, skip: Unsigned, first: int, last: int, planned: Plan, need: I64s, items: Items) -> None:
    """Find the features first … last - 1 of (ov, op) in (v, p), and add the room that they need to `need`."""
    v, p, ov, op, class_map = both
    while first < last:
        n = block_items(v, ov, first, last, items, skip)
        probe(v, items, u64(n), ov.text, 0)
        for k in range(n):
            o = first + k
            f = i64(items.ids[k])
            total = i64(op.lengths[o])
            planned.ids[o] = items.ids[k]
            planned.hashes[o] = items.hashes[k]
            if f == MISSING:
                need[NEW] += 1
                need[BORN] += 1
                need[TEXT] += i64(items.lengths[k])
                need[CELLS] += total
            else:
                prefetch_list(p, items.ids, k, n)
                length = i64(p.lengths[f])
                total = length + new_cells(p, f, op, o, class_map)
                if total > p.rooms[f]:
                    need[CELLS] += room_for(length, total)
                    need[LEFT] += i64(p.rooms[f])
                if p.doc_total[f] == 0:
                    need[BORN] += 1
            planned.lengths[o] = total
        first += n


@inline
def known(ids: U32s, k: int) -> int:
    """The id of a feature; any id if it is new."""
    f = i64(ids[k])
    return f if f != MISSING else i64(0)


def new_cells(p: Postings, f: int, op: Postings, o: int, class_map: I64s) -> int:
    """Count the classes of list `o` that are not in list `f`."""
    i = i64(p.starts[f])
    end = i + i64(p.lengths[f])
    b = i64(op.starts[o])
    new = i64(0)
    for j in range(b, b + i64(op.lengths[o])):
        c = class_map[op.classes[j]]
        while i < end and p.classes[i] < c:
            i += 1
        if i == end or p.classes[i] != c:
            new += 1
    return new


@inline
def put_cell(p: Postings, at: int, c: int, terms: int, docs: int) -> None:
    """Write a cell of class `c`."""
    p.classes[at] = c
    p.terms[at] = terms
    p.docs[at] = docs


@inline
def copy_cell(p: Postings, at: int, to: int) -> None:
    """Copy a cell to another place."""
    put_cell(p, to, p.classes[at], p.terms[at], p.docs[at])


@inline
def insert_cell(p: Postings, start: int, end: int, c: int, terms: int, docs: int) -> int:
    """Add counts of class `c` to the list start … end - 1, which ascends; return its new end.

    The place is searched from the end: it is nearly always there.
    """
    i = end
    while i > start and i64(p.classes[i - 1]) > c:
        i -= 1
    if i > start and i64(p.classes[i - 1]) == c:
        p.terms[i - 1] += terms
        p.docs[i - 1] += docs
        return end
    for j in range(end - i):
        copy_cell(p, end - j - 1, end - j)
    put_cell(p, i, c, terms, docs)
    return end + 1


@inline
def room_for(length: int, total: int) -> int:
    """The room of a list that moves.  The first of a feature gets exactly its room: most features stay rare."""
    return total if length == 0 else total + (total >> 1) + 1


@kernel
def merge(both: Both, first: int, last: int, planned: Plan, f_new: int, byte: int, cell: int, end: int) -> None:
    """Add the features first … last - 1 as planned, in arrays that have the room.

    New features, their text (up to `end`), and lists that move go to `f_new`, `byte` and `cell`, and to the places
    behind them.  They are not in the slots yet.
    """
    v, p, ov, op, class_map = both
    for o in range(first, last):
        f = i64(planned.ids[o])
        total = i64(planned.lengths[o])
        if f == MISSING:
            f = f_new
            f_new += 1
            start = i64(ov.starts[o])
            n = i64(ov.starts[o + 1]) - start
            if byte + n + 16 <= end:
                copy_text(ov.text, u64(start), u64(n), v.text, u64(byte))
            else:
                # The text of another slice follows.
                for j in range(n):
                    v.text[byte + j] = ov.text[start + j]
            byte += n
            v.starts[f + 1] = byte
            v.hashes[f] = planned.hashes[o]
            p.starts[f] = cell
            p.lengths[f] = 0
            p.rooms[f] = total
            p.term_total[f] = 0
            p.doc_total[f] = 0
            cell += total
        else:
            prefetch_list(p, planned.ids, o, last)
            length = i64(p.lengths[f])
            if total > p.rooms[f]:
                a = i64(p.starts[f])
                for k in range(length):
                    copy_cell(p, a + k, cell + k)
                room = room_for(length, total)
                p.starts[f] = cell
                p.rooms[f] = room
                cell += room
        merge_list(p, f, op, o, class_map, total)
        p.term_total[f] += op.term_total[o]
        p.doc_total[f] += op.doc_total[o]


def merge_list(p: Postings, f: int, op: Postings, o: int, class_map: I64s, total: int) -> None:
    """Merge a list into another, which has `total` cells then and room for them, from the back."""
    a = i64(p.starts[f])
    b = i64(op.starts[o])
    i = a + i64(p.lengths[f]) - 1
    j = b + i64(op.lengths[o]) - 1
    k = a + total - 1
    p.lengths[f] = total
    while j >= b:
        c = class_map[op.classes[j]]
        if i >= a and p.classes[i] > c:
            copy_cell(p, i, k)
            i -= 1
        else:
            terms = op.terms[j]
            docs = op.docs[j]
            if i >= a and p.classes[i] == c:
                terms += p.terms[i]
                docs += p.docs[i]
                i -= 1
            put_cell(p, k, c, terms, docs)
            j -= 1
        k -= 1


@inline
def prefetch_list(p: Postings, ids: U32s, k: int, end: int) -> None:
    """The lists lie anywhere in memory: ask for all of a later feature, then for the cells of a nearer one."""
    later = known(ids, min(k + 8, end - 1))
    prefetch(p.starts, later)
    prefetch(p.lengths, later)
    prefetch(p.rooms, later)
    prefetch(p.term_total, later)
    prefetch(p.doc_total, later)
    at = i64(p.starts[known(ids, min(k + 4, end - 1))])
    prefetch(p.classes, at)
    prefetch(p.terms, at)
    prefetch(p.docs, at)


@kernel
def absorb(
    v: Vocabulary, p: Postings, ov: Vocabulary, op: Postings, class_map: I64s, planned: Plan, need: I64s, items: Items
) -> bool:
    """Plan to add (ov, op), and add it where there is room; False where something must grow first.

    One call in place of three: of the 45 µs that adding a document took with them, 18 were calls.
    """
    n = i64(ov.size[FEATURES])
    both = Both(v, p, ov, op, class_map)
    plan(both, ZERO, i64(0), n, planned, need, items)
    if not has_room(v, u64(need[NEW]), u64(need[TEXT])) or p.size[USED] + need[CELLS] > len(p.classes):
        return False
    n_known = i64(v.size[FEATURES])
    byte = i64(v.size[BYTES])
    end = byte + need[TEXT]
    merge(both, i64(0), n, planned, n_known, byte, i64(p.size[USED]), end)
    p.size[USED] += need[CELLS]
    p.size[HOLES] += need[LEFT]
    p.size[LIVE] += need[BORN]
    add_slots(v, planned.ids[:0], i64(need[NEW]), end, items)
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
                copy_cell(p, a + j, at + j)
        p.starts[f] = at
        p.rooms[f] = room
        at += room
    p.size[USED] = at
    p.size[HOLES] = 0


@kernel
def find_lacking(both: Both, first: int, last: int, ids: U32s, items: Items) -> int:
    """The first of the features first … last - 1 of (ov, op) that (v, p) does not have as often, or -1.

    Then all can be subtracted, and `ids` says where they are.
    """
    v, p, ov, op, class_map = both
    while first < last:
        n = block_items(v, ov, first, last, items, ZERO)
        probe(v, items, u64(n), ov.text, 0)
        for k in range(n):
            o = first + k
            f = i64(items.ids[k])
            if f == MISSING or not covers(p, f, op, o, class_map):
                return o
            ids[o] = items.ids[k]
        first += n
    return -1


def covers(p: Postings, f: int, op: Postings, o: int, class_map: I64s) -> bool:
    """Tell whether the counts of feature `f` that would stay could have been learned."""
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
    """Tell whether a feature can have these occurrences and documents."""
    return 0 <= docs <= terms and (docs > 0 or terms == 0)


@kernel
def subtract(p: Postings, op: Postings, class_map: I64s, first: int, last: int, ids: U32s) -> int:
    """Take the features first … last - 1 of `op`, which `p` has as `ids`, away; return the number of features that end.

    Cells that reach zero go.
    """
    gone = i64(0)
    for o in range(first, last):
        prefetch_list(p, ids, o, last)
        f = i64(ids[o])
        subtract_list(p, f, op, o, class_map)
        p.term_total[f] -= op.term_total[o]
        p.doc_total[f] -= op.doc_total[o]
        if p.doc_total[f] == 0:
            gone += 1
    return gone


def subtract_list(p: Postings, f: int, op: Postings, o: int, class_map: I64s) -> None:
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
            put_cell(p, a + kept, p.classes[i], terms, docs)
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
                used = insert_cell(p, start, used, i64(labels[m]), i64(cells.terms[k]), i64(cells.docs[k]))
        p.starts[f] = start
        p.lengths[f] = used - start
        p.rooms[f] = used - start
    p.size[USED] = used
