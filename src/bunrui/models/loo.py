"""Leave-one-out of the counting models: documents that are read and counted once, and scored each by the others.

`CountedCorpus` scores every document by the counts without it, in one pass.  Where a formula is not `local`, or words
are chosen anew for every document, each is taken out of the counts, scored, and put back.

    Rows      the features of every document, by number
    Ground    the counts of all documents, laid out in lists
    Without   the counts without a document, of some documents at once: a `CountView`

`Without` gives every document classes of its own: document b of a block has the classes b * C … b * C + C - 1, C being
the number of classes.  So one call of a formula gives bias, slope and weights for a block of documents, with the same
bits as if all documents but one had been learned.  Many of these classes have the same numbers: documents of one kind,
which take as many words and features away, leave the same in all classes but their own.  Where it halves the work, each
kind has its classes once.

In a class without the document, the weights of a feature depend on the feature, and on its occurrences in the document:
`kernel/loo.py` calls this pair an entry.  The weights of entries are made once for each model.

The documents may be a sample of those that were counted: then only the weights of their features are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bunrui.analysis import Analyzer
from bunrui.analysis import texts as inputs
from bunrui.analysis.analyzer import documents_of
from bunrui.counts import Counts
from bunrui.engines import threads
from bunrui.engines.count import count
from bunrui.engines.labelgroups import LabelSets
from bunrui.errors import DataError
from bunrui.kernel import loo as kernel
from bunrui.kernel.analyze import Documents, Recipe, Walk
from bunrui.kernel.arithmetic import halves_of, joined
from bunrui.kernel.library import run
from bunrui.kernel.loo import Changes, Corpus, Labels, Left, Lists, Own, Reading, Rows, Weighed
from bunrui.kernel.score import Linear, Sums
from bunrui.kernel.slices import each_slice, stretches
from bunrui.kernel.vocabulary import Vocabulary
from bunrui.kernel.workspace import NO_COUNTS, release, resized, scratch_for
from bunrui.memory import Memory
from bunrui.models.linear import FEW_CLASSES, FILL
from bunrui.models.model import Model
from bunrui.models.scorer import Docs, Once, Scorer, once_each
from bunrui.models.view import FeatureCounts, Tally, Value, View, select, tally
from bunrui.sparse import Floats, Integers

Ids = npt.NDArray[np.uint32]
Formula = Callable[[Any, Floats], Scorer]

# Room for more features than words fill; room that nobody touches costs nothing.
_MOST_ROOM = 1 << 26

# Features of documents, and numbers of classes, that a formula is asked for at a time.
_FEATURES = 1 << 17
_NUMBERS = 1 << 18

# Pairs of a feature and a way to have it, numbered: int64 holds them.
_MOST_KEYS = 1 << 62

_NONE = np.empty(0, np.uint8)

# Bytes of a sample: formulas take longer than reading.
_WORTH_THREADS = 1 << 17


# Rows


def read_rows(docs: Documents, recipe: Recipe, v: Vocabulary, copies: Integers, bounds: list[int]) -> list[Rows]:
    """Rows of documents whose features a vocabulary has, a part between two bounds.

    `copies` says how often each document was learned.
    """
    longest = threads.longest_document(docs, recipe)
    return each_slice(lambda lo, hi: _read_slice(docs, lo, hi, recipe, longest, v, copies), bounds)


def _read_slice(
    docs: Documents, lo: int, hi: int, recipe: Recipe, longest: int, v: Vocabulary, copies: Integers
) -> Rows:
    offsets = docs.offsets[docs.lists] if len(docs.lists) else docs.offsets
    n_bytes = int(offsets[hi] - offsets[lo])
    scratch = scratch_for(longest)
    room = min(n_bytes // 2, _MOST_ROOM) + len(scratch.items.starts)
    rows = Rows(
        docs=np.arange(lo, hi),
        copies=copies[lo:hi],
        starts=np.zeros(hi - lo + 1, np.int64),
        features=np.empty(room, np.uint32),
        values=np.empty(room, np.uint32),
        firsts=np.zeros(hi - lo + 1, np.int64),
        places=np.empty(room, np.uint32),
        counts=np.empty(room, np.int64) if len(docs.counts) else NO_COUNTS,
    )
    reading = Reading(np.zeros(len(v.hashes), np.int64), np.zeros(kernel.STATES, np.int64))
    while True:
        status = run(kernel.read_rows, Walk(docs, recipe, scratch), lo, hi, v, rows, reading)
        if status == kernel.DONE:
            break
        if status == kernel.UNKNOWN:
            raise DataError("a text has a feature that was never counted: count the texts first")
        grows = ("features", "values") if status == kernel.GROW_FEATURES else ("places", "counts")
        rows = rows._replace(**{name: resized(getattr(rows, name), 2 * len(getattr(rows, name))) for name in grows})
    n_features, n_items = int(rows.starts[-1]), int(rows.firsts[-1])
    return rows._replace(
        features=rows.features[:n_features],
        values=rows.values[:n_features],
        places=rows.places[:n_items],
        counts=rows.counts[:n_items],
    )


# The counts of all documents


@dataclass(frozen=True)
class Ground:
    """The counts of all documents, as far as the rows have their features.

    Attributes
    ----------
    view : View
    by_docs : bool
        Whether documents are counted, in place of occurrences.
    labels : Labels
        The classes of the documents.
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
    min_df : int
        Documents that a feature of the view has at least.
    blocks : dict
        The counts without each document, by part and by layout, where they serve for many formulas.
    """

    view: View
    by_docs: bool
    labels: Labels
    parts: list[Rows]
    entries: list[Ids]
    lists: Lists
    is_known: npt.NDArray[np.bool_]
    is_left: npt.NDArray[np.bool_]
    before: FeatureCounts
    after: FeatureCounts
    places: Integers
    min_df: int
    blocks: dict[tuple[int, bool], list[Without]] = field(default_factory=dict)

    @property
    def n_classes(self) -> int:
        return len(self.view.doc_count)

    @cached_property
    def once(self) -> Once:
        """Each count of a feature in `after` once, for many formulas."""
        return once_each(self.after)

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

    def without(self, part: int, *, by_kind: bool, keep: bool) -> Iterable[Without]:
        """The counts without each document of a part, block by block; with `keep`, they are made once."""
        key = part, by_kind
        if key in self.blocks:
            return self.blocks[key]
        blocks = (Without(self, part, lo, hi, by_kind) for lo, hi in _blocks(self.parts[part], self.n_classes))
        return self.blocks.setdefault(key, list(blocks)) if keep else blocks


def ground_of(
    view: View, doc_total: Integers, parts: list[Rows], labels: Labels, *, by_docs: bool, min_df: int
) -> Ground:
    """Lay the counts of a view out; `doc_total` is the number of documents of every id.

    Features of fewer than `min_df` documents are not in the view.
    """
    n_classes, n_ids = len(view.doc_count), len(doc_total)
    features, takes, copies, entries = _entries(parts, n_ids, by_docs)
    is_known = doc_total[features] >= min_df
    before = view.gather(features[is_known].astype(np.uint32), by_docs)
    is_full = (before.lengths * FILL > n_classes) | (n_classes < FEW_CLASSES)
    sizes = np.where(is_full, n_classes, before.lengths).astype(np.int64)
    begins = np.cumsum(sizes) - sizes
    of_cell = np.where(before.spread(is_full), before.classes, np.arange(len(before.classes)))
    places = of_cell + before.spread(begins - np.where(is_full, 0, before.starts))
    is_left = is_known & (doc_total[features] - copies >= min_df)
    table = np.zeros((len(features), int(kernel.FIELDS)), np.int64)
    table[is_known] = np.stack([begins, sizes, is_left[is_known], before.totals], axis=1)
    size = int(sizes.sum())
    classes, counts = np.zeros(size, np.int32), np.zeros(size, np.int64)
    classes[places], counts[places] = before.classes, before.counts
    lists = Lists(table.reshape(-1), classes, counts)
    # In place of a feature that no other document has, any number will do.
    after = before._replace(totals=np.maximum(before.totals - takes[is_known], 0))
    return Ground(view, by_docs, labels, parts, entries, lists, is_known, is_left, before, after, places, min_df)


def classes_of(labels: Labels, groups: Integers) -> tuple[Integers, Integers]:
    """The classes of some groups: the place of each group, once for each of its classes, and the class."""
    lengths = np.diff(labels.starts)[groups]
    place = np.repeat(np.arange(len(groups)), lengths)
    rank = np.arange(len(place)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return place, labels.classes[labels.starts[groups][place] + rank]


def _entries(parts: list[Rows], n_ids: int, by_docs: bool) -> tuple[Integers, Integers, Any, list[Ids]]:
    """The feature of every entry, its count in a document and its copies, the number of copies; the entries of rows.

    First comes an entry for every feature, of a document that has it once.
    """
    is_there = np.zeros(n_ids, bool)
    for rows in parts:
        is_there[rows.features] = True
    features = np.flatnonzero(is_there)
    place = np.zeros(n_ids, np.uint32)
    place[features] = np.arange(len(features))
    has_copies = any((rows.copies != 1).any() for rows in parts)
    own = [place[rows.features] for rows in parts]
    if by_docs and not has_copies:
        return features, np.ones(len(features), np.int64), 1, own
    # For every feature of the rows: its count in the document, and its count in all.
    values = [np.ones_like(rows.values) if by_docs else rows.values for rows in parts]
    copies = [np.repeat(rows.copies, np.diff(rows.starts)) for rows in parts] if has_copies else []
    often = [np.flatnonzero(each != 1) for each in values]
    if has_copies:
        often = [np.flatnonzero((each != 1) | (n != 1)) for each, n in zip(values, copies, strict=True)]
    ids = np.concatenate([rows.features[places] for rows, places in zip(parts, often, strict=True)]).astype(np.int64)
    much = np.concatenate([each[places] for each, places in zip(values, often, strict=True)]).astype(np.int64)
    n_copies = np.concatenate([n[places] for n, places in zip(copies, often, strict=True)]) if copies else much * 0 + 1
    # The ways to have a feature, as numbers; where they are too large to stand behind an id, by their rank.
    base = int(n_copies.max(initial=1)) + 1
    ways, codes = np.empty(0, np.int64), much * base + n_copies
    n_ways = int(codes.max(initial=0)) + 1
    if n_ids * n_ways >= _MOST_KEYS:
        ways, codes = np.unique(codes, return_inverse=True)
        n_ways = len(ways)
    distinct, numbers = np.unique(ids * n_ways + codes, return_inverse=True)
    at = 0
    for mine, places in zip(own, often, strict=True):
        mine[places] = len(features) + numbers[at : at + len(places)]
        at += len(places)
    found, codes = np.divmod(distinct, n_ways)
    times, gone = np.divmod(ways[codes] if len(ways) else codes, base)
    once = np.ones(len(features), np.int64)
    return np.append(features, found), np.append(once, times * gone), np.append(once, gone), own


# The counts without a document


class Summed(NamedTuple):
    """A sum over the vocabulary, in the parts of `kernel/arithmetic.py`: first the high ones, then the low ones."""

    whole: Integers  # (2, n_classes), or (2, 1) of values by feature
    lessened: Integers  # (2, n_classes): the same for classes that have lost a document
    changes: Integers  # (2, n_cells), or (2, n_entries): without a document
    is_any: npt.NDArray[np.uint8]  # (n_entries): whether a cell changes


class Without:
    """The counts without a document, for the rows lo … hi - 1 of a part.

    With `by_kind`, rows of one kind share the classes that have lost no document, where that saves half of them or
    more.  There are no sums over the vocabulary then, and nobody may ask whether words are features.

    Attributes
    ----------
    places : (n_rows * n_classes,) int64
        Where the numbers of a class without a row stand.
    """

    def __init__(self, ground: Ground, part: int, lo: int, hi: int, by_kind: bool) -> None:
        rows, labels, n_classes = ground.parts[part], ground.labels, ground.n_classes
        self._ground = ground
        self.rows, self.entries, self.bounds = rows, ground.entries[part], (lo, hi)
        self.corpus = Corpus(rows, self.entries, labels, ground.lists)
        self.words_of = ground.view.words_of
        n, view, by_docs = hi - lo, ground.view, ground.by_docs
        left = Left(np.full(n, view.n_features), np.full(n, view.total(by_docs)), np.tile(view.class_sum(by_docs), n))
        row, own_classes = classes_of(labels, labels.groups[rows.docs[lo:hi]])
        n_labels = np.bincount(row, minlength=n)
        begin, end = int(rows.starts[lo]), int(rows.starts[hi])
        n_cells = int((np.diff(rows.starts[lo : hi + 1]) * n_labels).sum())
        by_feature, by_cell = np.empty((3, end - begin), np.int64), np.empty((2, n_cells), np.int64)
        lengths, classes = np.empty(end - begin, np.int32), np.empty(n_cells, np.int32)
        own = Own(by_feature[0], lengths, by_feature[1], by_feature[2], classes, by_cell[0], by_cell[1])
        run(kernel.take_out, self.corpus, lo, hi, int(by_docs), left, own)
        self._sums: Iterator[Summed] = iter(())
        copies = np.repeat(rows.copies[lo:hi], n_labels)
        own_numbers = row * n_classes + own_classes
        self.places = np.arange(n * n_classes)
        if by_kind:
            n_emptied = np.bincount(row[view.doc_count[own_classes] == copies], minlength=n)
            numbers = left.n_features, left.n_terms, rows.copies[lo:hi], n_labels, n_emptied
            self._share(np.stack(numbers), own_numbers)
        # Rows that share a class have the same numbers there: those of one of them will do.
        sources = np.zeros(int(self.places.max(initial=-1)) + 1, np.int32)  # a block has few numbers
        sources[self.places] = np.arange(n * n_classes, dtype=np.int32)
        self._row = sources // n_classes
        self._class = sources - self._row * n_classes
        self.n_features = left.n_features[self._row]
        self._n_terms: Integers = left.n_terms[self._row]
        self._class_sum: Integers = left.class_sum[sources]
        self.doc_count = view.doc_count[self._class]
        self.doc_count[self.places[own_numbers]] -= copies
        ids = rows.features[begin:end]
        placed = self.places[own.classes].astype(np.int32)
        self.before = FeatureCounts(ids, own.starts, own.lengths, placed, own.counts, own.totals)
        self.after = self.before._replace(counts=own.others, totals=own.left)

    def _share(self, numbers: Integers, own: Integers) -> None:
        """Give rows with the same numbers, (n_numbers, n_rows), one set of classes; `own` are those of a single row."""
        keys = list(zip(*numbers.tolist(), strict=True))
        kinds = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        kind = np.array(list(map(kinds.__getitem__, keys)))
        n_classes = self._ground.n_classes
        n_shared = len(kinds) * n_classes
        if 2 * (n_shared + len(own)) <= len(self.places):
            self.places = (kind[:, None] * n_classes + np.arange(n_classes)).reshape(-1)
            self.places[own] = n_shared + np.arange(len(own))

    def priors(self, by_way: Floats, ways: Integers) -> Floats:
        """Log priors without each row, as formulas read them; row k has `by_way[ways[k]]`, (n_classes,)."""
        return np.take(by_way, ways[self._row] * self._ground.n_classes + self._class)

    def reading(self, sums: list[Summed]) -> Self:
        """The same for a formula that has asked for these sums of all documents."""
        # A formula asks for the same sums in the same order each time.
        self._sums = iter(sums)
        return self

    def class_sum(self, by_docs: bool) -> Integers:
        """N_c, (n_classes,)."""
        assert by_docs == self._ground.by_docs
        return self._class_sum

    def total(self, by_docs: bool) -> Integers:
        """N over distinct documents, (n_classes,)."""
        assert by_docs == self._ground.by_docs
        return self._n_terms

    def has_words(self, words: list[str]) -> list[Any]:
        """Whether words are features: for each a boolean, or one by class."""
        there: list[Any] = list(self._ground.view.has_words(words))
        (lo, hi), rows, n = self.bounds, self.rows, self._ground.n_classes
        begin, end = int(rows.starts[lo]), int(rows.starts[hi])
        lost = np.flatnonzero(~self._ground.is_left[self.entries[begin:end]])
        names = dict(zip(words, range(len(words)), strict=True))
        for place, name in zip(lost.tolist(), self.words_of(rows.features[begin:end][lost]), strict=True):
            if name in names:
                k = names[name]
                if not isinstance(there[k], np.ndarray):
                    there[k] = np.full((hi - lo) * n, there[k])
                row = int(np.searchsorted(rows.starts[lo : hi + 1], begin + place, side="right")) - 1
                there[k][row * n : (row + 1) * n] = False
        return there

    def sum_cells(self, value: Value, by_class: bool, by_word: bool) -> Floats:
        """The sum of a value over all cells, by class."""
        summed = next(self._sums)
        (lo, hi), ground, rows = self.bounds, self._ground, self.rows
        is_left = ground.is_left[self.entries[int(rows.starts[lo]) : int(rows.starts[hi])]]
        own = _parts(value(self.after)) * self.after.spread(is_left) - _parts(value(self.before))
        high, low = sums = np.tile(summed.whole, hi - lo)
        changes = Changes(summed.is_any, *summed.changes, *summed.lessened, *own)
        run(kernel.sum_changes, self.corpus, lo, hi, changes, high, low)
        return joined(sums)

    def sum_features(self, value: Value, by_word: bool) -> Floats:
        """The sum of a value over all features, by class."""
        summed = next(self._sums)
        (lo, hi), rows = self.bounds, self.rows
        begin, end = int(rows.starts[lo]), int(rows.starts[hi])
        changes = summed.changes[:, self.entries[begin:end]]
        sums = np.concatenate([np.zeros((2, 1), np.int64), np.cumsum(changes, axis=1)], axis=1)
        by_row = np.diff(sums[:, rows.starts[lo : hi + 1] - begin], axis=1)
        return np.repeat(joined(summed.whole + by_row), self._ground.n_classes)


class Whole:
    """The counts of all documents, with two sets of classes: as they are, and with a document less."""

    def __init__(self, ground: Ground) -> None:
        view, self._ground = ground.view, ground
        self.n_features, self.total = view.n_features, view.total
        self.words_of, self.asks_words = view.words_of, False
        self.doc_count = np.concatenate([view.doc_count, np.maximum(view.doc_count - 1, 0)])
        self.sums: list[Summed] = []

    def has_words(self, words: list[str]) -> list[bool]:
        """Whether words are features; that somebody asks is noted."""
        self.asks_words = True
        return self._ground.view.has_words(words)

    def class_sum(self, by_docs: bool) -> Integers:
        """N_c, (n_classes,)."""
        return np.tile(self._ground.view.class_sum(by_docs), 2)

    @cached_property
    def _cells(self) -> FeatureCounts:
        return self._ground.view.gather(self._ground.view.feature_ids(), self._ground.by_docs)

    @cached_property
    def _tally(self) -> Tally:
        return tally(self._ground.view, self._ground.by_docs)

    def sum_cells(self, value: Value, by_class: bool, by_word: bool) -> Floats:
        """The sum of a value over all cells, by class; how it changes is noted."""
        ground, n = self._ground, self._ground.n_classes
        if not by_class and not by_word:
            whole = lessened = self._tally.sum_cells(value)
        else:
            cells = self._cells
            whole = lessened = halves_of(value(cells), cells.classes, n)
        if by_class:
            if any((rows.copies != 1).any() for rows in ground.parts):
                raise ValueError("sums that depend on the number of documents of a class leave copies out one by one")
            lessened = halves_of(value(cells._replace(classes=cells.classes + np.int32(n))), cells.classes, n)
        is_left = ground.before.spread(ground.is_left[ground.is_known])
        changes = _parts(value(ground.after)) * is_left - _parts(value(ground.before))
        changed = ground.before.spread(np.flatnonzero(ground.is_known))[changes.any(axis=0)]
        is_any = np.zeros(len(ground.is_known), np.uint8)
        is_any[changed] = 1
        self.sums.append(Summed(whole, lessened, np.stack([ground.laid_out(each) for each in changes]), is_any))
        return np.concatenate([joined(whole), joined(lessened)])

    def sum_features(self, value: Value, by_word: bool) -> Floats:
        """The sum of a value over all features; how it changes is noted."""
        ground = self._ground
        if by_word:
            whole = halves_of(value(self._cells), np.zeros(len(self._cells.ids), np.int32), 1)
        else:
            whole = self._tally.sum_features(value)
        is_left = ground.is_left[ground.is_known]
        changes = _parts(value(ground.after)) * is_left - _parts(value(ground.before))
        self.sums.append(Summed(whole, whole, np.stack([ground.by_entry(each) for each in changes]), _NONE))
        return joined(whole)


def _parts(values: Floats) -> Integers:
    """The parts of each value, (2, n)."""
    return halves_of(values, np.arange(len(values)), len(values))


# Scores


class Priors(NamedTuple):
    """log P(c) without a document: documents of the same labels and copies leave the same."""

    by_way: Floats  # (n_ways, n_classes)
    ways: Integers  # (n_docs,)


def score_without(
    ground: Ground,
    formula: Formula,
    priors: Priors,
    *,
    smooth: bool = False,
    keep: bool = False,
) -> Floats:
    """Score every document by the counts of the others, (n_docs, n_classes).

    `formula` makes a scorer from a view and log priors; `priors` are those without each document.  `smooth`: words that
    were never learned count too.  `keep`: other formulas are to come, and the counts without each document are kept for
    them.
    """
    n_classes = ground.n_classes
    whole = Whole(ground)
    scorer = formula(whole, np.zeros(2 * n_classes))
    shared = ground.by_entry(scorer.share(ground.after)) if scorer.share is not None else np.empty(0)
    weights = ground.laid_out(scorer.weights(ground.after, ground.once if keep else None))
    out = np.empty((len(ground.labels.groups), n_classes))
    reading = np.array([0, int(smooth)], np.int64)
    # A feature of fewer than `min_df` documents is gone from the classes of others, too.
    by_kind = not whole.sums and not whole.asks_words and ground.min_df == 1

    def score(part: int, _: int) -> None:
        sums = Sums(np.empty(n_classes), np.empty(3), np.empty(0, np.uint32))
        for without in ground.without(part, by_kind=by_kind, keep=keep):
            lo, hi = without.bounds
            own_priors = without.priors(priors.by_way, priors.ways[without.rows.docs[lo:hi]])
            mine = formula(without.reading(whole.sums), own_priors)
            linear = Linear(mine.bias, mine.scale, mine.slope, mine.unseen, reading)
            own = np.ascontiguousarray(mine.weigh(without.after))
            weighed = Weighed(weights, shared, own, linear, without.places, int(mine.presence))
            run(kernel.score_rows, without.corpus, lo, hi, weighed, sums, out.reshape(-1))

    each_slice(score, range(len(ground.parts) + 1))
    return out


def _blocks(rows: Rows, n_classes: int) -> Iterator[tuple[int, int]]:
    """The rows that a formula is asked for at a time."""
    lo, n = 0, len(rows.docs)
    while lo < n:
        hi = int(np.searchsorted(rows.starts, rows.starts[lo] + _FEATURES, side="right")) - 1
        hi = min(max(hi, lo + 1), lo + max(_NUMBERS // n_classes, 1), n)
        yield lo, hi
        lo = hi


# The corpus


class CountedCorpus:
    """Labelled documents that are read and counted once: any model can leave each of them out.

    Attributes
    ----------
    memory : Memory
        Their counts.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        texts: Any,
        sets: LabelSets,
        *,
        memory: Memory | None = None,
        copies: Integers | None = None,
    ) -> None:
        """With `memory`, they are a sample of its documents, and `sets` has the ids of its labels.

        `copies` says how often each document of a sample was learned: all of them are left out together.  One that is
        alone in its class must not be in a sample.
        """
        docs, recipe = documents_of(analyzer, texts)
        self._is_sample = memory is not None
        self.memory = Memory(count(docs, recipe, sets, analyzer.fingerprint)) if memory is None else memory
        self._analyzer, self._texts, self._sets = analyzer, texts, sets
        self._copies = np.ones(len(sets.groups), np.int64) if copies is None else copies
        is_long = self._is_sample and threads.sizes_of(docs, recipe).sum() >= _WORTH_THREADS
        bounds = stretches(len(self), 1) if is_long else threads.bounds_of(docs, recipe)
        self._rows = read_rows(docs, recipe, self.counts.vocabulary, self._copies, bounds)
        self._labels = Labels(sets.groups, sets.members, sets.indices)
        self._grounds: dict[tuple[bool, int], Ground] = {}
        self._priors: dict[str, Priors] = {}

    @property
    def counts(self) -> Counts:
        """The counts of all documents."""
        return self.memory.counts

    def __len__(self) -> int:
        return len(self._sets.groups)

    def score(
        self,
        formula: Formula,
        log_prior: Callable[[Docs], Floats],
        *,
        prior_name: str,
        by_docs: bool,
        by_label: bool,
        min_df: int,
        smooth: bool,
    ) -> Floats:
        """Score every document by the others, (n_docs, n_classes), by a formula that is `local`.

        `formula` makes a scorer from a view and log priors, which `log_prior` makes from documents by class: the same
        ones under the same `prior_name`.  `by_label` says that the prior of a label knows no other labels.  `smooth`:
        words that were never learned count too.
        """
        if prior_name not in self._priors:
            self._priors[prior_name] = self._priors_without(log_prior, by_label=by_label)
        ground, priors = self._ground(by_docs, min_df), self._priors[prior_name]
        scores = score_without(ground, formula, priors, smooth=smooth, keep=self._is_sample)
        return scores if self._is_sample else self._mark_lonely(scores)

    def _priors_without(self, log_prior: Callable[[Docs], Floats], *, by_label: bool) -> Priors:
        """log P(c) without each document."""
        counts, (ways, places) = self.counts, self._ways
        base = int(self._copies.max(initial=0)) + 1
        own = np.zeros((len(ways), len(counts.labels)), np.int64)
        rows, classes = classes_of(self._labels, ways // base)
        own[rows, classes] = (ways % base)[rows]

        def without(own: Any) -> Floats:
            return log_prior(Docs(counts.labels, counts.doc_count - own, counts.n_docs - 1))

        return Priors(np.choose(own, [without(0), without(1)]) if by_label else without(own), places)

    @cached_property
    def _ways(self) -> tuple[Integers, Integers]:
        """The labels and copies that documents have, as numbers, each once; the place of each document among them."""
        base = int(self._copies.max(initial=0)) + 1
        ways, places = np.unique(self._sets.groups * base + self._copies, return_inverse=True)
        return ways, places

    def score_one_by_one(self, make: Callable[[Memory], Model]) -> Floats:
        """Score every document by the others, (n_docs, n_classes), by any model that reads a memory."""
        counts = self.counts.copy()
        model = make(Memory(counts))
        out = np.full((len(self), len(counts.labels)), -np.inf)
        for row in range(len(self)):
            text, sets = inputs.pick(self._texts, [row]), self._sets.subset(np.array([row]))
            own = count(*documents_of(self._analyzer, text), sets, counts.fingerprint)
            counts.subtract(own)
            classes, scores = model.scores(text)
            out[row, [counts.label_ids[name] for name in classes]] = scores[0]
            counts.add(own)
            release(own.vocabulary)
        return out

    def _ground(self, by_docs: bool, min_df: int) -> Ground:
        key = by_docs, min_df
        if key not in self._grounds:
            if not self._is_sample:
                self._grounds = {}  # one at a time: each is as large as a table of all weights
            doc_total = self.counts.postings.doc_total[: self.counts.n_ids]
            view = select(self.counts, min_df, None)
            known = view, doc_total, self._rows, self._labels
            self._grounds[key] = ground_of(*known, by_docs=by_docs, min_df=min_df)
        return self._grounds[key]

    def _mark_lonely(self, scores: Floats) -> Floats:
        """The scores with -inf where no other document has the label."""
        sets = self._sets
        groups = np.repeat(np.arange(len(sets.members) - 1), np.diff(sets.members))
        lonely = self.counts.doc_count[sets.indices] == 1
        document = np.empty(len(sets.members) - 1, np.int64)
        document[sets.groups] = np.arange(len(sets.groups))
        scores[document[groups[lonely]], sets.indices[lonely]] = -np.inf
        return scores
