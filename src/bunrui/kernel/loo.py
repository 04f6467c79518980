"""Leave-one-out: documents → rows → scores by the counts of all other documents.

    read_rows    documents → rows: the features of each document, how often it has them, and in which order
    take_out     rows → the counts without each document: sums, and the counts of its features in its own classes
    sum_changes  rows → sums over the vocabulary without each document
    score_rows   rows and weights → scores

No formula of a model is here.  A document changes few counts, and most changes are the same for many documents: a
feature that a document has x times loses x occurrences.  So (feature, x) is an entry, and has the list of its weights
in the classes that do not have the document.  Weights in the classes that have it are given by document.
`models/loo.py` makes both by the formulas of `bunrui.models`.

A text that was learned several times with the same labels is one row with a number of copies, which go out together.
"""

from __future__ import annotations

from typing import NamedTuple

from bunrui.kernel.analyze import Walk, ids_of, units_of
from bunrui.kernel.primitives import ONE, U64, i64, inline, prefetch, u64
from bunrui.kernel.score import Linear, Sums, add_cells, clear, score_of
from bunrui.kernel.signature import F64s, I32s, I64s, U8s, U32s, kernel, record
from bunrui.kernel.vocabulary import MISSING, Vocabulary

DONE = 0
GROW_FEATURES = 1
GROW_ITEMS = 2
UNKNOWN = 3  # a feature that the vocabulary lacks

ABSENT = U64(MISSING)
AHEAD = U64(12)
NEAR = U64(6)

# Places in `Lists.entries`: side by side, in one line of the cache
START = U64(0)  # of the list
LENGTH = U64(1)  # of the list; 0 where the model does not know the feature
IS_LEFT = U64(2)  # 0 where too few other documents have the feature
TOTAL = U64(3)  # n[f] of all documents
FIELDS = U64(4)

# Places in `Reading.state`
DOCUMENT = 0
UNIT = 1
FEATURES = 2
ITEMS = 3
STATES = 4


@record
class Rows(NamedTuple):
    """Row i has the features features[k] values[k] times, starts[i] ≤ k < starts[i + 1], in the order of the text.

    Its items, in the same order, are the features at starts[i] + places[j], firsts[i] ≤ j < firsts[i + 1].
    """

    docs: I64s  # (rows): the document that it is
    copies: I64s  # (rows): how often it was learned
    starts: I64s  # (rows + 1)
    features: U32s
    values: U32s
    firsts: I64s  # (rows + 1)
    places: U32s
    counts: I64s  # how often each item counts, or empty where all count once


@record
class Reading(NamedTuple):
    """Where the reading of rows stands."""

    marks: I64s  # (room of the vocabulary): where a feature was last written, plus one
    state: I64s  # (STATES)


@record
class Labels(NamedTuple):
    """The classes of documents: group g has classes[starts[g]] … classes[starts[g + 1] - 1]."""

    groups: I64s  # (documents)
    starts: I64s  # (groups + 1)
    classes: I64s


@record
class Lists(NamedTuple):
    """The cells of every entry.  A list as long as there are classes is in their order; `classes` is not read."""

    entries: I64s  # (entries, FIELDS)
    classes: I32s  # (cells)
    counts: I64s  # (cells): n[f, c] of all documents


@record
class Corpus(NamedTuple):
    """Rows with the entries of their features, the classes of the documents, and the cells of the entries."""

    rows: Rows
    entries: U32s  # by feature of the rows
    labels: Labels
    lists: Lists


# Rows


@kernel
def read_rows(walk: Walk, lo: int, hi: int, v: Vocabulary, rows: Rows, reading: Reading) -> int:
    """Read the documents lo … hi - 1 into rows; go on where the last call stopped.

    Returns DONE, UNKNOWN, GROW_FEATURES or GROW_ITEMS.
    """
    state = reading.state
    while state[DOCUMENT] < hi - lo:
        row = i64(state[DOCUMENT])
        d = lo + row
        n_units = units_of(walk, d)
        unit = u64(state[UNIT])
        while unit < n_units:
            n_items, first, after = ids_of(walk, v, d, unit, n_units)
            if i64(state[FEATURES]) + i64(n_items) > len(rows.features):
                state[UNIT] = i64(unit)
                return GROW_FEATURES
            if i64(state[ITEMS]) + i64(n_items) > len(rows.places):
                state[UNIT] = i64(unit)
                return GROW_ITEMS
            if not place_items(walk.scratch.items.ids, n_items, walk.docs.counts, first, rows, row, reading):
                return UNKNOWN
            unit = after
        state[UNIT] = 0
        state[DOCUMENT] = row + 1
        rows.starts[row + 1] = state[FEATURES]
        rows.firsts[row + 1] = state[ITEMS]
    return DONE


def place_items(ids: U32s, n_items: int, counts: I64s, first: int, rows: Rows, row: int, reading: Reading) -> bool:
    """Add items to a row; return False if one is unknown."""
    features = rows.features
    values = rows.values
    places = rows.places
    marks = reading.marks
    begin = u64(rows.starts[row])
    at = u64(reading.state[FEATURES])
    item = u64(reading.state[ITEMS])
    counted = len(counts) > 0
    x = u64(1)
    for k in range(n_items):
        f = u64(ids[k])
        if f == ABSENT:
            return False
        if counted:
            x = u64(counts[first + i64(k)])
            rows.counts[item] = i64(x)
        # A place inside the current row means "seen in this document": no marks to clear between documents.
        place = u64(marks[f])
        if place <= begin:
            features[at] = f
            values[at] = 0
            at = at + ONE
            marks[f] = i64(at)
            place = at
        place = place - ONE
        values[place] += x
        places[item] = place - begin
        item = item + ONE
    reading.state[FEATURES] = i64(at)
    reading.state[ITEMS] = i64(item)
    return True


# Counts without a document


@record
class Left(NamedTuple):
    """Sums of the counts without each row; the caller fills in the sums of all documents."""

    n_features: I64s  # (rows)
    n_terms: I64s  # (rows)
    class_sum: I64s  # (rows, classes)


@record
class Own(NamedTuple):
    """The features of some rows, one after the other, and their cells in the classes that have the document."""

    starts: I64s  # (features): where the cells of each begin
    lengths: I32s  # (features): cells of each
    totals: I64s  # (features): n[f] of all documents
    left: I64s  # (features): n[f] without the row
    classes: I32s  # (cells): row * classes + class
    counts: I64s  # (cells): n[f, c] of all documents
    others: I64s  # (cells): n[f, c] without the row


@kernel
def take_out(corpus: Corpus, lo: int, hi: int, by_docs: int, left: Left, own: Own) -> None:
    """Take each of the rows lo … hi - 1, with all its copies, out of the counts."""
    rows, entries, labels, lists = corpus
    info = lists.entries
    n_classes = len(left.class_sum) // max(hi - lo, 1)
    base = u64(rows.starts[lo])
    cell = u64(0)
    for row in range(lo, hi):
        first, last = labels_of(corpus, row)
        copies = i64(rows.copies[row])
        at = (row - lo) * n_classes
        taken = i64(0)
        end = u64(rows.starts[row + 1])
        for k in range(u64(rows.starts[row]), end):
            prefetch(info, u64(entries[min(k + AHEAD, end - ONE)]) * FIELDS)
            prefetch(lists.counts, u64(info[u64(entries[min(k + NEAR, end - ONE)]) * FIELDS + START]))
            f = u64(entries[k]) * FIELDS
            x = copies if by_docs != 0 else copies * i64(rows.values[k])
            total = i64(info[f + TOTAL])
            if info[f + IS_LEFT] != 0:
                taken += x
            elif info[f + LENGTH] > 0:
                left.n_features[row - lo] -= 1
                left.n_terms[row - lo] -= total
                take_list(lists, f, u64(n_classes), left.class_sum, u64(at))
            own.starts[k - base] = cell
            own.lengths[k - base] = last - first
            own.totals[k - base] = total
            own.left[k - base] = max(total - x, i64(0))
            for label in range(first, last):
                c = i64(labels.classes[label])
                count = count_in(lists, f, u64(c), u64(n_classes))
                own.classes[cell] = at + c
                own.counts[cell] = count
                own.others[cell] = max(count - x, i64(0))
                cell = cell + ONE
        left.n_terms[row - lo] -= taken
        for label in range(first, last):
            left.class_sum[at + i64(labels.classes[label])] -= taken


@inline
def labels_of(corpus: Corpus, row: int) -> tuple[int, int]:
    """Find the classes of a row in `labels.classes`: return the place of the first, and the place after the last."""
    labels = corpus.labels
    group = i64(labels.groups[corpus.rows.docs[row]])
    return i64(labels.starts[group]), i64(labels.starts[group + 1])


@inline
def take_list(lists: Lists, f: int, n_classes: int, class_sum: I64s, at: int) -> None:
    """Take a feature, whose entry begins at f, out of the sums of all classes."""
    start = u64(lists.entries[f + START])
    n = u64(lists.entries[f + LENGTH])
    for j in range(n):
        c = j if n == n_classes else u64(lists.classes[start + j])
        class_sum[at + c] -= lists.counts[start + j]


@inline
def count_in(lists: Lists, f: int, c: int, n_classes: int) -> int:
    """n[f, c] of a class that has the feature, whose entry begins at f; 0 where the model does not know it."""
    start = u64(lists.entries[f + START])
    n = u64(lists.entries[f + LENGTH])
    if n == n_classes:
        return i64(lists.counts[start + c])
    if n == u64(0):
        return i64(0)
    lo = start
    hi = start + n
    while hi - lo > ONE:
        middle = (lo + hi) >> ONE
        if u64(lists.classes[middle]) <= c:
            lo = middle
        else:
            hi = middle
    return i64(lists.counts[lo])


@record
class Changes(NamedTuple):
    """How sums over the vocabulary change without a document, in the parts of `arithmetic.py`."""

    is_any: U8s  # (entries): whether a cell of the list changes
    high: I64s  # (cells)
    low: I64s
    begin_high: I64s  # (classes): sums over all documents, in classes that have lost one of them
    begin_low: I64s
    own_high: I64s  # (own cells)
    own_low: I64s


@kernel
def sum_changes(corpus: Corpus, lo: int, hi: int, changes: Changes, high: I64s, low: I64s) -> None:
    """Add the changes without each of the rows lo … hi - 1 to the sums over all documents, (rows, classes)."""
    rows, entries, labels, lists = corpus
    n_classes = u64(len(changes.begin_high))
    at_own = u64(0)
    at = u64(0)
    for row in range(lo, hi):
        begin = u64(rows.starts[row])
        end = u64(rows.starts[row + 1])
        for k in range(begin, end):
            later = u64(entries[min(k + AHEAD, end - ONE)])
            prefetch(changes.is_any, later)
            prefetch(lists.entries, later * FIELDS)
            e = u64(entries[k])
            if changes.is_any[e] != 0:
                add_changes(lists, e * FIELDS, n_classes, changes, high, low, at)
        first, last = labels_of(corpus, row)
        n_labels = u64(last - first)
        n_own = (end - begin) * n_labels
        for label in range(n_labels):
            c = u64(labels.classes[u64(first) + label])
            total_high = i64(changes.begin_high[c])
            total_low = i64(changes.begin_low[c])
            k = at_own + label
            while k < at_own + n_own:
                total_high += changes.own_high[k]
                total_low += changes.own_low[k]
                k = k + n_labels
            high[at + c] = total_high
            low[at + c] = total_low
        at_own = at_own + n_own
        at = at + n_classes


@inline
def add_changes(lists: Lists, f: int, n_classes: int, changes: Changes, high: I64s, low: I64s, at: int) -> None:
    """Add the changes of a list, whose entry begins at f."""
    start = u64(lists.entries[f + START])
    n = u64(lists.entries[f + LENGTH])
    for j in range(n):
        c = at + (j if n == n_classes else u64(lists.classes[start + j]))
        high[c] += changes.high[start + j]
        low[c] += changes.low[start + j]


# Scores


@record
class Weighed(NamedTuple):
    """The weights of a model, and the rest of its scores."""

    weights: F64s  # (cells)
    shared: F64s  # (entries), or empty
    own: F64s  # of each feature of the rows in each of its own classes
    linear: Linear
    places: I64s  # (rows, classes): where the numbers of `linear` stand
    presence: int


@kernel
def score_rows(corpus: Corpus, lo: int, hi: int, weighed: Weighed, sums: Sums, out: F64s) -> None:
    """Score the rows lo … hi - 1 into `out`, (documents, classes)."""
    rows = corpus.rows
    n_classes = len(sums.weights)
    at_own = i64(0)
    for row in range(lo, hi):
        d = i64(rows.docs[row])
        first, last = labels_of(corpus, row)
        clear(sums)
        count_features(corpus, row, weighed, sums.rest)
        add_items(corpus, row, weighed, sums)
        for label in range(first, last):
            c = i64(corpus.labels.classes[label])
            sums.weights[c] = own_sum(corpus, row, weighed, at_own + label - first, last - first)
        for c in range(n_classes):
            at = i64(weighed.places[(row - lo) * n_classes + c])
            out[d * n_classes + c] = score_of(weighed.linear, sums.rest, at, sums.weights[c])
        at_own += (i64(rows.starts[row + 1]) - i64(rows.starts[row])) * (last - first)


@inline
def count_features(corpus: Corpus, row: int, weighed: Weighed, rest: F64s) -> None:
    """Find the length of a row, and its number of words that the others never had; ask for its weights meanwhile."""
    rows, entries = corpus.rows, corpus.entries
    info = corpus.lists.entries
    length = i64(0)
    n_unknown = i64(0)
    end = u64(rows.starts[row + 1])
    for k in range(u64(rows.starts[row]), end):
        prefetch(info, u64(entries[min(k + AHEAD, end - ONE)]) * FIELDS)
        prefetch(weighed.weights, u64(info[u64(entries[min(k + NEAR, end - ONE)]) * FIELDS + START]))
        x = i64(1) if weighed.presence != 0 else i64(rows.values[k])
        if info[u64(entries[k]) * FIELDS + IS_LEFT] != 0:
            length += x
        else:
            n_unknown += x
    rest[1] = float(length)
    rest[2] = float(n_unknown)


@inline
def n_items_of(rows: Rows, row: int, presence: int) -> int:
    """Count the items of a row, or its features under presence."""
    ends = rows.starts if presence != 0 else rows.firsts
    return u64(ends[row + 1]) - u64(ends[row])


@inline
def add_items(corpus: Corpus, row: int, weighed: Weighed, sums: Sums) -> None:
    """Sum the shared weights of the items, and their weights in the classes that do not have the document."""
    rows, entries = corpus.rows, corpus.entries
    presence = weighed.presence
    counted = len(rows.counts) > 0 and presence == 0
    info = corpus.lists.entries
    begin = u64(rows.starts[row])
    first = u64(rows.firsts[row])
    shares = len(weighed.shared) > 0
    shared = 0.0
    x = 1.0
    for k in range(n_items_of(rows, row, presence)):
        e = u64(entries[begin + (k if presence != 0 else u64(rows.places[first + k]))])
        at = e * FIELDS
        if info[at + IS_LEFT] != 0:
            if counted:
                x = float(rows.counts[first + k])
            if shares:
                shared += x * weighed.shared[e]
            start = u64(info[at + START])
            add_cells(corpus.lists.classes, start, u64(info[at + LENGTH]), weighed.weights, x, sums.weights)
    sums.rest[0] = shared


@inline
def own_sum(corpus: Corpus, row: int, weighed: Weighed, at: int, n_labels: int) -> float:
    """Sum the weights of the items in a class that has the document; feature p has own[at + p * n_labels]."""
    rows, presence = corpus.rows, weighed.presence
    counted = len(rows.counts) > 0 and presence == 0
    begin = u64(rows.starts[row])
    first = u64(rows.firsts[row])
    total = 0.0
    x = 1.0
    for k in range(n_items_of(rows, row, presence)):
        p = k if presence != 0 else u64(rows.places[first + k])
        if corpus.lists.entries[u64(corpus.entries[begin + p]) * FIELDS + IS_LEFT] != 0:
            if counted:
                x = float(rows.counts[first + k])
            total += x * weighed.own[u64(at) + p * u64(n_labels)]
    return total
