"""Averaged one-dependence estimators: naive Bayes where every column in turn is a parent of all others.

    P(y, x) = mean over columns i with F(x_i) >= m of P(y, x_i) · product over j ≠ i of P(x_j | y, x_i)

    P(y, x_i)       = (F(y, x_i) + 1) / (K_i + k v_i)
    P(x_j | y, x_i) = (F(y, x_i, x_j) + 1) / (K_j(y, x_i) + v_j)

    F     rows that have these values and this class
    K_j   rows (of this class, with this value) where column j is known; v_j the values of column j, k the classes

Where no parent has m rows, naive Bayes with the same smoothing answers:

    P(y, x) = (F(y) + 1) / (K + k) · product over j of (F(y, x_j) + 1) / (K_j(y) + v_j)

A value that was never seen has F = 0.  A value that is missing is skipped, as parent and as child.

The items of a row are summed for every parent i, s[i, y] = base[i, y] + Σ_k w[i, k, y], and parents are averaged after
the logarithm: no sum of items alone.  So an explanation says what an item adds to the parents, each weighed by its
share π[i, y] = exp(s[i, y]) / Σ_i exp(s[i, y]),

    value[k, y] = Σ_i π[i, y] · w[i, k, y]  +  π[k, y] · (base[k, y] - usual[k, y])

and the rest of the score (the class, and the share of the average) is the bias.  Words are items where they are
present, and their usual is their absence.  Values are items where they are known, and their usual is log P(y): as a
parent, a value adds log P(x_k | y).

Webb, Boughton, Wang (2005), Not so naive Bayes: aggregating one-dependence estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import ClassCounts, ValueCounts, check_pairs, encode_labels, encode_values
from bunrui.errors import DataError
from bunrui.kernel.aode import PairScratch, PairTable, RowValues, count_pairs, score_rows, weigh_pairs
from bunrui.kernel.arithmetic import log
from bunrui.kernel.library import run
from bunrui.models.frames import cut_columns
from bunrui.models.model import Parts
from bunrui.models.scorer import check_rows, prior_shares
from bunrui.sparse import Floats, Integers, Numbers, Sparse

# From this number of columns on, a table of zeros and ones is counted and scored by its ones.
_MANY = 64
_MOST_VALUES = 1 << 22  # of rows that are counted at once, zeros too
_BLOCK = 1 << 20  # cells whose logarithms are taken at once, which takes some memory beside them


def aode(cells: Numbers, sizes: Integers, log_prior: Floats) -> PairTable:
    """The logarithms from F(y, a, b); after the values, a place for one of each column that was never seen.

    Parameters
    ----------
    cells : (n_values, n_values, n_classes)
        Rows by pair of values and class, the values of each column after those of the last; of a value with itself,
        the rows that have it.
    sizes : (n_columns,)
        v.
    log_prior : (n_classes,)
        log P(y) of naive Bayes.
    """
    n_values, _, n_classes = cells.shape
    singles = cells[np.arange(n_values), np.arange(n_values)]
    column = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.cumsum(sizes)
    columns = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    known = np.array([singles[values].sum(axis=0) for values in columns])
    base = log(singles + 1) - log((known.sum(axis=1) + n_classes * sizes)[column])[:, None]
    # A column that never had a value says nothing: log 1.
    has_values = sizes > 0
    below = np.zeros((n_values, len(sizes), n_classes))
    for j in np.flatnonzero(has_values).tolist():
        below[:, j] = log(cells[:, columns[j]].sum(axis=1) + sizes[j])
    weights = np.empty((n_values, n_values + len(sizes), n_classes))
    step = max(1, _BLOCK // max(1, n_values * n_classes))
    for first in range(0, n_values, step):
        rows = slice(first, first + step)
        weights[rows, :n_values] = log(cells[rows] + 1) - below[rows][:, column]
    weights[:, n_values:] = -below
    bayes_below = np.zeros(known.shape)
    bayes_below[has_values] = log((known + sizes[:, None])[has_values])
    bayes = np.concatenate([log(singles + 1) - bayes_below[column], -bayes_below])
    no_defaults = np.full(len(sizes), -1, np.int32)
    return PairTable(base.reshape(-1), weights.reshape(-1), log_prior, bayes.reshape(-1), no_defaults)


def beyond(table: PairTable, sizes: Integers, usual: Integers, other: Integers) -> PairTable:
    """The same for rows with one of two values in every column: the share of the other value beyond the usual one.

    Parameters
    ----------
    usual, other : (n_columns,)
        The places of the two values.
    """
    n_classes = len(table.bayes_base)
    column = np.repeat(np.arange(len(sizes)), sizes)
    weights = table.weights.reshape(len(column), -1, n_classes)
    bayes = table.bayes_weights.reshape(-1, n_classes)
    expected = weights[:, usual]
    own = expected[np.arange(len(column)), column]
    base = table.base.reshape(-1, n_classes) + expected.sum(axis=1) - own
    bayes_base, more = table.bayes_base + bayes[usual].sum(axis=0), bayes[other] - bayes[usual]
    beyond_usual = (weights[:, other] - expected).reshape(-1)
    return PairTable(base.reshape(-1), beyond_usual, bayes_base, more.reshape(-1), table.defaults)


# Counting


def ones_of(X: Any) -> Sparse | None:
    """Zeros and ones as sparse ones; None if X is something else, or has few columns."""
    if hasattr(X, "indptr"):
        if X.data.dtype.kind == "f" and np.isnan(X.data).any():
            raise DataError("a sparse matrix is read as presence and should have no NaN: give an array")
        return Sparse.of(X).with_data((X.data != 0).astype(np.int64)).without_zeros()
    if X.shape[1] < _MANY or X.dtype.kind not in "biu" or not len(X) or X.min() < 0 or X.max() > 1:
        return None
    return Sparse.of(X.astype(np.int64))


def count_value_pairs(
    X: Any, codes: Integers, weights: Numbers, n_classes: int, cuts: Sequence[Floats | None]
) -> ValueCounts:
    """Count the rows of a table of values, or of sparse rows of ones, whose columns are cut somewhere, (n_rows, n)."""
    ones = ones_of(X) if all(each is None for each in cuts) else None
    if ones is not None:
        return count_present_pairs(ones, codes, weights, n_classes)
    X = cut_columns(X, cuts)
    places: tuple[dict[Any, int], ...] = tuple({} for _ in range(X.shape[1]))
    values = np.empty(X.shape, np.int32)
    n_values = 0
    for j, column in enumerate(places):
        found = encode_values(np.ascontiguousarray(X[:, j]), column, grow=True)
        values[:, j] = np.where(found < 0, -1, found + n_values)
        n_values += len(column)
    check_pairs([len(column) for column in places], n_classes)
    cells = np.zeros((n_values, n_values, n_classes), weights.dtype)
    _add_pairs(values, codes, weights, cells)
    return ValueCounts(places, _mirrored(cells), tuple(cuts))


def count_present_pairs(X: Sparse, codes: Integers, weights: Numbers, n_classes: int) -> ValueCounts:
    """Count the rows of ones: every column has the values 0 and 1.

    Only ones are paired.  That two columns are 1 and 0, or both 0, follows from the rows and from each column's ones.
    """
    n = X.shape[1]
    check_pairs([2] * n, n_classes)
    both = np.zeros((n, n, n_classes), weights.dtype)
    step = max(1, _MOST_VALUES // max(n, 1))
    for first in range(0, X.shape[0], step):
        some = X[first : first + step]
        values = np.full(some.shape, -1, np.int32)
        values[some.row_of_cells(), some.indices] = some.indices
        _add_pairs(values, codes[first : first + step], weights[first : first + step], both)
    both = _mirrored(both)
    every = np.arange(n)
    ones = both[every, every]
    rows = np.zeros(n_classes, weights.dtype)
    np.add.at(rows, codes, weights)
    cells: Numbers = np.empty((n, 2, n, 2, n_classes), weights.dtype)
    cells[:, 1, :, 1] = both
    cells[:, 1, :, 0] = ones[:, None] - both
    cells[:, 0, :, 1] = ones[None, :] - both
    cells[:, 0, :, 0] = rows - ones[:, None] - ones[None, :] + both
    cells = cells.reshape(2 * n, 2 * n, n_classes)
    every = np.arange(2 * n)
    stays = cells[every, every].any(axis=1)
    seen = (np.flatnonzero(pair).tolist() for pair in stays.reshape(n, 2))
    places = tuple({value: k for k, value in enumerate(values)} for values in seen)
    return ValueCounts(places, cells if stays.all() else cells[stays][:, stays], (None,) * n)


def _add_pairs(values: npt.NDArray[np.int32], codes: Integers, weights: Numbers, cells: Numbers) -> None:
    """Add rows to the pairs (a, b) with b <= a."""
    n_values, _, n_classes = cells.shape
    known = np.empty(values.shape[1], np.int32)
    args = (values.reshape(-1), values.shape[1], codes, weights, n_values, n_classes, known, cells.reshape(-1))
    run(count_pairs if cells.dtype == np.int64 else weigh_pairs, *args)


def _mirrored(cells: Numbers) -> Numbers:
    """The pairs (a, b) of both orders."""
    every = np.arange(len(cells))
    singles = cells[every, every]
    cells = cells + cells.transpose(1, 0, 2)
    cells[every, every] = singles
    return cells


# Answering


class Pairs:
    """AODE of some counts of pairs; tables are made once for the same counts.

    Attributes
    ----------
    learned : ClassCounts of one part, ValueCounts of pairs
    m : float
        The fewest rows of a value that is a parent.
    """

    def __init__(self, learned: ClassCounts, m: float) -> None:
        check_rows(m)
        self.learned = learned
        self.counts: ValueCounts = learned.part
        self.m = m

    def scores(self, X: Any) -> Floats:
        """log P(class, row) of an array of values or of sparse rows, (n_rows, n_classes)."""
        rows, table, _ = self._read(X)
        n_rows, n_classes, n_columns = X.shape[0], len(self.learned.classes), X.shape[1]
        out = np.empty((n_rows, n_classes))
        scratch = PairScratch(table.defaults.copy(), np.empty(n_columns * n_classes))
        run(score_rows, rows, 0, n_rows, table, scratch, out.reshape(-1))
        return out

    def parts(self, row: Any) -> Parts:
        """The items of one row, their shares (n_items, n_classes), and the bias (n_classes,)."""
        return _parts(*self._read(row))

    def weights(self, columns: Integers) -> Floats:
        """The shares of words, each in a document that has no other word, (n_columns, n_classes)."""
        starts, one, width = np.array([0, 1]), np.ones(1, np.int64), len(self.counts.places)
        rows = (Sparse(starts, np.array([column], np.int32), one, (1, width)) for column in columns.tolist())
        return np.array([self.parts(row).values[0] for row in rows])

    def _read(self, X: Any) -> tuple[RowValues, PairTable, Integers | None]:
        """Rows with their items, the table of these, and the place of the usual of each item; None for log P(y)."""
        ones = ones_of(X) if all(cuts is None for cuts in self.counts.cuts) else None
        return self._read_values(X) if ones is None else self._read_ones(ones)

    def _read_values(self, X: Numbers) -> tuple[RowValues, PairTable, Integers | None]:
        """Rows of values, each with all that are known."""
        counts = self.counts
        X = cut_columns(X, counts.cuts)
        n_values = len(counts.cells)
        places = np.empty(X.shape, np.int32)
        for j, column in enumerate(counts.places):
            found = encode_values(np.ascontiguousarray(X[:, j]), column, grow=False)
            places[:, j] = np.where(found >= 0, found + counts.offsets[j], np.where(found == -1, -1, n_values + j))
        known = places >= 0
        starts = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        columns = np.broadcast_to(np.arange(X.shape[1], dtype=np.int32), X.shape)[known]
        places = places[known]
        return RowValues(starts, columns, self._parents()[places], places), self._table("values"), None

    def _read_ones(self, ones: Sparse) -> tuple[RowValues, PairTable, Integers | None]:
        """Rows of zeros and ones, each with its ones, and their shares beyond those of zeros."""
        parents = self._parents()
        zeros, present = self._numbers_of(0), self._numbers_of(1)
        rows = RowValues(ones.indptr, ones.indices, parents[present][ones.indices], ones.indices)
        table, absent = self._table("ones")._replace(defaults=parents[zeros]), zeros[ones.indices]
        # A word that was never absent has nothing to be held against.
        usual = np.where(absent < len(self.counts.cells), absent, rows.parents)
        return rows, table, usual

    def _numbers_of(self, value: Any) -> Integers:
        """The number of a value in every column; where it was never seen, one after those of all values."""
        unseen = len(self.counts.cells)
        each = zip(self.counts.offsets.tolist(), self.counts.places, strict=False)
        numbers = [offset + places[value] if value in places else unseen + j for j, (offset, places) in enumerate(each)]
        return np.array(numbers, np.int64)

    def _parents(self) -> npt.NDArray[np.int32]:
        """The number of every value that has m rows, else -1; so for one of each column that was never seen."""
        enough = self.counts.singles.sum(axis=1) >= self.m
        numbers = np.where(enough, np.arange(len(enough)), -1)
        return np.concatenate([numbers, np.full(len(self.counts.places), -1)]).astype(np.int32)

    def _table(self, name: str) -> PairTable:
        """The table of all values, or the table of ones beyond zeros."""

        def make() -> PairTable:
            prior = log(prior_shares(self.learned.doc_count, (), "smoothed"))
            table = aode(self.counts.cells, self.counts.sizes, prior)
            is_whole = name == "values"
            return table if is_whole else beyond(table, self.counts.sizes, self._numbers_of(0), self._numbers_of(1))

        table: PairTable = self.learned.once(name, None, make)
        return table


def _parts(rows: RowValues, table: PairTable, usual: Integers | None) -> Parts:
    n_classes = len(table.bayes_base)
    items = rows.columns.astype(np.int64)
    parent = table.defaults.copy()
    parent[items] = rows.parents
    columns = np.flatnonzero(parent >= 0)
    if not len(columns):
        return Parts(items, table.bayes_weights.reshape(-1, n_classes)[rows.places], table.bayes_base)
    base = table.base.reshape(-1, n_classes)
    weights = table.weights.reshape(len(base), -1, n_classes)[parent[columns]][:, rows.places]
    weights[columns[:, None] == items] = 0.0
    sums = base[parent[columns]] + weights.sum(axis=1)
    top = sums.max(axis=0)
    shares = np.exp(sums - top)
    total = shares.sum(axis=0)
    shares /= total
    values = np.einsum("ic,ikc->kc", shares, weights)
    own = np.zeros((len(parent), n_classes))
    own[columns] = shares
    values += own[items] * (base[rows.parents] - (table.bayes_base if usual is None else base[usual]))
    return Parts(items, values, top + np.log(total / len(columns)) - values.sum(axis=0))


def train_aode(m: float, X: Sparse, y: Numbers) -> Pairs:
    """`aode` of the words of all documents."""
    labels, ones = encode_labels(y), np.ones(len(y), np.int64)
    pairs = count_value_pairs(X, labels[1], ones, len(labels[0]), ())
    return Pairs(ClassCounts.of(labels, ones, pairs), m)
