"""What a classifier asks of a trained model: scores, and what the columns of a row add to them.

Columns are words of the vocabulary; classes are in the order of the labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import ClassCounts
from bunrui.models.aode import Pairs, ones_of
from bunrui.models.base import Smoothing, normalised
from bunrui.models.complement import complement
from bunrui.models.heads import Descent, LinearHead
from bunrui.models.table import MatrixView, Table, dense_table
from bunrui.models.transform import Steps
from bunrui.sparse import Sparse

__all__ = ["Form", "HeadForm", "Nothing", "PairsForm", "Parts", "StepsForm"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Parts(NamedTuple):
    """The scores of a row, taken apart: bias + the sum of values."""

    columns: Integers  # (n_columns,)
    values: Floats  # (n_columns, n_classes)
    bias: Floats  # (n_classes,)


class Form(Protocol):
    """A trained model."""

    def scores(self, X: Any) -> Floats:
        """Of every row, (n_rows, n_classes)."""

    def parts(self, row: Any) -> Parts:
        """What a row is made of."""

    def weights(self, columns: Integers) -> Floats:
        """What one occurrence of some columns adds, (n_columns, n_classes)."""


def _both(margins: Floats) -> Floats:
    """Of two classes there is one margin: half of it speaks for the second, half against the first."""
    return np.hstack([-margins / 2, margins / 2]) if margins.shape[1] == 1 else margins


class HeadForm:
    """`nbsvm` and `arow`: margins.  Rows are divided by their length, so words weigh less in long documents."""

    def __init__(self, head: LinearHead, descent: Descent | None = None) -> None:
        self.head = head
        self.descent = descent

    def scores(self, X: Sparse) -> Floats:
        return _both(self.head.margins(X))

    def parts(self, row: Sparse) -> Parts:
        read = self.head.read(row)
        columns = read.indices.astype(np.int64)
        values = read.data[:, None] * _both(self.head.weights_of(columns))
        return Parts(columns, values, _both(self.head.intercept[None])[0])

    def weights(self, columns: Integers) -> Floats:
        """Before a row is divided by its length."""
        return np.asarray(_both(self.head.weights_of(columns)) * self.head.factor_of(columns)[:, None])


class StepsForm:
    """`twcnb`: weights of raw counts, learned from rows after all steps."""

    def __init__(self, learned: ClassCounts, smoothing: Smoothing) -> None:
        self.learned = learned
        view = MatrixView(learned.doc_count, learned.part.counts(Steps(True, True, True)))
        self._table = Table(view, normalised(view, complement(view, smoothing, np.zeros(len(learned.classes)))))

    def scores(self, X: Sparse) -> Floats:
        return self._table.scores(X)

    def parts(self, row: Sparse) -> Parts:
        columns = row.indices.astype(np.int64)
        values = row.data[:, None] * self.weights(columns)
        return Parts(columns, values, np.zeros(values.shape[1]))

    def weights(self, columns: Integers) -> Floats:
        return dense_table(self._table.view, self._table.scorer, columns.astype(np.uint32))


class PairsForm:
    """`aode`: presence."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs

    def scores(self, X: Sparse) -> Floats:
        return self.pairs.scores(X)

    def parts(self, row: Sparse) -> Parts:
        ones = ones_of(row)
        assert ones is not None
        return Parts(*self.pairs.presence_parts(ones))

    def weights(self, columns: Integers) -> Floats:
        """In a document that has no other word."""
        width = len(self.pairs.counts.places)
        starts, one = np.array([0, 1]), np.ones(1, np.int64)
        rows = (Sparse(starts, np.array([column], np.int32), one, (1, width)) for column in columns.tolist())
        return np.array([self.parts(row).values[0] for row in rows])


class Nothing:
    """What is left where there is nothing to tell apart, for want of a second label, or of words."""

    def __init__(self, n_classes: int, head: LinearHead | None = None) -> None:
        self.head = head
        self._n_classes = n_classes

    def scores(self, X: Sparse) -> Floats:
        return np.zeros((X.shape[0], self._n_classes))

    def parts(self, row: Sparse) -> Parts:
        columns = row.indices.astype(np.int64)
        return Parts(columns, self.weights(columns), np.zeros(self._n_classes))

    def weights(self, columns: Integers) -> Floats:
        return np.zeros((len(columns), self._n_classes))
