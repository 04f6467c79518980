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

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.counts import Label
from bunrui.engines.labelgroups import LabelSets
from bunrui.memory import Sample, as_bytes, digests_of, key_words

__all__ = ["Drawn", "Lowest", "LowestDigests", "find_lowest"]

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint64]

MOST_DOCS = 2000
MOST_BYTES = 5 << 19
FEW = 8
LONGEST = MOST_BYTES // 16


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


def find_lowest(keys: Keys, classes: Integers, sizes: Integers, n_classes: int, copies: Integers) -> Lowest:
    """Take documents.

    Parameters
    ----------
    keys : (n,) uint64
        The first bytes of the digests.
    classes, sizes, copies : (n,) int64
        The place of the label of each in the sorted list of labels; bytes; how often it was learned.
    n_classes : int
        Classes in all: these documents may be of fewer.

    Examples
    --------
    >>> two = np.array([7, 3, 7, 7], np.uint64), np.array([0, 1, 0, 1])
    >>> found = find_lowest(*two, sizes=np.ones(4, np.int64), n_classes=2, copies=np.array([1, 1, 2, 1]))
    >>> found.rows.tolist(), found.copies.tolist()
    ([1, 0, 3], [1, 3, 1])
    """
    fits = np.flatnonzero(sizes <= LONGEST)
    order = fits[np.argsort(keys[fits], kind="stable")]
    if (keys[order][1:] == keys[order][:-1]).any():
        order = fits[np.lexsort((classes[fits], keys[fits]))]
    is_new = np.ones(len(order), bool)
    is_new[1:] = np.diff(keys[order]) != 0
    is_new[1:] |= np.diff(classes[order]) != 0
    starts = np.flatnonzero(is_new)
    rows = order[starts]
    n_copies = np.add.reduceat(copies[order], starts) if len(starts) else starts
    own, n_bytes = classes[rows], sizes[rows]
    is_common = (np.arange(len(rows)) < MOST_DOCS) & (np.cumsum(n_bytes) <= MOST_BYTES)
    few = min(FEW, MOST_DOCS // max(n_classes, 1))
    by_class = np.argsort(own, kind="stable")
    ranks = ranks_in_class(own)
    so_far = np.cumsum(n_bytes[by_class])
    first = np.flatnonzero(ranks[by_class] == 0)
    before = np.repeat(so_far[first] - n_bytes[by_class[first]], np.diff(first, append=len(rows)))
    is_taken = is_common.copy()
    is_taken[by_class[(ranks[by_class] < few) & ((so_far - before) * n_classes <= MOST_BYTES)]] = True
    return Lowest(rows, n_copies, is_common, is_taken)


def ranks_in_class(classes: Integers) -> Integers:
    """How many documents of the same class come before each.

    >>> ranks_in_class(np.array([2, 0, 2, 2, 0])).tolist()
    [0, 0, 1, 2, 1]
    """
    by_class = np.argsort(classes, kind="stable")
    first = np.flatnonzero(np.diff(classes[by_class], prepend=-1))
    ranks = np.empty(len(classes), np.int64)
    ranks[by_class] = np.arange(len(classes)) - np.repeat(first, np.diff(first, append=len(classes)))
    return ranks


class Drawn(NamedTuple):
    """A sample, in the order of digests: texts with their labels, and what `Lowest` says of them, (n,) each."""

    texts: list[Any]
    labels: list[Label]
    copies: Integers
    is_common: Booleans


class Item(NamedTuple):
    """A text of the sample, its bytes, and how often it was learned."""

    text: Any
    size: int
    copies: int


class LowestDigests(Sample):
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
        self._items: dict[tuple[int, Label], Item] = {}
        self._bytes = 0
        self._bounds: dict[Label, int] = {}  # by label, the lowest key that was left out

    def add(self, texts: Any, sets: LabelSets, n_classes: int) -> None:
        """Documents were learned; now there are so many classes."""
        rows, keys, codes, sizes, copies = _documents_of(texts, sets)
        if self._bounds:
            most = np.iinfo(np.uint64).max
            bounds = np.array([self._bounds.get(label, most) for label in sets.labels], np.uint64)
            low = np.flatnonzero(keys < bounds[codes])
            rows, keys, codes, sizes, copies = rows[low], keys[low], codes[low], sizes[low], copies[low]
        if len(rows) > MOST_DOCS:
            found, left_out = _take(keys, sets.labels, codes, sizes, n_classes, copies)
            self._leave_out(left_out)
            taken = found.rows[found.is_taken]
            rows, keys, codes, sizes = rows[taken], keys[taken], codes[taken], sizes[taken]
            copies = found.copies[found.is_taken]
        labels = [sets.labels[c] for c in codes.tolist()]
        chosen = [texts[row] for row in rows.tolist()] if isinstance(texts, list) else texts.take(rows).to_pylist()
        columns = chosen, keys.tolist(), sizes.tolist(), labels, copies.tolist()
        for text, key, size, label, n in zip(*columns, strict=True):
            item = self._items.get((key, label))
            self._items[key, label] = Item(text, size, n if item is None else item.copies + n)
            self._bytes += size if item is None else 0
        self._tighten_if_large(n_classes)

    def find(self, texts: Any, sets: LabelSets) -> dict[tuple[int, Label], int] | None:
        """The places of those documents that the sample has, and how often; None if it lacks one that it would have."""
        _, keys, codes, _, copies = _documents_of(texts, sets)
        below: dict[tuple[int, Label], int] = {}
        for key, code, n in zip(keys.tolist(), codes.tolist(), copies.tolist(), strict=True):
            place = key, sets.labels[code]
            if key < self._bounds.get(place[1], key + 1):
                below[place] = below.get(place, 0) + n
        for place, n in below.items():
            if place not in self._items or self._items[place].copies < n:
                return None
        return below

    def remove(self, places: Mapping[tuple[int, Label], int]) -> None:
        """Documents were unlearned, with places by `find`."""
        for place, n in places.items():
            item = self._items[place]
            if item.copies > n:
                self._items[place] = item._replace(copies=item.copies - n)
            else:
                del self._items[place]
                self._bytes -= item.size

    def merge(self, other: Sample, n_classes: int) -> None:
        """Another memory has learned what its sample says; now there are so many classes."""
        assert isinstance(other, LowestDigests)
        for place, item in other._items.items():
            mine = self._items.get(place)
            self._items[place] = item if mine is None else mine._replace(copies=mine.copies + item.copies)
        self._leave_out(other._bounds)
        self._tighten_if_large(n_classes)

    def copy(self) -> LowestDigests:
        """The same, to go its own way."""
        other = LowestDigests()
        other._items, other._bytes, other._bounds = dict(self._items), self._bytes, dict(self._bounds)
        return other

    def draw(self, n_classes: int) -> Drawn:
        """The sample, for so many classes."""
        places, items = list(self._items), list(self._items.values())
        found, _ = self._lowest(n_classes)
        taken = found.rows[found.is_taken].tolist()
        labels, texts = [places[row][1] for row in taken], [items[row].text for row in taken]
        return Drawn(texts, labels, found.copies[found.is_taken], found.is_common[found.is_taken])

    def _tighten_if_large(self, n_classes: int) -> None:
        """Let go of what is above the sample, once there is much of it."""
        if len(self._items) > 4 * MOST_DOCS or self._bytes > 4 * MOST_BYTES:
            self._leave_out(self._lowest(n_classes)[1])

    def _lowest(self, n_classes: int) -> tuple[Lowest, dict[Label, int]]:
        """The items that are taken, and for each label the lowest key that is not."""
        codes: dict[Label, int] = {}
        classes = np.array([codes.setdefault(label, len(codes)) for _, label in self._items], np.int64)
        keys = np.array([key for key, _ in self._items], np.uint64)
        sizes, copies = (np.array([item[k] for item in self._items.values()], np.int64) for k in (1, 2))
        return _take(keys, list(codes), classes, sizes, n_classes, copies)

    def _leave_out(self, bounds: Mapping[Label, int]) -> None:
        """Leave out all keys from some bounds on: nobody knows which documents were left out there before."""
        for label, key in bounds.items():
            self._bounds[label] = min(key, self._bounds.get(label, key))
        for place in [(key, label) for key, label in self._items if key >= self._bounds.get(label, key + 1)]:
            del self._items[place]
        self._bytes = sum(item.size for item in self._items.values())


def _take(
    keys: Keys, labels: list[Label], codes: Integers, sizes: Integers, n_classes: int, copies: Integers
) -> tuple[Lowest, dict[Label, int]]:
    """Take documents, and find the lowest key of each label that is left out; `codes` are places in `labels`."""
    ranks = np.empty(len(labels), np.int64)
    ranks[sorted(range(len(labels)), key=labels.__getitem__)] = np.arange(len(labels))
    found = find_lowest(keys, ranks[codes], sizes, n_classes, copies)
    rest = found.rows[~found.is_taken]
    first = zip(*np.unique(codes[rest], return_index=True), strict=True)
    return found, {labels[code]: int(keys[rest[row]]) for code, row in first}


def _documents_of(texts: Any, sets: LabelSets) -> tuple[Integers, Keys, Integers, Integers, Integers]:
    """Rows of the documents that may be taken, their keys, labels, sizes and copies."""
    is_given = inputs.is_given(texts)
    data, offsets = as_bytes(texts, is_given)
    sizes, n_labels = np.diff(offsets), np.diff(sets.members)[sets.groups]
    codes = sets.indices[sets.members[:-1][sets.groups]]
    keys = key_words(digests_of(data, offsets, is_given))
    copies = np.ones(len(sizes), np.int64) if sets.copies is None else sets.copies
    # A long text is not worth keeping until it is left out.
    rows = np.flatnonzero((n_labels == 1) & (sizes <= LONGEST) & (copies > 0))
    return rows, keys[rows], codes[rows], sizes[rows], copies[rows]
