"""Documents → scores, by the one linear form that every text model has:

    score[c] = bias[c] + scale[c] * (slope[c] * length + (sum of shared[f] + sum of weight[f, c]) + unseen[c] * n)

where n counts the words that were never learned, if they count at all.

The sums run over the features of the document in the order of its text, each class by itself, so that neither ids nor
the layout of a table can change a bit of the result.
"""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.analyze import Scratch, Walk, ids_of, keys_of, units_of
from bunrui.kernel.ngrams import MAX_ORDER, Items
from bunrui.kernel.postings import Postings
from bunrui.kernel.primitives import ONE, TWO, U64, ZERO, i64, inline, prefetch, u64
from bunrui.kernel.reading import Index, find_rows, put_known, put_new, put_places
from bunrui.kernel.signature import F64s, I32s, I64s, U8s, U32s, kernel, record
from bunrui.kernel.vocabulary import MISSING, Vocabulary

TOO_LONG = -2

FAR = U64(16)
NEAR = U64(8)
FEW_COLUMNS = 4
LONGEST = U64(MAX_ORDER)

# Places in `Linear.reading`
PRESENCE = 0  # a feature counts once in a document
SMOOTH = 1  # features that were never learned count too


@record
class Table(NamedTuple):
    """Weights by feature, or by place (see reading.py).

    A list that is as long as the number of classes is in their order, and `classes` is not read.  If `starts` is empty,
    all lists are this long, and the list of feature f begins at f times the number of classes.
    """

    starts: I64s  # (features), or empty
    lengths: I32s  # (features): 0 where the model does not know the feature
    classes: I32s  # (cells)
    weights: F64s  # (cells)
    shared: F64s  # (features), or empty where it is 0


@record
class Linear(NamedTuple):
    """The terms of a score beside the weights."""

    bias: F64s  # (classes)
    scale: F64s  # (classes)
    slope: F64s  # (classes)
    unseen: F64s  # (classes)
    reading: I64s  # (2)


@record
class Weights(NamedTuple):
    """A model with all its weights: the features that it knows, the weights by their place, and the rest of a score."""

    known: Index
    table: Table
    linear: Linear


@record
class Sums(NamedTuple):
    """Accumulators of one document, and room to find repeats in it."""

    weights: F64s  # (classes)
    rest: F64s  # (3): shared, length, words that were never learned
    seen: U32s  # of `reading.new_seen`; or (features), 0 before the first occurrence


@record
class ReadyModel(NamedTuple):
    """A model with the vocabulary of its features, and room to score one document."""

    v: Vocabulary
    weights: Weights
    sums: Sums


@kernel
def score_documents(walk: Walk, lo: int, hi: int, model: ReadyModel, out: F64s) -> None:
    """Score the documents lo … hi - 1 into `out` (classes by document)."""
    n_classes = len(model.weights.linear.bias)
    for d in range(lo, hi):
        score_document(walk, d, model, out, (d - lo) * n_classes)


def score_document(walk: Walk, d: int, model: ReadyModel, out: F64s, at: int) -> None:
    """Score one document into `out[at:]`."""
    v, weights, sums = model
    scratch, counts = walk.scratch, walk.docs.counts
    items = scratch.items
    clear(sums)
    n_units = units_of(walk, d)
    unit = u64(0)
    while unit < n_units:
        begin = unit
        n_items, first, unit, _ = keys_of(walk, v, d, begin, n_units)
        if len(counts) > 0 and weights.linear.reading[PRESENCE] == 0:
            find_rows(weights.known, scratch, n_items)
            put_places(weights.known, scratch.rows, n_items, items.ids)
            add_counted(items, n_items, counts, first, weights.table, sums)
        else:
            # The document has at most this many items.
            most = n_items if begin == ZERO and unit == n_units else n_units * LONGEST
            n_known = known_items(scratch, n_items, most, begin == ZERO, model)
            add_known(items.ids, n_known, weights.table, sums)
    finish(weights.linear, sums, out, at)


def known_items(scratch: Scratch, n_items: int, most: int, is_first: bool, model: ReadyModel) -> int:
    """Put the places of the items that count to the front of `scratch.items.ids`; return their number.

    They are known, and under presence the document did not have them yet.  Its length, and the number of words that
    were never learned, go to `sums.rest`.
    """
    _, weights, sums = model
    ids = scratch.items.ids
    index = weights.known
    find_rows(index, scratch, n_items)
    if weights.linear.reading[PRESENCE] != 0:
        n_known, n_missing = put_new(index, scratch.rows, n_items, ids, sums.seen, most, is_first)
    else:
        n_known = put_known(index, scratch.rows, n_items, ids)
        n_missing = n_items - n_known
    # Whole numbers below 2 ** 53: their sum has no order.
    sums.rest[1] += float(n_known)
    # A word that is not known has no place to mark: where such words count, the caller gives each once under presence.
    sums.rest[2] += float(n_missing)
    return n_known


def clear(sums: Sums) -> None:
    for c in range(len(sums.weights)):
        sums.weights[c] = 0.0
    for j in range(3):
        sums.rest[j] = 0.0


@inline
def add_known(ids: U32s, n_known: int, table: Table, sums: Sums) -> None:
    """Add the weights of features that count once each."""
    if len(table.starts) == 0 and len(sums.weights) <= FEW_COLUMNS:
        add_columns(ids, n_known, table, sums)
        return
    add_shared(ids, n_known, table, sums)
    if len(table.starts) > 0:
        add_lists(ids, n_known, table, sums.weights)
    else:
        add_rows(ids, n_known, table.weights, sums.weights)


@inline
def add_shared(ids: U32s, n_ids: int, table: Table, sums: Sums) -> None:
    """Add the weights that features have in every class alike."""
    if len(table.shared) > 0:
        shared = sums.rest[0]
        for k in range(n_ids):
            shared += table.shared[u64(ids[k])]
        sums.rest[0] = shared


def keep_known(items: Items, n_items: int, table: Table, linear: Linear, sums: Sums) -> int:
    """Move the ids that count to the front, those that are known, under presence each once; return their number.

    The length of the document, and the number of words that were never learned, go to `sums.rest`.
    """
    ids = items.ids
    presence = linear.reading[PRESENCE] != 0
    n_features = u64(len(table.lengths))
    n_known = u64(0)
    n_unknown = u64(0)
    for k in range(n_items):
        later = u64(ids[min(k + FAR, n_items - ONE)])
        prefetch(table.lengths, later if later < n_features else ZERO)
        f = u64(ids[k])
        if f >= n_features or table.lengths[f] == 0:
            n_unknown = n_unknown + ONE
            continue
        ids[n_known] = f
        if presence:
            n_known = n_known + u64(sums.seen[f] == 0)
            sums.seen[f] = 1
        else:
            n_known = n_known + ONE
    # Whole numbers below 2 ** 53: their sum has no order.
    sums.rest[1] += float(n_known)
    # A word that is not known has no place to mark: where such words count, the caller gives each once under presence.
    sums.rest[2] += float(n_unknown)
    return n_known


def add_columns(ids: U32s, n_ids: int, table: Table, sums: Sums) -> None:
    """Add whole rows, two classes at a time, and shared weights with the first two: the sums stay in registers.

    Through memory each sum would wait for the last store: 360 against 461 MB/s for predicting IMDB on one core.
    """
    n_classes = u64(len(sums.weights))
    c = u64(0)
    if len(table.shared) > 0:
        d = u64(1) if n_classes > ONE else u64(0)
        s = sums.rest[0]
        a = sums.weights[0]
        b = sums.weights[d]
        for k in range(n_ids):
            f = u64(ids[k])
            s += table.shared[f]
            a += table.weights[f * n_classes]
            b += table.weights[f * n_classes + d]
        sums.rest[0] = s
        sums.weights[0] = a
        sums.weights[d] = b
        c = u64(2)
    while c < n_classes:
        # The last of an odd number of classes goes alone.
        d = c + ONE if c + ONE < n_classes else c
        a = sums.weights[c]
        b = sums.weights[d]
        for k in range(n_ids):
            row = u64(ids[k]) * n_classes
            a += table.weights[row + c]
            b += table.weights[row + d]
        sums.weights[c] = a
        sums.weights[d] = b
        c = c + TWO


def add_rows(ids: U32s, n_ids: int, weights: F64s, into: F64s) -> None:
    """Add whole rows, one after the other."""
    n_classes = u64(len(into))
    for k in range(n_ids):
        prefetch(weights, u64(ids[min(k + NEAR, n_ids - ONE)]) * n_classes)
        row = u64(ids[k]) * n_classes
        for c in range(n_classes):
            into[c] += weights[row + c]


def add_lists(ids: U32s, n_ids: int, table: Table, into: F64s) -> None:
    """Add lists, some of them whole rows."""
    for k in range(n_ids):
        # Lists lie anywhere: ask for the start of a later one, and for the weights of one before it.
        prefetch(table.starts, u64(ids[min(k + FAR, n_ids - ONE)]))
        prefetch(table.weights, u64(table.starts[u64(ids[min(k + NEAR, n_ids - ONE)])]))
        add_row(table, u64(ids[k]), 1.0, into)


@inline
def add_row(table: Table, f: int, x: float, into: F64s) -> None:
    """Add the weights of one feature `x` times."""
    start = u64(table.starts[f]) if len(table.starts) > 0 else f * u64(len(into))
    add_cells(table.classes, start, u64(table.lengths[f]), table.weights, x, into)


@inline
def add_cells(classes: I32s, start: int, n: int, weights: F64s, x: float, into: F64s) -> None:
    """Add the weights of a list of n cells `x` times."""
    if n == u64(len(into)):
        for c in range(n):
            into[c] += x * weights[start + c]
    else:
        for k in range(start, start + n):
            into[u64(classes[k])] += x * weights[k]


def add_counted(items: Items, n_items: int, counts: I64s, first: int, table: Table, sums: Sums) -> None:
    """Add the weights of item k `counts[first + k]` times."""
    for k in range(n_items):
        f = u64(items.ids[k])
        x = float(counts[first + i64(k)])
        if count_feature(table, f, x, sums):
            add_row(table, f, x, sums.weights)


@inline
def count_feature(table: Table, f: int, x: float, sums: Sums) -> bool:
    """Count a feature `x` times, as known or as never learned; return whether it is known."""
    if f >= u64(len(table.lengths)) or table.lengths[f] == 0:
        sums.rest[2] += x
        return False
    sums.rest[1] += x
    if len(table.shared) > 0:
        sums.rest[0] += x * table.shared[f]
    return True


def finish(linear: Linear, sums: Sums, out: F64s, at: int) -> None:
    """Make scores from the sums of a document, and write them to `out[at:]`."""
    for c in range(len(linear.bias)):
        out[at + c] = score_of(linear, sums.rest, c, sums.weights[c])


@inline
def score_of(linear: Linear, rest: F64s, c: int, weights: float) -> float:
    """Score class c, whose weights have this sum."""
    inner = linear.slope[c] * rest[1] + (rest[0] + weights)
    if linear.reading[SMOOTH] != 0:
        inner += linear.unseen[c] * rest[2]
    return linear.bias[c] + linear.scale[c] * inner


@kernel
def identify(walk: Walk, d: int, v: Vocabulary, alive: I64s, keep: U8s, marks: U32s, stamp: int) -> tuple[int, int]:
    """Look a short document up: `scratch.rows` gets its distinct features, `scratch.items.ids` places in that list.

    A feature is known if `alive` is not zero and `keep` is set (or empty).  `marks` has two numbers for each feature:
    the last document that had it, and its place among the features of that document.
    Returns the numbers of items and of features; TOO_LONG in place of the first.
    """
    items = walk.scratch.items
    n_units = units_of(walk, d)
    n_items, _, after = ids_of(walk, v, d, ZERO, n_units)
    if after < n_units:
        return TOO_LONG, 0
    n_features = i64(0)
    for k in range(i64(n_items)):
        f = i64(items.ids[k])
        if f == MISSING or alive[f] == 0 or (len(keep) > 0 and keep[f] == 0):
            items.ids[k] = MISSING
            continue
        if marks[2 * f] != stamp:
            marks[2 * f] = stamp
            marks[2 * f + 1] = n_features
            walk.scratch.rows[n_features] = f
            n_features += 1
        items.ids[k] = marks[2 * f + 1]
    return i64(n_items), n_features


@kernel
def gather(
    p: Postings, features: U32s, by_docs: int, starts: I64s, lengths: I32s, classes: I32s, counts: I64s, totals: I64s
) -> None:
    """Copy the cells of some features, one list after the other; occurrences, or documents where `by_docs`."""
    at = i64(0)
    for k in range(len(features)):
        f = i64(features[k])
        a = i64(p.starts[f])
        n = i64(p.lengths[f])
        starts[k] = at
        lengths[k] = n
        totals[k] = p.doc_total[f] if by_docs != 0 else p.term_total[f]
        for j in range(n):
            classes[at + j] = p.classes[a + j]
            counts[at + j] = p.docs[a + j] if by_docs != 0 else p.terms[a + j]
        at += n


@kernel
def score_items(walk: Walk, d: int, n_items: int, table: Table, linear: Linear, sums: Sums, out: F64s) -> None:
    """Score one document whose items have places in `table` as ids."""
    docs, items = walk.docs, walk.scratch.items
    clear(sums)
    if len(docs.counts) > 0 and linear.reading[PRESENCE] == 0:
        add_counted(items, u64(n_items), docs.counts, i64(docs.lists[d]), table, sums)
    else:
        add_known(items.ids, keep_known(items, u64(n_items), table, linear, sums), table, sums)
    finish(linear, sums, out, 0)


@kernel
def lay_out(first: int, gathered: Table, n_classes: int, table: Table) -> None:
    """Put the lists of `gathered` into `table`, for the features from `first` on.

    The table has their starts and lengths, and zeros for weights.  A list that is shorter than there are classes, but
    has room for all of them, goes to the places of its classes.
    """
    for k in range(len(gathered.lengths)):
        f = first + k
        a = i64(gathered.starts[k])
        at = i64(table.starts[f]) if len(table.starts) > 0 else f * n_classes
        is_whole = i64(table.lengths[f]) == n_classes
        if len(gathered.shared) > 0:
            table.shared[f] = gathered.shared[k]
        for j in range(i64(gathered.lengths[k])):
            c = i64(gathered.classes[a + j])
            table.weights[at + (c if is_whole else j)] = gathered.weights[a + j]
            if not is_whole:
                table.classes[at + j] = c


# Cells that are alike: a weight may be a function of counts alone


@kernel
def count_pairs(
    p: Postings, features: U32s, by_docs: int, most: int, n_cells: I64s, n_features: I64s, others: U32s
) -> int:
    """Count the cells of class c that have the count n[f, c] where the feature has n[f], (classes, most, most).

    n_features gets the number of features by n[f], (most).  Features whose n[f] is `most` or more go into `others`;
    their number is returned.
    """
    totals = p.doc_total if by_docs != 0 else p.term_total
    cells = p.docs if by_docs != 0 else p.terms
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
            n_cells[(i64(p.classes[j]) * most + total) * most + i64(cells[j])] += 1
    return n_others
