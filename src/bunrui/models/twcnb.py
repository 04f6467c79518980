"""TWCNB: the complement with all five steps of Rennie et al. (2003), trained from documents.

Rows go through the steps of `transform.py`, then the complement with weight normalisation weighs them; documents are
scored by their raw counts, as in the article.  Golden values: tests/golden/test_twcnb.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import ClassCounts, SparseCounts, encode_labels
from bunrui.errors import DataError
from bunrui.memory import Parameters
from bunrui.models.complement import complement
from bunrui.models.model import Parts
from bunrui.models.parameters import take
from bunrui.models.scorer import Smoothing, normalised, smoothing_on
from bunrui.models.table import MatrixView, Table, dense_table
from bunrui.models.transform import KeptRows, Steps
from bunrui.sparse import Sparse

__all__ = ["StepsForm", "train_twcnb"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class StepsForm:
    """`twcnb`: weights of raw counts, learned from rows after all steps.

    Attributes
    ----------
    learned : ClassCounts of KeptRows, optional
        The rows; None where the form comes from a file.
    table : Table
        The weights.
    """

    def __init__(
        self,
        doc_count: npt.NDArray[Any],
        counts: SparseCounts,
        smoothing: Smoothing,
        learned: ClassCounts | None = None,
    ) -> None:
        self.learned = learned
        view = MatrixView(doc_count, counts)
        self.table = Table(view, normalised(view, complement(view, smoothing, np.zeros(len(doc_count)))))

    def scores(self, X: Sparse) -> Floats:
        return self.table.scores(X)

    def parts(self, row: Sparse) -> Parts:
        columns = row.indices.astype(np.int64)
        values = row.data[:, None] * self.weights(columns)
        return Parts(columns, values, np.zeros(values.shape[1]))

    def weights(self, columns: Integers) -> Floats:
        return dense_table(self.table.view, self.table.scorer, columns.astype(np.uint32))

    def arrays(self, to_learn: bool) -> Parameters:
        """The counts of rows after all steps, of which the weights are a formula."""
        view = self.table.view
        cells = view.counts.cells
        arrays: dict[str, npt.NDArray[Any]]
        arrays = {"starts": cells.indptr, "classes": cells.indices, "counts": cells.data, "doc_count": view.doc_count}
        return Parameters({}, arrays)

    @classmethod
    def from_arrays(
        cls, weights: Parameters, alpha: Any, smoothing: str, n_columns: int, doc_count: npt.NDArray[Any]
    ) -> StepsForm:
        """The form whose numbers these are."""
        starts = take(weights, "starts", np.int64, (n_columns + 1,), 0)
        classes = take(weights, "classes", np.int32, (None,), 0, len(doc_count) - 1)
        counts = take(weights, "counts", np.float64, (len(classes),), 0)
        known = take(weights, "doc_count", np.int64, (len(doc_count),))
        rises = np.diff(classes) > 0
        if starts[0] != 0 or starts[-1] != len(classes) or (np.diff(starts) < 0).any():
            raise DataError("the weights have cells of other features than they say")
        borders = starts[(starts > 0) & (starts < len(classes))] - 1
        rises[borders] = True
        if not rises.all() or not np.array_equal(known, doc_count):
            raise DataError("the weights have cells out of order, or of other documents")
        cells = SparseCounts(Sparse(starts, classes, counts, (n_columns, len(doc_count))))
        return cls(doc_count, cells, smoothing_on(n_columns, None, smoothing, alpha))


def train_twcnb(alpha: Any, smoothing: str, X: Sparse, y: npt.NDArray[Any]) -> StepsForm:
    """`twcnb` of all documents."""
    labels, ones = encode_labels(y), np.ones(len(y), np.int64)
    rows = KeptRows(((X.with_data(X.data.astype(np.float64)), labels[1], np.ones(len(y))),), len(labels[0]))
    learned = ClassCounts.of(labels, ones, rows)
    counts = learned.part.counts(Steps(True, True, True))
    return StepsForm(learned.doc_count, counts, smoothing_on(X.shape[1], None, smoothing, alpha), learned)
