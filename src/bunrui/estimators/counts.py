"""`MatrixCounts`: what the discrete estimators learn from a matrix.

    cells[f, c]    the sum of column f over the rows of class c, (n_features, n_classes), sparse
    doc_count[c]   the rows of class c

Whole numbers, weights included, are counted as int64: their sums have no order and can be taken back.  Others are
float64, right to rounding.  Counts never change: `plus` and `minus` make new ones, all or nothing.

So that learning one row does not cost a copy of all cells, a few that came last (`Recent`) lie beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import UnlearnError
from bunrui.estimators.labels import Labels, find, union

__all__ = ["MatrixCounts", "count", "indicator", "whole"]

Numbers = npt.NDArray[Any]

# float64 holds every whole number up to here.
_MOST = 2**53
# What rounding may leave of a count that is taken back, as a share of what it was.
_ROUNDING = 1e-9


# Cells that may lie beside the others.
_FEW = 4096


class Recent(NamedTuple):
    """Cells in the order in which they came; a pair of column and class may come several times."""

    columns: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int64]  # places in `MatrixCounts.classes`
    values: npt.NDArray[np.int64]

    def joined(self, other: Recent) -> Recent:
        """Those of both."""
        return Recent(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def table(self, shape: tuple[int, int]) -> Any:
        """Their sums as a csr_array."""
        return sparse.coo_array((self.values, (self.columns, self.codes)), shape=shape).tocsr()

    def among(self, ids: npt.NDArray[Any]) -> Recent:
        """Those of some columns, with places in `ids` in place of columns."""
        order = np.argsort(ids, kind="stable")
        places = np.minimum(np.searchsorted(ids[order], self.columns), max(len(ids) - 1, 0))
        there = np.flatnonzero(ids[order[places]] == self.columns) if len(ids) else places[:0]
        return Recent(order[places[there]], self.codes[there], self.values[there])


@dataclass(frozen=True, eq=False)
class MatrixCounts:
    """Counts by column and class.

    Attributes
    ----------
    classes : (n_classes,)
        Sorted.
    doc_count : (n_classes,) int64 or float64
    base : (n_features, n_classes) csr_array of int64 or float64
        The cells, but for those that came last.
    presence : bool
        Whether no row adds more than its weight to a cell.
    recent : Recent, optional
    memo : dict
        What was computed from these counts, and need not be again.
    """

    classes: Labels
    doc_count: Numbers
    base: Any
    presence: bool = False
    recent: Recent | None = None
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def n_features(self) -> int:
        """The columns."""
        return int(self.base.shape[0])

    @property
    def cells(self) -> Any:
        """All cells, (n_features, n_classes), a csr_array."""
        if self.recent is None:
            return self.base
        if "cells" not in self.memo:
            self.memo["cells"] = self.base + self.recent.table(self.base.shape)
        return self.memo["cells"]

    def cells_of(self, ids: npt.NDArray[Any]) -> Any:
        """The cells of some columns, (n_ids, n_classes), a csr_array."""
        if self.recent is None or "cells" in self.memo:
            return self.cells[ids]
        more = self.recent.among(ids)
        cells = self.base[ids]
        return cells + more.table(cells.shape) if len(more.codes) else cells

    @property
    def is_whole(self) -> bool:
        """Whether all counts are whole numbers."""
        return bool(self.base.dtype.kind == self.doc_count.dtype.kind == "i")

    def class_sum(self) -> Numbers:
        """The sum of all cells of a class, (n_classes,)."""
        if "class_sum" not in self.memo:
            self.memo["class_sum"] = np.asarray(self.cells.T @ np.ones(self.n_features, self.base.dtype))
        return np.asarray(self.memo["class_sum"])

    def bare(self) -> MatrixCounts:
        """The same, for a table of weights that is kept in `memo`.

        With counts that hold the table, it would be there until the garbage is collected.
        """
        return replace(self, memo={name: self.memo[name] for name in ("cells", "class_sum") if name in self.memo})

    def with_cells(self, cells: Any) -> MatrixCounts:
        """The same rows with other cells."""
        return replace(self, base=cells, recent=None, memo={})

    def over(self, classes: Labels) -> MatrixCounts:
        """The same counts with columns for more classes."""
        if len(classes) == len(self.classes):
            return self
        places = np.searchsorted(classes, self.classes.astype(classes.dtype))
        doc_count = np.zeros(len(classes), self.doc_count.dtype)
        doc_count[places] = self.doc_count
        shape = (self.n_features, len(classes))
        cells = self.cells
        indices = places.astype(cells.indices.dtype)[cells.indices]
        cells = sparse.csr_array((cells.data, indices, cells.indptr), shape=shape)
        return replace(self, classes=classes, doc_count=doc_count, base=cells, recent=None, memo={})

    def plus(self, other: MatrixCounts) -> MatrixCounts:
        """The counts of both."""
        more = self._plus_few(other)
        if more is not None:
            return more
        classes = union(self.classes, other.classes)
        mine, theirs = self.over(classes), other.over(classes)
        cells = mine.cells + theirs.cells
        # The estimate is rounded, the sum of integers would wrap round.
        if cells.dtype.kind == "i" and float(mine.cells.sum()) + float(theirs.cells.sum()) >= _MOST:
            cells = mine.cells.astype(np.float64) + theirs.cells
        doc_count = mine.doc_count + theirs.doc_count
        return replace(mine, classes=classes, doc_count=doc_count, base=cells, recent=None, memo={})

    def _plus_few(self, other: MatrixCounts) -> MatrixCounts | None:
        """The counts of both, if the other ones are few whole numbers of classes that are there."""
        few = other.recent
        if few is None or other.base.nnz or not (self.is_whole and other.is_whole):
            return None
        places = find(other.classes, self.classes)
        mine, theirs = self.class_sum(), other.class_sum()
        if places is None or mine.sum(dtype=np.float64) + theirs.sum(dtype=np.float64) >= _MOST:
            return None
        recent = few._replace(codes=places[few.codes])
        recent = recent if self.recent is None else self.recent.joined(recent)
        doc_count, class_sum = self.doc_count.copy(), mine.copy()
        doc_count[places] += other.doc_count
        class_sum[places] += theirs
        more = replace(self, doc_count=doc_count, recent=recent, memo={"class_sum": class_sum})
        if len(recent.codes) > _FEW:
            more = replace(more, base=more.cells, recent=None, memo={"class_sum": class_sum})
        return more

    def minus(self, other: MatrixCounts, keep: Labels, exact: bool) -> MatrixCounts:
        """The counts without those of some rows.

        Classes that have no rows any more go, but for those in `keep`.  With `exact`, only whole numbers are taken
        back; without it, what rounding leaves is taken for 0.

        Raises
        ------
        UnlearnError
            If something was never learned.
        """
        if exact and not (self.is_whole and other.is_whole):
            raise UnlearnError(
                "fractions and weights cannot be taken back exactly: use whole numbers, or pass exact=False to accept "
                "rounding errors"
            )
        for label in other.classes[~np.isin(other.classes, self.classes)].tolist():
            raise UnlearnError(f"this was never learned: no row has the label {label!r}")
        theirs = other.over(self.classes)
        doc_count = _settled(self.doc_count - theirs.doc_count, self.doc_count)
        left = self.cells - theirs.cells
        if left.dtype.kind == "f":
            left = _like(left, _settled(left.data, _lookup(self.cells, left)))
        self._check_left(doc_count, left)
        alive = (doc_count > 0) | np.isin(self.classes, keep)
        if not alive.all():
            left = sparse.csr_array(left[:, np.flatnonzero(alive)])
        doc_count, classes = doc_count[alive], self.classes[alive]
        return replace(self, classes=classes, doc_count=doc_count, base=left, recent=None, memo={})

    def _check_left(self, doc_count: Numbers, cells: Any) -> None:
        """Refuse what no rows could leave behind."""
        if (doc_count < 0).any():
            label = self.classes.tolist()[int(np.argmin(doc_count))]
            raise UnlearnError(f"this was never learned: there are not so many rows with the label {label!r}")
        most = doc_count[cells.indices]
        if doc_count.dtype.kind == "f":
            most = most * (1 + _ROUNDING)
        wrong = (cells.data < 0) | (doc_count[cells.indices] == 0)
        if self.presence:
            wrong |= cells.data > most
        if wrong.any():
            place = int(wrong.argmax())
            column = int(np.searchsorted(cells.indptr, place, side="right")) - 1
            label = self.classes.tolist()[cells.indices[place]]
            raise UnlearnError(
                f"this was never learned: column {column} is not so in the rows with the label {label!r}"
            )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memo": {}}


def count(
    X: Any, labels: tuple[Labels, npt.NDArray[np.int64]], weights: Numbers | None, presence: bool
) -> MatrixCounts:
    """Count rows.

    Parameters
    ----------
    X : (n_rows, n_features) array or csr_array of int64 or float64
    labels : classes, and the class of every row as its place among them
    weights : (n_rows,) int64 or float64, optional
    """
    classes, codes = labels
    if weights is None:
        weights = np.ones(len(codes), np.int64)
    top = abs(X).max() if X.shape[0] else 0
    if X.dtype.kind == weights.dtype.kind == "i" and float(top) * float(weights.sum()) >= _MOST:
        X = X.astype(np.float64)
    doc_count = np.zeros(len(classes), weights.dtype)
    np.add.at(doc_count, codes, weights)
    if X.dtype.kind == weights.dtype.kind == "i" and sparse.issparse(X) and X.nnz <= _FEW:
        rows = np.repeat(np.arange(len(codes)), np.diff(X.indptr))
        values = X.data * weights[rows]
        there = np.flatnonzero(values)
        recent = Recent(X.indices[there].astype(np.int64), codes[rows[there]], values[there])
        empty = sparse.csr_array((X.shape[1], len(classes)), dtype=np.int64)
        class_sum = np.zeros(len(classes), np.int64)
        np.add.at(class_sum, recent.codes, recent.values)
        return MatrixCounts(classes, doc_count, empty, presence, recent, {"class_sum": class_sum})
    sums = indicator(codes, weights, len(classes)) @ X
    cells = sparse.csr_array(sums.T)
    cells.eliminate_zeros()
    if max(cells.nnz, *cells.shape) < 2**31:
        # Of a matrix with 64-bit places they would stay so, and take twice the memory.
        places = cells.indices.astype(np.int32), cells.indptr.astype(np.int32)
        cells = sparse.csr_array((cells.data, *places), shape=cells.shape)
    return MatrixCounts(classes, doc_count, cells, presence)


def indicator(codes: npt.NDArray[np.int64], weights: Numbers, n_classes: int) -> Any:
    """The weights of rows in the row of their class, (n_classes, n_rows)."""
    n = len(codes)
    return sparse.csc_array((weights, codes, np.arange(n + 1)), shape=(n_classes, n)).tocsr()


def whole(X: Any) -> Any:
    """The same numbers as int64 if they are whole, else as float64."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind in "biu" and values.dtype != np.uint64:
        return X.astype(np.int64)
    small = values.size == 0 or float(values.max()) < _MOST
    if small and (values.dtype.kind in "biu" or bool((values == np.rint(values)).all())):
        return X.astype(np.int64)
    return X.astype(np.float64)


def _settled(left: Numbers, before: Numbers) -> Numbers:
    """What is left of some counts; 0 for what can only be rounding."""
    if left.dtype.kind == "i":
        return left
    return np.where(np.abs(left) <= _ROUNDING * np.abs(before), 0.0, left)


def _lookup(cells: Any, at: Any) -> Numbers:
    """The values of cells where another matrix is not zero, in its order."""
    rows = np.repeat(np.arange(at.shape[0]), np.diff(at.indptr))
    return np.asarray(cells[rows, at.indices]).reshape(-1)


def _like(cells: Any, values: Numbers) -> Any:
    out = sparse.csr_array((values, cells.indices, cells.indptr), shape=cells.shape)
    out.eliminate_zeros()
    return out
