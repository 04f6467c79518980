"""`MatrixCounts`: what the discrete estimators learn from a matrix.

    cells[f, c]    the sum of column f over the rows of class c, (n_features, n_classes), sparse
    doc_count[c]   the rows of class c

Whole numbers, weights included, are counted as int64: their sums have no order and can be taken back.  Others are
float64, right to rounding.  Counts never change: `plus` and `minus` make new ones, all or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import UnlearnError
from bunrui.estimators.labels import Labels, union

__all__ = ["MatrixCounts", "count", "indicator", "whole"]

Numbers = npt.NDArray[Any]

# float64 holds every whole number up to here.
_MOST = 2**53
# What rounding may leave of a count that is taken back, as a share of what it was.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class MatrixCounts:
    """Counts by column and class.

    Attributes
    ----------
    classes : (n_classes,)
        Sorted.
    doc_count : (n_classes,) int64 or float64
    cells : (n_features, n_classes) csr_array of int64 or float64
    presence : bool
        Whether no row adds more than its weight to a cell.
    memo : dict
        What was computed from these counts, and need not be again.
    """

    classes: Labels
    doc_count: Numbers
    cells: Any
    presence: bool = False
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def n_features(self) -> int:
        """The columns."""
        return int(self.cells.shape[0])

    @property
    def is_whole(self) -> bool:
        """Whether all counts are whole numbers."""
        return bool(self.cells.dtype.kind == self.doc_count.dtype.kind == "i")

    def class_sum(self) -> Numbers:
        """The sum of all cells of a class, (n_classes,)."""
        return np.asarray(self.cells.T @ np.ones(self.n_features, self.cells.dtype))

    def over(self, classes: Labels) -> MatrixCounts:
        """The same counts with columns for more classes."""
        if len(classes) == len(self.classes):
            return self
        places = np.searchsorted(classes, self.classes.astype(classes.dtype))
        doc_count = np.zeros(len(classes), self.doc_count.dtype)
        doc_count[places] = self.doc_count
        shape = (self.n_features, len(classes))
        cells = sparse.csr_array((self.cells.data, places[self.cells.indices], self.cells.indptr), shape=shape)
        return replace(self, classes=classes, doc_count=doc_count, cells=cells, memo={})

    def plus(self, other: MatrixCounts) -> MatrixCounts:
        """The counts of both."""
        classes = union(self.classes, other.classes)
        mine, theirs = self.over(classes), other.over(classes)
        cells = mine.cells + theirs.cells
        # The estimate is rounded, the sum of integers would wrap round.
        if cells.dtype.kind == "i" and float(mine.cells.sum()) + float(theirs.cells.sum()) >= _MOST:
            cells = mine.cells.astype(np.float64) + theirs.cells
        return replace(mine, classes=classes, doc_count=mine.doc_count + theirs.doc_count, cells=cells, memo={})

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
        return replace(self, classes=self.classes[alive], doc_count=doc_count[alive], cells=left, memo={})

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
    sums = indicator(codes, weights, len(classes)) @ X
    cells = sparse.csr_array(sums.T)
    cells.eliminate_zeros()
    doc_count = np.zeros(len(classes), weights.dtype)
    np.add.at(doc_count, codes, weights)
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
