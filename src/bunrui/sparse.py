"""`Sparse`: a sparse matrix that needs only NumPy.

    rows of documents    (n_docs, n_features), for trained models
    counts               (n_features, n_classes), of estimators

The fields have the names of SciPy's csr_array; its cells are used without a copy.  All sums run in the order of the
cells, as in SciPy, so both give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.cells import ranges
from bunrui.kernel.library import run
from bunrui.kernel.rows import multiply
from bunrui.kernel.slices import each_slice, stretches

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]

# Up to this size, a dense table (128 MB) collects sums, unless it has many times the cells; else cells are sorted.
_DENSE_CELLS, _MANY_TIMES = 1 << 24, 64
# Rows for which a thread is worth while.
_WORTH_A_THREAD = 1 << 10


@dataclass(frozen=True, eq=False)
class Sparse:
    """A matrix by rows; the columns of a row ascend, and no cell occurs twice.

    Attributes
    ----------
    indptr : (n_rows + 1,) int64
        Where the cells of every row begin.
    indices : (n_cells,) int32
        Their columns.
    data : (n_cells,) int64 or float64
    shape : pair of int

    Examples
    --------
    >>> table = Sparse.of(np.array([[0, 2], [3, 0]]))
    >>> table.plus(table).toarray().tolist(), table.plus(table, -1).without_zeros().n_cells
    ([[0, 4], [6, 0]], 0)
    """

    indptr: Integers
    indices: npt.NDArray[np.int32]
    data: Numbers
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: Any) -> Sparse:
        """Make it from an array, or from a csr_array without duplicate cells."""
        if isinstance(X, Sparse):
            return X
        if hasattr(X, "indptr"):
            shape = (int(X.shape[0]), int(X.shape[1]))
            return cls(X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data, shape)
        X = np.asarray(X)
        rows, columns = np.nonzero(X)
        return cls.of_sorted(rows, columns, X[rows, columns], (X.shape[0], X.shape[1]))

    @classmethod
    def of_sorted(cls, rows: Numbers, columns: Numbers, values: Numbers, shape: tuple[int, int]) -> Sparse:
        """Make it from cells in the order of rows and columns."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
        return cls(starts, columns.astype(np.int32, copy=False), values, shape)

    @classmethod
    def of_cells(cls, rows: Integers, columns: Numbers, values: Numbers, shape: tuple[int, int]) -> Sparse:
        """Make it from cells in any order; those that come several times are added up."""
        keys, places = np.unique(rows * shape[1] + columns, return_inverse=True)
        sums = np.zeros(len(keys), values.dtype)
        np.add.at(sums, places.reshape(-1), values)
        return cls.of_sorted(*np.divmod(keys, max(shape[1], 1)), sums, shape)

    @classmethod
    def zeros(cls, shape: tuple[int, int], dtype: Any = np.int64) -> Sparse:
        """A matrix without cells."""
        return cls(np.zeros(shape[0] + 1, np.int64), np.empty(0, np.int32), np.empty(0, dtype), shape)

    @classmethod
    def stack(cls, parts: Sequence[Sparse]) -> Sparse:
        """The rows of all, one below the other."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(part.n_cells for part in parts)])
        starts = np.concatenate([[0], *(part.indptr[1:] + end for part, end in zip(parts, ends, strict=False))])
        columns, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "data"))
        return cls(starts, columns, values, (len(starts) - 1, parts[0].shape[1]))

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.data)

    @property
    def lengths(self) -> Integers:
        """The cells of every row."""
        return np.diff(self.indptr)

    def row_of_cells(self) -> Integers:
        """The row of every cell."""
        return np.repeat(np.arange(self.shape[0]), self.lengths)

    def toarray(self) -> Numbers:
        """All cells, zeros too."""
        out = np.zeros(self.shape, self.data.dtype)
        out[self.row_of_cells(), self.indices] = self.data
        return out

    def with_data(self, values: Numbers) -> Sparse:
        """The same cells with other values."""
        return replace(self, data=values)

    # Parts

    def take(self, rows: Numbers) -> Sparse:
        """Some rows, in this order."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64, copy=False)
        lengths = self.lengths[rows]
        cells = ranges(self.indptr[rows], lengths)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return Sparse(starts, self.indices[cells], self.data[cells], (len(rows), self.shape[1]))

    def columns(self, columns: Numbers) -> Sparse:
        """Some columns, which ascend."""
        places = np.full(self.shape[1], -1, np.int32)
        places[columns] = np.arange(len(columns))
        return self.at(places[self.indices], len(columns))

    def at(self, places: Numbers, width: int) -> Sparse:
        """Move every cell to a column of a matrix of this width; drop cells whose place is below 0."""
        places = places.reshape(-1).astype(np.int32, copy=False)
        there = places >= 0
        if there.all():
            return replace(self, indices=places, shape=(self.shape[0], width))
        starts = np.concatenate([[0], np.cumsum(there)])[self.indptr]
        return Sparse(starts, places[there], self.data[there], (self.shape[0], width))

    def of_length_one(self) -> Sparse:
        """Rows divided by their length; a row of zeros stays as it is."""
        rows = self.row_of_cells()
        length = np.sqrt(np.bincount(rows, self.data**2, self.shape[0]))
        return self.with_data(self.data / np.where(length > 0, length, 1.0)[rows])

    def without_zeros(self) -> Sparse:
        """The same without cells that are zero."""
        if self.data.all():
            return self
        return self.at(np.where(self.data != 0, self.indices, -1), self.shape[1])

    # Algebra

    def __getitem__(self, rows: slice) -> Sparse:
        """Rows that follow each other."""
        return self.take(np.arange(*rows.indices(self.shape[0])))

    def plus(self, other: Sparse, sign: int = 1) -> Sparse:
        """The sum of both, which have the same shape."""
        rows = other.row_of_cells()
        places = self._find(rows, other.indices)
        known = np.zeros(other.n_cells, bool)
        inside = places < self.indptr[rows + 1]
        known[inside] = self.indices[places[inside]] == other.indices[inside]
        values = self.data.astype(np.result_type(self.data, other.data))
        more = other.data if sign > 0 else -other.data
        values[places[known]] += more[known]
        if known.all():
            return self.with_data(values)
        new = ~known
        starts = np.concatenate([[0], np.cumsum(self.lengths + np.bincount(rows[new], minlength=self.shape[0]))])
        indices = np.insert(self.indices, places[new], other.indices[new])
        return Sparse(starts, indices, np.insert(values, places[new], more[new]), self.shape)

    def _find(self, rows: Integers, columns: Numbers) -> Integers:
        """The places of cells in their rows, or where they would stand: by bisection, all at once."""
        low, high = self.indptr[rows], self.indptr[rows + 1]
        last = max(self.n_cells - 1, 0)
        while (low < high).any():
            middle = (low + high) // 2
            is_left = (low < high) & (self.indices[np.minimum(middle, last)] < columns)
            low, high = np.where(is_left, middle + 1, low), np.where(is_left, high, middle)
        return low

    # Sums and products

    def row_sums(self) -> Numbers:
        """The sum of every row, (n_rows,)."""
        out = np.zeros(self.shape[0], self.data.dtype)
        np.add.at(out, self.row_of_cells(), self.data)
        return out

    def __matmul__(self, table: Numbers) -> Floats:
        """The product with a dense vector or matrix."""
        table = np.ascontiguousarray(table, np.float64)
        out = np.zeros((self.shape[0], *table.shape[1:]))
        args = (self.indptr, np.ascontiguousarray(self.indices), np.ascontiguousarray(self.data, np.float64))

        def work(lo: int, hi: int) -> None:
            run(multiply, *args, table.reshape(-1), lo, hi, out.reshape(-1))

        each_slice(work, stretches(self.shape[0], _WORTH_A_THREAD))
        return out


def sum_by_class(X: Any, codes: Integers, weights: Numbers, n_classes: int) -> Numbers:
    """The sums of the rows of every class, each times its weight, (n_classes, n_columns); X is dense."""
    out = np.zeros((n_classes, X.shape[1]), np.result_type(X, weights))
    if X.shape[1] == 1:
        # NumPy would add up a single column in pairs.
        np.add.at(out[:, 0], codes, X[:, 0] * weights)
        return out
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(n_classes + 1))
    for c in range(n_classes):
        rows = order[ends[c] : ends[c + 1]]
        out[c] = (X[rows] * weights[rows, None]).sum(axis=0)
    return out


def count_by_class(X: Any, codes: Integers, weights: Numbers, n_classes: int) -> Sparse:
    """The same as (n_columns, n_classes), for an array or sparse rows; sparse sums have a cell wherever X has one."""
    if isinstance(X, np.ndarray):
        return Sparse.of(sum_by_class(X, codes, weights, n_classes).T)
    X = Sparse.of(X)
    rows = X.row_of_cells()
    values = X.data * weights[rows]
    columns = X.indices.astype(np.int64)
    shape = (X.shape[1], n_classes)
    if shape[0] * shape[1] <= min(_DENSE_CELLS, _MANY_TIMES * len(values)):
        keys = columns * n_classes + codes[rows]
        there = np.zeros(shape[0] * shape[1], bool)
        there[keys] = True
        sums = np.zeros(len(there), values.dtype)
        np.add.at(sums, keys, values)
        found, classes = np.nonzero(there.reshape(shape))
        return Sparse.of_sorted(found, classes, sums[there], shape)
    return Sparse.of_cells(columns, codes[rows], values, shape)
