"""A sparse matrix → rows → a linear head: naive-Bayes ratios, dual coordinate descent, AROW.

A table of weights has a row for each feature and a column for each class against the rest, in one buffer: cell (p, c)
is at p · n_classes + c.  Features that the training rows cannot tell apart (each occurs once, in the same
row) share a place p: they begin alike and change alike, so one number stands for all.  In 20 Newsgroups, 63 % of the
words and pairs do.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

from bunrui.kernel.arithmetic import HIGH, LOW, add_term
from bunrui.kernel.ngrams import K1, K2
from bunrui.kernel.primitives import M64, ONE, U64, i64, inline, prefetch, u64
from bunrui.kernel.signature import F64s, I32s, I64s, U64s, kernel, record

SQUARED_HINGE = 0
HINGE = 1
LOGISTIC = 2

NOTHING = 1e-12

FAR = U64(12)
LINE = U64(8)  # numbers in a line of the cache

# A feature that occurs in one of the rows at hand; `compact` gives it the place that it shares.
ALONE = -2

AHEAD = U64(16)


# Rows


@record
class Rows(NamedTuple):
    """Row i has the values x[k] at places[k], starts[i] ≤ k < ends[i]; the last of them `times[i]` times."""

    starts: I64s  # (rows)
    ends: I64s  # (rows)
    places: I32s
    x: F64s
    times: F64s  # (rows)


@record
class Targets(NamedTuple):
    """The classes of rows: row i belongs to class column[i] (-1 for none) and counts weight[i] times."""

    column: I64s  # (rows)
    weight: F64s  # (rows)


@kernel
def hash_rows(starts: I64s, indices: I32s, bits: U64s, codes: I64s, seed: int, out: U64s) -> None:
    """Set out[i] to a hash of the cells and the class of row i; `bits` are the values as integers, or empty."""
    for i in range(len(codes)):
        h = (u64(seed) ^ u64(codes[i])) * K1 & M64
        for k in range(i64(starts[i]), i64(starts[i + 1])):
            h = ((h ^ u64(indices[k])) * K1) & M64
            h = h ^ (h >> 32)
            if len(bits) > 0:
                h = ((h ^ u64(bits[k])) * K2) & M64
                h = h ^ (h >> 32)
        h = (h * K2) & M64
        out[i] = h ^ (h >> 32)


@kernel
def count_rows(
    starts: I64s, indices: I32s, codes: I64s, once: int, order: I64s, weights: F64s, doc_freq: F64s, n_rows: I64s
) -> None:
    """Count the rows that have each feature: their number, and the sum of their weights.

    A row whose code is not `once` counts as two: a feature with 1 in `n_rows` occurs once.  `codes` may be empty.
    """
    for j in range(len(order)):
        i = i64(order[j])
        w = weights[j]
        end = u64(starts[i + 1])
        for k in range(u64(starts[i]), end):
            ahead = u64(indices[min(k + AHEAD, end - ONE)])
            prefetch(doc_freq, ahead)
            prefetch(n_rows, ahead)
            f = u64(indices[k])
            doc_freq[f] += w
            n_rows[f] += 1 if len(codes) == 0 or codes[k] == once else 2


@kernel
def compact(
    codes: I64s, table: F64s, lo: int, hi: int, factor: F64s, norm: int, place_of: I64s, shared: int, rows: Rows
) -> None:
    """Turn the rows lo … hi - 1, which have features for places, into rows as the head reads them, where they are.

    A value is table[code] × factor[feature], divided by the length of the row where `norm` says so.  `codes` may be
    empty: all are 0; else they may have the memory of `rows.x`, since a cell is written after it was read.  Features
    that are ALONE get the place shared + i in row i, those with another negative place are left out.
    """
    for i in range(lo, hi):
        begin = u64(rows.starts[i])
        end = u64(rows.ends[i])
        at = begin
        alone = i64(0)
        last = 0.0
        square = 0.0
        for k in range(begin, end):
            ahead = u64(rows.places[min(k + AHEAD, end - ONE)])
            prefetch(place_of, ahead)
            prefetch(factor, ahead)
            f = u64(rows.places[k])
            p = i64(place_of[f])
            v = factor[f] * (table[u64(codes[k])] if len(codes) > 0 else table[0])
            if p == ALONE:
                place_of[f] = shared + i
                alone += 1
                last = v
            elif p >= 0:
                rows.places[at] = p
                rows.x[at] = v
                at = at + ONE
                square += v * v
        rows.times[i] = 1.0
        if alone > 0:
            rows.places[at] = shared + i
            rows.x[at] = last
            rows.times[i] = float(alone)
            square += last * last * float(alone)
            at = at + ONE
        if norm != 0 and square > 0.0:
            scale = 1.0 / sqrt(square)
            for k in range(begin, at):
                rows.x[k] *= scale
        rows.ends[i] = i64(at)


@kernel
def tally(
    rows: Rows, targets: Targets, old_places: int, old_classes: int, counts: F64s, totals: F64s, mass: F64s
) -> None:
    """Count the rows in which a feature is above 0.

    `totals` gets the rows of all classes; the table `counts` the rows by class, where place or class is new; `mass` the
    sums over all features by class, beginning with the class -1.
    """
    width = u64(len(mass) - 1)
    for i in range(len(targets.column)):
        c = i64(targets.column[i])
        w = targets.weight[i]
        end = u64(rows.ends[i])
        for k in range(u64(rows.starts[i]), end):
            ahead = u64(rows.places[min(k + AHEAD, end - ONE)])
            prefetch(totals, ahead)
            if c >= 0:
                prefetch(counts, ahead * width + u64(c))
            p = i64(rows.places[k])
            if rows.x[k] > 0.0:
                totals[u64(p)] += w
                mass[c + 1] += w * rows.times[i] if k == end - ONE else w
                if c >= 0 and (p >= old_places or c >= old_classes):
                    counts[u64(p) * width + u64(c)] += w


# Heads


@record
class Head(NamedTuple):
    """The weights of features and of the constant feature, and their variances."""

    weights: F64s  # (places · classes)
    variance: F64s  # (places · classes)
    bias: F64s  # (classes)
    bias_variance: F64s  # (classes)
    constant: float


@record
class Dual(NamedTuple):
    """The state of coordinate descent."""

    alpha: F64s  # (rows · classes)
    diagonal: F64s  # (rows · classes): x · x under the prior variance
    loss: int


@record
class Sums(NamedTuple):
    """Sums of the present row, by class."""

    margin: F64s  # (classes)
    spread: F64s  # (classes)
    step: F64s  # (classes)
    shrink: F64s  # (classes)


@kernel
def ratios(
    head: Head,
    totals: F64s,
    shift: F64s,
    alpha: float,
    first: int,
    last: int,
    first_class: int,
    unit: float,
    least: float,
) -> None:
    """Turn counts in `head.variance` into log-ratios.

        r[p, c] = log((n[p, c] + α) / (n[p] - n[p, c] + α)) + shift[c]

    The weights become r · unit, the variances r², or `least`; for the places first … last - 1 and the classes
    from `first_class` on.
    """
    n_classes = len(shift)
    nothing = log(alpha)
    for p in range(first, last):
        all_of_it = log(totals[p] + alpha)
        for c in range(first_class, n_classes):
            at = u64(p) * u64(n_classes) + u64(c)
            n = head.variance[at]
            r = nothing - all_of_it
            if n > 0.0:
                r = log(n + alpha) - log(max(totals[p] - n, 0.0) + alpha)
            r += shift[c]
            head.weights[at] = r * unit + 0.0
            head.variance[at] = max(r * r, least)


@kernel
def blend(
    head: Head, mass: F64s, share: float, least: float, first: int, first_class: int, high: I64s, low: I64s, means: F64s
) -> None:
    """Turn squared ratios in `head.variance` into prior variances.

        v[p, c] = (1 - share) + share · r²[p, c] / mean of r² of class c        or `least`

    A place counts mass[p] times in the mean, and there are as many places as masses.  Only the places from `first` on
    are changed and counted, and of the classes from `first_class` on all.  `high` and `low` begin with zeros,
    (classes + 2): sums that do not depend on the order of the places, the order of the first words; `means` is
    room for a number of each class.
    """
    n_classes = len(means)
    begin = 0 if first_class < n_classes else first
    largest = 0.0
    for p in range(begin, len(mass)):
        largest = max(largest, mass[p])
    for p in range(begin, len(mass)):
        m = mass[p] / largest if largest > 0.0 else 0.0
        add_term(high, low, n_classes if p < first else n_classes + 1, m)
        for c in range(first_class if p < first else 0, n_classes):
            add_term(high, low, c, m * head.variance[u64(p) * u64(n_classes) + u64(c)])
    old = sum_of(high, low, n_classes)
    new = sum_of(high, low, n_classes + 1)
    for c in range(n_classes):
        counted = new if c < first_class else old + new
        means[c] = sum_of(high, low, c) / counted if counted > 0.0 else 0.0
    for p in range(begin, len(mass)):
        for c in range(first_class if p < first else 0, n_classes):
            at = u64(p) * u64(n_classes) + u64(c)
            # Classes that do not differ yet have ratios of nothing but rounding.
            v = head.variance[at] / means[c] if means[c] > NOTHING else 1.0
            head.variance[at] = max(1.0 - share + share * v, least)


@inline
def sum_of(high: I64s, low: I64s, group: int) -> float:
    """Join the two parts of the sum of a group."""
    return float(high[group]) / HIGH + float(low[group]) / (HIGH * LOW)


@inline
def add_margins(rows: Rows, i: int, head: Head, sums: Sums, spread: int) -> None:
    """Write the margins of row i by class to `sums.margin`; with `spread`, their variances to `sums.spread`."""
    n_classes = u64(len(head.bias))
    for c in range(n_classes):
        sums.margin[c] = head.constant * head.bias[c]
        sums.spread[c] = head.constant * head.constant * head.bias_variance[c]
    end = u64(rows.ends[i])
    for k in range(u64(rows.starts[i]), end):
        ahead = u64(rows.places[min(k + FAR, end - ONE)]) * n_classes
        line = u64(0)
        while line < n_classes:
            prefetch(head.weights, ahead + line)
            prefetch(head.variance, ahead + line)
            line = line + LINE
        at = u64(rows.places[k]) * n_classes
        v = rows.x[k]
        v2 = v * v
        if k + ONE == end:
            v = v * rows.times[i]
            v2 = v2 * rows.times[i]
        for c in range(n_classes):
            sums.margin[c] += v * head.weights[at + c]
        if spread != 0:
            for c in range(n_classes):
                sums.spread[c] += v2 * head.variance[at + c]


@kernel
def mean_margin(rows: Rows, targets: Targets, n_rows: int, head: Head, sums: Sums) -> float:
    """Find the mean size of the margins of the first rows."""
    total = 0.0
    weight = 0.0
    for i in range(n_rows):
        add_margins(rows, i, head, sums, 0)
        for c in range(len(sums.margin)):
            total += abs(sums.margin[c]) * targets.weight[i]
        weight += targets.weight[i] * float(len(sums.margin))
    return total / weight if weight > 0.0 else 0.0


@kernel
def sweep(rows: Rows, order: I64s, targets: Targets, cost: float, head: Head, dual: Dual, sums: Sums) -> float:
    """Run one epoch of dual coordinate descent over the rows in `order`, all classes of a row at once.

    Returns the largest violation of the optimality conditions that it met.  Hsieh et al. (2008), Yu et al. (2011).
    """
    n_classes = len(head.bias)
    worst = 0.0
    for j in range(len(order)):
        i = i64(order[j])
        first = i64(i) * n_classes
        add_margins(rows, i, head, sums, 1 if dual.diagonal[first] == 0.0 else 0)
        if dual.diagonal[first] == 0.0:
            for c in range(n_classes):
                # A row without any value and without a constant cannot move anything.
                dual.diagonal[first + c] = max(sums.spread[c], 1e-300)
        upper = cost * targets.weight[i]
        moves = False
        for c in range(n_classes):
            sign = 1.0 if targets.column[i] == c else -1.0
            old = dual.alpha[first + c]
            margin = sign * sums.margin[c]
            new, violation = move(dual.loss, margin, old, dual.diagonal[first + c], upper)
            worst = max(worst, violation)
            sums.step[c] = sign * (new - old)
            if new != old:
                dual.alpha[first + c] = new
                moves = True
        if moves:
            add_steps(rows, i, head, sums)
    return worst


@inline
def move(loss: int, margin: float, old: float, diagonal: float, upper: float) -> tuple[float, float]:
    """Find the best α of one row and class, all others fixed, and the violation of the old one."""
    if loss == LOGISTIC:
        # α = U·σ(t) where diagonal·(α - old) + margin + t = 0; the slope of this in t is at least 1.
        low = -margin - diagonal * (upper - old)
        high = -margin + diagonal * old
        t = min(max(log(old / (upper - old)) if 0.0 < old < upper else 0.0, low), high)
        for _ in range(100):
            share = 1.0 / (1.0 + exp(-t)) if t > -700.0 else 0.0
            gap = diagonal * (upper * share - old) + margin + t
            if gap > 0.0:
                high = t
            else:
                low = t
            step = gap / (1.0 + diagonal * upper * share * (1.0 - share))
            if abs(step) <= 1e-15 * max(1.0, abs(t)):
                break
            t = t - step
            if t < low or t > high:
                t = 0.5 * (low + high)
        new = upper / (1.0 + exp(-t)) if t > -700.0 else 0.0
        return new, abs(new - old) * diagonal
    ridge = 0.5 / upper if loss == SQUARED_HINGE else 0.0
    gradient = margin - 1.0 + ridge * old
    projected = gradient
    if old <= 0.0:
        projected = min(gradient, 0.0)
    elif loss == HINGE and old >= upper:
        projected = max(gradient, 0.0)
    if projected == 0.0:
        return old, 0.0
    new = max(old - gradient / (diagonal + ridge), 0.0)
    if loss == HINGE:
        new = min(new, upper)
    return new, abs(projected)


@inline
def add_steps(rows: Rows, i: int, head: Head, sums: Sums) -> None:
    """Move the weights of row i: by step · x · variance."""
    n_classes = u64(len(head.bias))
    for c in range(n_classes):
        head.bias[c] += sums.step[c] * head.constant * head.bias_variance[c]
    for k in range(u64(rows.starts[i]), u64(rows.ends[i])):
        at = u64(rows.places[k]) * n_classes
        v = rows.x[k]
        for c in range(n_classes):
            head.weights[at + c] += sums.step[c] * v * head.variance[at + c]


@kernel
def arow(rows: Rows, targets: Targets, r: float, head: Head, sums: Sums) -> None:
    """Run one pass of AROW with a diagonal covariance over the rows as they stand; Crammer, Kulesza, Dredze (2009).

    A row whose margin is below 1 moves the weights and makes the variances of its features smaller; its weight
    divides r.
    """
    n_classes = u64(len(head.bias))
    for i in range(len(targets.column)):
        add_margins(rows, i, head, sums, 1)
        moves = False
        for c in range(len(head.bias)):
            sign = 1.0 if targets.column[i] == c else -1.0
            gap = 1.0 - sign * sums.margin[c]
            beta = 1.0 / (sums.spread[c] + r / targets.weight[i]) if gap > 0.0 else 0.0
            sums.step[c] = sign * gap * beta if gap > 0.0 else 0.0
            sums.shrink[c] = beta
            moves = moves or gap > 0.0
            own = head.constant * head.bias_variance[c]
            head.bias[c] += sums.step[c] * own
            head.bias_variance[c] -= beta * own * own
        if not moves:
            continue
        for k in range(u64(rows.starts[i]), u64(rows.ends[i])):
            at = u64(rows.places[k]) * n_classes
            v = rows.x[k]
            for c in range(n_classes):
                xv = v * head.variance[at + c]
                head.weights[at + c] += sums.step[c] * xv
                head.variance[at + c] -= sums.shrink[c] * xv * xv
