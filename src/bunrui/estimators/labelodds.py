"""Each label against the rest, by the formula of a two-class estimator.

    score[l] = log P(l) / P(rest) + sum over words of x[f] * (w[f, l] - w[f, rest])

    w   what one occurrence adds to the score of a class; the estimator's formula says it

The rests are dense, be the labels as sparse as they may: tables are made for blocks of labels, and kept where all of
them together are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bunrui.estimators.discrete import DiscreteNB
from bunrui.estimators.labelcounts import LabelCounts
from bunrui.estimators.parameters import same
from bunrui.estimators.table import DENSE_CELLS, MatrixView
from bunrui.models.base import Scorer
from bunrui.models.view import FeatureCounts

__all__ = ["PairCounts", "PairView", "log_odds", "log_priors"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]
Ids = npt.NDArray[np.uint32]

# Of a table that is made for one call: label and rest, and what the formula keeps in between.
_BLOCK_CELLS = 1 << 21


class PairView(NamedTuple):
    """Some labels and the rest of each as classes of a formula: first the labels, then their rests.

    The totals are those of all rows, which both classes of a pair make up; so a formula that counts outside a class
    finds the other of its pair.
    """

    counts: LabelCounts
    chosen: slice
    names: Sequence[str] | None = None

    @property
    def n_features(self) -> int:
        """V."""
        return self.counts.n_features

    @property
    def doc_count(self) -> Numbers:
        """D[l], then D - D[l]."""
        own = self.counts.doc_count[self.chosen]
        return np.concatenate([own, np.maximum(self.counts.n_docs - own, 0)])

    def class_sum(self, by_docs: bool) -> Numbers:
        """N[l], then N - N[l]."""
        own = self.counts.own.class_sum()[self.chosen]
        return np.concatenate([own, np.maximum(self.total(by_docs) - own, 0)])

    def total(self, by_docs: bool) -> Any:
        """N."""
        return self.counts.every.class_sum()[0]

    def feature_ids(self) -> Ids:
        """All columns."""
        return np.arange(self.n_features, dtype=np.uint32)

    def gather(self, ids: Ids, by_docs: bool) -> FeatureCounts:
        """The cells of some columns."""
        totals = self.counts.every.cells[ids].toarray()[:, 0]
        own = self.counts.own.cells[ids][:, self.chosen].toarray()
        cells = sparse.csr_array(np.hstack([own, np.maximum(totals[:, None] - own, 0)]))
        lengths = np.diff(cells.indptr).astype(np.int32)
        return FeatureCounts(
            ids, cells.indptr[:-1], lengths, cells.indices.astype(np.int32, copy=False), cells.data, totals
        )

    def words_of(self, ids: Ids) -> list[str]:
        """The names of some columns, where they have names."""
        return MatrixView(self.counts.own, self.names).words_of(ids)

    def has_words(self, words: list[str]) -> list[bool]:
        """Whether there are columns with these names."""
        return MatrixView(self.counts.own, self.names).has_words(words)


class PairCounts:
    """A label and the rest as two classes, 0 (rest) and 1 (label), as far as priors and parameters ask."""

    def __init__(self, learned: LabelCounts, label: int = 0) -> None:
        docs = learned.doc_count[label] if len(learned.classes) else 0
        self.classes = np.array([0, 1])
        self.doc_count = np.maximum(np.array([learned.n_docs - docs, docs]), 0)
        self.n_features = learned.n_features


def log_priors(model: DiscreteNB, learned: LabelCounts) -> Floats:
    """log P(rest) and log P(label), (n_labels, 2)."""
    pairs = (PairCounts(learned, label) for label in range(len(learned.classes)))
    return np.array([model._log_prior(pair) for pair in pairs]).reshape(-1, 2)


def log_odds(model: DiscreteNB, learned: LabelCounts, X: Any) -> Floats:
    """Scores of rows as the model reads them, (n_rows, n_labels).

    -inf for a label that no row had, and inf for one that all had.
    """
    n_labels = len(learned.classes)
    if learned.n_features * n_labels <= DENSE_CELLS:
        table, bias = _kept(model, learned)
        scores = np.asarray(X @ table + bias)
    else:
        X = sparse.csr_array(X)
        ids = np.unique(X.indices).astype(np.uint32)
        X, priors = X[:, ids], log_priors(model, learned)
        scores = np.empty((X.shape[0], n_labels))
        for chosen in _blocks(learned.n_features, n_labels):
            table, bias = _block(model, learned, priors, chosen, ids)
            scores[:, chosen] = X @ table + bias
    scores[:, learned.doc_count >= learned.n_docs] = np.inf
    scores[:, learned.doc_count == 0] = -np.inf
    return scores


def _kept(model: DiscreteNB, learned: LabelCounts) -> tuple[Floats, Floats]:
    """Weights of all columns and labels, made once for the same counts and parameters."""
    parameters = {"kind": type(model).__name__, **model.get_params(deep=False)}
    kept = learned.memo.get("table")
    if kept is None or kept[0].keys() != parameters.keys() or not same(kept[0], parameters):
        ids, priors = np.arange(learned.n_features, dtype=np.uint32), log_priors(model, learned)
        blocks = _blocks(learned.n_features, len(learned.classes))
        tables, biases = zip(*(_block(model, learned, priors, chosen, ids) for chosen in blocks), strict=True)
        # One assignment: another thread finds all of it or nothing.
        kept = learned.memo["table"] = (deepcopy(parameters), (np.hstack(tables), np.concatenate(biases)))
    table: tuple[Floats, Floats] = kept[1]
    return table


def _block(model: DiscreteNB, learned: LabelCounts, priors: Floats, chosen: slice, ids: Ids) -> tuple[Floats, Floats]:
    view: Any = PairView(learned, chosen, getattr(model, "feature_names_in_", None))
    # A prior of -inf decides by itself, and would only spoil the table.
    prior = np.where(np.isfinite(priors), priors, 0.0)[chosen]
    return _differences(view, model._scorer(view, np.concatenate([prior[:, 1], prior[:, 0]])), ids)


def _differences(view: PairView, scorer: Scorer, ids: Ids) -> tuple[Floats, Floats]:
    """What one occurrence adds to label less rest, (n_ids, n_labels), and the same of the biases, (n_labels,)."""
    cells = view.gather(ids, scorer.by_docs)
    table = np.tile(scorer.slope, (len(ids), 1))
    if scorer.share:
        table += scorer.share(cells)[:, None]
    table[cells.spread(np.arange(len(ids))), cells.classes] += scorer.weigh(cells)
    table *= scorer.scale
    n = table.shape[1] // 2
    return table[:, :n] - table[:, n:], scorer.bias[:n] - scorer.bias[n:]


def _blocks(n_features: int, n_labels: int) -> list[slice]:
    """Labels whose tables fit into memory."""
    step = max(1, _BLOCK_CELLS // max(n_features, 1))
    return [slice(at, min(at + step, n_labels)) for at in range(0, max(n_labels, 1), step)]
