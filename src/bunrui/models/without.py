"""The counts without a document, as the formulas of the models read them, for leave-one-out.

    Rows      the features of every document, by number
    Ground    the counts of all documents, laid out in lists
    Tables    the weights of one model in these lists
    Without   the counts without a document, of some documents at once: a `CountView`

`Without` gives every document classes of its own: document b of a block has the classes b * C … b * C + C - 1, C being
the number of classes.  So one call of a formula gives bias, slope and weights for a block of documents, with the same
bits as if all documents but one had been learned.

In a class without the document, the weights of a feature depend on the feature, and on its occurrences in the document:
`kernel/loo.py` calls this pair an entry.  `Tables` has the weights of entries, which are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.engines import threads
from bunrui.errors import DataError
from bunrui.kernel import loo as kernel
from bunrui.kernel.analyze import Documents, Recipe
from bunrui.kernel.library import run
from bunrui.kernel.loo import Changes, Labels, Left, Lists, Own, Reading, Rows
from bunrui.kernel.score import Linear, Sums
from bunrui.kernel.slices import each_slice
from bunrui.kernel.sums import HIGH, LOW, add_parts
from bunrui.kernel.vocabulary import Vocabulary
from bunrui.kernel.workspace import NO_COUNTS, resized, scratch_for
from bunrui.models.linear import FEW_CLASSES
from bunrui.models.scorer import Floats, Scorer
from bunrui.models.view import CountView, FeatureCounts

Integers = npt.NDArray[np.int64]
Ids = npt.NDArray[np.uint32]
Formula = Callable[[Any, Floats], Scorer]
Value = Callable[[FeatureCounts], Floats]

_FILL = 8  # lists with more than one class of so many are filled up, as `kernel.score.lay_out` does

# Room for more features than words fill; room that nobody touches costs nothing.
_MOST_ROOM = 1 << 26

# Features of documents, and numbers of classes, that a formula is asked for at a time.
_FEATURES = 1 << 17
_NUMBERS = 1 << 18

_NONE = np.empty(0, np.uint8)


# Rows


def read_rows(docs: Documents, recipe: Recipe, v: Vocabulary) -> list[Rows]:
    """Rows of documents whose features a vocabulary has, a part for each thread."""
    longest = threads.longest_document(docs, recipe)

    def read(lo: int, hi: int) -> Rows:
        return _read_slice(docs, lo, hi, recipe, longest, v)

    return each_slice(read, threads.bounds_of(docs, recipe))


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
    reading = Reading(np.zeros(len(v.hashes), np.int64), np.zeros(kernel.STATES, np.int64))
    while True:
        status = run(kernel.read_rows, docs, lo, hi, recipe, scratch, v, rows, reading)
        if status == kernel.DONE:
            break
        if status == kernel.UNKNOWN:
            raise DataError("a text has a feature that was never counted: count the texts first")
        grows = ("features", "values") if status == kernel.GROW_FEATURES else ("places", "counts")
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


# The counts of all documents


@dataclass(frozen=True)
class Ground:
    """The counts of all documents.

    Attributes
    ----------
    view : CountView
    by_docs : bool
        Whether documents are counted, in place of occurrences.
    parts : list of Rows
        The documents.
    entries : list of (n_features_of_rows,) uint32
        The entry of every feature of each part.
    lists : Lists
    is_known, is_left : (n_entries,) bool
        Entries that the view has, and those that it still has without the document.
    before, after : FeatureCounts
        The cells of the entries that the view has, as they are, and without the document in classes of others.
    places : (n_cells,) int64
        Where these cells stand in the lists.
    """

    view: CountView
    by_docs: bool
    parts: list[Rows]
    entries: list[Ids]
    lists: Lists
    is_known: npt.NDArray[np.bool_]
    is_left: npt.NDArray[np.bool_]
    before: FeatureCounts
    after: FeatureCounts
    places: Integers

    @property
    def n_classes(self) -> int:
        return len(self.view.doc_count)

    def laid_out(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of cells, where the kernel looks for them."""
        out = np.zeros(len(self.lists.counts), values.dtype)
        out[self.places] = values
        return out

    def by_entry(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the entries that the view has, with 0 for all others."""
        out = np.zeros(len(self.is_known), values.dtype)
        out[self.is_known] = values
        return out


def ground_of(view: CountView, doc_total: Integers, parts: list[Rows], *, by_docs: bool, min_df: int) -> Ground:
    """Lay the counts of a view out; `doc_total` is the number of documents of every id.

    Features of fewer than `min_df` documents are not in the view.
    """
    ids = view.feature_ids()
    n_classes, n_ids = len(view.doc_count), len(doc_total)
    features, takes, entries = _entries(parts, n_ids, by_docs)
    in_view = np.zeros(n_ids, bool)
    in_view[ids] = True
    is_known = in_view[features]
    before = view.gather(features[is_known].astype(np.uint32), by_docs)
    is_full = (before.lengths * _FILL > n_classes) | (n_classes < FEW_CLASSES)
    sizes = np.where(is_full, n_classes, before.lengths).astype(np.int64)
    begins = np.cumsum(sizes) - sizes
    rank = np.arange(len(before.classes)) - before.spread(before.starts)
    places = before.spread(begins) + np.where(before.spread(is_full), before.classes, rank)
    is_left = is_known & (doc_total[features] > min_df)
    table = np.zeros((len(features), int(kernel.FIELDS)), np.int64)
    table[is_known] = np.stack([begins, sizes, is_left[is_known], before.totals], axis=1)
    size = int(sizes.sum())
    classes, counts = np.zeros(size, np.int32), np.zeros(size, np.int64)
    classes[places], counts[places] = before.classes, before.counts
    lists = Lists(table.reshape(-1), classes, counts)
    # In place of a feature that no other document has, any number will do.
    after = before._replace(totals=np.maximum(before.totals - takes[is_known], 0))
    return Ground(view, by_docs, parts, entries, lists, is_known, is_left, before, after, places)


def _entries(parts: list[Rows], n_ids: int, by_docs: bool) -> tuple[Integers, Integers, list[Ids]]:
    """The feature of every entry, how often a document has it, and the entries of the rows."""
    features, takes = np.arange(n_ids), np.ones(n_ids, np.int64)
    if by_docs:
        return features, takes, [rows.features for rows in parts]
    often = [np.flatnonzero(rows.values != 1) for rows in parts]
    pairs = [
        rows.features[places].astype(np.int64) << 32 | rows.values[places]
        for rows, places in zip(parts, often, strict=True)
    ]
    distinct, numbers = np.unique(np.concatenate(pairs), return_inverse=True)
    entries, at = [], 0
    for rows, places in zip(parts, often, strict=True):
        own = rows.features.copy()
        own[places] = n_ids + numbers[at : at + len(places)]
        at += len(places)
        entries.append(own)
    return np.append(features, distinct >> 32), np.append(takes, distinct & 0xFFFF_FFFF), entries


# The counts without a document


class Summed(NamedTuple):
    """A sum over the vocabulary, in the parts of `kernel/sums.py`: first the high ones, then the low ones."""

    whole: Integers  # (2, n_classes), or (2, 1) of values by feature
    lessened: Integers  # (2, n_classes): the same for classes that have lost a document
    changes: Integers  # (2, n_cells), or (2, n_entries): without a document
    is_any: npt.NDArray[np.uint8]  # (n_entries): whether a cell changes


@dataclass
class Tables:
    """The weights of a model in the lists of a ground."""

    weights: Floats
    shared: Floats
    sums: list[Summed] = field(default_factory=list)


class Without:
    """The counts without a document, for the rows lo … hi - 1 of a part."""

    def __init__(self, ground: Ground, tables: Tables, part: int, lo: int, hi: int, labels: Labels) -> None:
        rows, n_classes = ground.parts[part], ground.n_classes
        self._ground, self._tables, self._labels = ground, tables, labels
        self._rows, self._entries, self._bounds = rows, ground.entries[part], (lo, hi)
        self._n_sums = 0
        n, view, by_docs = hi - lo, ground.view, ground.by_docs
        left = Left(np.full(n, view.n_features), np.full(n, view.total(by_docs)), np.tile(view.class_sum(by_docs), n))
        groups = labels.groups[rows.docs[lo:hi]]
        n_labels = np.diff(labels.starts)[groups]
        begin, end = int(rows.starts[lo]), int(rows.starts[hi])
        n_cells = int((np.diff(rows.starts[lo : hi + 1]) * n_labels).sum())
        totals, others = np.empty((2, end - begin), np.int64), np.empty((2, n_cells), np.int64)
        lengths, classes = np.empty(end - begin, np.int32), np.empty(n_cells, np.int32)
        own = Own(lengths, totals[0], totals[1], classes, others[0], others[1])
        run(kernel.take_out, rows, lo, hi, labels, ground.lists, int(by_docs), left, own)
        self.n_features, self._n_terms = np.repeat(left.n_features, n_classes), np.repeat(left.n_terms, n_classes)
        self._class_sum: Integers = left.class_sum
        self.doc_count = np.tile(view.doc_count, n)
        row = np.repeat(np.arange(n), n_labels)
        rank = np.arange(len(row)) - np.repeat(np.cumsum(n_labels) - n_labels, n_labels)
        self.doc_count[row * n_classes + labels.classes[np.repeat(labels.starts[groups], n_labels) + rank]] -= 1
        starts = np.cumsum(own.lengths, dtype=np.int64) - own.lengths
        ids = rows.features[begin:end]
        self.before = FeatureCounts(ids, starts, own.lengths, own.classes, own.counts, own.totals)
        self.after = self.before._replace(counts=own.others, totals=own.left)

    def class_sum(self, by_docs: bool) -> Integers:
        """N_c, (n_classes,)."""
        assert by_docs == self._ground.by_docs
        return self._class_sum

    def total(self, by_docs: bool) -> Integers:
        """N over distinct documents, (n_classes,)."""
        assert by_docs == self._ground.by_docs
        return self._n_terms

    def words_of(self, ids: Ids) -> list[str]:
        """The names of some features."""
        return list(self._ground.view.words_of(ids))

    def has_words(self, words: list[str]) -> list[Any]:
        """Whether words are features: for each a boolean, or one by class."""
        there: list[Any] = list(self._ground.view.has_words(words))
        (lo, hi), rows, n = self._bounds, self._rows, self._ground.n_classes
        begin, end = int(rows.starts[lo]), int(rows.starts[hi])
        lost = np.flatnonzero(~self._ground.is_left[self._entries[begin:end]])
        names = dict(zip(words, range(len(words)), strict=True))
        for place, name in zip(lost.tolist(), self.words_of(rows.features[begin:end][lost]), strict=True):
            if name in names:
                k = names[name]
                if not isinstance(there[k], np.ndarray):
                    there[k] = np.full((hi - lo) * n, there[k])
                row = int(np.searchsorted(rows.starts[lo : hi + 1], begin + place, side="right")) - 1
                there[k][row * n : (row + 1) * n] = False
        return there

    def sum_cells(self, value: Value) -> Floats:
        """The sum of a value over all cells, by class."""
        summed = self._next_sum()
        (lo, hi), ground, rows = self._bounds, self._ground, self._rows
        is_left = ground.is_left[self._entries[int(rows.starts[lo]) : int(rows.starts[hi])]]
        own = _parts(value(self.after)) * self.after.spread(is_left) - _parts(value(self.before))
        high, low = np.tile(summed.whole, hi - lo)
        changes = Changes(summed.is_any, *summed.changes, *summed.lessened, *own)
        run(kernel.sum_changes, rows, lo, hi, self._entries, self._labels, ground.lists, changes, high, low)
        return _joined(high, low)

    def sum_features(self, value: Value) -> Floats:
        """The sum of a value over all features, by class."""
        summed = self._next_sum()
        (lo, hi), rows = self._bounds, self._rows
        begin, end = int(rows.starts[lo]), int(rows.starts[hi])
        changes = summed.changes[:, self._entries[begin:end]]
        sums = np.concatenate([np.zeros((2, 1), np.int64), np.cumsum(changes, axis=1)], axis=1)
        by_row = np.diff(sums[:, rows.starts[lo : hi + 1] - begin], axis=1)
        return np.repeat(_joined(*(summed.whole + by_row)), self._ground.n_classes)

    def _next_sum(self) -> Summed:
        # A formula asks for the same sums in the same order each time.
        self._n_sums += 1
        return self._tables.sums[self._n_sums - 1]


class Whole:
    """The counts of all documents, with two sets of classes: as they are, and with a document less."""

    def __init__(self, ground: Ground) -> None:
        view, self._ground = ground.view, ground
        self.n_features = view.n_features
        self.doc_count = np.concatenate([view.doc_count, np.maximum(view.doc_count - 1, 0)])
        self.sums: list[Summed] = []

    def class_sum(self, by_docs: bool) -> Integers:
        """N_c, (n_classes,)."""
        return np.tile(self._ground.view.class_sum(by_docs), 2)

    def total(self, by_docs: bool) -> Any:
        """N over distinct documents."""
        return self._ground.view.total(by_docs)

    def words_of(self, ids: Ids) -> list[str]:
        """The names of some features."""
        return list(self._ground.view.words_of(ids))

    def has_words(self, words: list[str]) -> list[bool]:
        """Whether words are features."""
        return self._ground.view.has_words(words)

    def sum_cells(self, value: Value) -> Floats:
        """The sum of a value over all cells, by class; how it changes is noted."""
        ground, n = self._ground, self._ground.n_classes
        cells = ground.view.gather(ground.view.feature_ids(), ground.by_docs)
        later = cells._replace(classes=cells.classes + np.int32(n))
        whole, lessened = (_summed(value(each), cells.classes, n) for each in (cells, later))
        is_left = ground.before.spread(ground.is_left[ground.is_known])
        changes = _parts(value(ground.after)) * is_left - _parts(value(ground.before))
        changed = ground.before.spread(np.flatnonzero(ground.is_known))[changes.any(axis=0)]
        is_any = np.zeros(len(ground.is_known), np.uint8)
        is_any[changed] = 1
        self.sums.append(Summed(whole, lessened, np.stack([ground.laid_out(each) for each in changes]), is_any))
        return np.concatenate([_joined(*whole), _joined(*lessened)])

    def sum_features(self, value: Value) -> Floats:
        """The sum of a value over all features; how it changes is noted."""
        ground = self._ground
        cells = ground.view.gather(ground.view.feature_ids(), ground.by_docs)
        whole = _summed(value(cells), np.zeros(len(cells.ids), np.int32), 1)
        is_left = ground.is_left[ground.is_known]
        changes = _parts(value(ground.after)) * is_left - _parts(value(ground.before))
        self.sums.append(Summed(whole, whole, np.stack([ground.by_entry(each) for each in changes]), _NONE))
        return _joined(*whole)


def _summed(values: Floats, groups: npt.NDArray[Any], n_groups: int) -> Integers:
    """The parts of sums by group, (2, n_groups)."""
    high, low = parts = np.zeros((2, n_groups), np.int64)
    run(add_parts, np.ascontiguousarray(values), np.ascontiguousarray(groups, np.int32), high, low)
    return parts


def _parts(values: Floats) -> Integers:
    """The parts of each value, (2, n)."""
    return _summed(values, np.arange(len(values)), len(values))


def _joined(high: Integers, low: Integers) -> Floats:
    return np.asarray(high / HIGH + low / (HIGH * LOW))


# Scores


def score_without(
    ground: Ground, formula: Formula, labels: Labels, priors_of: Callable[[Labels, Integers], Floats], *, smooth: bool
) -> Floats:
    """Score every document by the counts of the others, (n_docs, n_classes).

    `formula` makes a scorer from a view and log priors; `priors_of` gives the priors without each of some documents,
    (n_docs, n_classes).  `smooth`: words that were never learned count too.
    """
    n_classes = ground.n_classes
    whole = Whole(ground)
    scorer = formula(whole, np.zeros(2 * n_classes))
    shared = ground.by_entry(scorer.share(ground.after)) if scorer.share is not None else np.empty(0)
    tables = Tables(ground.laid_out(scorer.weights(ground.after)), shared, whole.sums)
    out = np.empty((len(labels.groups), n_classes))

    def score(part: int, _: int) -> None:
        rows = ground.parts[part]
        sums = Sums(np.empty(n_classes), np.empty(3), np.empty(0, np.uint32))
        for lo, hi in _blocks(rows, n_classes):
            without = Without(ground, tables, part, lo, hi, labels)
            mine = formula(without, priors_of(labels, rows.docs[lo:hi]).reshape(-1))
            reading = np.array([0, int(smooth)], np.int64)
            linear = Linear(mine.bias, mine.scale, mine.slope, mine.unseen, reading)
            args = (rows, lo, hi, ground.entries[part], labels, ground.lists, tables.weights, tables.shared)
            own = np.ascontiguousarray(mine.weigh(without.after))
            run(kernel.score_rows, *args, own, linear, int(mine.presence), sums, out.reshape(-1))

    each_slice(score, range(len(ground.parts) + 1))
    return out


def _blocks(rows: Rows, n_classes: int) -> Iterator[tuple[int, int]]:
    """Rows of which a formula is asked at a time."""
    lo, n = 0, len(rows.docs)
    while lo < n:
        hi = int(np.searchsorted(rows.starts, rows.starts[lo] + _FEATURES, side="right")) - 1
        hi = min(max(hi, lo + 1), lo + max(_NUMBERS // n_classes, 1), n)
        yield lo, hi
        lo = hi
