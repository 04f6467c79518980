"""Learning and unlearning in one transaction: batches of documents in, log rows and one delta out.

A file may also learn within some memory: then its counts are neither read nor ever there as a whole.  Documents are
counted batch by batch; counts that outgrow the memory are put aside on disk (`bunrui.engines.partitions`), and all of
them are written as one delta.  To predict, a classifier needs all counts in memory: `slim` makes them few.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.analysis import texts as inputs
from bunrui.cells import Cells, Integers
from bunrui.classifier import AnyClassifier
from bunrui.counts import Counts
from bunrui.engines.count import release
from bunrui.engines.labelgroups import LabelSets, check_new, label_sets
from bunrui.engines.partitions import Spill
from bunrui.errors import DataError, DuplicateError, Option, OptionError, StoreError, UnlearnError
from bunrui.kernel.slices import each_slice, n_threads
from bunrui.labels import type_of
from bunrui.memory import document_digests, key_words
from bunrui.models import AUTO
from bunrui.store.codec import Part, pack_part
from bunrui.store.file import check_not_pruned, find_seen
from bunrui.store.log import Names, Seen, cut_into_blocks
from bunrui.store.options import Path, check_slim, classifier_of, creating_store, open_with, reader_of, write_slim
from bunrui.store.pool import PoolChange, quote
from bunrui.store.store import Store
from bunrui.store.transaction import Transaction


class Sum:
    """Counts of documents, batch by batch: in memory, or in a spill, for a file whose own counts nobody has read.

    Attributes
    ----------
    n_features : int
        How many features a spill had in all, when it is finished.
    """

    def __init__(self, classifier: AnyClassifier, spill: Spill | None = None, seen: Seen | None = None) -> None:
        """With a spill, it shares the room with the digests in `seen`."""
        self._classifier, self._spill, self._seen = classifier, spill, seen
        self._room = spill.room if spill is not None else 0
        self._total: Counts | None = None
        self.n_features = 0

    def sets(self, labels: Any, n_docs: int) -> LabelSets:
        """Labels, those that are known first."""
        counts = self._classifier.counts if self._spill is None else self._spill.head
        return label_sets(labels, n_docs, counts.label_ids if counts.n_docs else {})

    def add(self, texts: Any, sets: LabelSets) -> None:
        """Count a batch."""
        counts = self._classifier.count_sets(texts, sets)
        if self._spill is not None:
            self._make_room(self._spill)
            self._spill.add(counts)
        elif self._total is None:
            self._total = counts
        else:
            self._total.add(counts)
            release(counts)

    def _make_room(self, spill: Spill) -> None:
        if self._seen is not None:
            spill.room = self._room - self._seen.n_bytes
            if spill.room < 0:
                problem = f"the digests of {len(self._seen):,} documents take all of the memory"
                hint = "give more with ", Option("memory", ...), ", or use a file with ", Option("keep", "nothing")
                raise StoreError(problem, option="memory", hint=hint)

    def finish(self, transaction: Transaction, sign: int) -> None:
        """Tell the transaction."""
        if self._spill is not None:
            transaction.add_parts(self._spill.head, self._parts)
        elif self._total is not None:
            if sign < 0:
                self._classifier.counts.check_covers(self._total)
            transaction.changes.append((sign, self._total))

    def _parts(self, label_ids: Integers) -> Iterator[Part]:
        assert self._spill is not None
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

    _sign = 1

    def __init__(self, store: Store, transaction: Transaction, total: Sum) -> None:
        self._store = store
        self._transaction = transaction
        self.n_docs = 0
        self.unlabelled = PoolChange(store, transaction.number, transaction.time)
        self._sum = total
        self._failed: BaseException | None = None

    def _read(self, texts: Any, labels: Any) -> tuple[Any, LabelSets]:
        """The batch in the form that everything else here takes."""
        texts = _check(texts)
        return texts, self._sum.sets(labels, len(texts))

    def _count(self, texts: Any, sets: LabelSets) -> None:
        self._sum.add(texts, sets)
        self.n_docs += len(texts)

    @contextmanager
    def _all_or_none(self) -> Iterator[None]:
        """A batch that fails leaves rows behind that cannot be taken out again: the whole session fails with it."""
        try:
            yield
        except BaseException as error:
            self._failed = error
            raise

    def finish(self) -> None:
        """All batches are in."""
        if self._failed is not None:
            raise StoreError(f"a batch of this session failed, so that nothing is kept: {self._failed}")
        if self.n_docs:
            self._sum.finish(self._transaction, self._sign)
        self._transaction.n_docs = self.n_docs
        if self.unlabelled.n_texts:
            self._transaction.note["unlabelled"] = self.unlabelled.n_texts

    def _label_sets(self, sets: LabelSets) -> list[list[int]]:
        """The file's ids of the labels of every group."""
        ids = dict(zip(sets.labels, self._transaction.label_ids(sets.labels).tolist(), strict=True))
        return [[ids[name] for name in names] for names in sets.names]


class Learning(_Session):
    """Learning under way; made by `StoredClassifier.learning` and `Bounded.learning`.

    Attributes
    ----------
    n_duplicates : int or None
        Documents whose text had been learned before, or comes twice; None where the file keeps nothing.
    """

    def __init__(self, store: Store, transaction: Transaction, total: Sum, seen: Seen | None, unique: bool) -> None:
        super().__init__(store, transaction, total)
        self.seen = seen
        self._unique = unique
        self.n_duplicates = None if seen is None else 0

    def add(self, texts: Any, labels: Any, *, ids: Names = None, sources: Names = None) -> None:
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
                problem = f"{self._store.path} keeps {self._store.keep} of documents, and no texts without a label"
                raise StoreError(problem, hint=("learn into a file with ", Option("keep", "text")))
            self.unlabelled.add(_check_list(texts))

    def _log(self, texts: Any, sets: LabelSets, ids: Names, sources: Names) -> None:
        keep_text = self._store.keep == "text"
        label_ids = self._label_sets(sets)
        time, codes = self._transaction.time, sets.groups
        bounds, make = cut_into_blocks(time, texts, label_ids, codes, ids, sources, keep_text=keep_text)

        def pack(lo: int, hi: int) -> tuple[npt.NDArray[np.uint64], tuple[Any, ...]]:
            block = make(lo, hi)
            return key_words(block.digests), block.row()

        # Digests and compression take longer than counting words: they have the threads, too.
        rows = each_slice(pack, bounds)
        if rows:
            self._look_for_duplicates(np.concatenate([keys for keys, _ in rows]), texts)
        for _, row in rows:
            self._transaction.log(row)

    def _look_for_duplicates(self, keys: npt.NDArray[np.uint64], texts: Any) -> None:
        assert self.seen is not None and self.n_duplicates is not None
        again = self.seen.add(keys)
        if self._unique and again.any():
            row = int(again.argmax())
            raise DuplicateError(f"this was learned before, or comes twice: {quote(texts[row])}", row)
        self.n_duplicates += int(again.sum())
        if self.n_duplicates:
            self._transaction.note["duplicates"] = self.n_duplicates


class Unlearning(_Session):
    """Unlearning under way; made by `StoredClassifier.unlearning`."""

    _sign = -1

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
            self.unlabelled.remove(None if texts is None else _check_list(texts))

    def _find(self, texts: Any, sets: LabelSets) -> dict[int, list[int]]:
        """Where the documents stand in the log."""
        groups = [frozenset(ids) for ids in self._label_sets(sets)]
        found, missing = self._store.log.find(document_digests(texts), [groups[g] for g in sets.groups.tolist()])
        if missing:
            row = missing[0]
            names = ", ".join(map(repr, sets.names[sets.groups[row]]))
            raise UnlearnError(f"this was never learned as {names}: {quote(texts[row])}", row)
        return found


def _check(texts: Any) -> Any:
    """Documents, if they are such; strings as a list or an Arrow array."""
    if inputs.is_given(texts):
        inputs.given(texts)  # for its checks
        return texts
    return inputs.strings(texts)


def _check_list(texts: Any) -> list[Any]:
    """The same as a list."""
    found = _check(texts)
    return found.to_pylist() if hasattr(found, "to_pylist") else list(found)


def _list_of_strings(values: Any, name: str, n: int) -> list[str | None] | None:
    if values is None:
        return None
    if isinstance(values, str):
        raise DataError(f"{name} should be a list of strings, not one string: put it into a list")
    listed = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    if len(listed) != n:
        raise DataError(f"there are {n} texts and {len(listed)} {name}: give one for each text, None for none")
    for value in listed:
        if value is not None and not isinstance(value, str):
            raise DataError(f"{name} should be strings or None, not {value!r}")
    return listed


# --- within some memory

# The memory of a process without the counts that are put aside: 680 MB with two threads, benchmarks/spill.py.
_BASE = 550_000_000
_THREAD = 100_000_000
_LEAST_ROOM = 50_000_000
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def bytes_of(memory: str | int) -> int:
    """Bytes of memory: a number, or a string such as 2GB.

    >>> bytes_of("2GB"), bytes_of("1.5 GiB")
    (2000000000, 1610612736)

    Raises
    ------
    OptionError
        If it is none, or less than learning needs.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])(i?)b?\s*", str(memory).lower())
    if isinstance(memory, int) and not isinstance(memory, bool):
        n_bytes = memory
    elif found is None:
        raise OptionError(option="memory", value=memory, expected="a size with its unit, such as 2GB or 800MB")
    else:
        unit = _UNITS[found[2]] if not found[3] else 1 << (10 * (" kmgt".index(found[2])))
        n_bytes = int(float(found[1]) * unit)
    if n_bytes < least_memory():
        expected = f"at least {least_memory() // 10**6}MB for {n_threads()} threads"
        hint = "give more, or take fewer threads with BUNRUI_THREADS"
        raise OptionError(option="memory", value=memory, expected=expected, hint=hint)
    return n_bytes


def least_memory() -> int:
    """The fewest bytes in which a file can learn, with the threads of this machine."""
    return _BASE + _THREAD * n_threads() + _LEAST_ROOM


def _room_in(memory: str | int) -> int:
    """Bytes for counts within some memory."""
    spare = bytes_of(memory) - least_memory()
    return _LEAST_ROOM + spare - spare // 8  # adding the counts on disk up takes some, too


class Bounded:
    """A file that learns within some memory; made by `open_bounded` and `creating_bounded`.

    Attributes
    ----------
    path, keep : str
        The file, and the part of documents that it keeps.
    classifier : TextClassifier
        With the options of the file, and nothing learned.
    learned : Counts
        Labels and numbers of documents of the last session, without features.
    n_features : int
        How many features that had.
    n_runs : int
        How often memory was full.
    """

    def __init__(self, store: Store, memory: str | int) -> None:
        self._store = store
        self._room = _room_in(memory)
        self.classifier = classifier_of(store)
        self.path, self.keep = store.path, store.keep
        self.learned = Counts(store.fingerprint)
        self.n_features = self.n_runs = 0

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()

    @contextmanager
    def learning(
        self, *, unique: bool = False, kind: str = "learn", note: Mapping[str, Any] | None = None
    ) -> Iterator[Learning]:
        """Learn batch by batch in one transaction: all of it is kept when the block ends, nothing when it raises.

        Batches should be small beside the memory.  The other arguments are those of `StoredClassifier.learning`; `kind`
        is its name in the list of changes.
        """
        store = self._store
        check_not_pruned(store, kind)
        folder = os.path.dirname(os.path.abspath(self.path))
        with Spill(store.fingerprint, folder, self._room) as spill, store.writing():
            transaction = Transaction(store, kind, note or {})
            seen = find_seen(store, needed=unique)
            total = Sum(self.classifier, spill, seen)
            session = Learning(store, transaction, total, seen, unique)
            yield session
            session.finish()
            transaction.finish()
        self.learned, self.n_features, self.n_runs = spill.head, total.n_features, spill.n_runs

    @property
    def label_type(self) -> type | None:
        """The type of the labels of the file; None before the first."""
        return type_of(self._store.labels())


def open_bounded(path: Path, memory: str | int) -> Bounded:
    """Open a file to learn within some memory."""
    return open_with(path, lambda store: Bounded(store, memory), read_only=False)


@contextmanager
def creating_bounded(
    path: Path, memory: str | int, model: str = AUTO, *, keep: str = "text", **options: Any
) -> Iterator[Bounded]:
    """A new file to learn within some memory, which appears under its name when the block ends without an error."""
    with creating_store(path, model, keep, options) as store:
        yield Bounded(store, memory)


def slim_bounded(path: Path, copy: Path, memory: str | int, *, min_df: int = 1) -> int:
    """Write a copy as `StoredClassifier.slim` does, of a file that need not fit into memory."""
    name, room = os.fspath(copy), _room_in(memory)
    with closing(Store.open(os.fspath(path), read_only=True)) as store, store.reading():
        like = reader_of(store)
        check_slim(like, min_df, has_memory=True)
        with Spill(store.fingerprint, os.path.dirname(os.path.abspath(name)), room) as spill:
            for sign, counts in store.pieces():
                if sign < 0:
                    problem = "documents were unlearned since this was compacted, so that all counts must be in memory"
                    hint = "compact it first, or leave ", Option("memory"), " out"
                    raise StoreError(problem, file=store.path, hint=hint)
                spill.add(counts)
            return write_slim(name, like, store.pruned, min_df, lambda transaction: _fill(transaction, spill, min_df))


def _fill(transaction: Transaction, spill: Spill, min_df: int) -> int:
    """Write the counts without the features of fewer documents; return the number of all documents."""
    head = spill.head
    head.set_feature_totals(0, 0)

    def parts(label_ids: Integers) -> Iterator[Part]:
        def prune(cells: Cells) -> tuple[int, int, Part | None]:
            kept = cells.keep(cells.doc_total >= min_df)
            part = pack_part(kept, label_ids) if len(kept.sizes) else None
            return int(kept.term_total.sum()), int(kept.doc_total.sum()), part

        for n_terms, n_doc_freq, part in spill.parts(prune):
            head.set_feature_totals(head.n_terms + n_terms, head.n_doc_freq + n_doc_freq)
            if part is not None:
                yield part

    transaction.add_parts(head, parts, is_snapshot=True)
    return head.n_docs
