"""`Memory`: what a classifier has learned, and the lock on it; models read it, and classifiers may share it.

Counts are all that most models need.  For those that are trained from documents a memory has the documents too: in
memory (`KeptDocuments`), in a file (`bunrui.store`), or not at all (`NoDocuments`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from bunrui.analysis import texts as inputs
from bunrui.counts import Counts, Label
from bunrui.digests import Digests, document_digests
from bunrui.engines.labelgroups import LabelSets
from bunrui.engines.locks import ReadWriteLock
from bunrui.errors import MismatchError, NotLearnedError, OptionError, Step, StoreError, UnlearnError
from bunrui.kernel.workspace import release
from bunrui.sample import Sample

__all__ = ["Batch", "Documents", "KeptDocuments", "Memory", "NoDocuments"]

Places = dict[int, list[int]]


class Batch(NamedTuple):
    """Documents that were learned at once, with their labels."""

    texts: Any
    sets: LabelSets
    digests: Digests
    number: int = 0  # the same for parts of one batch

    def without(self, places: list[int]) -> Batch:
        """All documents but some."""
        if not places:
            return self
        stays = np.ones(len(self.texts), bool)
        stays[places] = False
        rows = np.flatnonzero(stays)
        texts = [self.texts[k] for k in rows] if isinstance(self.texts, list) else self.texts.take(rows)
        return self._replace(texts=texts, sets=self.sets.subset(rows), digests=self.digests[rows])

    def keys(self) -> list[tuple[bytes, frozenset[Label]]]:
        """The digest and the labels of every document."""
        names = [self.sets.labels[k] for k in self.sets.indices.tolist()]
        sets = [frozenset(names[a:b]) for a, b in pairwise(self.sets.members.tolist())]
        groups: list[int] = self.sets.groups.tolist()
        return [(digest.tobytes(), sets[g]) for digest, g in zip(self.digests, groups, strict=True)]


class Documents(Protocol):
    """The documents that were learned, for models that are trained from them."""

    def check(self, model: str) -> None:
        """Refuse a model that needs documents, where there are none."""

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """A block in which nobody changes what `batches` reads; in memory, its lock is enough."""
        yield

    def batches(self, mark: Any) -> tuple[bool, Iterator[Batch], Any]:
        """Batches after a mark, None for the start: whether they are only new ones, they themselves, and a new mark."""


class NoDocuments(Documents):
    """Documents are not kept: counts are all there is."""

    def check(self, model: str) -> None:
        """Refuse every model that needs documents."""
        raise NotLearnedError(
            f"{model} is trained from documents, and this classifier keeps counts only: make one with "
            f"TextClassifier({model!r}), and learn the texts again"
        )

    def batches(self, mark: Any) -> tuple[bool, Iterator[Batch], Any]:
        """None."""
        return False, iter(()), None


class KeptDocuments(Documents):
    """Batches of documents in memory, in the order in which they came.

    Attributes
    ----------
    epoch : int
        How often documents were taken back: what was trained before that is not to be built upon.
    """

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self.epoch = 0

    def check(self, model: str) -> None:
        """All models are welcome."""

    def batches(self, mark: Any) -> tuple[bool, Iterator[Batch], Any]:
        """As `Documents` has it."""
        goes_on = mark is not None and mark[0] == self.epoch
        first = mark[1] if goes_on else 0
        return goes_on, iter(self._batches[first:]), (self.epoch, len(self._batches))

    def add(self, texts: Any, sets: LabelSets) -> None:
        """Keep documents; their texts as `lasting` gives them."""
        if len(texts):
            self._batches.append(Batch(texts, sets, document_digests(texts), self._next))

    def extend(self, batches: list[Batch]) -> None:
        """Keep what another has kept."""
        first = self._next
        self._batches += [batch._replace(number=first + k) for k, batch in enumerate(batches)]

    @property
    def _next(self) -> int:
        return self._batches[-1].number + 1 if self._batches else 0

    def find(self, texts: Any, sets: LabelSets) -> Places:
        """Where documents are, the latest of several; by batch.

        Raises
        ------
        UnlearnError
            If one of them was never learned with these labels.
        """
        wanted: dict[tuple[bytes, frozenset[Label]], list[int]] = defaultdict(list)
        for row, key in enumerate(Batch(texts, sets, document_digests(texts)).keys()):
            wanted[key].append(row)
        found: Places = {}
        for number in range(len(self._batches) - 1, -1, -1):
            keys = self._batches[number].keys()
            for place in range(len(keys) - 1, -1, -1):
                if wanted.get(keys[place]):
                    wanted[keys[place]].pop()
                    found.setdefault(number, []).append(place)
        missing = [row for rows in wanted.values() for row in rows]
        if missing:
            row = min(missing)
            raise UnlearnError(f"text {row} was never learned with this label: nothing was taken back", row)
        return found

    def remove(self, places: Places) -> None:
        """Take documents back."""
        left = [batch.without(places.get(number, [])) for number, batch in enumerate(self._batches)]
        self._batches = [batch for batch in left if len(batch.texts)]
        self.epoch += 1


class Memory:
    """Counts, documents where they are kept, and the lock on both.

    Attributes
    ----------
    counts : Counts
        Changed, or replaced, by whoever holds `lock` for writing.
    documents : Documents
    lock : ReadWriteLock
    sample : Sample or None
        A sample of the documents, where one is kept.
    trouble : str or None
        Why the counts are not those of their file, and not to be read.
    """

    def __init__(self, counts: Counts, documents: Documents | None = None) -> None:
        self.counts = counts
        self.documents = NoDocuments() if documents is None else documents
        self.lock = ReadWriteLock()
        self.sample: Sample | None = None
        self.trouble: str | None = None

    @property
    def kept(self) -> KeptDocuments | None:
        """The documents, where they are in memory."""
        return self.documents if isinstance(self.documents, KeptDocuments) else None

    def keep_documents(self) -> None:
        """Keep documents from now on, if nothing has been learned yet."""
        if not self.counts.n_docs and isinstance(self.documents, NoDocuments):
            self.documents = KeptDocuments()

    def keep_sample(self) -> None:
        """Keep a sample of the documents from now on, if nothing has been learned yet."""
        if not self.counts.n_docs and self.sample is None:
            self.sample = Sample()

    def readable_counts(self) -> Counts:
        """The counts, if there are any to be read; call with the lock held."""
        if self.trouble is not None:
            raise StoreError(self.trouble, hint=(Step("reopen"),))
        if not self.counts.n_docs:
            raise NotLearnedError("nothing has been learned yet", hint=(Step("learn"),))
        return self.counts

    def lasting(self, texts: Any) -> Any:
        """Texts in a form that does not change while they are kept: a list, or an Arrow array of strings."""
        if self.kept is None and self.sample is None:
            return texts
        if inputs.is_given(texts):
            inputs.given(texts)  # for its checks
            return [dict(document) if isinstance(document, Mapping) else list(document) for document in texts]
        array = inputs.strings(texts)
        return list(array) if isinstance(array, list) else array

    def learn(self, delta: Counts, texts: Any, sets: LabelSets) -> None:
        """Add the counts of some documents; the texts are `lasting`."""
        with self.lock.write():
            is_first = not self.counts.n_docs
            if is_first:
                delta.follow(self.counts)
                self.counts = delta
            else:
                self.counts.add(delta)
            if self.kept is not None:
                self.kept.add(texts, sets)
            if self.sample is not None:
                self.sample.add(texts, sets, len(self.counts.live.labels))
        if not is_first:
            release(delta.vocabulary)

    def unlearn(self, delta: Counts, texts: Any, sets: LabelSets) -> None:
        """Take the counts of some documents back."""
        with self.lock.write():
            kept = self.kept
            places = kept.find(texts, sets) if kept is not None else {}
            self.counts.subtract(delta)
            if kept is not None:
                kept.remove(places)
            if self.sample is not None:
                self.sample.remove(texts, sets)
        release(delta.vocabulary)

    def merge(self, other: Memory, model: str) -> None:
        """Add what another memory has; `model` is for messages."""
        if other.counts is self.counts:
            raise OptionError("a classifier cannot be merged with itself")
        with other.lock.read():
            theirs, kept = other.counts.copy(), other.kept
            batches = None if kept is None else list(kept.batches(None)[1])
            sample = None if other.sample is None else other.sample.copy()
        with self.lock.write():
            mine = self.kept
            if mine is not None and batches is None:
                raise MismatchError(
                    f"{model} is trained from documents, and the other classifier has none in memory: make it "
                    f"with TextClassifier({model!r}), and learn its texts again"
                )
            self.counts.add(theirs)
            if mine is not None and batches is not None:
                mine.extend(batches)
            # A sample of a part of the documents would say nothing of all.
            if self.sample is not None and sample is not None:
                self.sample.merge(sample)
            elif theirs.n_docs:
                self.sample = None
