"""Gaussian naive Bayes: every column is drawn from a normal distribution of its class.

    log p(x | c) = -½ log(2π v[c, j]) - (x - m[c, j])² / (2 v[c, j])        score[c] = log P(c) + sum over columns

    m[c, j], v[c, j]   mean and variance (÷ n) of column j in class c, from moments that merge:

    n = n₁ + n₂    m = m₁ + (m₂ - m₁) n₂ / n    M = M₁ + M₂ + (m₂ - m₁)² n₁ n₂ / n        v = M / n + ε

    ε                  `var_smoothing` times the largest variance of a column over all classes, as in scikit-learn

A value that is missing is skipped, in training and in prediction.  A class that never had a value in a column takes the
mean and the variance of the column over all classes; a column that never had a value says nothing.

John and Langley (1995); Chan, Golub, LeVeque (1979) for the moments.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import ROUNDING, Labels, settle
from bunrui.errors import UnlearnError
from bunrui.sparse import Sparse, count_by_class, sum_by_class

__all__ = ["Moments", "Normals", "dense_moments", "gaussian", "sparse_moments"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LEAST = 1e-100


class Moments(NamedTuple):
    """Weight of the values that are not missing, their mean, and the sum of squares around it: a part of `ClassCounts`.

    Each is (n_classes, n_columns).
    """

    n: Floats
    mean: Floats
    squares: Floats

    def refusal(self, other: Moments, whole_rows: bool) -> str | None:
        """Nothing of a mean can be taken back exactly."""
        return "means and variances cannot be taken back exactly: fit again, or pass exact=False"

    def over(self, places: Integers, n_classes: int) -> Moments:
        """The same among more classes."""
        wider = np.zeros((3, n_classes, self.n.shape[1]))
        wider[:, places] = self
        return Moments(*wider)

    def plus(self, other: Moments) -> Moments:
        """The moments of both.

        Examples
        --------
        >>> one, two = Moments(*np.array([[2.0], [3.0], [2.0]])), Moments(*np.array([[1.0], [9.0], [0.0]]))
        >>> [part.tolist() for part in one.plus(two)]  # of 2, 4 and 9
        [[3.0], [5.0], [26.0]]
        """
        n = self.n + other.n
        share = other.n / np.where(n > 0, n, 1.0)
        apart = other.mean - self.mean
        return Moments(n, self.mean + apart * share, self.squares + other.squares + apart**2 * self.n * share)

    def minus(self, other: Moments, classes: Labels, doc_count: npt.NDArray[Any]) -> Moments:
        """Without some rows, to rounding."""
        n = settle(self.n - other.n, self.n)
        left = self._replace(n=n + other.n).without(other)
        # Rounding errors are those of the whole column: a class that has only zeros gets some from the others.
        size = (self.squares + self.n * self.mean**2).sum(axis=0)
        if (n < 0).any() or (left.squares < -ROUNDING * size).any():
            raise UnlearnError("this was never learned: it varies more, or has more rows, than what was")
        return left._replace(squares=np.maximum(left.squares, 0.0))

    def keep(self, alive: npt.NDArray[np.bool_]) -> Moments:
        """Some classes."""
        return Moments(*(part[alive] for part in self))

    def without(self, other: Moments) -> Moments:
        """The moments without others that are part of them; right to rounding, which may be large."""
        n = self.n - other.n
        safe = np.where(n > 0, n, 1.0)
        mean = np.where(n > 0, (self.n * self.mean - other.n * other.mean) / safe, 0.0)
        apart = other.mean - mean
        squares = self.squares - other.squares - apart**2 * n * other.n / np.where(self.n > 0, self.n, 1.0)
        return Moments(n, mean, np.where(n > 0, squares, 0.0))

    def pooled(self) -> Moments:
        """The moments of all classes together, (1, n_columns)."""
        n = self.n.sum(axis=0, keepdims=True)
        mean = (self.n * self.mean).sum(axis=0, keepdims=True) / np.where(n > 0, n, 1.0)
        # Around the common mean the distances are small even where the mean is not.
        squares = (self.squares + self.n * (self.mean - mean) ** 2).sum(axis=0, keepdims=True)
        return Moments(n, mean, squares)

    def variance(self) -> Floats:
        """M / n; 0 where there is nothing."""
        return np.maximum(self.squares, 0.0) / np.where(self.n > 0, self.n, 1.0)


def dense_moments(X: Floats, codes: Integers, weights: Floats, n_classes: int) -> Moments:
    """The moments of the columns of an array, NaN skipped, in two passes."""
    there = ~np.isnan(X)
    n = sum_by_class(there.astype(np.float64), codes, weights, n_classes)
    # The columns' middle goes first: it keeps the digits of numbers that are far from 0 and near each other.
    middle = np.where(there.any(axis=0), np.nanmean(np.where(there.any(axis=0), X, 0.0), axis=0), 0.0)
    apart = np.where(there, X - middle, 0.0)
    mean = sum_by_class(apart, codes, weights, n_classes) / np.where(n > 0, n, 1.0)
    squares = sum_by_class(np.where(there, apart - mean[codes], 0.0) ** 2, codes, weights, n_classes)
    return Moments(n, np.where(n > 0, mean + middle, 0.0), squares)


def sparse_moments(X: Sparse, codes: Integers, weights: Floats, n_classes: int) -> Moments:
    """The moments of the columns of sparse rows, NaN skipped; zeros are not filled in."""
    missing = np.isnan(X.data)

    def summed(values: Floats) -> Floats:
        """The sum by class and column of values that stand where those of X do."""
        return np.asarray(count_by_class(X.with_data(values), codes, weights, n_classes).toarray().T)

    total = np.outer(np.bincount(codes, weights, n_classes), np.ones(X.shape[1]))
    n = total - summed(missing.astype(np.float64))
    present = summed((~missing).astype(np.float64))
    data = np.where(missing, 0.0, X.data)
    mean = summed(data) / np.where(n > 0, n, 1.0)
    own = mean[codes[X.row_of_cells()], X.indices]
    squares = summed(np.where(missing, 0.0, (data - own) ** 2)) + np.maximum(n - present, 0.0) * mean**2
    return Moments(n, mean, squares)


class Normals(NamedTuple):
    """A normal distribution for every class and column, each (n_classes, n_columns)."""

    mean: Floats
    variance: Floats
    precision: Floats  # 1 / variance, or 0 for a column that says nothing
    peak: Floats  # -½ log(2π variance), or 0


def gaussian(moments: Moments, var_smoothing: float) -> tuple[Normals, float]:
    """The distributions, and ε."""
    pooled = moments.pooled()
    epsilon = var_smoothing * float(pooled.variance().max(initial=0.0))
    mean = np.where(moments.n > 0, moments.mean, pooled.mean)
    variance = np.where(moments.n > 0, moments.variance(), pooled.variance()) + epsilon
    # Where nothing varies at all, and ε is 0: so narrow that any other value is out, and the score still finite.
    variance = np.maximum(variance, _LEAST)
    known: Any = pooled.n > 0
    precision = np.where(known, 1.0 / variance, 0.0)
    return Normals(mean, variance, precision, np.where(known, -0.5 * np.log(2 * np.pi * variance), 0.0)), epsilon
