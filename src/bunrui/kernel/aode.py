"""Pairs of values: count them, and score rows by averaged one-dependence estimators.

Every value of every column has a number, ascending from column to column.  A table of pairs has for values a and b the
rows of each class that have both: place (a * n_values + b) * n_classes + class; with a = b, those that have a.
"""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

from bunrui.kernel.primitives import ONE, ZERO, i64, inline, u64
from bunrui.kernel.signature import F64s, I32s, I64s, kernel, record


@record
class RowValues(NamedTuple):
    """The values of rows that differ from `PairTable.defaults`."""

    starts: I64s  # (rows + 1)
    columns: I32s  # (items)
    parents: I32s  # (items): the value, or -1 where it cannot be a parent
    places: I32s  # (items): the value's place in `PairTable.weights`


@record
class PairTable(NamedTuple):
    """Logarithms: the term of a parent, and the terms of items with it; and those of naive Bayes."""

    base: F64s  # (values × classes)
    weights: F64s  # (values × places × classes)
    bayes_base: F64s  # (classes)
    bayes_weights: F64s  # (places × classes)
    defaults: I32s  # (columns): the parent of a column that is not in the row, or -1


@record
class PairScratch(NamedTuple):
    """Memory for one row."""

    current: I32s  # (columns): the defaults, before and after
    sums: F64s  # (columns × classes)


@kernel
def count_pairs(
    codes: I32s, n_columns: int, labels: I64s, weights: I64s, n_values: int, n_classes: int, known: I32s, out: I64s
) -> None:
    """Add the weight of every row to the pairs (a, b) of its values with b <= a; negative codes are no values.

    `known` has room for a row.
    """
    add_pairs(codes, n_columns, labels, weights, n_values, n_classes, known, out)


@kernel
def weigh_pairs(
    codes: I32s, n_columns: int, labels: I64s, weights: F64s, n_values: int, n_classes: int, known: I32s, out: F64s
) -> None:
    """Do the same with weights that are not whole numbers."""
    add_pairs(codes, n_columns, labels, weights, n_values, n_classes, known, out)


@inline
def add_pairs(
    codes: I32s, n_columns: int, labels: I64s, weights: Any, n_values: int, n_classes: int, known: I32s, out: Any
) -> None:
    width = u64(n_columns)
    step = u64(n_classes)
    line = u64(n_values) * step
    at = u64(0)
    for r in range(len(labels)):
        label = u64(labels[r])
        weight = weights[r]
        n = u64(0)
        end = at + width
        while at < end:
            known[n] = codes[at]
            n = n + u64(codes[at] >= 0)
            at = at + ONE
        for i in range(n):
            row = u64(known[i]) * line + label
            for j in range(i + ONE):
                out[row + u64(known[j]) * step] += weight


@kernel
def score_rows(rows: RowValues, lo: int, hi: int, table: PairTable, scratch: PairScratch, out: F64s) -> None:
    """Score the rows lo … hi - 1 into `out`, classes by row: the log of the mean over parents."""
    n_classes = u64(len(table.bayes_base))
    at = u64(0)
    for r in range(lo, hi):
        first = u64(rows.starts[r])
        end = u64(rows.starts[r + 1])
        for k in range(first, end):
            scratch.current[rows.columns[k]] = rows.parents[k]
        n_parents = u64(0)
        for i in range(len(table.defaults)):
            if scratch.current[i] >= 0:
                add_parent(rows, first, end, table, i, scratch, n_parents * n_classes)
                n_parents = n_parents + ONE
        if n_parents == ZERO:
            add_bayes(rows, first, end, table, out, at)
        else:
            average(scratch.sums, n_parents, n_classes, out, at)
        for k in range(first, end):
            scratch.current[rows.columns[k]] = table.defaults[rows.columns[k]]
        at = at + n_classes


def add_parent(
    rows: RowValues, first: int, end: int, table: PairTable, column: int, scratch: PairScratch, at: int
) -> None:
    """Write log P(class, parent, all other values of the row) to `scratch.sums[at:]`; a column has the parent."""
    n_classes = u64(len(table.bayes_base))
    parent = u64(scratch.current[column])
    line = parent * u64(len(table.bayes_weights))
    sums = scratch.sums
    for c in range(n_classes):
        sums[at + c] = table.base[parent * n_classes + c]
    for k in range(first, end):
        if rows.columns[k] != column:
            cell = line + u64(rows.places[k]) * n_classes
            for c in range(n_classes):
                sums[at + c] += table.weights[cell + c]


def add_bayes(rows: RowValues, first: int, end: int, table: PairTable, out: F64s, at: int) -> None:
    """Write log P(class) and the sum of log P(value | class) to `out[at:]`."""
    n_classes = u64(len(table.bayes_base))
    for c in range(n_classes):
        total = table.bayes_base[c]
        for k in range(first, end):
            total += table.bayes_weights[u64(rows.places[k]) * n_classes + c]
        out[at + c] = total


def average(sums: F64s, n_parents: int, n_classes: int, out: F64s, at: int) -> None:
    """Write the log of the mean of exp, for each class, to `out[at:]`."""
    for c in range(n_classes):
        top = sums[c]
        for i in range(u64(1), n_parents):
            top = max(top, sums[i * n_classes + c])
        total = 0.0
        for i in range(n_parents):
            total += exp(sums[i * n_classes + c] - top)
        out[at + c] = top + log(total / float(i64(n_parents)))
