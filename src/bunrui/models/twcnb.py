"""TWCNB: the complement with all five steps of Rennie et al. (2003), trained from documents.

Rows go through the steps of `transform.py`, then the complement with weight normalisation weighs them; documents are
scored by their raw counts, as in the article.  Golden values: tests/golden/test_twcnb.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import ClassCounts, encode_labels
from bunrui.models.complement import complement
from bunrui.models.model import Parts
from bunrui.models.scorer import Smoothing, normalised, smoothing_on
from bunrui.models.table import MatrixView, Table, dense_table
from bunrui.models.transform import KeptRows, Steps
from bunrui.sparse import Sparse

__all__ = ["StepsForm", "train_twcnb"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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


def train_twcnb(alpha: Any, smoothing: str, X: Sparse, y: npt.NDArray[Any]) -> StepsForm:
    """`twcnb` of all documents."""
    labels, ones = encode_labels(y), np.ones(len(y), np.int64)
    rows = KeptRows(((X.with_data(X.data.astype(np.float64)), labels[1], np.ones(len(y))),), len(labels[0]))
    return StepsForm(ClassCounts.of(labels, ones, rows), smoothing_on(X.shape[1], None, smoothing, alpha))
