"""Scores → labels and probabilities.

A `Reader` answers as one model of some counts.  Weights are never kept: many documents are scored from a table of all
weights, which is made once; a few, from the weights of just their words, so that a prediction after every learned
document costs no more than the document.  Both ways give the same bits.

Labels alone need no scores of all classes: where there are many, `Reader.best_slice` leaves out those that a bound
rules out (`kernel/best.py`).
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts
from bunrui.kernel import best, vocabulary
from bunrui.kernel import score as scoring
from bunrui.kernel.alike import group
from bunrui.kernel.analyze import Documents, Recipe, Scratch
from bunrui.kernel.best import Bounds, Room
from bunrui.kernel.library import run
from bunrui.kernel.ngrams import MAX_ORDER
from bunrui.kernel.reading import Found, new_found, new_index
from bunrui.kernel.score import TOO_LONG, Linear, Sums, Table, Weights
from bunrui.kernel.slices import Mutex
from bunrui.kernel.workspace import new_vocabulary, scratch_for
from bunrui.models.scorer import Scorer
from bunrui.models.view import FeatureCounts, View, in_blocks, whole
from bunrui.sparse import Floats, Integers

# Few and short documents are scored from the weights of their words alone.
_FEW_DOCUMENTS = 32
_FEW_BYTES = 1 << 16

# With so few classes all lists are filled up: whether a list is long or short cannot be predicted, and costs more than
# adding zeros.
FEW_CLASSES = 16

# With fewer classes than this, scoring all of them costs less than finding out which are worth it.
_MANY_CLASSES = 1024
_GROUP = 256

# A word that more than one of so many classes have is common.  With 8, 32 and 128 a document takes .26, .10 and .11 ms
# (multinomial), 1.1, .7 and .7 (binary), .23, .16 and .06 (binary-complement); scoring all classes, 4 to 7:
# 600,000 documents of benchmarks/classes.py, 100,000 classes.
_COMMON = 32

# Cells of one document above which weights are made by count, not by cell; counts are seldom larger than the usual.
_LONG_LISTS = 1 << 12
_USUAL_COUNT = 128

_NONE_SEEN = np.empty(0, np.uint32)

_local = threading.local()
_making = Mutex()


class Reader:
    """One model of some counts, ready to score.

    Attributes
    ----------
    classes : list of str, int or bool
        Labels with documents, sorted: the columns of all scores.
    columns : (n_classes,) int64
        The ids of these labels.
    dtype : str
        Of an array of these labels.
    """

    def __init__(self, view: View, scorer: Scorer, *, smooth_unseen: bool) -> None:
        self.view = view if view.is_filled == scorer.everywhere else view._replace(is_filled=scorer.everywhere)
        self.scorer = scorer
        counts = view.counts
        self.version = counts.version
        self.classes, self.columns, self.dtype = counts.live
        self.linear = Linear(
            scorer.bias,
            scorer.scale,
            scorer.slope,
            scorer.unseen,
            np.array([int(scorer.presence), int(smooth_unseen)], np.int64),
        )
        self._weights: Weights | None = None
        self._bounds: Bounds | None = None
        self._has_answered = False
        self._known_lock: Mutex | None = None

    @property
    def has_many(self) -> bool:
        """Whether there are so many classes that it is worth while to find out which of them to score."""
        return len(self.view.counts.labels) >= _MANY_CLASSES

    @property
    def _lock(self) -> Mutex:
        # Most readers of one document never need it, and to make one takes as long as ten logarithms.
        with _making:
            if self._known_lock is None:
                self._known_lock = Mutex()
            return self._known_lock

    def wants_table(self, n_docs: int, n_bytes: int) -> bool:
        """Whether so many documents are better scored from a table of all weights."""
        return self._weights is not None or n_docs > _FEW_DOCUMENTS or n_bytes > _FEW_BYTES

    def weights(self) -> Weights:
        """All weights, once for all features that are alike; made when they are first asked for, on all threads."""
        if self._weights is None:
            with self._lock:
                if self._weights is None:
                    self._weights = self._make_weights()
        return self._weights

    def _make_weights(self) -> Weights:
        counts, scorer = self.view.counts, self.scorer
        how = {"by_docs": scorer.by_docs, "by_word": scorer.by_word}
        alike = group(counts.postings, self.view.keep, counts.n_ids, **how)
        index = new_index(counts.vocabulary, alike.places, alike.n_known)
        return Weights(index, self._make_table(alike.firsts), self.linear)

    def _make_table(self, ids: npt.NDArray[np.uint32]) -> Table:
        """The weights of some features, by place."""
        n = len(ids)
        n_classes = len(self.view.counts.labels)
        square = n_classes < FEW_CLASSES
        empty = Table(
            np.empty(0 if square else n, np.int64),
            np.zeros(n, np.int32),
            np.empty(0, np.int32),
            np.empty(0),
            np.zeros(n if self.scorer.share else 0),
        )
        places = np.arange(n, dtype=np.uint32)
        lengths = empty._replace(lengths=self.view.sizes(ids).astype(np.int32))
        size = max(1, run(scoring.lay_out, places, lengths, n_classes, empty, 0))
        full = empty._replace(classes=np.empty(0 if square else size, np.int32), weights=np.empty(size))
        at = done = 0
        for cells in in_blocks(self.view, ids, self.scorer.by_docs):
            some = places[done : done + len(cells.ids)]
            at = run(scoring.lay_out, some, self._weighed(cells), n_classes, full, at)
            done += len(some)
        return full

    def _weighed(self, cells: FeatureCounts) -> Table:
        scorer = self.scorer
        shared = scorer.share(cells) if scorer.share else np.empty(0)
        return Table(cells.starts, cells.lengths, cells.classes, scorer.weights(cells), shared)

    def score_slice(self, docs: Documents, recipe: Recipe, lo: int, hi: int, longest: int, out: Floats) -> None:
        """Score the documents lo … hi - 1 into `out` (all documents, by class id)."""
        scratch = scratch_for(longest)
        args = (docs, lo, hi, recipe, scratch, self.view.counts.vocabulary, self.weights())
        run(scoring.score_documents, *args, *self._room(scratch, hi - lo), out[lo:hi].reshape(-1))

    def _room(self, scratch: Scratch, n_docs: int) -> tuple[Sums, Found]:
        most = MAX_ORDER * len(scratch.units.orders) if self.scorer.presence else 0
        sums = Sums(np.empty(len(self.view.counts.labels)), np.empty(3), _NONE_SEEN)
        return sums, new_found(self.weights().known, most, n_docs)

    def best_slice(
        self, docs: Documents, recipe: Recipe, lo: int, hi: int, longest: int, classes: Integers, scores: Floats
    ) -> None:
        """Write the ids of the best classes of the documents lo … hi - 1, best first, and their scores.

        `classes` and `scores` are (n_docs, k) for all documents.
        """
        n, k = len(self.view.counts.labels), classes.shape[1]
        room = Room(
            np.zeros(n, np.uint32), np.empty(n + k, np.int32), np.empty(n + k), np.empty(k, np.int64), np.empty(k)
        )
        scratch = scratch_for(longest)
        args = (docs, lo, hi, recipe, scratch, self.view.counts.vocabulary, self.weights())
        out = (classes[lo:hi].reshape(-1), scores[lo:hi].reshape(-1))
        run(best.best_documents, *args, self.bounds(), *self._room(scratch, hi - lo), room, *out)

    def bounds(self) -> Bounds:
        """Bounds that scores cannot exceed, made when they are first asked for."""
        table = self.weights().table
        with self._lock:
            if self._bounds is None:
                self._bounds = self._make_bounds(table)
            return self._bounds

    def _make_bounds(self, table: Table) -> Bounds:
        n = len(self.view.counts.labels)
        ranks = np.full(n, -1, np.int64)
        ranks[self.columns] = np.arange(len(self.columns))
        if not self.has_many or not len(table.starts):
            return Bounds(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int64), ranks)
        peaks = np.empty(len(table.lengths))
        run(best.find_peaks, table, self.linear.scale, peaks)
        longest = np.array([n // _COMMON], np.int64)
        return Bounds(peaks, *group_classes(self.linear, self.columns), longest, ranks)

    def score_one(self, docs: Documents, recipe: Recipe, d: int, longest: int) -> Floats | None:
        """Scores of one short document by class id, from the weights of its words; None where it is not so simple."""
        scorer, scratch = self.scorer, scratch_for(longest)
        view = self._view_for(docs, recipe, d, scratch)
        counts = view.counts
        n_classes = len(counts.labels)
        out = np.empty(n_classes)
        for largest in (_USUAL_COUNT, None):
            n_items, features = _identify(view, docs, recipe, d, scratch)
            if n_items == TOO_LONG:
                return None
            sums = Sums(np.empty(n_classes), np.empty(3), np.zeros(len(features) if scorer.presence else 0, np.uint32))
            table = self._weighed_by_count(view, features, largest) if scorer.by_count else None
            if table is None:
                break
            rest = (counts.postings, features, int(scorer.by_docs), table, self.linear, sums, out)
            if run(scoring.score_by_count, docs, d, scratch.items, n_items, *rest):
                return out
        table = self._weighed(view.gather(features, scorer.by_docs))
        run(scoring.score_items, docs, d, scratch.items, n_items, table, self.linear, sums, out)
        return out

    def _view_for(self, docs: Documents, recipe: Recipe, d: int, scratch: Scratch) -> View:
        """The view in which to look up a document.

        The first one asks a file for no more features than it has: most commands have only one.
        """
        is_first, self._has_answered = not self._has_answered, True
        if not is_first or not self.view.counts.is_folded or self.scorer.by_word or len(self.view.keep):
            return self.view
        n_items, _ = _identify(whole(Counts()), docs, recipe, d, scratch)
        if n_items == TOO_LONG:
            return self.view
        own = new_vocabulary(n_items, len(scratch.units.text))
        run(vocabulary.probe, own, scratch.items, np.uint64(n_items), scratch.units.text, 1)
        return self.view._replace(counts=self.view.counts.few(own))

    def _weighed_by_count(self, view: View, features: npt.NDArray[np.uint32], largest: int | None) -> Table | None:
        """The weights of all counts of features up to a largest, by default that of each.

        None where weights of the cells are fewer.
        """
        if len(features) * len(view.doc_count) <= _LONG_LISTS:
            return None
        n_cells = int(view.sizes(features).sum())
        if n_cells <= _LONG_LISTS:
            return None
        p, by_docs = view.counts.postings, self.scorer.by_docs
        totals = (p.doc_total if by_docs else p.term_total)[features]
        most = view.gather(features, by_docs).largest() if largest is None else np.minimum(totals, largest)
        if int(most.sum()) > n_cells // 2:
            return None
        none = np.empty(0, np.int32)
        return self._weighed(FeatureCounts(features, most, none, none, none, totals).up_to(most))


def _identify(
    view: View, docs: Documents, recipe: Recipe, d: int, scratch: Scratch
) -> tuple[int, npt.NDArray[np.uint32]]:
    """Look a short document up: the number of its items, or TOO_LONG, and the features of the view that it has."""
    counts = view.counts
    marks, stamp = _marks(counts.n_ids)
    found = np.empty(len(scratch.items.ids), np.uint32)
    rest = (counts.vocabulary, counts.postings.doc_total, view.keep, marks, stamp, found)
    n_items, n_features = run(scoring.identify, docs, d, recipe, scratch, *rest)
    return n_items, found[:n_features]


def group_classes(linear: Linear, live: Integers) -> tuple[Floats, Floats]:
    """`Bounds.groups` and `Bounds.limits` of the classes that have documents.

    Classes of like slope stand together: they are of like size, so that their bounds are close to what they score.
    """
    smooth = float(linear.reading[scoring.SMOOTH])
    scale = linear.scale[live]
    parts = (linear.bias[live], scale * linear.slope[live], smooth * scale * linear.unseen[live], scale)
    order = np.argsort(parts[1], kind="stable")
    starts = np.arange(0, len(order), _GROUP)
    groups = np.empty((len(starts), best.COLUMNS))
    for column, part in zip((best.BIAS, best.SLOPE, best.UNSEEN, best.HIGH), parts, strict=True):
        groups[:, column] = np.maximum.reduceat(part[order], starts)
    groups[:, best.LOW] = np.minimum.reduceat(scale[order], starts)
    return groups.reshape(-1), np.array([float(np.abs(part).max()) for part in parts])


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
