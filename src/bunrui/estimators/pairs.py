"""`PairCounts`: what `AODE` learns, the rows of every class by pairs of values.

    cells[a, b, c]   rows of class c that have the values a and b, (n_values, n_values, n_classes); a = b: that have a

The values of all columns are numbered one after the other.  Counts never change: `plus` and `minus` make new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import DataError, UnlearnError
from bunrui.estimators.categories import encode_column
from bunrui.estimators.counts import indicator
from bunrui.estimators.discrete import canonical
from bunrui.estimators.labels import Labels, union
from bunrui.kernel.aode import count_pairs, weigh_pairs
from bunrui.kernel.library import run

__all__ = ["MOST_CELLS", "PairCounts", "check_size", "count_presence", "count_values", "encode_values", "presence_of"]

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]
Places = tuple[dict[Any, int], ...]

MOST_CELLS = 1 << 26  # of pair counts: 512 MB; with their logarithms, a process peaks at 2.3 GB

# From so many columns on, a table of zeros and ones is counted and scored by its ones.
_MANY = 64
# Integers in so narrow a range are numbered through a table, 6 ms for a million against 90 ms by sorting.
_NARROW = 1 << 16
# What rounding may leave of a count that is taken back, as a share of what it was.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts by pair of values and class.

    Attributes
    ----------
    classes : (n_classes,)
        Sorted.
    doc_count : (n_classes,) int64 or float64
    places : tuple of dict
        The values of every column, each with its place in the column.
    cells : (n_values, n_values, n_classes) int64 or float64
    cuts : tuple of array or None
        Where a column of numbers was cut; the values are then the intervals.
    memo : dict
        What was computed from these counts, and need not be again.
    """

    classes: Labels
    doc_count: Numbers
    places: Places
    cells: Numbers
    cuts: tuple[npt.NDArray[np.float64] | None, ...]
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def sizes(self) -> Integers:
        """v: the values of every column."""
        return np.array([len(places) for places in self.places], np.int64)

    @cached_property
    def offsets(self) -> Integers:
        """The number of every column's first value; after the last, the number of values."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def singles(self) -> Numbers:
        """Rows by value and class, (n_values, n_classes)."""
        every = np.arange(len(self.cells))
        return np.asarray(self.cells[every, every])

    def numbers_of(self, value: Any) -> Integers:
        """The number of a value in every column; where it was never seen, one after those of all values."""
        unseen = len(self.cells)
        each = zip(self.offsets.tolist(), self.places, strict=False)
        numbers = [offset + places[value] if value in places else unseen + j for j, (offset, places) in enumerate(each)]
        return np.array(numbers, np.int64)

    def over(self, classes: Labels) -> PairCounts:
        """The same among more classes."""
        if len(classes) == len(self.classes):
            return self
        check_size(self.sizes.tolist(), len(classes))
        at = np.searchsorted(classes, self.classes.astype(classes.dtype))
        doc_count = np.zeros(len(classes), self.doc_count.dtype)
        doc_count[at] = self.doc_count
        cells = np.zeros((*self.cells.shape[:2], len(classes)), self.cells.dtype)
        cells[:, :, at] = self.cells
        return replace(self, classes=classes, doc_count=doc_count, cells=cells, memo={})

    def _onto(self, places: Places) -> Numbers:
        """The cells among more values, in a new array."""
        if all(list(mine) == list(more) for mine, more in zip(self.places, places, strict=True)):
            return self.cells.copy()
        offsets = np.concatenate([[0], np.cumsum([len(column) for column in places])])
        at = [
            offset + more[value]
            for offset, mine, more in zip(offsets.tolist(), self.places, places, strict=False)
            for value in mine
        ]
        cells = np.zeros((offsets[-1], offsets[-1], self.cells.shape[2]), self.cells.dtype)
        if at:
            cells[np.ix_(at, at)] = self.cells
        return cells

    def plus(self, other: PairCounts) -> PairCounts:
        """The counts of both."""
        classes, places = union(self.classes, other.classes), _joined(self.places, other.places)
        check_size([len(column) for column in places], len(classes))
        mine, theirs = self.over(classes), other.over(classes)
        cells = mine._onto(places).astype(np.result_type(mine.cells, theirs.cells), copy=False)
        cells += theirs._onto(places)
        return PairCounts(classes, mine.doc_count + theirs.doc_count, places, cells, self.cuts)

    def minus(self, other: PairCounts, keep: Labels, exact: bool) -> PairCounts:
        """The counts without those of some rows; classes and values that have none any more go."""
        if exact and not self.cells.dtype.kind == other.cells.dtype.kind == "i":
            raise UnlearnError(
                "weights with fractions cannot be taken back exactly: pass exact=False to accept rounding"
            )
        for label in other.classes[~np.isin(other.classes, self.classes)].tolist():
            raise UnlearnError(f"this was never learned: no row has the label {label!r}")
        for j, (mine, less) in enumerate(zip(self.places, other.places, strict=True)):
            for value in less:
                if value not in mine:
                    raise UnlearnError(f"this was never learned: column {j} has not the value {value!r}")
        theirs = other.over(self.classes)
        doc_count = _settled(self.doc_count - theirs.doc_count, self.doc_count)
        cells = _settled(self.cells - theirs._onto(self.places), self.cells)
        left = replace(self, doc_count=doc_count, cells=cells, memo={})
        left._check_possible()
        alive = (doc_count > 0) | np.isin(self.classes, keep)
        stays = np.asarray(left.singles.any(axis=1))
        places = []
        for offset, column in zip(self.offsets.tolist(), self.places, strict=False):
            values = [value for value, at in column.items() if stays[offset + at]]
            places.append({value: k for k, value in enumerate(values)})
        return PairCounts(
            self.classes[alive], doc_count[alive], tuple(places), cells[stays][:, stays][:, :, alive], self.cuts
        )

    def _check_possible(self) -> None:
        """Refuse counts that no rows have."""
        slack = 0.0 if self.cells.dtype.kind == "i" else _ROUNDING
        singles = self.singles
        wrong = bool((self.doc_count < 0).any() or (self.cells < 0).any())
        for start, end in zip(self.offsets.tolist(), self.offsets.tolist()[1:], strict=False):
            wrong = wrong or bool((singles[start:end].sum(axis=0) > self.doc_count * (1 + slack)).any())
            # Of the rows that have a value, each has at most one of this column.
            wrong = wrong or bool((self.cells[:, start:end].sum(axis=1) > singles * (1 + slack)).any())
        if wrong:
            raise UnlearnError("this was never learned: there are not so many rows with these values and labels")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memo": {}}


def encode_values(column: Numbers, places: dict[Any, int], grow: bool) -> Integers:
    """The place of every value: -1 for one that is missing, -2 for one that has no place; with `grow` it gets one.

    Examples
    --------
    >>> places = {}
    >>> encode_values(np.array([7, 5, 7]), places, grow=True).tolist(), places
    ([1, 0, 1], {5: 0, 7: 1})
    """
    if column.dtype.kind not in "iu" or not len(column):
        return encode_column(column, places, grow)[1]
    low, high = int(column.min()), int(column.max())
    if high - low >= _NARROW:
        return encode_column(column, places, grow)[1]
    shifted = np.subtract(column, low, dtype=np.int64, casting="unsafe")
    table = np.full(high - low + 1, -2, np.int64)
    table[shifted] = -1
    seen = np.flatnonzero(table == -1)
    table[seen] = encode_column(seen + low, places, grow)[1]
    return table[shifted]


def count_values(
    X: Numbers, labels: tuple[Labels, Integers], weights: Numbers, cuts: tuple[npt.NDArray[np.float64] | None, ...]
) -> PairCounts:
    """Count the rows of a table of values, of which columns of numbers are cut already, (n_rows, n_columns)."""
    classes, codes = labels
    doc_count = np.zeros(len(classes), weights.dtype)
    np.add.at(doc_count, codes, weights)
    places: Places = tuple({} for _ in range(X.shape[1]))
    values = np.empty(X.shape, np.int32)
    n_values = 0
    for j, column in enumerate(places):
        found = encode_values(np.ascontiguousarray(X[:, j]), column, grow=True)
        values[:, j] = np.where(found < 0, -1, found + n_values)
        n_values += len(column)
    check_size([len(column) for column in places], len(classes))
    cells = np.zeros((n_values, n_values, len(classes)), weights.dtype)
    known = np.empty(X.shape[1], np.int32)
    args = (values.reshape(-1), X.shape[1], codes, weights, n_values, len(classes), known, cells.reshape(-1))
    run(count_pairs if cells.dtype == np.int64 else weigh_pairs, *args)
    # The kernel has counted the pairs (a, b) with b <= a.
    every = np.arange(n_values)
    singles = cells[every, every]
    cells = cells + cells.transpose(1, 0, 2)
    cells[every, every] = singles
    return PairCounts(classes, doc_count, places, cells, cuts)


def presence_of(X: Any) -> Any:
    """Zeros and ones as a csr_array of ones; None if X is something else, or has few columns."""
    if sparse.issparse(X):
        X = canonical(X)
        if X.dtype.kind == "f" and np.isnan(X.data).any():
            raise DataError("a sparse matrix is read as presence and should have no NaN: give an array")
        # A copy: the places may be the caller's.
        ones = sparse.csr_array(((X.data != 0).astype(np.int64), X.indices, X.indptr), shape=X.shape, copy=True)
        ones.eliminate_zeros()
        return ones
    if X.shape[1] < _MANY or X.dtype.kind not in "biu" or not len(X) or X.min() < 0 or X.max() > 1:
        return None
    return sparse.csr_array(X, dtype=np.int64)


def count_presence(X: Any, labels: tuple[Labels, Integers], weights: Numbers) -> PairCounts:
    """Count the rows of a csr_array of ones: every column has the values 0 and 1.

    Only ones are paired.  That two columns are 1 and 0, or both 0, follows from the rows and from each column's ones.
    """
    classes, codes = labels
    n = X.shape[1]
    check_size([2] * n, len(classes))
    doc_count = np.zeros(len(classes), weights.dtype)
    np.add.at(doc_count, codes, weights)
    cells = np.empty((n, 2, n, 2, len(classes)), weights.dtype)
    ones = (indicator(codes, weights, len(classes)) @ X).toarray().T
    for c in range(len(classes)):
        rows = np.flatnonzero(codes == c)
        mine = X[rows]
        spread = np.repeat(weights[rows], np.diff(mine.indptr))
        weighted = sparse.csr_array((spread, mine.indices, mine.indptr), shape=mine.shape)
        both = (mine.T @ weighted).toarray()
        here = ones[:, c]
        cells[:, 1, :, 1, c] = both
        cells[:, 1, :, 0, c] = here[:, None] - both
        cells[:, 0, :, 1, c] = here[None, :] - both
        cells[:, 0, :, 0, c] = doc_count[c] - here[:, None] - here[None, :] + both
    cells = cells.reshape(2 * n, 2 * n, len(classes))
    every = np.arange(2 * n)
    stays = cells[every, every].any(axis=1)
    seen = (np.flatnonzero(pair).tolist() for pair in stays.reshape(n, 2))
    places = tuple({value: k for k, value in enumerate(values)} for values in seen)
    if not stays.all():
        cells = cells[stays][:, stays]
    return PairCounts(classes, doc_count, places, cells, (None,) * n)


def _joined(these: Places, those: Places) -> Places:
    joined = tuple(dict(column) for column in these)
    for column, more in zip(joined, those, strict=True):
        for value in more:
            column.setdefault(value, len(column))
    return joined


def check_size(sizes: Sequence[int], n_classes: int, names: Sequence[str] | None = None) -> None:
    """Refuse columns with so many values that their pairs cannot be kept."""
    if sum(sizes) ** 2 * n_classes > MOST_CELLS:
        widest = int(np.argmax(sizes))
        raise DataError(
            f"{len(sizes):,} columns with {sum(sizes):,} values in all and {n_classes:,} classes have "
            f"{sum(sizes) ** 2 * n_classes:,} pair counts, and at most {MOST_CELLS:,} are kept: choose fewer columns, "
            "or cut or leave out those with many values "
            f"(column {repr(names[widest]) if names else widest} has {sizes[widest]:,})"
        )


def _settled(left: Numbers, before: Numbers) -> Numbers:
    if left.dtype.kind == "i":
        return left
    return np.where(np.abs(left) <= _ROUNDING * np.abs(before), 0.0, left)
