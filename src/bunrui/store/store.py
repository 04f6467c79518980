"""`Store`: a classifier on disk, one SQLite file.

Every learn and unlearn is one transaction, which stores what the log keeps of the documents, and what they add to the
counts.  When it returns, it survives the process.  Opening is the snapshot plus the deltas after it; weights are never
stored.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from weakref import WeakSet

from bunrui.counts import Counts
from bunrui.errors import StoreError, UnlearnError
from bunrui.store.cells import Head, Part, joined, piecemeal
from bunrui.store.codec import Unpacker
from bunrui.store.creation import new_file
from bunrui.store.log import Log
from bunrui.store.mounts import warn_of_network
from bunrui.store.schema import connect, is_frozen, migrate, version_of
from bunrui.store.transaction import Transaction, now
from bunrui.store.trouble import check_is_file, explained

__all__ = ["KEEPS", "State", "Store", "apply"]

KEEPS = ("nothing", "digests", "text")  # the further right, the more

# When the deltas are folded into a new snapshot.
_MOST_DELTAS = 500
_FEW_CELLS = 1 << 17

# An honest file unpacks to some ten times its size; zstd alone would allow thousands.
_LEAST_BUDGET = 1 << 30
_TIMES_SIZE = 100

_PART = ", ".join(Part._fields)
_LAST_SNAPSHOT = "SELECT coalesce(max(tx), 0) FROM deltas WHERE is_snapshot"


class State(NamedTuple):
    """How far a reader has read: in the same generation the transactions after `tx` are news, in another all is."""

    generation: int
    tx: int


class Store:
    """One file; made by `create` and `open`.

    Attributes
    ----------
    path : str
    keep : {"text", "digests", "nothing"}
        What the log keeps of a document.
    analyzer : dict
        The fields of the analyzer's spec.
    fingerprint : str
        Of the analyzer.
    created : str
        When the file was made.
    pruned : int
        Features of fewer documents were left out when the file was made; 1 is none.
    log : Log
        The documents that it keeps.
    """

    def __init__(self, path: str, name: str, db: sqlite3.Connection, *, read_only: bool) -> None:
        self.path = name
        self._at = path
        self._read_only = read_only
        self._db: sqlite3.Connection | None = db
        _stores.add(self)
        self.log = Log(self)
        meta = self._meta()
        try:
            self.keep = str(meta["keep"])
            self.analyzer: dict[str, Any] = dict(meta["analyzer"])
            self.fingerprint = str(meta["fingerprint"])
            self.created = str(meta["created"])
            self.pruned = int(meta["pruned"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self.unpacker().damaged("it lacks what every classifier has") from error
        if self.keep not in KEEPS:
            raise self.unpacker().damaged(f"it keeps {self.keep!r}, whatever that may be")

    @property
    def db(self) -> sqlite3.Connection:
        """The connection."""
        if self._db is None:
            raise StoreError(
                f"{self.path} was open when this process was forked: open it in a process that is started anew, such "
                "as multiprocessing's 'spawn' does"
            )
        return self._db

    # Opening and closing

    @classmethod
    def create(
        cls,
        path: str,
        *,
        keep: str,
        analyzer: Mapping[str, Any],
        fingerprint: str,
        settings: Mapping[str, Any],
        pruned: int = 1,
        name: str | None = None,
    ) -> Store:
        """A new file; `name` is what it will be called."""
        meta = {
            "analyzer": analyzer,
            "created": now(),
            "fingerprint": fingerprint,
            "generation": 0,
            "keep": keep,
            "pruned": pruned,
            "settings": settings,
        }
        rows = {key: json.dumps(value, default=float) for key, value in meta.items()}  # NumPy's numbers too
        with explained(name or path):
            new_file(path, name or path, rows)
        return cls.open(path, name=name)

    @classmethod
    def open(cls, path: str, *, read_only: bool = False, name: str | None = None) -> Store:
        """A file that is there; `name` is for messages."""
        check_is_file(path)
        warn_of_network(path)
        with explained(path):
            db = connect(path, read_only=read_only)
            try:
                version = version_of(db, path)
                if not read_only:
                    migrate(db, version)
                return cls(path, name or path, db, read_only=read_only)
            except BaseException:
                db.close()
                raise

    def reconnect(self) -> None:
        """Look again at a file that this process has no right to share with a writer."""
        if self._read_only and is_frozen(self._at):
            with explained(self.path):
                self.db.close()
                self._db = connect(self._at, read_only=True)

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            with explained(self.path):
                self._db.close()

    # Reading

    def unpacker(self) -> Unpacker:
        """For the blobs of this file."""
        return Unpacker(self.path, _LEAST_BUDGET + _TIMES_SIZE * self.size())

    def size(self) -> int:
        """Bytes of the file, and of what is not yet written back to it."""
        total = 0
        for path in (self._at, f"{self._at}-wal"):
            with suppress(FileNotFoundError):
                total += os.path.getsize(path)
        return total

    def _meta(self) -> dict[str, Any]:
        try:
            return {key: json.loads(value) for key, value in self.db.execute("SELECT key, value FROM meta")}
        except (TypeError, ValueError, RecursionError) as error:
            raise self.unpacker().damaged("its description cannot be read") from error

    def settings(self) -> dict[str, Any]:
        """How the counts are read."""
        with explained(self.path):
            settings = self._meta().get("settings")
        if not isinstance(settings, dict):
            raise self.unpacker().damaged("its settings cannot be read")
        return settings

    def labels(self) -> list[str]:
        """Names of labels by id."""
        with explained(self.path):
            rows = self.db.execute("SELECT label, name FROM labels ORDER BY label").fetchall()
        if [label for label, _ in rows] != list(range(len(rows))):
            raise self.unpacker().damaged("its list of labels has gaps")
        names = [name for _, name in rows]
        self.unpacker().check_text(*names)
        if len(set(names)) < len(names):
            raise self.unpacker().damaged("it has a label twice")
        return names

    def state(self) -> State:
        """How far the file has got."""
        with explained(self.path):
            return self._state()

    def _state(self) -> State:
        generation = self.db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
        (tx,) = self.db.execute("SELECT coalesce(max(tx), 0) FROM transactions").fetchone()
        if generation is None or not str(generation[0]).isdecimal():
            raise self.unpacker().damaged("it does not say how often it was rewritten")
        self.unpacker().check_whole(tx)
        return State(int(generation[0]), tx)

    def load(self) -> tuple[Counts, State]:
        """All counts."""
        with self.reading():
            counts = Counts(self.fingerprint)
            try:
                for sign, delta in self.deltas(-1):
                    if sign > 0 and not counts.labels:
                        counts = delta
                    else:
                        apply(counts, sign, delta, self.unpacker())
            except MemoryError as error:
                raise StoreError(
                    f"{self.path} does not fit into memory: make a smaller copy with "
                    f"`bunrui slim {self.path} COPY --min-df 2 --memory 2GB`"
                ) from error
            return counts, self._state()

    def news(self, since: State) -> tuple[list[tuple[int, Counts]], State] | None:
        """What was added (1) and taken (-1) since, and the state then; None where everything must be read again."""
        with self.reading():
            state = self._state()
            if state == since:
                return [], state
            snapshot = self.snapshot()
            if state.generation != since.generation or snapshot > since.tx:
                return None
            return list(self.deltas(since.tx)), state

    def snapshot(self) -> int:
        """The last transaction that the snapshot stands for."""
        (tx,) = self.db.execute(_LAST_SNAPSHOT).fetchone()
        self.unpacker().check_whole(tx)
        return int(tx)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A block in which the file does not change, whatever others write."""
        with explained(self.path):
            inside = self.db.in_transaction
            if not inside:
                self.db.execute("BEGIN")
            try:
                yield
            finally:
                if not inside:
                    self.db.execute("ROLLBACK")

    def deltas(self, after: int) -> Iterator[tuple[int, Counts]]:
        """What the transactions after a number have added (1) and taken (-1)."""
        labels, unpacker = self.labels(), self.unpacker()
        for sign, head, parts in self._deltas(after, unpacker):
            yield sign, joined(head, parts, labels, self.fingerprint, unpacker)

    def pieces(self) -> Iterator[tuple[int, Counts]]:
        """All that was added and taken, in pieces that are small; of a delta, the first piece has the documents."""
        labels = self.labels()
        for sign, head, parts in self._deltas(-1, self.unpacker()):
            for counts in piecemeal(head, parts, labels, self.fingerprint, self.unpacker):
                yield sign, counts

    def _deltas(self, after: int, unpacker: Unpacker) -> Iterator[tuple[int, Head, Iterator[Part]]]:
        for delta, sign, n_docs, n_terms, n_doc_freq, n_labels, ids, doc_count in self.db.execute(
            "SELECT delta, sign, n_docs, n_terms, n_doc_freq, n_labels, labels, doc_count "
            "FROM deltas WHERE tx > ? ORDER BY delta",
            (after,),
        ).fetchall():
            unpacker.check_whole(delta, n_docs, n_terms, n_doc_freq)
            if sign not in (-1, 1):
                raise unpacker.damaged("it neither adds nor takes some counts")
            by_label = unpacker.numbers(ids, n_labels), unpacker.numbers(doc_count, n_labels)
            rows = self.db.execute(f"SELECT {_PART} FROM cells WHERE delta = ? ORDER BY part", (delta,))
            yield sign, Head(n_docs, n_terms, n_doc_freq, *by_label), (Part(*row) for row in rows)

    def integrity(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        with explained(self.path):
            found = [problem for (problem,) in self.db.execute("PRAGMA integrity_check(10)")]
        return [] if found == ["ok"] else found

    # Writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A block that is written as a whole or not at all; no other process writes during it."""
        with explained(self.path):
            self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
            with explained(self.path):
                self.db.execute("COMMIT")
        except BaseException:
            with explained(self.path):
                if self.db.in_transaction:  # SQLite may have rolled back already
                    self.db.execute("ROLLBACK")
            raise

    def transaction(self, kind: str, **note: Any) -> Transaction:
        """A new entry in the list of transactions; call while writing."""
        return Transaction(self, kind, note)

    def is_crowded(self) -> bool:
        """Whether the deltas should be folded into a snapshot."""
        with explained(self.path):
            rows = self.db.execute(
                "SELECT coalesce(sum(n_cells), 0) FROM deltas LEFT JOIN cells USING (delta) GROUP BY delta"
            ).fetchall()
        sizes = [n_cells for (n_cells,) in rows]
        largest = max(sizes, default=0)
        return len(sizes) > _MOST_DELTAS or sum(sizes) - largest > max(largest, _FEW_CELLS)

    def save_settings(self, settings: Mapping[str, Any]) -> None:
        """Change how the counts are read; call while writing."""
        with explained(self.path):
            text = json.dumps(settings, default=float)
            self.db.execute("UPDATE meta SET value = ? WHERE key = 'settings'", (text,))

    def rename_label(self, label: int, name: str) -> None:
        """Give a label another name; call while writing."""
        with explained(self.path):
            self.db.execute("UPDATE labels SET name = ? WHERE label = ?", (name, label))
            self.new_generation()

    def new_generation(self) -> None:
        """Make all readers read everything again; call while writing."""
        self.db.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'")


_stores: WeakSet[Store] = WeakSet()
_inherited: list[sqlite3.Connection | None] = []


def _after_fork() -> None:
    # A child may neither use nor close a connection of its parent: https://sqlite.org/howtocorrupt.html, 2.6
    for store in _stores:
        _inherited.append(store._db)
        store._db = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def apply(counts: Counts, sign: int, delta: Counts, unpacker: Unpacker) -> None:
    """Add a delta of the file to counts, or take it from them."""
    if sign > 0:
        counts.add(delta)
        return
    try:
        counts.subtract(delta)
    except UnlearnError as error:
        raise unpacker.damaged("more was unlearned than had been learned") from error
