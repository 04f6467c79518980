"""`LowestDigests`: a few of the documents that were learned, the same ones whatever the order in which they came.

Documents are taken by their digests, the lowest first, so that neither order nor shards nor threads matter:

    all classes   the lowest digests, at most MOST_DOCS documents and MOST_BYTES
    each class    its lowest few, so that rare classes are there too: at most FEW of each, and of all together no more
                  than as many documents and bytes again

Copies of a text with the same label are one document, which says how often it was learned.  A document with several
labels, and one that is longer than LONGEST bytes, is never taken.

A classifier in memory keeps the sample while it learns.  It does not know what it left out: after `unlearn` its sample
is smaller, and still has all that is left of the lowest digests.  A classifier in a file takes the sample from its log
when it needs one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.counts import Label
from bunrui.engines.labelgroups import LabelSets
from bunrui.memory import Batch, as_bytes, digests_of, key_words

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint64]

MOST_DOCS = 2000
MOST_BYTES = 5 << 19
FEW = 8
LONGEST = MOST_BYTES // 16
_MOST_WAITING = 256
_NO_BOUND = (1 << 64) - 1


class Lowest(NamedTuple):
    """Distinct documents, in the order of their digests, then of their classes; each of (n,).

    Attributes
    ----------
    rows : int64
        The first row of each.
    copies : int64
        How many rows are the same text in the same class.
    is_common : bool
        Whether it is among the lowest digests of all classes: these are a plain random sample.
    is_taken : bool
        Whether it is among these, or among the lowest few of its class.
    """

    rows: Integers
    copies: Integers
    is_common: Booleans
    is_taken: Booleans


def find_lowest(
    keys: Keys,
    classes: Integers,
    sizes: Integers,
    n_classes: int,
    copies: Integers,
    border: tuple[int, int] = (_NO_BOUND, 0),
) -> Lowest:
    """Take documents.

    Parameters
    ----------
    keys : (n,) uint64
        The first bytes of the digests.
    classes, sizes, copies : (n,) int64
        The place of the label of each in the sorted list of labels; bytes; how often it was learned.
    n_classes : int
        Classes in all: these documents may be of fewer.
    border : (int, int)
        Key and class of the first document that is missing here: from there on, none is common.

    Examples
    --------
    >>> two = np.array([7, 3, 7, 7], np.uint64), np.array([0, 1, 0, 1])
    >>> found = find_lowest(*two, sizes=np.ones(4, np.int64), n_classes=2, copies=np.array([1, 1, 2, 1]))
    >>> found.rows.tolist(), found.copies.tolist()
    ([1, 0, 3], [1, 3, 1])
    """
    fits = np.flatnonzero(sizes <= LONGEST)
    rows = fits[np.argsort(keys[fits])]
    n_copies, ranked = copies[rows], keys[rows]
    if (ranked[1:] == ranked[:-1]).any():
        order = fits[np.lexsort((classes[fits], keys[fits]))]  # which keeps the first row of a text in front
        is_new = np.ones(len(order), bool)
        is_new[1:] = (np.diff(keys[order]) != 0) | (np.diff(classes[order]) != 0)
        starts = np.flatnonzero(is_new)
        rows, n_copies = order[starts], np.add.reduceat(copies[order], starts)
    n_bytes = sizes[rows]
    is_common = (np.arange(len(rows)) < MOST_DOCS) & (np.cumsum(n_bytes) <= MOST_BYTES)
    key, by_key = np.uint64(border[0]), keys[rows]
    is_common &= (by_key < key) | ((by_key == key) & (classes[rows] < border[1]))
    few = min(FEW, MOST_DOCS // max(n_classes, 1))
    by_class, first, ranks = _ranked(classes[rows])
    so_far = np.cumsum(n_bytes[by_class])
    before = np.repeat(so_far[first] - n_bytes[by_class[first]], np.diff(first, append=len(rows)))
    is_taken = is_common.copy()
    is_taken[by_class[(ranks < few) & ((so_far - before) * n_classes <= MOST_BYTES)]] = True
    return Lowest(rows, n_copies, is_common, is_taken)


def sort_by_class(classes: Integers) -> Integers:
    """The places of documents by class, in each as they come."""
    # Numbers of 16 bits are sorted by their digits: a tenth of the time.
    small = classes.astype(np.uint16) if classes.max(initial=0) < 1 << 16 else classes
    return np.argsort(small, kind="stable")


def ranks_in_class(classes: Integers) -> Integers:
    """How many documents of the same class come before each.

    >>> ranks_in_class(np.array([2, 0, 2, 2, 0])).tolist()
    [0, 0, 1, 2, 1]
    """
    by_class, _, by_place = _ranked(classes)
    ranks = np.empty(len(classes), np.int64)
    ranks[by_class] = by_place
    return ranks


def _ranked(classes: Integers) -> tuple[Integers, Integers, Integers]:
    """The places of documents by class, where each class begins among them, and their ranks in their classes."""
    by_class = sort_by_class(classes)
    first = np.flatnonzero(np.diff(classes[by_class], prepend=-1))
    return by_class, first, np.arange(len(classes)) - np.repeat(first, np.diff(first, append=len(classes)))


class Drawn(NamedTuple):
    """A sample, in the order of digests: texts with their labels, and what `Lowest` says of them, (n,) each."""

    texts: list[Any]
    labels: list[Label]
    copies: Integers
    is_common: Booleans


class LowestDigests:
    """The sample of what a memory learns.

    Examples
    --------
    >>> from bunrui.engines.labelgroups import label_sets
    >>> sample, sets = LowestDigests(), label_sets(["spam", "ham", "spam"], 3, {})
    >>> sample.add(["pills", "noon", "pills"], sets, n_classes=2)
    >>> drawn = sample.draw(n_classes=2)
    >>> drawn.texts, drawn.labels, drawn.copies.tolist()
    (['pills', 'noon'], ['spam', 'ham'], [2, 1])
    >>> sample.remove(sample.find(["pills"], sets.subset(np.array([0]))))
    >>> sample.draw(n_classes=2).copies.tolist()
    [1, 1]
    """

    def __init__(self) -> None:
        # A column each; a text that was learned in several batches is there several times.
        self._texts: list[Any] = []
        self._labels: list[Label] = []
        self._columns = np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64)
        self._waiting: list[tuple[Keys, Integers, Integers]] = []  # to be joined with the columns
        self._n_bytes = 0
        self._bounds: dict[Label, int] = {}  # by label, the lowest key that was left out
        self._first: tuple[int, Drawn] | None = None  # of the first batch, for a number of classes; until a change

    def add(self, texts: Any, sets: LabelSets, n_classes: int) -> None:
        """Documents were learned; now there are so many classes."""
        rows, keys, codes, sizes, copies = _documents_of(texts, sets)
        if self._bounds:
            bounds = np.array([self._bounds.get(label, _NO_BOUND) for label in sets.labels], np.uint64)
            low = np.flatnonzero(keys < bounds[codes])
            if not len(low):
                return
            rows, keys, codes, sizes, copies = rows[low], keys[low], codes[low], sizes[low], copies[low]
        is_common = None
        if len(rows) > MOST_DOCS:
            found, left_out = self._take(keys, sets.labels, codes, sizes, n_classes, copies)
            self._leave_out(left_out)
            taken = found.rows[found.is_taken]
            rows, keys, codes, sizes = rows[taken], keys[taken], codes[taken], sizes[taken]
            copies, is_common = found.copies[found.is_taken], None if self._texts else found.is_common[found.is_taken]
        chosen = [texts[row] for row in rows.tolist()] if isinstance(texts, list) else texts.take(rows).to_pylist()
        labels = list(map(sets.labels.__getitem__, codes.tolist()))
        self._append(chosen, labels, keys, sizes, copies)
        if is_common is not None:
            self._first = n_classes, Drawn(chosen, labels, copies, is_common)
        self._tighten_if_large(n_classes)

    def add_batches(self, batches: Iterable[Batch], n_classes: int) -> None:
        """The same for documents that a memory keeps."""
        for batch in batches:
            self.add(batch.texts, batch.sets, n_classes)

    @property
    def _keys(self) -> Keys:
        return self._joined()[0]

    @property
    def _sizes(self) -> Integers:
        return self._joined()[1]

    @property
    def _copies(self) -> Integers:
        return self._joined()[2]

    def _joined(self) -> tuple[Keys, Integers, Integers]:
        """The columns: to join them for each document that is learned alone would take longer than to learn it."""
        if self._waiting:
            keys, sizes, copies = zip(self._columns, *self._waiting, strict=True)
            self._columns = np.concatenate(keys), np.concatenate(sizes), np.concatenate(copies)
            self._waiting = []
        return self._columns

    def find(self, texts: Any, sets: LabelSets) -> dict[tuple[int, Label], int] | None:
        """The places of those documents that the sample has, and how often; None if it lacks one that it would have."""
        _, keys, codes, _, copies = _documents_of(texts, sets)
        below: dict[tuple[int, Label], int] = {}
        for key, code, n in zip(keys.tolist(), codes.tolist(), copies.tolist(), strict=True):
            place = key, sets.labels[code]
            if key < self._bounds.get(place[1], key + 1):
                below[place] = below.get(place, 0) + n
        rows = self._rows_of(below)
        is_there = all(self._copies[rows.get(place, [])].sum() >= n for place, n in below.items())
        return below if is_there else None

    def remove(self, places: Mapping[tuple[int, Label], int]) -> None:
        """Documents were unlearned, with places by `find`."""
        for place, rows in self._rows_of(places).items():
            n_left = places[place]
            for row in rows:
                n = min(n_left, int(self._copies[row]))
                self._copies[row] -= n
                n_left -= n
        gone = np.flatnonzero(self._copies == 0)
        for row in gone[::-1].tolist():  # few: to list all others took a millisecond
            del self._texts[row], self._labels[row]
        self._set_columns(np.delete(self._keys, gone), np.delete(self._sizes, gone), np.delete(self._copies, gone))

    def merge(self, other: LowestDigests, n_classes: int) -> None:
        """Another memory has learned what its sample says; now there are so many classes."""
        self._append(other._texts, other._labels, other._keys, other._sizes, other._copies)
        self._leave_out(other._bounds)
        self._tighten_if_large(n_classes)

    def copy(self) -> LowestDigests:
        """The same, to go its own way."""
        other = LowestDigests()
        other._append(self._texts, self._labels, self._keys, self._sizes, self._copies.copy())  # `remove` writes to it
        other._bounds = dict(self._bounds)
        return other

    def draw(self, n_classes: int) -> Drawn:
        """The sample, for so many classes."""
        if self._first is not None and self._first[0] == n_classes:
            return self._first[1]
        found, _ = self._lowest(n_classes)
        taken = found.rows[found.is_taken].tolist()
        labels, texts = list(map(self._labels.__getitem__, taken)), list(map(self._texts.__getitem__, taken))
        return Drawn(texts, labels, found.copies[found.is_taken], found.is_common[found.is_taken])

    def _append(self, texts: list[Any], labels: list[Label], keys: Keys, sizes: Integers, copies: Integers) -> None:
        if not texts:
            return
        self._first = None
        self._texts += texts
        self._labels += labels
        self._waiting.append((keys, sizes, copies))
        self._n_bytes += int(sizes.sum())
        if len(self._waiting) > _MOST_WAITING:
            self._joined()

    def _set_columns(self, keys: Keys, sizes: Integers, copies: Integers) -> None:
        self._columns, self._n_bytes, self._first = (keys, sizes, copies), int(sizes.sum()), None

    def _tighten_if_large(self, n_classes: int) -> None:
        """Let go of what is above the sample, once there is much of it."""
        if len(self._texts) > 4 * MOST_DOCS or self._n_bytes > 4 * MOST_BYTES:
            found, left_out = self._lowest(n_classes)
            self._copies[found.rows] = found.copies
            self._keep(found.rows)
            self._leave_out(left_out)

    def _keep(self, rows: Integers) -> None:
        """Let go of all other rows."""
        self._texts = [self._texts[row] for row in rows.tolist()]
        self._labels = [self._labels[row] for row in rows.tolist()]
        self._set_columns(self._keys[rows], self._sizes[rows], self._copies[rows])

    def _rows_of(self, places: Mapping[tuple[int, Label], int]) -> dict[tuple[int, Label], list[int]]:
        """Where some documents stand, as far as they are there."""
        rows: dict[tuple[int, Label], list[int]] = {}
        keys = np.array([key for key, _ in places], np.uint64)
        for row in np.flatnonzero(np.isin(self._keys, keys)).tolist():
            place = int(self._keys[row]), self._labels[row]
            if place in places:
                rows.setdefault(place, []).append(row)
        return rows

    def _lowest(self, n_classes: int) -> tuple[Lowest, dict[Label, int]]:
        """The documents that are taken, and for each label the lowest key that is not."""
        codes = {label: code for code, label in enumerate(dict.fromkeys(self._labels))}
        classes = np.array(list(map(codes.__getitem__, self._labels)), np.int64)
        return self._take(self._keys, list(codes), classes, self._sizes, n_classes, self._copies)

    def _take(
        self, keys: Keys, labels: list[Label], codes: Integers, sizes: Integers, n_classes: int, copies: Integers
    ) -> tuple[Lowest, dict[Label, int]]:
        """Take documents, and find the lowest key of each label that is left out; `codes` are places in `labels`."""
        in_order, border = sorted(labels), (_NO_BOUND, 0)
        if self._bounds:
            key, label = min((key, label) for label, key in self._bounds.items())
            border = key, bisect_left(in_order, label)
        rank = {label: k for k, label in enumerate(in_order)}
        ranks = np.array([rank[label] for label in labels], np.int64)
        found = find_lowest(keys, ranks[codes], sizes, n_classes, copies, border)
        rest = found.rows[~found.is_taken][::-1]
        first = np.full(len(labels), -1)
        first[codes[rest]] = rest  # the last one that is written stays: the lowest
        return found, {labels[code]: int(keys[first[code]]) for code in np.flatnonzero(first >= 0).tolist()}

    def _leave_out(self, bounds: Mapping[Label, int]) -> None:
        """Leave out all keys from some bounds on: nobody knows which documents were left out there before."""
        for label, key in bounds.items():
            self._bounds[label] = min(key, self._bounds.get(label, key))
        if not self._bounds:
            return
        each = zip(self._keys.tolist(), self._labels, strict=True)
        is_below = [key < self._bounds.get(label, key + 1) for key, label in each]
        self._keep(np.flatnonzero(np.array(is_below, bool)))


def _documents_of(texts: Any, sets: LabelSets) -> tuple[Integers, Keys, Integers, Integers, Integers]:
    """Rows of the documents that may be taken, their keys, labels, sizes and copies."""
    is_given = inputs.is_given(texts)
    if isinstance(texts, list):
        data, offsets = as_bytes(texts, is_given)
    else:  # an array that `lasting` has checked
        docs = inputs.buffers(texts)
        data, offsets = memoryview(docs.data), docs.offsets
    sizes, codes = offsets[1:] - offsets[:-1], sets.groups
    keys = key_words(digests_of(data, offsets, is_given))
    # A long text is not worth keeping until it is left out.
    may_stay = sizes <= LONGEST
    if not sets.is_single:
        codes = sets.indices[sets.members[:-1][sets.groups]]
        may_stay &= np.diff(sets.members)[sets.groups] == 1
    copies = np.ones(len(sizes), np.int64) if sets.copies is None else sets.copies
    rows = np.flatnonzero(may_stay & (copies > 0))
    return rows, keys[rows], codes[rows], sizes[rows], copies[rows]
