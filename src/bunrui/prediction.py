"""Scores → labels and probabilities.

A `Reader` answers as one model of some counts.  Weights are never stored: many documents are scored from a table of all
weights, which is made once; a few, from the weights of just their words, so that a prediction after every learned
document costs no more than the document.  Both ways give the same bits.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.kernel import score as scoring
from bunrui.kernel.analyze import HARD, Documents, Recipe
from bunrui.kernel.compile import run
from bunrui.kernel.score import TOO_LONG, Linear, Sums, Table
from bunrui.kernel.workspace import scratch_for
from bunrui.models.base import Scorer
from bunrui.models.view import Cells, View

__all__ = ["Reader", "log_sum_exp", "probabilities"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Few and short documents are scored from the weights of their words alone.
_FEW_DOCUMENTS = 32
_FEW_BYTES = 1 << 16

# With so few classes all lists are filled up: whether a list is long or short cannot be predicted, and costs more than
# adding zeros.
_FEW_CLASSES = 16

_local = threading.local()


class Reader:
    """One model of some counts, ready to score.

    Attributes
    ----------
    classes : list of str
        Labels with documents, sorted: the columns of all scores.
    """

    def __init__(self, view: View, scorer: Scorer, *, smooth_unseen: bool) -> None:
        self.view = view.filled() if scorer.everywhere else view
        self.scorer = scorer
        counts = view.counts
        self.version = counts.version
        self.classes = counts.live_labels
        self.columns = np.array([counts.label_ids[label] for label in self.classes], np.int64)
        self.linear = Linear(
            scorer.bias,
            scorer.scale,
            scorer.slope,
            scorer.unseen,
            np.array([int(scorer.presence), int(smooth_unseen)], np.int64),
        )
        self._table: Table | None = None
        self._lock = threading.Lock()

    def wants_table(self, n_docs: int, n_bytes: int) -> bool:
        """Whether so many documents are better scored from a table of all weights."""
        return self._table is not None or n_docs > _FEW_DOCUMENTS or n_bytes > _FEW_BYTES

    def table(self) -> Table:
        """All weights, made when they are first asked for."""
        with self._lock:
            if self._table is None:
                self._table = self._make_table()
            return self._table

    def _make_table(self) -> Table:
        counts = self.view.counts
        ids = self.view.feature_ids()
        cells = self.view.gather(ids, self.scorer.by_docs)
        gathered = self._weighed(cells)
        n = counts.n_ids
        n_classes = len(counts.labels)
        square = n_classes < _FEW_CLASSES
        empty = Table(
            np.empty(0 if square else n, np.int64),
            np.zeros(n, np.int32),
            np.empty(0, np.int32),
            np.empty(0),
            np.zeros(n if len(gathered.shared) else 0),
        )
        size = max(1, run(scoring.lay_out, ids, gathered, n_classes, empty, work=len(ids)))
        full = empty._replace(classes=np.empty(0 if square else size, np.int32), weights=np.empty(size))
        run(scoring.lay_out, ids, gathered, n_classes, full, work=size)
        return full

    def _weighed(self, cells: Cells) -> Table:
        scorer = self.scorer
        shared = scorer.share(cells) if scorer.share else np.empty(0)
        return Table(cells.starts, cells.lengths, cells.classes, scorer.weigh(cells), shared)

    def score_slice(self, docs: Documents, recipe: Recipe, lo: int, hi: int, longest: int, out: Floats) -> Integers:
        """Score the documents lo … hi - 1 into `out` (all documents, by class id).

        Returns the documents that must be folded in Python first.
        """
        counts = self.view.counts
        hard = np.empty(hi - lo, np.int64)
        seen = np.zeros(counts.n_ids if self.scorer.presence else 0, np.uint32)
        sums = Sums(np.empty(len(counts.labels)), np.empty(3), seen)
        n_bytes = int(docs.offsets[-1] - docs.offsets[0])
        args = (docs, lo, hi, recipe, scratch_for(longest), counts.vocabulary, self.table(), self.linear, sums)
        n_hard = run(scoring.score_documents, *args, out[lo:hi].reshape(-1), hard, work=n_bytes)
        return hard[:n_hard]

    def score_one(self, docs: Documents, recipe: Recipe, d: int, longest: int) -> Floats | None:
        """Scores of one short document by class id, from the weights of its words; None where it is not so simple."""
        counts = self.view.counts
        scratch = scratch_for(longest)
        marks, stamp = _marks(counts.n_ids)
        features = np.empty(len(scratch.items.ids), np.uint32)
        alive = counts.postings.doc_total
        args = (docs, d, recipe, scratch, counts.vocabulary, alive, self.view.keep, marks, stamp, features)
        n_items, n_features = run(scoring.identify, *args, work=longest)
        if n_items in (HARD, TOO_LONG):
            return None
        table = self._weighed(self.view.gather(features[:n_features], self.scorer.by_docs))
        n_classes = len(counts.labels)
        seen = np.zeros(n_features if self.scorer.presence else 0, np.uint32)
        sums = Sums(np.empty(n_classes), np.empty(3), seen)
        out = np.empty(n_classes)
        run(scoring.score_items, docs, d, scratch.items, n_items, table, self.linear, sums, out, work=n_items)
        return out


def _marks(n_ids: int) -> tuple[Any, int]:
    """Marks of this thread for so many features, and a stamp that was not used yet."""
    marks = getattr(_local, "marks", None)
    if marks is None or len(marks) < 2 * n_ids or _local.stamp == 0xFFFF_FFFF:
        marks = _local.marks = np.zeros(3 * n_ids + 64, np.uint32)
        _local.stamp = 0
    _local.stamp += 1
    return marks, _local.stamp


def log_sum_exp(scores: Floats) -> Floats:
    """log of the sum of exp over the last axis, without overflow, (n_docs, 1)."""
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))


def probabilities(scores: Floats) -> Floats:
    """P(c | d) from scores, (n_docs, n_classes)."""
    return np.asarray(np.exp(scores - log_sum_exp(scores)))
