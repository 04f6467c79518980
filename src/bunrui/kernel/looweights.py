"""The weights of a document's features without the document, and what it takes from sums over the vocabulary.

The formulas are those of `bunrui.models`; `loo.py` says how they come together.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from math import floor, log, log1p

from bunrui.kernel.loorows import Rows
from bunrui.kernel.loostate import (
    BERNOULLI,
    BY_DOCS,
    FIELDS,
    GONE,
    KIND,
    LAMBDA,
    LENGTH,
    MULTINOMIAL,
    NORMALISED,
    START,
    TOTAL,
    Model,
    Whole,
    Work,
)
from bunrui.kernel.primitives import ONE, i64, inline, u64
from bunrui.kernel.sums import HIGH, LOW


def lose(f: int, whole: Whole, model: Model, work: Work) -> None:
    """Take a feature out of the sums, in all classes: without the document, too few have it."""
    kind = model.reading[KIND]
    n_classes = u64(len(whole.doc_count))
    start = u64(whole.features[f * FIELDS + START])
    n_cells = u64(whole.features[f * FIELDS + LENGTH])
    if kind == NORMALISED:
        shared = log(float(whole.features[f * FIELDS + TOTAL]) + lambda_of(model, f))
        work.shared_parts[0] -= high_part(shared)
        work.shared_parts[1] -= low_part(shared)
    j = u64(0)
    while j < n_cells:
        cell = start + j
        c = j if n_cells == n_classes else u64(whole.classes[cell])
        count = i64(whole.counts[cell])
        work.class_sum[c] -= count
        if kind == NORMALISED:
            work.parts[c] -= high_part(model.constants.before[cell])
            work.parts[n_classes + c] -= low_part(model.constants.before[cell])
        elif kind == BERNOULLI:
            if work.is_own[c] != 0:
                at = u64(model.absent.starts[c]) + u64(count)
                work.parts[c] -= model.absent.high[at]
                work.parts[n_classes + c] -= model.absent.low[at]
            else:
                absent = log(float(whole.doc_count[c] - count) + model.numbers[LAMBDA]) - model.absent.logs[c]
                work.parts[c] -= high_part(absent)
                work.parts[n_classes + c] -= low_part(absent)
        j = j + ONE


@inline
def lambda_of(model: Model, f: int) -> float:
    return model.lam[f] if len(model.lam) > 0 else model.numbers[LAMBDA]


@inline
def high_part(value: float) -> int:
    return i64(floor(value * HIGH))


@inline
def low_part(value: float) -> int:
    scaled = value * HIGH
    return i64(floor((scaled - floor(scaled)) * LOW))


@inline
def weigh(rows: Rows, row: int, whole: Whole, model: Model, work: Work) -> None:
    """What the features that are left share; for the complement also the weights of those that occur more than once."""
    if len(model.shared) == 0:
        return
    renews = model.reading[KIND] != MULTINOMIAL and model.reading[BY_DOCS] == 0
    used = u64(0)
    start = u64(rows.starts[row])
    n = u64(rows.starts[row + 1]) - start
    p = u64(0)
    while p < n:
        if work.starts[p] != GONE:
            f = u64(rows.features[start + p])
            take = i64(rows.values[start + p]) if renews else i64(1)
            if take == 1:
                work.anew[p] = GONE
                work.shared[p] = model.shared[f]
            else:
                work.anew[p] = i64(used)
                renew(f, p, take, used, whole, model, work)
                used = used + u64(work.lengths[p])
        p = p + ONE


@inline
def renew(f: int, p: int, take: int, at: int, whole: Whole, model: Model, work: Work) -> None:
    """What a feature of the complement comes to without the `take` occurrences that the document has."""
    normalised = model.reading[KIND] == NORMALISED
    total = i64(whole.features[f * FIELDS + TOTAL]) - take
    lam = lambda_of(model, f)
    smoothed = float(total) + lam
    work.shared[p] = log(smoothed)
    start = u64(work.starts[p])
    n_cells = u64(work.lengths[p])
    j = u64(0)
    while j < n_cells:
        count = i64(whole.counts[start + j])
        weight = 0.0
        if count > 0:
            # In the classes of the document the difference may be negative; `add_own` knows better.
            weight = log((float(max(total - count, i64(0))) + lam) / smoothed)
        work.weights[at + j] = weight
        if normalised:
            before = model.constants.before[start + j]
            work.more[at + at + j] = high_part(weight) - high_part(before)
            work.more[at + at + n_cells + j] = low_part(weight) - low_part(before)
        j = j + ONE


def follow(rows: Rows, row: int, whole: Whole, model: Model, work: Work) -> None:
    """Bring the sums of NORMALISED to the weights of the features that are left; `add_own` does so for its classes."""
    n_classes = len(whole.doc_count)
    for k in range(2 * n_classes):
        work.kept[k] = work.parts[k]
    start = u64(rows.starts[row])
    n = u64(rows.starts[row + 1]) - start
    p = u64(0)
    while p < n:
        if work.starts[p] != GONE:
            f = u64(rows.features[start + p])
            before = log(float(whole.features[f * FIELDS + TOTAL]) + lambda_of(model, f))
            work.shared_parts[0] += high_part(work.shared[p]) - high_part(before)
            work.shared_parts[1] += low_part(work.shared[p]) - low_part(before)
            cells = u64(work.starts[p])
            if work.anew[p] == GONE:
                add_more(whole.classes, cells, u64(work.lengths[p]), model.constants.more, cells, work.parts)
            else:
                add_more(whole.classes, cells, u64(work.lengths[p]), work.more, u64(work.anew[p]), work.parts)
        p = p + ONE
    for c in range(n_classes):
        if work.is_own[c] != 0:
            work.parts[c] = work.kept[c]
            work.parts[n_classes + c] = work.kept[n_classes + c]


@inline
def add_more(
    classes: Sequence[int], cells: int, n_cells: int, more: Sequence[int], at: int, into: MutableSequence[int]
) -> None:
    """Add what the weights of a list have more, in parts."""
    n_parts = u64(len(into))
    at = at + at
    j = u64(0)
    if n_cells + n_cells == n_parts:
        while j < n_parts:
            into[j] += i64(more[at + j])
            j = j + ONE
    else:
        while j < n_cells:
            c = u64(classes[cells + j])
            into[c] += i64(more[at + j])
            into[c + (n_parts >> ONE)] += i64(more[at + n_cells + j])
            j = j + ONE


@inline
def find_cell(start: int, n_cells: int, c: int, whole: Whole) -> int:
    """Where a class is in a list that has it."""
    if n_cells == u64(len(whole.doc_count)):
        return start + u64(c)
    lo = start
    hi = start + n_cells
    while hi - lo > ONE:
        middle = (lo + hi) >> ONE
        if whole.classes[middle] <= c:
            lo = middle
        else:
            hi = middle
    return lo


@inline
def own_weight(f: int, take: int, cell: int, c: int, whole: Whole, model: Model, work: Work) -> float:
    """The weight of a feature in a class that has the document, without it; the sums of the class follow."""
    kind = model.reading[KIND]
    count = i64(whole.counts[cell]) - take
    if kind == MULTINOMIAL:
        if count < len(model.logs):
            return model.logs[u64(count)]
        return log1p(float(count) / lambda_of(model, f))
    if kind == BERNOULLI:
        at = u64(model.absent.starts[c]) + u64(count)
        work.parts[c] += model.absent.high[at] - model.absent.high[at + ONE]
        work.parts[c + len(whole.doc_count)] += model.absent.low[at] - model.absent.low[at + ONE]
        return model.absent.weights[at]
    if take == 1:
        weight = model.own[cell]
    else:
        lam = lambda_of(model, f)
        total = i64(whole.features[f * FIELDS + TOTAL]) - take
        weight = log((float(total - count) + lam) / (float(total) + lam))
    if kind == NORMALISED:
        work.parts[c] += high_part(weight) - high_part(model.constants.before[cell])
        work.parts[c + len(whole.doc_count)] += low_part(weight) - low_part(model.constants.before[cell])
    return weight
