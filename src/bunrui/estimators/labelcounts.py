"""`LabelCounts`: what `MultilabelNB` learns.

    n[f, l], D[l]      occurrences of feature f in the rows with label l, and these rows
    n[f], D            the same of all rows, each of which counts once
    n[f] - n[f, l]     the rest of label l; never counted

So all labels come from one pass over the rows, however many labels a row has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import UnlearnError
from bunrui.estimators.counts import MatrixCounts
from bunrui.estimators.labels import Labels

__all__ = ["LabelCounts", "count_labels"]

Numbers = npt.NDArray[Any]

# float64 holds every whole number up to here.
_MOST = 2**53


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Counts by feature and label, and those of all rows.

    Attributes
    ----------
    own : MatrixCounts
        By label: a row counts once for each label that it has.
    every : MatrixCounts
        Of one class, to which all rows belong.
    memo : dict
        What was computed from these counts, and need not be again.
    """

    own: MatrixCounts
    every: MatrixCounts
    memo: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def classes(self) -> Labels:
        """Labels, sorted."""
        return self.own.classes

    @property
    def doc_count(self) -> Numbers:
        """D[l], (n_labels,)."""
        return self.own.doc_count

    @property
    def n_docs(self) -> Any:
        """D."""
        return self.every.doc_count[0]

    @property
    def n_features(self) -> int:
        """The columns."""
        return self.own.n_features

    def over(self, classes: Labels) -> LabelCounts:
        """The same with more labels."""
        return LabelCounts(self.own.over(classes), self.every)

    def plus(self, other: LabelCounts) -> LabelCounts:
        """The counts of both."""
        return LabelCounts(self.own.plus(other.own), self.every.plus(other.every))

    def minus(self, other: LabelCounts, keep: Labels, exact: bool) -> LabelCounts:
        """Without some rows; labels that have none left go, but for those in `keep`."""
        own = self.own.minus(other.own, keep, exact)
        every = self.every.minus(other.every, self.every.classes, exact)
        totals = every.cells.toarray()[:, 0]
        rows = np.repeat(np.arange(own.n_features), np.diff(own.cells.indptr))
        # Each could be taken back alone; a label has not more than all rows have, but for rounding of fractions.
        room = 1 if own.is_whole and every.is_whole else 1 + 1e-9
        if (own.doc_count > every.doc_count * room).any() or (own.cells.data > totals[rows] * room).any():
            raise UnlearnError("this was never learned: not with these labels")
        return LabelCounts(own, every)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memo": {}}


def count_labels(X: Any, labels: tuple[Labels, Any], weights: Numbers | None, presence: bool) -> LabelCounts:
    """Count rows, once for all labels.

    Parameters
    ----------
    X : (n_rows, n_features) array or csr_array of int64 or float64
    labels : classes, and a csr_array of int64, (n_rows, n_classes)
    weights : (n_rows,) int64 or float64, optional
    """
    classes, Y = labels
    n_rows, n_labels = Y.shape
    weights = np.ones(n_rows, np.int64) if weights is None else weights
    top = abs(X).max() if n_rows else 0
    if X.dtype.kind == weights.dtype.kind == "i" and float(top) * float(weights.sum()) >= _MOST:
        X = X.astype(np.float64)
    # The last column is what all rows have: they are summed with the labels, in one product.
    everywhere = sparse.csr_array(np.ones((n_rows, 1), np.int64))
    rows = sparse.csr_array(sparse.hstack([Y, everywhere]).T.multiply(weights))
    sums = sparse.csr_array((rows @ X).T)
    sums.eliminate_zeros()
    docs = np.asarray(rows @ np.ones(n_rows, weights.dtype))
    own = MatrixCounts(classes, docs[:n_labels], sparse.csr_array(sums[:, :n_labels]), presence)
    every = MatrixCounts(np.zeros(1, np.int64), docs[n_labels:], sparse.csr_array(sums[:, n_labels:]), presence)
    return LabelCounts(own, every)
