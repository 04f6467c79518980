"""Scores → labels and probabilities.

A `Reader` answers as one model of some counts.  Weights are never kept: many documents are scored from a table of all
weights, which is made once; a few, from the weights of just their words, so that a prediction after every learned
document costs no more than the document.  Both ways give the same bits.

Labels alone need no scores of all classes: where there are many, `Reader.best` leaves out those that a bound
rules out (`kernel/best.py`).

A `Table` does the same for the rows of a matrix:

    scores = bias + scale · (length ⊗ slope + X @ shared + X @ weights)

Where features × classes are few, slope, shared, weights and scale are one dense table, and scores are a product with
it.  Where they are many, only the cells of the columns that occur in X are weighed, so that memory and time follow
the cells that are not zero.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis.analyzer import n_docs_of
from bunrui.cells import ranges
from bunrui.counts import Counts
from bunrui.engines import threads
from bunrui.errors import OptionError
from bunrui.kernel import best, vocabulary
from bunrui.kernel import score as scoring
from bunrui.kernel.alike import group
from bunrui.kernel.analyze import Documents, Recipe, Scratch, Walk
from bunrui.kernel.best import Bounds, Room
from bunrui.kernel.library import run
from bunrui.kernel.ngrams import MAX_ORDER
from bunrui.kernel.reading import new_index, new_seen
from bunrui.kernel.score import TOO_LONG, Linear, ReadyModel, Sums, Weights
from bunrui.kernel.slices import Mutex, each_slice
from bunrui.kernel.workspace import new_vocabulary, scratch_for
from bunrui.models.model import best_of
from bunrui.models.scorer import Scorer
from bunrui.models.view import CountView, FeatureCounts, MatrixView, View, in_blocks, whole
from bunrui.sparse import Floats, Integers, Sparse

# Few and short documents are scored from the weights of their words alone.
_FEW_DOCUMENTS = 32
_FEW_BYTES = 1 << 16

# With so few classes all lists are filled up: whether a list is long or short cannot be predicted, and costs more than
# adding zeros.
FEW_CLASSES = 16
FILL = 8  # with more classes, lists with more than one of 8 classes

# With fewer classes than this, scoring all of them costs less than finding out which are worth it.
_MANY_CLASSES = 1024
_GROUP = 256

# A word is common if more than one of 32 classes have it.  With 8, 32 and 128 a document takes .26, .10 and .11 ms
# (multinomial), 1.1, .7 and .7 (binary), .23, .16 and .06 (binary-complement); scoring all classes, 4 to 7:
# 600,000 documents of benchmarks/classes.py, 100,000 classes.
_COMMON = 32

# Cells of a dense table that is kept (128 MB), and of one that somebody asks for (8 GB).
DENSE_CELLS, MOST_CELLS = 1 << 24, 1 << 30
MOST_SCORES = 1 << 21  # at a time, where labels alone are asked for
_MOST_AT_ONCE = 1 << 22  # scores of texts that are kept at once, where labels alone are asked for

_local = threading.local()


class Reader:
    """One model of some counts, ready to score.

    Attributes
    ----------
    classes : list of str, int or bool
        Labels with documents, sorted: the columns of all scores.
    columns : (n_classes,) int64
        The ids of these labels.
    dtype : str
        The NumPy type of an array of these labels.
    """

    def __init__(self, view: View, scorer: Scorer, *, smooth_unseen: bool) -> None:
        self.view = view if view.is_filled == scorer.everywhere else view._replace(is_filled=scorer.everywhere)
        self.scorer = scorer
        counts = view.counts
        self.version = counts.version
        self.classes, self.columns, self.dtype = counts.live
        reading = np.array([int(scorer.presence), int(smooth_unseen)], np.int64)
        self.linear = Linear(scorer.bias, scorer.scale, scorer.slope, scorer.unseen, reading)
        self._weights: Weights | None = None
        self._known_bounds: Bounds | None = None
        self._has_answered = False
        self._lock = Mutex()

    def wants_table(self, docs: Documents) -> bool:
        """Whether documents are better scored from a table of all weights, by their number and size."""
        if self._weights is not None or n_docs_of(docs) > _FEW_DOCUMENTS:
            return True
        return bool(docs.offsets[-1] - docs.offsets[0] > _FEW_BYTES)

    def weights(self) -> Weights:
        """All weights, once for all features that are alike; made when they are first asked for, on all threads."""
        if self._weights is None:
            with self._lock:
                if self._weights is None:
                    counts, scorer = self.view.counts, self.scorer
                    how = {"by_docs": scorer.by_docs, "by_word": scorer.by_word}
                    alike = group(counts.postings, self.view.feature_ids(), counts.n_ids, **how)
                    index = new_index(counts.vocabulary, alike.places, alike.n_known)
                    self._weights = Weights(index, self._make_table(alike.firsts), self.linear)
        return self._weights

    def _make_table(self, ids: npt.NDArray[np.uint32]) -> scoring.Table:
        """The weights of some features, by place."""
        n_classes = len(self.view.counts.labels)
        is_square = n_classes < FEW_CLASSES
        sizes = self.view.sizes(ids)
        # Long lists are filled up with zeros: a row is added at the speed of memory, and single cells are not.
        lengths = np.where(is_square | (sizes * FILL > n_classes), n_classes, sizes)
        n_cells = int(lengths.sum())
        table = scoring.Table(
            np.empty(0, np.int64) if is_square else np.cumsum(lengths) - lengths,
            lengths.astype(np.int32),
            np.empty(0 if is_square else n_cells, np.int32),
            np.zeros(max(1, n_cells)),
            np.zeros(len(ids) if self.scorer.share else 0),
        )
        done = 0
        for cells in in_blocks(self.view, ids, self.scorer.by_docs):
            run(scoring.lay_out, done, self._weighed(cells), n_classes, table)
            done += len(cells.ids)
        return table

    def _weighed(self, cells: FeatureCounts) -> scoring.Table:
        scorer = self.scorer
        shared = scorer.share(cells) if scorer.share else np.empty(0)
        return scoring.Table(cells.starts, cells.lengths, cells.classes, scorer.weights(cells), shared)

    def scores(self, docs: Documents, recipe: Recipe) -> Floats:
        """Scores by class id, (n_docs, n_classes)."""
        n = n_docs_of(docs)
        out = np.empty((n, len(self.view.counts.labels)))
        longest = threads.longest_document(docs, recipe)
        if not self.wants_table(docs):
            simple = [self._score_one(docs, recipe, d, longest) for d in range(n)]
            if all(row is not None for row in simple):
                for d, row in enumerate(simple):
                    out[d] = row
                return out
        self.weights()

        def work(lo: int, hi: int) -> None:
            scratch = scratch_for(longest)
            model = self._ready(scratch, hi - lo)
            run(scoring.score_documents, Walk(docs, recipe, scratch), lo, hi, model, out[lo:hi].reshape(-1))

        each_slice(work, threads.bounds_of(docs, recipe))
        return out

    def best(self, docs: Documents, recipe: Recipe, k: int) -> tuple[Any, Floats]:
        """Places of the k best classes in `classes`, best first, and their scores, (n_docs, k)."""
        n, n_classes = n_docs_of(docs), len(self.view.counts.labels)
        is_short = n_classes < _MANY_CLASSES or not self.wants_table(docs)
        if is_short and n * n_classes <= _MOST_AT_ONCE:
            return best_of(self.scores(docs, recipe)[:, self.columns], k)
        longest, bounds = threads.longest_document(docs, recipe), self._bounds()
        classes, scores = np.full((n, k), self.columns[0]), np.empty((n, k))

        def work(lo: int, hi: int) -> None:
            stamps, nominees = np.zeros(n_classes, np.uint32), np.empty(n_classes + k, np.int32)
            room = Room(stamps, nominees, np.empty(n_classes + k), np.empty(k, np.int64), np.empty(k))
            scratch = scratch_for(longest)
            args = (Walk(docs, recipe, scratch), lo, hi, self._ready(scratch, hi - lo), bounds, room)
            run(best.best_documents, *args, classes[lo:hi].reshape(-1), scores[lo:hi].reshape(-1))

        each_slice(work, threads.bounds_of(docs, recipe))
        return bounds.ranks[classes], scores

    def _ready(self, scratch: Scratch, n_docs: int) -> ReadyModel:
        most = MAX_ORDER * len(scratch.units.orders) if self.scorer.presence else 0
        weights, counts = self.weights(), self.view.counts
        sums = Sums(np.empty(len(counts.labels)), np.empty(3), new_seen(weights.known, most, n_docs))
        return ReadyModel(counts.vocabulary, weights, sums)

    def _bounds(self) -> Bounds:
        """Bounds that scores cannot exceed, made when they are first asked for."""
        table = self.weights().table
        with self._lock:
            if self._known_bounds is None:
                self._known_bounds = self._make_bounds(table)
            return self._known_bounds

    def _make_bounds(self, table: scoring.Table) -> Bounds:
        n = len(self.view.counts.labels)
        ranks = np.full(n, -1, np.int64)
        ranks[self.columns] = np.arange(len(self.columns))
        if n < _MANY_CLASSES or not len(table.starts):
            return Bounds(np.empty(0), np.empty(0), np.empty(0), np.empty(0, np.int64), ranks)
        peaks = np.empty(len(table.lengths))
        run(best.find_peaks, table, self.linear.scale, peaks)
        longest = np.array([n // _COMMON], np.int64)
        return Bounds(peaks, *group_classes(self.linear, self.columns), longest, ranks)

    def _score_one(self, docs: Documents, recipe: Recipe, d: int, longest: int) -> Floats | None:
        """Scores of one short document by class id, from the weights of its words; None where it is not so simple."""
        scorer, walk = self.scorer, Walk(docs, recipe, scratch_for(longest))
        view = self._view_for(walk, d)
        n_items, features = _identify(view, walk, d)
        if n_items == TOO_LONG:
            return None
        out, sums = np.empty((2, len(view.counts.labels)))
        seen = np.zeros(len(features) if scorer.presence else 0, np.uint32)
        table = self._weighed(view.gather(features, scorer.by_docs))
        run(scoring.score_items, walk, d, n_items, table, self.linear, Sums(sums, np.empty(3), seen), out)
        return out

    def _view_for(self, walk: Walk, d: int) -> View:
        """The view in which to look up a document.

        The first one asks a file for no more features than it has: most commands have only one.  A document without
        features, about which a calibration asks, needs none of them.
        """
        if not self.view.counts.is_folded or self.scorer.by_word or len(self.view.keep):
            return self.view
        n_items, _ = _identify(whole(Counts()), walk, d)
        if n_items == TOO_LONG or (n_items and self._has_answered):
            return self.view
        self._has_answered |= n_items > 0
        items, text = walk.scratch.items, walk.scratch.units.text
        own = new_vocabulary(n_items, len(text))
        run(vocabulary.probe, own, items, np.uint64(n_items), text, 1)
        return self.view._replace(counts=self.view.counts.few(own))


def _identify(view: View, walk: Walk, d: int) -> tuple[int, npt.NDArray[np.uint32]]:
    """Look a short document up: the number of its items, or TOO_LONG, and the features of the view that it has."""
    counts = view.counts
    marks, stamp = _marks(counts.n_ids)
    rest = (counts.vocabulary, counts.postings.doc_total, view.keep, marks, stamp)
    n_items, n_features = run(scoring.identify, walk, d, *rest)
    return n_items, walk.scratch.rows[:n_features].copy()


def group_classes(linear: Linear, live: Integers) -> tuple[Floats, Floats]:
    """`Bounds.groups` and `Bounds.limits` of the classes that have documents.

    Classes of like slope stand together: they are of like size, so that their bounds are close to their scores.
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
    """Marks of this thread for `n_ids` features, and a stamp that was not used yet."""
    marks = getattr(_local, "marks", None)
    if marks is None or len(marks) < 2 * n_ids or _local.stamp == 0xFFFF_FFFF:
        marks = _local.marks = np.zeros(3 * n_ids + 64, np.uint32)
        _local.stamp = 0
    _local.stamp += 1
    return marks, _local.stamp


# Rows of a matrix


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

    @cached_property
    def weights(self) -> Floats:
        """The weights of all features, (n_features, n_classes)."""
        return dense_table(self.view, self.scorer)

    def scores(self, X: Any) -> Floats:
        """The scores of every row of an array or of sparse rows, (n_rows, n_classes)."""
        if self.view.n_features * len(self.scorer.slope) > DENSE_CELLS:
            return self._sparse_scores(Sparse.of(X))
        if "weights" not in self.__dict__ and hasattr(X, "indptr") and 4 * len(X.data) < self.view.n_features:
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
        """The class of every row with the highest score, (n_rows,); rows are scored in parts, to save memory."""
        step = max(1, MOST_SCORES // len(self.scorer.slope))
        if X.shape[0] <= step:
            return np.asarray(self.scores(X).argmax(axis=1))
        parts = [self.scores(X[at : at + step]).argmax(axis=1) for at in range(0, X.shape[0], step)]
        return np.concatenate(parts)


# Probabilities


def log_sum_exp(scores: Floats) -> Floats:
    """log of the sum of exp over the last axis, without overflow, (n_docs, 1)."""
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))


def probabilities(scores: Floats) -> Floats:
    """P(c | d) from scores, (n_docs, n_classes)."""
    return np.asarray(np.exp(scores - log_sum_exp(scores)))
