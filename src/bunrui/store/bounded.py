"""Learning within some memory: the counts of a file are neither read nor ever there as a whole.

What is learned is counted batch by batch, put aside on disk where it outgrows memory (`bunrui.engines.partitions`), and
written as one delta in one transaction.  To predict, a classifier needs all counts in memory: `slim` makes them few.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from bunrui.cells import Cells, Integers
from bunrui.counts import Counts
from bunrui.engines.partitions import Spill
from bunrui.errors import Option, OptionError, StoreError
from bunrui.kernel.slices import n_threads
from bunrui.labels import type_of
from bunrui.models import AUTO
from bunrui.store.classifier import Path, check_new_options
from bunrui.store.codec import Part, pack_part
from bunrui.store.creation import publish_when_done
from bunrui.store.file import check_not_pruned, find_seen
from bunrui.store.options import (
    calibration_of,
    check_slim,
    choice_of,
    classifier_of,
    new_store,
    pool_weight_of,
    write_slim,
)
from bunrui.store.sessions import Learning, SpilledSum
from bunrui.store.store import Store
from bunrui.store.transaction import Transaction

# What a process takes besides counts that are put aside: 680 MB with two threads, benchmarks/spill.py.
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
    """Bytes without which nothing can be learned, on so many threads."""
    return _BASE + _THREAD * n_threads() + _LEAST_ROOM


class Bounded:
    """A file that learns within some memory; made by `open_bounded` and `creating_bounded`.

    Attributes
    ----------
    path, keep : str
        The file, and what it keeps of documents.
    classifier : TextClassifier
        With the options of the file, and nothing learned.
    learned : Counts
        What the last session has learned: labels, and numbers of documents, without features.
    n_features : int
        How many features that had.
    n_runs : int
        How often memory was full.
    """

    def __init__(self, store: Store, memory: str | int) -> None:
        self._store = store
        spare = bytes_of(memory) - least_memory()
        self._room = _LEAST_ROOM + spare - spare // 8  # adding up what is put aside takes some, too
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
        is what the list of changes calls it.
        """
        store = self._store
        check_not_pruned(store, kind)
        folder = os.path.dirname(os.path.abspath(self.path))
        with Spill(store.fingerprint, folder, self._room) as spill, store.writing():
            transaction = store.transaction(kind, **(note or {}))
            seen = find_seen(store, needed=unique)
            total = SpilledSum(self.classifier, spill, seen)
            session = Learning(store, transaction, total, seen, unique)
            yield session
            session.finish()
            transaction.finish()
        self.learned, self.n_features, self.n_runs = spill.head, total.n_features, spill.n_runs

    @property
    def label_type(self) -> type | None:
        """The type of the labels of the file; None before the first."""
        return type_of(self._store.labels())

    def slim(self, name: str, min_df: int) -> int:
        """Write a copy that keeps nothing but counts, without the words of fewer than `min_df` documents."""
        store, like = self._store, self.classifier
        like.take_on(choice_of(store), calibration_of(store), pool_weight_of(store))
        check_slim(like, min_df, has_memory=True)
        folder = os.path.dirname(os.path.abspath(name))
        with store.reading(), Spill(store.fingerprint, folder, self._room) as spill:
            for sign, counts in store.pieces():
                if sign < 0:
                    raise StoreError(
                        "documents were unlearned since this was compacted, so that all counts must be in memory",
                        file=store.path,
                        hint=("compact it first, or leave ", Option("memory"), " out"),
                    )
                spill.add(counts)
            return write_slim(name, like, store.pruned, min_df, lambda transaction: _fill(transaction, spill, min_df))


def open_bounded(path: Path, memory: str | int, *, read_only: bool = False) -> Bounded:
    """Open a file to learn within some memory."""
    store = Store.open(os.fspath(path), read_only=read_only)
    try:
        return Bounded(store, memory)
    except BaseException:
        store.close()
        raise


@contextmanager
def creating_bounded(
    path: Path, memory: str | int, model: str = AUTO, *, keep: str = "text", **options: Any
) -> Iterator[Bounded]:
    """A new file to learn within some memory, which appears under its name when the block ends without an error."""
    name = os.fspath(path)
    plain = check_new_options(name, model, keep, options)
    with publish_when_done(name) as temporary:
        target = Bounded(new_store(temporary, plain, keep, name=name), memory)
        try:
            yield target
        finally:
            target.close()


@contextmanager
def bounded(path: Path, memory: str | int, **options: Any) -> Iterator[Learning]:
    """Learn batch by batch into a file within some memory; the file is made, with these options, if it is not there.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "mail.bunrui")
    >>> with bounded(path, "2GB", keep="nothing") as session:
    ...     session.add(["cheap pills now", "meeting at noon"], ["spam", "ham"])
    >>> import bunrui
    >>> bunrui.open(path)
    StoredClassifier('mail.bunrui', 2 documents, 2 classes, 10 features)
    """
    if not os.path.lexists(path):
        with creating_bounded(path, memory, **options) as target, target.learning() as session:
            yield session
        return
    if options:
        name = os.fspath(path)
        raise OptionError(
            "this is there already, with options of its own", file=name, hint="give none, or another name"
        )
    old = open_bounded(path, memory)
    try:
        with old.learning() as session:
            yield session
    finally:
        old.close()


def slim_bounded(path: Path, copy: Path, memory: str | int, *, min_df: int = 1) -> int:
    """Write a copy as `StoredClassifier.slim` does, of a file that need not fit into memory."""
    with closing(open_bounded(path, memory, read_only=True)) as old:
        return old.slim(os.fspath(copy), min_df)


def _fill(transaction: Transaction, spill: Spill, min_df: int) -> int:
    """Write down what is left without the features of fewer documents; how many documents there are."""
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
