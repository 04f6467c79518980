"""A linear scorer on the rows of a matrix.

    scores = bias + scale · (length ⊗ slope + X @ shared + X @ weights)

Where features × classes are few, slope, shared, weights and scale are one dense table, and scores are a product with
it.  Where they are many, only the cells of the columns that occur in X are weighed, so that memory and time follow
what is not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.errors import OptionError
from bunrui.estimators.counts import MatrixCounts
from bunrui.models.base import Scorer
from bunrui.models.view import CountView, FeatureCounts

__all__ = ["MatrixView", "Table", "dense_table"]

Floats = npt.NDArray[np.float64]

DENSE_CELLS = 1 << 24  # of a table that is kept: 128 MB
MOST_CELLS = 1 << 30  # of a table that somebody asks for: 8 GB
MOST_SCORES = 1 << 21  # at a time, where labels alone are asked for


class MatrixView(NamedTuple):
    """Counts of a matrix as a formula reads them.

    Every column is a feature.  `by_docs` is not asked for: the estimator has counted what its model reads.
    """

    counts: MatrixCounts
    names: Sequence[str] | None = None

    @property
    def n_features(self) -> int:
        """V."""
        return self.counts.n_features

    @property
    def doc_count(self) -> npt.NDArray[Any]:
        """D_c, (n_classes,)."""
        return self.counts.doc_count

    def class_sum(self, by_docs: bool) -> npt.NDArray[Any]:
        """N_c, (n_classes,)."""
        return self.counts.class_sum()

    def total(self, by_docs: bool) -> Any:
        """N."""
        return self.counts.class_sum().sum()

    def feature_ids(self) -> npt.NDArray[np.uint32]:
        """All columns."""
        return np.arange(self.n_features, dtype=np.uint32)

    def gather(self, ids: npt.NDArray[np.uint32], by_docs: bool) -> FeatureCounts:
        """The cells of some columns."""
        cells = self.counts.cells_of(ids) if len(ids) < self.n_features else self.counts.cells
        lengths = np.diff(cells.indptr).astype(np.int32)
        totals = cells @ np.ones(cells.shape[1], cells.dtype)
        return FeatureCounts(
            ids, cells.indptr[:-1], lengths, cells.indices.astype(np.int32, copy=False), cells.data, totals
        )

    def words_of(self, ids: npt.NDArray[np.uint32]) -> list[str]:
        """The names of some columns, where they have names."""
        names = self.names
        return [names[f] if names is not None else f"x{f}" for f in ids.tolist()]

    def has_words(self, words: list[str]) -> list[bool]:
        """Whether there are columns with these names."""
        known = set(self.words_of(self.feature_ids()))
        return [word in known for word in words]


def dense_table(view: CountView, scorer: Scorer, ids: npt.NDArray[np.uint32] | None = None) -> Floats:
    """What one occurrence of all features, or of some, adds to a score, (n_features, n_classes)."""
    n_classes = len(scorer.slope)
    if ids is None and view.n_features * n_classes > MOST_CELLS:
        raise OptionError(
            f"{view.n_features:,} features × {n_classes:,} classes are too many for a dense table: "
            "read fewer features, for texts with min_df or max_features"
        )
    ids = view.feature_ids() if ids is None else ids
    cells = view.gather(ids, scorer.by_docs)
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

    @cached_property
    def weights(self) -> Floats:
        """What one occurrence adds to a score, (n_features, n_classes)."""
        return dense_table(self.view, self.scorer)

    def scores(self, X: Any) -> Floats:
        """Of every row of an array or csr_array, (n_rows, n_classes)."""
        if self.view.n_features * len(self.scorer.slope) > DENSE_CELLS:
            return self._sparse_scores(sparse.csr_array(X))
        if "weights" not in self.__dict__ and sparse.issparse(X) and 4 * X.nnz < self.view.n_features:
            # The weights of these columns alone, in the same order: the same bits, and nothing that waits for a table.
            columns, places = np.unique(X.indices, return_inverse=True)
            few = sparse.csr_array((X.data, places, X.indptr), shape=(X.shape[0], len(columns)))
            weights = dense_table(self.view, self.scorer, columns.astype(np.uint32))
            return np.asarray(few @ weights + self.scorer.bias)
        return np.asarray(X @ self.weights + self.scorer.bias)

    def _sparse_scores(self, X: Any) -> Floats:
        scorer, n_classes = self.scorer, len(self.scorer.slope)
        columns, places = np.unique(X.indices, return_inverse=True)
        cells = self.view.gather(columns.astype(np.uint32), scorer.by_docs)
        weights = scorer.weights(cells)
        rows = sparse.csr_array((X.data.astype(np.float64), places, X.indptr), shape=(X.shape[0], len(columns)))
        if X.shape[0] == 1 and X.has_canonical_format:
            # The same sums in the same order, without the two matrices of a product.
            sums = np.bincount(cells.classes, weights * cells.spread(rows.data), n_classes)
            total = np.asarray(sums[None], np.float64)
        else:
            starts = np.append(cells.starts, len(cells.classes))
            total = (rows @ sparse.csr_array((weights, cells.classes, starts), (len(columns), n_classes))).toarray()
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
