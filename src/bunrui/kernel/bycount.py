"""One document → its scores where lists are long, and a weight is a function of the feature and its count.

A common word stands in a hundred thousand classes, but with few different counts: weights are made for each count from
1 up, and the lists are read where they lie.  The sums have the order, and the bits, of `score.py`.
"""

from __future__ import annotations

from collections.abc import MutableSequence

from bunrui.kernel.analyze import Documents
from bunrui.kernel.ngrams import Items
from bunrui.kernel.postings import Postings
from bunrui.kernel.primitives import ONE, i64, u64
from bunrui.kernel.score import PRESENCE, Linear, Sums, Table, add_shared, clear, finish, keep_known
from bunrui.kernel.signature import F64s, I64s, U32s, kernel


@kernel
def largest_counts(p: Postings, features: U32s, by_docs: int, out: I64s) -> None:
    """The largest count in the list of every feature: occurrences, or documents where `by_docs`."""
    cells = p.docs if by_docs != 0 else p.terms
    for k in range(len(features)):
        a = i64(p.starts[features[k]])
        most = i64(0)
        for j in range(a, a + i64(p.lengths[features[k]])):
            most = max(most, i64(cells[j]))
        out[k] = most


@kernel
def count_pairs(
    p: Postings, features: U32s, by_docs: int, most: int, n_cells: I64s, n_features: I64s, others: U32s
) -> int:
    """How many cells of class c have the count n[f, c] where the feature has n[f], (classes, most, most).

    n_features has the features by n[f], (most).  Features whose n[f] is `most` or more go into `others`; how many.
    """
    totals = p.doc_total if by_docs != 0 else p.term_total
    cells = p.docs if by_docs != 0 else p.terms
    classes = p.classes
    n_others = 0
    for k in range(len(features)):
        f = i64(features[k])
        total = i64(totals[f])
        if total >= most:
            others[n_others] = features[k]
            n_others += 1
            continue
        n_features[total] += 1
        a = i64(p.starts[f])
        for j in range(a, a + i64(p.lengths[f])):
            n_cells[(i64(classes[j]) * most + total) * most + i64(cells[j])] += 1
    return n_others


@kernel
def score_by_count(
    docs: Documents,
    d: int,
    items: Items,
    n_items: int,
    p: Postings,
    features: U32s,
    by_docs: int,
    table: Table,
    linear: Linear,
    sums: Sums,
    out: F64s,
) -> int:
    """Score one document whose items have places in `features` as ids; 0 if a count is larger than expected, else 1.

    `table.weights` has the weight of count n of the feature at place k at table.starts[k] + n - 1, for n up to
    table.lengths[k].
    """
    clear(sums)
    if len(docs.counts) > 0 and linear.reading[PRESENCE] == 0:
        first = i64(docs.lists[d])
        for k in range(i64(n_items)):
            place = i64(items.ids[k])
            x = float(docs.counts[first + k])
            if place >= len(table.lengths) or table.lengths[place] == 0:
                sums.rest[2] += x
                continue
            sums.rest[1] += x
            if len(table.shared) > 0:
                sums.rest[0] += x * table.shared[place]
            if not add_list(p, i64(features[place]), by_docs, table, place, x, sums.weights):
                return 0
    else:
        n_known = keep_known(items, u64(n_items), table, linear, sums, 1)
        add_shared(items.ids, n_known, table, sums)
        for k in range(i64(n_known)):
            place = i64(items.ids[k])
            if not add_list(p, i64(features[place]), by_docs, table, place, 1.0, sums.weights):
                return 0
    finish(linear, sums, out, 0)
    return 1


def add_list(
    p: Postings, f: int, by_docs: int, table: Table, place: int, x: float, into: MutableSequence[float]
) -> bool:
    """Add the weights of one feature `x` times; False if one is missing."""
    cells = p.docs if by_docs != 0 else p.terms
    classes = p.classes
    weights = table.weights
    at = u64(table.starts[place])
    most = u64(table.lengths[place])
    a = u64(p.starts[f])
    end = a + u64(p.lengths[f])
    while a < end:
        n = u64(cells[a]) - ONE
        if n >= most:
            return False
        into[u64(classes[a])] += x * weights[at + n]
        a = a + ONE
    return True
