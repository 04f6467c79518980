"""Rows → scores by the counts of all other documents: leave-one-out for the price of one pass.

No counts are changed.  What a document takes with it is little: its own occurrences from the cells of its classes and
from the totals of its features, and the features that too few other documents have, which are words that were never
learned then.  So for every document

    sums, total, V          those of the whole, less what the document takes with it
    bias, slope, scale      from these, as the model says
    weights                 those of the whole, but for the cells that the document changes

and the sums run in the order of its text, as in `score.py`: the score has the very bits that learning all the other
documents gives.  The formulas are those of `bunrui.models`, tests hold the two together.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from math import log

from bunrui.kernel.loorows import Rows
from bunrui.kernel.loostate import (
    AHEAD,
    ALL_FEATURES,
    ALL_TERMS,
    BERNOULLI,
    BY_DOCS,
    COMPLEMENT,
    DOCS,
    FIELDS,
    GONE,
    KIND,
    LAMBDA,
    LEAST,
    LENGTH,
    LOG_LAMBDA,
    MIN_DF,
    MULTINOMIAL,
    N_FEATURES,
    N_TERMS,
    NORMALISED,
    PRESENCE,
    ROOM,
    START,
    TOTAL,
    Labels,
    Model,
    Whole,
    Work,
)
from bunrui.kernel.looweights import find_cell, follow, lose, own_weight, weigh
from bunrui.kernel.primitives import ONE, i64, inline, prefetch, u64
from bunrui.kernel.score import clear, finish
from bunrui.kernel.signature import F64s, kernel
from bunrui.kernel.sums import HIGH, LOW


@kernel
def leave_out(
    rows: Rows,
    lo: int,
    hi: int,
    labels: Labels,
    whole: Whole,
    model: Model,
    work: Work,
    out: F64s,
) -> int:
    """Score the rows lo … hi - 1 into `out` (classes by document); what a class without documents scores means nothing.

    Returns `hi`, or the row for which `work.weights` lacks room.
    """
    n_classes = len(whole.doc_count)
    for row in range(lo, hi):
        d = i64(rows.docs[row])
        if d < 0:
            continue
        group = i64(labels.groups[d])
        first = i64(labels.starts[group])
        last = i64(labels.starts[group + 1])
        for k in range(first, last):
            work.is_own[labels.classes[k]] = 1
        clear(work.sums)
        begin(whole, model, work)
        take_out(rows, row, labels.classes, first, last, whole, model, work)
        fits = work.left[ROOM] <= len(work.weights)
        if fits:
            weigh(rows, row, whole, model, work)
            if model.reading[KIND] == NORMALISED:
                follow(rows, row, whole, model, work)
            add_items(rows, row, whole, model, work)
            for k in range(first, last):
                add_own(rows, row, i64(labels.classes[k]), whole, model, work)
            draw_line(labels.priors, group * n_classes, d, whole, model, work)
            finish(work.linear, work.sums, out, d * n_classes)
        for k in range(first, last):
            work.is_own[labels.classes[k]] = 0
        if not fits:
            return row
    return hi


@inline
def begin(whole: Whole, model: Model, work: Work) -> None:
    """Start from the sums of the whole."""
    kind = model.reading[KIND]
    n_classes = len(whole.doc_count)
    for c in range(n_classes):
        work.class_sum[c] = whole.class_sum[c]
    if kind == NORMALISED or kind == BERNOULLI:
        for c in range(n_classes):
            lessened = kind == BERNOULLI and work.is_own[c] != 0
            for k in range(c, 2 * n_classes, n_classes):
                work.parts[k] = model.constants.lessened[k] if lessened else model.constants.parts[k]
        work.shared_parts[0] = model.constants.shared[0]
        work.shared_parts[1] = model.constants.shared[1]


@inline
def take_out(
    rows: Rows, row: int, classes: Sequence[int], first: int, last: int, whole: Whole, model: Model, work: Work
) -> None:
    """Find which features of the document are left without it, and take the document out of the sums."""
    kind = model.reading[KIND]
    presence = model.reading[PRESENCE] != 0
    by_docs = model.reading[BY_DOCS] != 0
    min_df = model.reading[MIN_DF]
    features = rows.features
    values = rows.values
    info = whole.features
    starts = work.starts
    lengths = work.lengths
    n_features = i64(model.reading[ALL_FEATURES])
    n_terms = i64(model.reading[ALL_TERMS])
    taken = i64(0)
    room = i64(0)
    length = i64(0)
    n_unknown = i64(0)
    start = u64(rows.starts[row])
    n = u64(rows.starts[row + 1]) - start
    p = u64(0)
    while p < n:
        prefetch(info, u64(features[start + min(p + AHEAD, n - ONE)]) * FIELDS)
        f = u64(features[start + p])
        at = f * FIELDS
        x = i64(values[start + p])
        n_cells = i64(info[at + LENGTH])
        if n_cells > 0 and info[at + DOCS] > min_df:
            cells = info[at + START]
            prefetch(whole.counts, u64(cells))
            prefetch(model.weights, u64(cells))
            if len(model.shared) > 0:
                prefetch(model.shared, f)
            starts[p] = cells
            lengths[p] = n_cells
            take = i64(1) if by_docs else x
            taken += take
            if take > 1:
                room += n_cells
            length += i64(1) if presence else x
        else:
            starts[p] = GONE
            n_unknown += i64(1) if presence else x
            if n_cells > 0:
                n_features -= 1
                n_terms -= info[at + TOTAL]
                lose(f, whole, model, work)
        p = p + ONE
    for k in range(first, last):
        work.class_sum[classes[k]] -= taken
    work.left[N_FEATURES] = n_features
    work.left[N_TERMS] = n_terms - taken
    work.left[ROOM] = room if kind == COMPLEMENT or kind == NORMALISED else 0
    work.sums.rest[1] = float(length)
    work.sums.rest[2] = float(n_unknown)


@inline
def add_items(rows: Rows, row: int, whole: Whole, model: Model, work: Work) -> None:
    """Sum what the items share, and their weights in the classes that do not have the document."""
    kind = model.reading[KIND]
    presence = model.reading[PRESENCE] != 0
    renews = kind == COMPLEMENT or kind == NORMALISED
    shares = len(model.shared) > 0
    counted = len(rows.counts) > 0 and not presence
    places = rows.places
    starts = work.starts
    lengths = work.lengths
    classes = whole.classes
    weights = model.weights
    into = work.sums.weights
    first = u64(rows.firsts[row])
    n = u64(rows.starts[row + 1]) - u64(rows.starts[row]) if presence else u64(rows.firsts[row + 1]) - first
    shared = 0.0
    x = 1.0
    k = u64(0)
    while k < n:
        p = k if presence else u64(places[first + k])
        if starts[p] != GONE:
            cells = u64(starts[p])
            n_cells = u64(lengths[p])
            if counted:
                x = float(rows.counts[first + k])
            if shares:
                shared += x * work.shared[p]
            if renews and work.anew[p] != GONE:
                add_list(classes, cells, n_cells, work.weights, u64(work.anew[p]), x, into)
            else:
                add_list(classes, cells, n_cells, weights, cells, x, into)
        k = k + ONE
    work.sums.rest[0] = shared


@inline
def add_list(
    classes: Sequence[int],
    cells: int,
    n_cells: int,
    weights: Sequence[float],
    at: int,
    x: float,
    into: MutableSequence[float],
) -> None:
    """Add the weights of a list of cells `x` times."""
    j = u64(0)
    if n_cells == u64(len(into)):
        while j < n_cells:
            into[j] += x * weights[at + j]
            j = j + ONE
    else:
        while j < n_cells:
            into[u64(classes[cells + j])] += x * weights[at + j]
            j = j + ONE


@inline
def add_own(rows: Rows, row: int, c: int, whole: Whole, model: Model, work: Work) -> None:
    """Sum the weights of the items in a class that has the document, without it."""
    presence = model.reading[PRESENCE] != 0
    by_docs = model.reading[BY_DOCS] != 0
    counted = len(rows.counts) > 0 and not presence
    own = work.own
    places = rows.places
    start = u64(rows.starts[row])
    n = u64(rows.starts[row + 1]) - start
    total = 0.0
    p = u64(0)
    while p < n:
        weight = 0.0
        if work.starts[p] != GONE:
            take = i64(1) if by_docs else i64(rows.values[start + p])
            cell = find_cell(u64(work.starts[p]), u64(work.lengths[p]), c, whole)
            weight = own_weight(u64(rows.features[start + p]), take, cell, c, whole, model, work)
        own[p] = weight
        total += weight
        p = p + ONE
    if not presence:
        total = 0.0
        x = 1.0
        k = u64(rows.firsts[row])
        end = u64(rows.firsts[row + 1])
        while k < end:
            if counted:
                x = float(rows.counts[k])
            total += x * own[u64(places[k])]
            k = k + ONE
    work.sums.weights[c] = total


@inline
def draw_line(priors: Sequence[float], at: int, d: int, whole: Whole, model: Model, work: Work) -> None:
    """Bias, scale, slope and what an unseen word adds, by class, without the document."""
    kind = model.reading[KIND]
    log_lam = model.numbers[LOG_LAMBDA]
    line = work.linear
    n_classes = len(whole.doc_count)
    n_features = i64(work.left[N_FEATURES])
    if kind == BERNOULLI:
        logs = model.absent.logs
        for c in range(n_classes):
            k = 2 * n_classes + c if work.is_own[c] != 0 else c
            all_absent = float(n_features) * (logs[k] - logs[k + n_classes])
            line.bias[c] = priors[at + c] + (all_absent + joined(work.parts[c], work.parts[n_classes + c]))
            line.slope[c] = log_lam - logs[k]
            line.unseen[c] = log_lam - logs[k + n_classes]
        return
    if len(model.lam) > 0:
        mass = model.numbers[LAMBDA] * float(n_features - i64(model.n_named[d])) + model.named_lam[d]
    else:
        mass = model.numbers[LAMBDA] * float(n_features)
    for c in range(n_classes):
        count = i64(work.class_sum[c])
        if kind != MULTINOMIAL:
            count = i64(work.left[N_TERMS]) - count
        total = float(count) + mass
        per_word = -log(total if total > model.numbers[LEAST] else 1.0)
        line.unseen[c] = per_word + log_lam
        # With one λ for all words, log λ is of the slope of the multinomial.
        line.slope[c] = line.unseen[c] if kind == MULTINOMIAL and len(model.lam) == 0 else per_word
        if kind == MULTINOMIAL:
            line.bias[c] = priors[at + c]
        elif kind == NORMALISED:
            a = float(n_features) * line.slope[c]
            b = joined(work.shared_parts[0], work.shared_parts[1])
            s = joined(work.parts[c], work.parts[n_classes + c])
            size = -(a + b + s)
            noise = 1e-12 * (abs(a) + abs(b) + abs(s))
            line.scale[c] = -1.0 / (size if size > noise else 1.0)


@inline
def joined(high: int, low: int) -> float:
    """A sum from its parts."""
    return float(high) / HIGH + float(low) / (HIGH * LOW)
