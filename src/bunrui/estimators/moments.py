"""`ClassMoments`: what `GaussianNB` learns, by class and column."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import UnlearnError
from bunrui.estimators.counts import indicator
from bunrui.estimators.labels import Labels, union
from bunrui.models.gaussian import Moments

__all__ = ["ClassMoments", "dense_moments", "sparse_moments"]

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

# What rounding may leave of a number that is taken back, as a share of what it was.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Moments of every column in every class.

    Attributes
    ----------
    classes : (n_classes,)
        Sorted.
    doc_count : (n_classes,) int64 or float64
    moments : Moments of (n_classes, n_features)
    memo : dict
        What was computed from these moments, and need not be again.
    """

    classes: Labels
    doc_count: npt.NDArray[Any]
    moments: Moments
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def n_features(self) -> int:
        """The columns."""
        return int(self.moments.n.shape[1])

    def over(self, classes: Labels) -> ClassMoments:
        """The same with rows for more classes."""
        if len(classes) == len(self.classes):
            return self
        places = np.searchsorted(classes, self.classes.astype(classes.dtype))
        doc_count = np.zeros(len(classes), self.doc_count.dtype)
        doc_count[places] = self.doc_count
        parts = []
        for part in self.moments:
            parts.append(np.zeros((len(classes), self.n_features)))
            parts[-1][places] = part
        return ClassMoments(classes, doc_count, Moments(*parts))

    def plus(self, other: ClassMoments) -> ClassMoments:
        """The moments of both."""
        classes = union(self.classes, other.classes)
        mine, theirs = self.over(classes), other.over(classes)
        return ClassMoments(classes, mine.doc_count + theirs.doc_count, mine.moments.plus(theirs.moments))

    def minus(self, other: ClassMoments, keep: Labels, exact: bool) -> ClassMoments:
        """Without some rows, to rounding; never exact."""
        if exact:
            raise UnlearnError("means and variances cannot be taken back exactly: fit again, or pass exact=False")
        for label in other.classes[~np.isin(other.classes, self.classes)].tolist():
            raise UnlearnError(f"this was never learned: no row has the label {label!r}")
        theirs = other.over(self.classes)
        doc_count = _settled(self.doc_count - theirs.doc_count, self.doc_count)
        n = _settled(self.moments.n - theirs.moments.n, self.moments.n)
        left = self.moments._replace(n=n + theirs.moments.n).minus(theirs.moments)
        size = self.moments.squares + self.moments.n * self.moments.mean**2
        if (doc_count < 0).any() or (n < 0).any() or (left.squares < -_ROUNDING * size).any():
            raise UnlearnError("this was never learned: it varies more, or has more rows, than what was")
        alive = (doc_count > 0) | np.isin(self.classes, keep)
        moments = Moments(*(part[alive] for part in left._replace(squares=np.maximum(left.squares, 0.0))))
        return replace(self, classes=self.classes[alive], doc_count=doc_count[alive], moments=moments, memo={})

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memo": {}}


def dense_moments(X: Floats, codes: Codes, weights: Floats, n_classes: int) -> Moments:
    """Of the columns of an array, NaN skipped, in two passes."""
    there = ~np.isnan(X)
    rows = indicator(codes, weights, n_classes)
    n = rows @ there.astype(np.float64)
    # The columns' middle goes first: it keeps the digits of numbers that are far from 0 and near each other.
    middle = np.where(there.any(axis=0), np.nanmean(np.where(there.any(axis=0), X, 0.0), axis=0), 0.0)
    apart = np.where(there, X - middle, 0.0)
    mean = rows @ apart / np.where(n > 0, n, 1.0)
    squares = rows @ np.where(there, apart - mean[codes], 0.0) ** 2
    return Moments(n, np.where(n > 0, mean + middle, 0.0), squares)


def sparse_moments(X: Any, codes: Codes, weights: Floats, n_classes: int) -> Moments:
    """Of the columns of a csr_array, NaN skipped, without the zeros in between."""
    missing = np.isnan(X.data)
    rows, ones = indicator(codes, weights, n_classes), np.ones(X.shape[1])

    def summed(values: Floats) -> Floats:
        """The sum by class and column of values that stand where those of X do."""
        return np.asarray((rows @ sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)).toarray())

    total = np.outer(rows @ np.ones(len(codes)), ones)
    n = total - summed(missing.astype(np.float64))
    present = summed((~missing).astype(np.float64))
    data = np.where(missing, 0.0, X.data)
    mean = summed(data) / np.where(n > 0, n, 1.0)
    own = mean[np.repeat(codes, np.diff(X.indptr)), X.indices]
    squares = summed(np.where(missing, 0.0, (data - own) ** 2)) + np.maximum(n - present, 0.0) * mean**2
    return Moments(n, mean, squares)


def _settled(left: npt.NDArray[Any], before: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """What is left of some weights; 0 for what can only be rounding."""
    return np.where(np.abs(left) <= _ROUNDING * np.abs(before), 0, left)
