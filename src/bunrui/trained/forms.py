"""What a classifier asks of a trained estimator: scores, and what the columns of a row add to them.

Columns are words of the vocabulary; classes are in the order of the labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.estimators.aode import AODE
from bunrui.estimators.aodeparts import presence_parts
from bunrui.estimators.complement import TWCNB
from bunrui.estimators.heads import LinearHead

__all__ = ["Form", "Nothing", "Parts", "form_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Parts(NamedTuple):
    """The scores of a row, taken apart: bias + the sum of values."""

    columns: Integers  # (n_columns,)
    values: Floats  # (n_columns, n_classes)
    bias: Floats  # (n_classes,)


class Form(Protocol):
    """A trained estimator."""

    estimator: Any

    def scores(self, X: Any) -> Floats:
        """Of every row, (n_rows, n_classes)."""

    def parts(self, row: Any) -> Parts:
        """What a row is made of."""

    def weights(self, columns: Integers) -> Floats:
        """What one occurrence of some columns adds, (n_columns, n_classes)."""


def form_of(estimator: Any) -> Form:
    """The form of an estimator that has been trained."""
    if isinstance(estimator, LinearHead):
        return _Head(estimator)
    return _Steps(estimator) if isinstance(estimator, TWCNB) else _Pairs(estimator)


def _both(margins: Floats) -> Floats:
    """Of two classes there is one margin: half of it speaks for the second, half against the first."""
    return np.hstack([-margins / 2, margins / 2]) if margins.shape[1] == 1 else margins


class _Head:
    """`nbsvm` and `arow`: margins.  Rows are divided by their length, so words weigh less in long documents."""

    def __init__(self, estimator: LinearHead) -> None:
        self.estimator = estimator

    def scores(self, X: Any) -> Floats:
        margins = self.estimator.decision_function(X)
        return _both(margins[:, None] if margins.ndim == 1 else margins)

    def parts(self, row: Any) -> Parts:
        read = self.estimator.rows(row)
        values = read.data[:, None] * _both(self.estimator.weights_of(read.indices))
        return Parts(read.indices.astype(np.int64), values, _both(self.estimator.intercept_[None])[0])

    def weights(self, columns: Integers) -> Floats:
        """Before a row is divided by its length."""
        weights = _both(self.estimator.weights_of(columns))
        return np.asarray(weights * self.estimator.factor_of(columns)[:, None])


class _Steps:
    """`twcnb`: weights of raw counts."""

    def __init__(self, estimator: TWCNB) -> None:
        self.estimator = estimator

    def scores(self, X: Any) -> Floats:
        return self.estimator.predict_joint_log_proba(X)

    def parts(self, row: Any) -> Parts:
        values = row.data[:, None] * self.weights(row.indices)
        return Parts(row.indices.astype(np.int64), values, np.zeros(values.shape[1]))

    def weights(self, columns: Integers) -> Floats:
        return self.estimator.weights_of(columns)


class _Pairs:
    """`aode`: presence."""

    def __init__(self, estimator: AODE) -> None:
        self.estimator = estimator

    def scores(self, X: Any) -> Floats:
        return self.estimator.predict_joint_log_proba(X)

    def parts(self, row: Any) -> Parts:
        ones = sparse.csr_array((np.ones_like(row.data), row.indices, row.indptr), shape=row.shape)
        return Parts(*presence_parts(self.estimator, ones))

    def weights(self, columns: Integers) -> Floats:
        """In a document that has no other word."""
        width = self.estimator.n_features_in_
        rows = (sparse.csr_array(([1], [column], [0, 1]), shape=(1, width)) for column in columns.tolist())
        return np.array([self.parts(row).values[0] for row in rows])


class Nothing:
    """What is left where there is nothing to tell apart, for want of a second label, or of words."""

    def __init__(self, n_classes: int, estimator: Any = None) -> None:
        self.estimator = estimator
        self._n_classes = n_classes

    def scores(self, X: Any) -> Floats:
        return np.zeros((X.shape[0], self._n_classes))

    def parts(self, row: Any) -> Parts:
        columns = row.indices.astype(np.int64)
        return Parts(columns, self.weights(columns), np.zeros(self._n_classes))

    def weights(self, columns: Integers) -> Floats:
        return np.zeros((len(columns), self._n_classes))
