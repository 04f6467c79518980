"""Everything that the kernel of leave-one-out reads, and the run of it on the threads of this machine.

    read_rows      documents → the features of each, by number
    ground_of      counts of all documents, laid out by feature; the same for all models that count alike
    model_of       the weights and sums of one model
    scores_of      all of these → scores

The formulas are those of `bunrui.models`, asked for counts that have one document less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.counts import Counts
from bunrui.engines import threads
from bunrui.errors import DataError
from bunrui.kernel import loorows
from bunrui.kernel import loostate as kernel
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.kernel.library import run
from bunrui.kernel.logs import log, log1p
from bunrui.kernel.loo import leave_out
from bunrui.kernel.loorows import Reading, Rows
from bunrui.kernel.loostate import Absent, Constants, Labels, Model, Whole, Work
from bunrui.kernel.score import Linear, Sums
from bunrui.kernel.sums import add_parts
from bunrui.kernel.vocabulary import Vocabulary
from bunrui.kernel.workspace import NO_COUNTS, resized, scratch_for
from bunrui.models.base import Floats, Scorer, Smoothing
from bunrui.models.linear import FEW_CLASSES
from bunrui.models.view import CountView, FeatureCounts

__all__ = ["KINDS", "Ground", "ground_of", "model_of", "named_without", "read_rows", "scores_of"]

Integers = npt.NDArray[np.int64]

# The form that the kernel knows, and whether the model counts documents.
KINDS = {
    "multinomial": (kernel.MULTINOMIAL, False),
    "binary": (kernel.MULTINOMIAL, True),
    "mixed": (kernel.MULTINOMIAL, False),
    "bernoulli": (kernel.BERNOULLI, True),
    "complement": (kernel.COMPLEMENT, False),
    "wcnb": (kernel.NORMALISED, False),
    "binary-complement": (kernel.COMPLEMENT, True),
}

_FILL = 8  # lists with more than one class of so many are filled up, as `kernel.score.lay_out` does

_SMALL = 1 << 12

_NO_FLOATS = np.empty(0)
_NO_INTEGERS = np.empty(0, np.int64)

# More than words fill; memory that is not touched costs nothing.
_MOST_ROOM = 1 << 26

_BLOCK = 1 << 20  # priors that are made at a time


@dataclass(frozen=True)
class Ground:
    """The counts of all documents.

    Attributes
    ----------
    view : CountView
    cells : FeatureCounts
        Those of all features of the view.
    places : (n_cells,) int64
        Where each cell stands in the lists of `whole`.
    whole : Whole
    by_docs : bool
        Whether documents are counted, in place of occurrences.
    min_df : int
        Features of fewer documents are not in the view.
    """

    view: CountView
    cells: FeatureCounts
    places: Integers
    whole: Whole
    by_docs: bool
    min_df: int

    def laid_out(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of cells, where the kernel looks for them."""
        out = np.zeros(len(self.whole.counts), values.dtype)
        out[self.places] = values
        return out


def ground_of(view: CountView, doc_total: Integers, *, by_docs: bool, min_df: int) -> Ground:
    """Lay the counts of a view out; `doc_total` is the number of documents of every id."""
    n_classes = len(view.doc_count)
    cells = view.gather(view.feature_ids(), by_docs)
    is_full = (cells.lengths * _FILL > n_classes) | (n_classes < FEW_CLASSES)
    lengths = np.where(is_full, n_classes, cells.lengths).astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    rank = np.arange(len(cells.classes)) - cells.spread(cells.starts)
    places = cells.spread(starts) + np.where(cells.spread(is_full), cells.classes, rank)
    features = np.zeros((len(doc_total), int(kernel.FIELDS)), np.int64)
    features[cells.ids] = np.stack([doc_total[cells.ids], cells.totals, starts, lengths], axis=1)
    size = int(lengths.sum())
    classes, counts = np.zeros(size, np.int32), np.zeros(size, np.int64)
    classes[places], counts[places] = cells.classes, cells.counts
    whole = Whole(features.reshape(-1), classes, counts, view.doc_count, view.class_sum(by_docs))
    return Ground(view, cells, places, whole, by_docs, min_df)


def model_of(name: str, ground: Ground, smoothing: Smoothing, scorer: Scorer, named: tuple[Any, Any]) -> Model:
    """A model in the form that the kernel reads.

    `named` has, by document, the number of features with a λ of their own that are left without it, and the sum of
    these λ.
    """
    (kind, _), view, cells = KINDS[name], ground.view, ground.cells
    is_complement = kind in (kernel.COMPLEMENT, kernel.NORMALISED)
    # In place of a feature that no other document has, any number will do.
    once = cells._replace(totals=np.maximum(cells.totals - 1, 0)) if is_complement else cells
    weights = scorer.weigh(once)
    n_features = len(ground.whole.features) // int(kernel.FIELDS)
    shared = lam = _NO_FLOATS
    if scorer.share is not None:
        shared = _by_id(scorer.share(once), cells, n_features)
    if not smoothing.is_single:
        lam = _by_id(smoothing.of(view, cells.ids), cells, n_features)
    # Weights of small counts are looked up; larger ones are rare enough to be computed.
    small = np.arange(_SMALL if kind == kernel.MULTINOMIAL and smoothing.is_single else 0)
    reading = [kind, scorer.presence, ground.by_docs, ground.min_df, view.n_features, view.total(ground.by_docs)]
    # `positive` takes denominators up to this for nothing.
    least = 1e-50 if smoothing.vanishing else 0.0
    constants = Constants(_NO_INTEGERS, _NO_INTEGERS, np.zeros(2, np.int64), _NO_FLOATS, np.empty(0, np.int32))
    absent = Absent(_NO_INTEGERS, _NO_FLOATS, _NO_INTEGERS, _NO_INTEGERS, _NO_FLOATS)
    if kind == kernel.NORMALISED:
        constants = _normalised(ground, scorer, weights)
    elif kind == kernel.BERNOULLI:
        absent, *sums = _absent(cells, view.doc_count, smoothing.value)
        constants = constants._replace(parts=sums[0], lessened=sums[1])
    return Model(
        reading=np.array(reading, np.int64),
        numbers=np.array([smoothing.value, float(log(smoothing.value)), least]),
        weights=ground.laid_out(weights),
        own=ground.laid_out(scorer.weigh(once._replace(counts=cells.counts - 1))) if is_complement else _NO_FLOATS,
        logs=log1p(small / smoothing.value),
        shared=shared,
        lam=lam,
        n_named=named[0],
        named_lam=named[1],
        constants=constants,
        absent=absent,
    )


def _by_id(values: Any, cells: FeatureCounts, n_features: int) -> Floats:
    out = np.zeros(n_features)
    out[cells.ids] = values
    return out


def _normalised(ground: Ground, scorer: Scorer, weights: Floats) -> Constants:
    """The sums of `normalised`: weights by class, and the shares of features."""
    assert scorer.share is not None
    cells = ground.cells
    before = scorer.weigh(cells)
    shared = _summed(scorer.share(cells), np.zeros(len(cells.ids), np.int32), 1)
    parts = _summed(before, cells.classes, len(ground.whole.doc_count))
    more = _parts(weights) - _parts(before)
    # Each list has first its high parts, then its low ones, from twice its start on.
    features = ground.whole.features.reshape(-1, int(kernel.FIELDS))[cells.ids]
    starts, lengths = cells.spread(features[:, kernel.START]), cells.spread(features[:, kernel.LENGTH])
    laid_out = np.zeros(2 * len(ground.whole.counts), np.int32)
    laid_out[ground.places + starts] = more[0]
    laid_out[ground.places + starts + lengths] = more[1]
    return Constants(parts, _NO_INTEGERS, shared, ground.laid_out(before), laid_out)


def _absent(cells: FeatureCounts, doc_count: Integers, lam: float) -> tuple[Absent, Integers, Integers]:
    """Tables of `bernoulli`: words that 0 … D documents of a class have, when it has one document less than D.

    Also the sums of log(1 - P) over all cells, of the classes as they are, and of those with a document less.
    """
    n_classes = len(doc_count)
    docs = np.concatenate([doc_count, np.maximum(doc_count - 1, 0)]).astype(np.float64)
    once, twice = (log(docs + times * lam).reshape(2, -1) for times in (1, 2))

    def absent(counts: Integers, classes: npt.NDArray[Any]) -> Floats:
        return np.asarray(log(np.maximum(docs[classes] - counts, 0.0) + lam) - once.reshape(-1)[classes])

    starts = np.cumsum(doc_count + 1) - (doc_count + 1)
    classes = np.repeat(np.arange(n_classes), doc_count + 1)
    counts = np.arange(len(classes)) - starts[classes]
    values = absent(counts, n_classes + classes)
    logs = np.stack([once, twice], axis=1).reshape(-1)
    high, low = _parts(values)
    tables = Absent(starts, log(counts + lam) - log(lam) - values, high, low, logs)
    whole = absent(cells.counts, cells.classes)
    lessened = values[starts[cells.classes] + cells.counts]
    return tables, _summed(whole, cells.classes, n_classes), _summed(lessened, cells.classes, n_classes)


def _summed(values: Floats, groups: npt.NDArray[Any], n_groups: int) -> Integers:
    """The parts of sums by group, first all high ones."""
    high, low = parts = np.zeros((2, n_groups), np.int64)
    run(add_parts, np.ascontiguousarray(values), np.ascontiguousarray(groups, np.int32), high, low)
    return parts.reshape(-1)


def _parts(values: Floats) -> Integers:
    """The parts of each value, (2, n)."""
    return _summed(values, np.arange(len(values)), len(values)).reshape(2, -1)


def named_without(parts: list[Rows], counts: Counts, ground: Ground, smoothing: Smoothing) -> tuple[Integers, Floats]:
    """Features with a λ of their own that are left without each document: their number, and the sum of their λ.

    Empty where all features share λ.
    """
    if smoothing.is_single:
        return _NO_INTEGERS, _NO_FLOATS
    words = list(smoothing.by_word)
    known = [word for word, there in zip(words, ground.view.has_words(words), strict=True) if there]
    by_id = {f: smoothing.by_word[word] for f, word in zip(counts.ids_of(known), known, strict=True)}

    def left(without: set[int]) -> list[float]:
        # In the order in which `Smoothing.total` adds them.
        return sorted(lam for f, lam in by_id.items() if f not in without)

    everything = left(set())
    n_named = np.full(counts.n_docs, len(everything))
    named_lam = np.full(counts.n_docs, float(sum(everything)))
    goes = [f for f in by_id if counts.postings.doc_total[f] == ground.min_df]
    for rows in parts if goes else []:
        places = np.flatnonzero(np.isin(rows.features, goes))
        for row in np.unique(np.searchsorted(rows.starts, places, side="right") - 1).tolist():
            rest = left(set(rows.features[rows.starts[row] : rows.starts[row + 1]].tolist()).intersection(goes))
            n_named[rows.docs[row]], named_lam[rows.docs[row]] = len(rest), sum(rest)
    return n_named, named_lam


def read_rows(docs: Documents, recipe: Recipe, v: Vocabulary) -> list[Rows]:
    """Rows of documents whose features a vocabulary has, a part for each thread."""
    longest = threads.longest_document(docs, recipe)

    def read(lo: int, hi: int) -> Rows:
        return _read_slice(docs, lo, hi, recipe, longest, v)

    return threads.each_slice(read, threads.bounds_of(docs, recipe))


def _read_slice(docs: Documents, lo: int, hi: int, recipe: Recipe, longest: int, v: Vocabulary) -> Rows:
    offsets = docs.offsets[docs.lists] if len(docs.lists) else docs.offsets
    n_bytes = int(offsets[hi] - offsets[lo])
    scratch = scratch_for(longest)
    room = min(n_bytes // 2, _MOST_ROOM) + len(scratch.items.starts)
    rows = Rows(
        docs=np.arange(lo, hi),
        starts=np.zeros(hi - lo + 1, np.int64),
        features=np.empty(room, np.uint32),
        values=np.empty(room, np.uint32),
        firsts=np.zeros(hi - lo + 1, np.int64),
        places=np.empty(room, np.uint32),
        counts=np.empty(room, np.int64) if len(docs.counts) else NO_COUNTS,
    )
    reading = Reading(np.zeros(len(v.hashes), np.int64), np.zeros(loorows.STATES, np.int64))
    while True:
        status = run(loorows.read_rows, docs, lo, hi, recipe, scratch, v, rows, reading)
        if status == loorows.DONE:
            break
        if status == loorows.UNKNOWN:
            raise DataError("a text has a feature that was never counted: count the texts first")
        grows = ("features", "values") if status == loorows.GROW_FEATURES else ("places", "counts")
        rows = rows._replace(**{name: _grown(getattr(rows, name)) for name in grows})
    n_features, n_items = int(rows.starts[-1]), int(rows.firsts[-1])
    return rows._replace(
        features=rows.features[:n_features],
        values=rows.values[:n_features],
        places=rows.places[:n_items],
        counts=rows.counts[:n_items],
    )


def _grown(array: Any) -> Any:
    return resized(array, 2 * len(array)) if len(array) else array


def scores_of(
    parts: list[Rows],
    labels: Labels,
    ground: Ground,
    model: Model,
    *,
    smooth_unseen: bool,
    priors_of: Callable[[Integers, Integers], Floats] | None = None,
) -> Floats:
    """Score every document by the counts of the others, (n_docs, n_classes).

    Where the priors of all groups would take too much room, `priors_of` makes those of some, given by where their
    classes begin, and their classes: documents are then scored some at a time.
    """
    n_classes = len(ground.whole.doc_count)
    out = np.empty((len(labels.groups), n_classes))
    # The smallest sum of the complement is the largest score.
    scale = -1.0 if model.reading[kernel.KIND] in (kernel.COMPLEMENT, kernel.NORMALISED) else 1.0

    def score(part: int, _: int) -> None:
        rows = parts[part]
        n_rows = len(rows.docs)
        step = n_rows if priors_of is None else max(_BLOCK // n_classes, 1)
        longest = int(np.diff(rows.starts).max()) if n_rows else 0
        work = _work(n_classes, longest, scale, smooth_unseen)
        for start in range(0, n_rows, max(step, 1)):
            row, end = start, min(start + step, n_rows)
            own = labels if priors_of is None else _part_of(labels, rows.docs[start:end], priors_of)
            while True:
                row = run(leave_out, rows, row, end, own, ground.whole, model, work, out.reshape(-1))
                if row == end:
                    break
                room = 2 * int(work.left[kernel.ROOM])
                work = work._replace(weights=np.empty(room), more=np.empty(2 * room, np.int32))

    threads.each_slice(score, range(len(parts) + 1))
    return out


def _part_of(labels: Labels, docs: Integers, priors_of: Callable[[Integers, Integers], Floats]) -> Labels:
    """The groups of some documents, numbered anew."""
    groups, numbers = np.unique(labels.groups[docs], return_inverse=True)
    lengths = np.diff(labels.starts)[groups]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    inside = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    classes = labels.classes[np.repeat(labels.starts[groups], lengths) + inside]
    by_doc = np.zeros(len(labels.groups), np.int64)
    by_doc[docs] = numbers
    return Labels(by_doc, starts, classes, priors_of(starts, classes))


def _work(n_classes: int, longest: int, scale: float, smooth_unseen: bool) -> Work:
    slope, unseen = np.empty((2, n_classes))
    reading = np.array([0, int(smooth_unseen)], np.int64)
    return Work(
        linear=Linear(np.zeros(n_classes), np.full(n_classes, scale), slope, unseen, reading),
        sums=Sums(np.empty(n_classes), np.empty(3), np.empty(0, np.uint32)),
        class_sum=np.empty(n_classes, np.int64),
        parts=np.empty(2 * n_classes, np.int64),
        kept=np.empty(2 * n_classes, np.int64),
        shared_parts=np.empty(2, np.int64),
        is_own=np.zeros(n_classes, np.uint8),
        left=np.empty(3, np.int64),
        starts=np.empty(longest, np.int64),
        lengths=np.empty(longest, np.int64),
        anew=np.empty(longest, np.int64),
        shared=np.empty(longest),
        own=np.empty(longest),
        weights=np.empty(0),
        more=np.empty(0, np.int32),
    )
