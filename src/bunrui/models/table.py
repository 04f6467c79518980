"""A linear scorer on the rows of a matrix.

    scores = bias + scale · (length ⊗ slope + X @ shared + X @ weights)

Where features × classes are few, slope, shared, weights and scale are one dense table, and scores are a product with
it.  Where they are many, only the cells of the columns that occur in X are weighed, so that memory and time follow
what is not zero.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.cells import ranges
from bunrui.classcounts import SparseCounts
from bunrui.errors import OptionError
from bunrui.models.scorer import Scorer
from bunrui.models.view import CountView, FeatureCounts
from bunrui.sparse import Floats, Sparse

DENSE_CELLS = 1 << 24  # of a table that is kept: 128 MB
MOST_CELLS = 1 << 30  # of a table that somebody asks for: 8 GB
MOST_SCORES = 1 << 21  # at a time, where labels alone are asked for


class MatrixView(NamedTuple):
    """Counts of a matrix as a formula reads them.

    Every column is a feature.  `by_docs` is not asked for: what a model reads has been counted.
    """

    doc_count: npt.NDArray[Any]
    counts: SparseCounts

    @property
    def n_features(self) -> int:
        """V."""
        return self.counts.n_features

    def class_sum(self, by_docs: bool) -> npt.NDArray[Any]:
        """N_c, (n_classes,)."""
        return self.counts.class_sum

    def total(self, by_docs: bool) -> Any:
        """N."""
        return self.counts.class_sum.sum()

    def feature_ids(self) -> npt.NDArray[np.uint32]:
        """All columns."""
        return np.arange(self.n_features, dtype=np.uint32)

    def gather(self, ids: npt.NDArray[np.uint32], by_docs: bool) -> FeatureCounts:
        """The cells of some columns."""
        is_all = len(ids) == self.n_features and np.array_equal(ids, self.feature_ids())
        cells = self.counts.cells if is_all else self.counts.cells_of(ids)
        return FeatureCounts.of(ids, cells, np.asarray(cells.row_sums(), cells.data.dtype))


def dense_table(view: CountView, scorer: Scorer, ids: npt.NDArray[np.uint32] | None = None) -> Floats:
    """The weights of all features, or of some: one occurrence adds them to the scores, (n_features, n_classes)."""
    n_classes = len(scorer.slope)
    if ids is None and view.n_features * n_classes > MOST_CELLS:
        raise OptionError(
            f"{view.n_features:,} features × {n_classes:,} classes are too many for a dense table: "
            "read fewer features, for texts with min_df or max_features"
        )
    ids = view.feature_ids() if ids is None else ids
    cells = scorer.gather(view, ids)
    table = np.tile(scorer.slope, (len(ids), 1))
    if scorer.share:
        table += scorer.share(cells)[:, None]
    table[cells.spread(np.arange(len(ids))), cells.classes] += scorer.weigh(cells)
    table *= scorer.scale
    return table


class Table:
    """A scorer with the counts that it was made of."""

    def __init__(self, view: MatrixView, scorer: Scorer) -> None:
        self.view = view
        self.scorer = scorer
        self._is_made = False

    @cached_property
    def weights(self) -> Floats:
        """The weights of all features, (n_features, n_classes)."""
        self._is_made = True
        return dense_table(self.view, self.scorer)

    def scores(self, X: Any) -> Floats:
        """The scores of every row of an array or of sparse rows, (n_rows, n_classes)."""
        if self.view.n_features * len(self.scorer.slope) > DENSE_CELLS:
            return self._sparse_scores(Sparse.of(X))
        if not self._is_made and hasattr(X, "indptr") and 4 * len(X.data) < self.view.n_features:
            # The weights of these columns alone, in the same order: the same bits, and nothing that waits for a table.
            columns, places = np.unique(X.indices, return_inverse=True)
            weights = dense_table(self.view, self.scorer, columns.astype(np.uint32))
            return np.asarray(Sparse.of(X).at(places, len(columns)) @ weights + self.scorer.bias)
        return np.asarray(X @ self.weights + self.scorer.bias)

    def _sparse_scores(self, X: Sparse) -> Floats:
        scorer, n_classes = self.scorer, len(self.scorer.slope)
        columns, places = np.unique(X.indices, return_inverse=True)
        cells = scorer.gather(self.view, columns.astype(np.uint32))
        weights, values = scorer.weights(cells), X.data.astype(np.float64)
        total = np.empty((X.shape[0], n_classes))
        for row in range(X.shape[0]):
            here = slice(int(X.indptr[row]), int(X.indptr[row + 1]))
            lists = places[here]
            at = ranges(cells.starts[lists], cells.lengths[lists])
            terms = weights[at] * np.repeat(values[here], cells.lengths[lists])
            total[row] = np.bincount(cells.classes[at], terms, n_classes)
        rows = X.at(places, len(columns)).with_data(values)
        total += np.outer(rows @ np.ones(len(columns)), scorer.slope)
        if scorer.share:
            total += (rows @ scorer.share(cells))[:, None]
        total *= scorer.scale
        total += scorer.bias
        return total

    def best(self, X: Any) -> npt.NDArray[np.int64]:
        """The class of every row with the highest score, (n_rows,); so many rows at a time that scores stay few."""
        step = max(1, MOST_SCORES // len(self.scorer.slope))
        if X.shape[0] <= step:
            return np.asarray(self.scores(X).argmax(axis=1))
        parts = [self.scores(X[at : at + step]).argmax(axis=1) for at in range(0, X.shape[0], step)]
        return np.concatenate(parts)
