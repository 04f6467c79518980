"""What happens inside one transaction: batches of documents in, log rows and one delta out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.cells import Integers
from bunrui.classifier import AnyClassifier
from bunrui.counts import Counts
from bunrui.engines.labelgroups import LabelSets, check_new, label_sets
from bunrui.engines.partitions import Spill
from bunrui.errors import DataError, DuplicateError, Option, StoreError, UnlearnError
from bunrui.kernel.slices import each_slice
from bunrui.kernel.workspace import release
from bunrui.memory import document_digests, key_words
from bunrui.phrases import excerpt
from bunrui.store.blocks import Batch, Row
from bunrui.store.codec import Part, pack_part
from bunrui.store.log import Seen
from bunrui.store.pool import PoolChange
from bunrui.store.store import Store
from bunrui.store.transaction import Transaction

_EXCERPT = 60


class Sum:
    """Counts of documents, batch by batch; `total` is None before the first."""

    def __init__(self, classifier: AnyClassifier) -> None:
        self._classifier = classifier
        self.total: Counts | None = None

    def sets(self, labels: Any, n_docs: int) -> LabelSets:
        """Labels, those that the classifier knows first."""
        counts = self._classifier.counts
        return label_sets(labels, n_docs, counts.label_ids if counts.n_docs else {})

    def add(self, texts: Any, sets: LabelSets) -> None:
        """Count a batch."""
        counts = self._classifier.count_sets(texts, sets)
        if self.total is None:
            self.total = counts
        else:
            self.total.add(counts)
            release(counts.vocabulary)

    def finish(self, transaction: Transaction, sign: int) -> None:
        """Tell the transaction."""
        if self.total is not None:
            transaction.changes.append((sign, self.total))


class SpilledSum:
    """The same in bounded memory, for a file whose own counts nobody has read.

    Attributes
    ----------
    n_features : int
        How many there were in all, when it is finished.
    """

    def __init__(self, classifier: AnyClassifier, spill: Spill, seen: Seen | None) -> None:
        self._classifier = classifier
        self._spill = spill
        self._seen = seen
        self._room = spill.room
        self.n_features = 0

    def sets(self, labels: Any, n_docs: int) -> LabelSets:
        """Labels, those that came before first."""
        return label_sets(labels, n_docs, self._spill.head.label_ids)

    def add(self, texts: Any, sets: LabelSets) -> None:
        """Count a batch."""
        if self._seen is not None:
            self._spill.room = self._room - self._seen.n_bytes
            if self._spill.room < 0:
                keep = Option("keep", "nothing")
                raise StoreError(
                    f"the digests of {len(self._seen):,} documents take all of the memory",
                    option="memory",
                    hint=("give more with ", Option("memory", ...), ", or learn into a file with ", keep),
                )
        self._spill.add(self._classifier.count_sets(texts, sets))

    def finish(self, transaction: Transaction, sign: int) -> None:
        """Tell the transaction."""
        assert sign == 1
        transaction.add_parts(self._spill.head, self._parts)

    def _parts(self, label_ids: Integers) -> Iterator[Part]:
        for part in self._spill.parts(lambda cells: pack_part(cells, label_ids)):
            self.n_features += part.n_features
            yield part


class _Session:
    """Documents of one transaction, batch by batch.

    Attributes
    ----------
    n_docs : int
        Documents so far.
    unlabelled : PoolChange
        Texts without a label so far.
    """

    def __init__(self, store: Store, transaction: Transaction, total: Sum | SpilledSum) -> None:
        self._store = store
        self._transaction = transaction
        self.n_docs = 0
        self.unlabelled = PoolChange(store, transaction.number, transaction.time)
        self._sum = total
        self._failed: BaseException | None = None

    def _read(self, texts: Any, labels: Any) -> tuple[Any, LabelSets]:
        """The batch in the form that everything else here takes."""
        if inputs.is_given(texts):
            inputs.given(texts)  # for its checks
        else:
            texts = inputs.strings(texts)
        return texts, self._sum.sets(labels, len(texts))

    def _count(self, texts: Any, sets: LabelSets) -> None:
        self._sum.add(texts, sets)
        self.n_docs += len(texts)

    @contextmanager
    def _all_or_none(self) -> Iterator[None]:
        """What a batch that fails has written cannot be taken out again: the whole session fails with it."""
        try:
            yield
        except BaseException as error:
            self._failed = error
            raise

    def _finish(self, sign: int) -> None:
        if self._failed is not None:
            raise StoreError(f"a batch of this session failed, so that nothing is kept: {self._failed}")
        if self.n_docs:
            self._sum.finish(self._transaction, sign)
        self._transaction.n_docs = self.n_docs
        if self.unlabelled.n_texts:
            self._transaction.note["unlabelled"] = self.unlabelled.n_texts

    def _label_sets(self, sets: LabelSets) -> list[list[int]]:
        """The file's ids of the labels of every group."""
        ids = self._transaction.label_ids(sets.labels)[sets.indices].tolist()
        bounds = sets.members.tolist()
        return [ids[a:b] for a, b in pairwise(bounds)]


class Learning(_Session):
    """Learning under way; made by `StoredClassifier.learning` and `Bounded.learning`.

    Attributes
    ----------
    n_duplicates : int or None
        Documents whose text had been learned before, or comes twice; None where the file keeps nothing.
    """

    def __init__(
        self, store: Store, transaction: Transaction, total: Sum | SpilledSum, seen: Seen | None, unique: bool
    ) -> None:
        super().__init__(store, transaction, total)
        self.seen = seen
        self._unique = unique
        self.n_duplicates = None if seen is None else 0

    def add(
        self,
        texts: Any,
        labels: Any,
        *,
        ids: Sequence[str | None] | None = None,
        sources: Sequence[str | None] | None = None,
    ) -> None:
        """Learn a batch of documents."""
        with self._all_or_none():
            ids, sources = _list_of_strings(ids, "ids", len(texts)), _list_of_strings(sources, "sources", len(texts))
            texts, sets = self._read(texts, labels)
            check_new(sets.labels, self._store.labels)
            if self.seen is not None:
                self._log(texts, sets, ids, sources)
            self._count(texts, sets)

    def add_unlabelled(self, texts: Any) -> None:
        """Take in a batch of texts without a label; those that are there already make no difference."""
        with self._all_or_none():
            if self._store.keep != "text":
                raise StoreError(
                    f"{self._store.path} keeps {self._store.keep} of documents, and texts without a label must be kept",
                    hint=("learn into a file with ", Option("keep", "text")),
                )
            self.unlabelled.add(_checked(texts))

    def _log(
        self, texts: Any, sets: LabelSets, ids: Sequence[str | None] | None, sources: Sequence[str | None] | None
    ) -> None:
        keep_text = self._store.keep == "text"
        label_ids = self._label_sets(sets)
        batch = Batch(self._transaction.time, texts, label_ids, sets.groups, ids, sources, keep_text=keep_text)

        def pack(lo: int, hi: int) -> tuple[npt.NDArray[np.uint64], Row]:
            block = batch.block(lo, hi)
            return key_words(block.digests), Row.of(block)

        # Digests and compression take longer than counting words: they have the threads, too.
        rows = each_slice(pack, batch.bounds)
        if rows:
            self._look_for_duplicates(np.concatenate([keys for keys, _ in rows]), texts)
        for _, row in rows:
            self._transaction.log(row)

    def _look_for_duplicates(self, keys: npt.NDArray[np.uint64], texts: Any) -> None:
        assert self.seen is not None and self.n_duplicates is not None
        again = self.seen.add(keys)
        if self._unique and again.any():
            row = int(again.argmax())
            raise DuplicateError(
                f"this was learned before, or comes twice: {excerpt(str(texts[row]), _EXCERPT)!r}", row
            )
        self.n_duplicates += int(again.sum())

    def finish(self) -> None:
        """All batches are in."""
        if self.n_duplicates:
            self._transaction.note["duplicates"] = self.n_duplicates
        self._finish(1)


class Unlearning(_Session):
    """Unlearning under way; made by `StoredClassifier.unlearning`."""

    def __init__(self, classifier: AnyClassifier, store: Store, transaction: Transaction) -> None:
        self._classifier = classifier
        self._total = Sum(classifier)
        super().__init__(store, transaction, self._total)

    def add(self, texts: Any, labels: Any) -> None:
        """Take a batch of documents back."""
        with self._all_or_none():
            texts, sets = self._read(texts, labels)
            if self._store.keep != "nothing":
                self._transaction.remove(self._find(texts, sets))
            self._count(texts, sets)

    def add_unlabelled(self, texts: Any | None) -> None:
        """Let a batch of texts without a label go, or all of them."""
        with self._all_or_none():
            if texts is None:
                self.unlabelled.clear()
                return
            listed = _checked(texts)
            row = self.unlabelled.remove(listed)
            if row is not None:
                shown = excerpt(str(listed[row]), _EXCERPT)
                raise UnlearnError(f"this is not among the texts without a label: {shown!r}", row)

    def finish(self) -> None:
        """All batches are in."""
        if self._total.total is not None:
            self._classifier.counts.check_covers(self._total.total)
        self._finish(-1)

    def _find(self, texts: Any, sets: LabelSets) -> dict[int, list[int]]:
        """Where the documents stand in the log."""
        groups = [frozenset(ids) for ids in self._label_sets(sets)]
        found, missing = self._store.log.find(document_digests(texts), [groups[g] for g in sets.groups.tolist()])
        if missing:
            row = missing[0]
            group = sets.groups[row]
            names = [sets.labels[k] for k in sets.indices[sets.members[group] : sets.members[group + 1]]]
            raise UnlearnError(
                f"this was never learned as {', '.join(map(repr, names))}: {excerpt(str(texts[row]), _EXCERPT)!r}", row
            )
        return found


def _checked(texts: Any) -> list[Any]:
    """Documents as a list, if they are such."""
    if inputs.is_given(texts):
        inputs.given(texts)  # for its checks
        return list(texts)
    found: Any = inputs.strings(texts)
    return list(found) if isinstance(found, list) else list(found.to_pylist())


def _list_of_strings(values: Any, name: str, n: int) -> list[str | None] | None:
    if values is None:
        return None
    listed = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    if len(listed) != n:
        raise DataError(f"there are {n} texts and {len(listed)} {name}: give one for each text, None for none")
    for value in listed:
        if value is not None and not isinstance(value, str):
            raise DataError(f"{name} should be strings or None, not {value!r}")
    return listed
