"""`Store`: a classifier on disk, one SQLite file.

Every learn and unlearn is one transaction, which stores what the log keeps of the documents, and what they add to the
counts.  When it returns, it survives the process.  Opening is the snapshot plus the deltas after it.  Weights are never
the truth: those of a trained model may stand in the file to save time, and equal those that are made again.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple
from weakref import WeakSet

from bunrui.counts import Counts, Label
from bunrui.errors import LabelError, MovedError, Option, Step, StoreError, UnlearnError
from bunrui.labels import TYPES, label_of, text_of
from bunrui.store.codec import Head, Part, Unpacker, counts_by_part, join_parts
from bunrui.store.connection import FORMAT_MASK, Connection, check_is_file, explain_errors, place, renew_mark
from bunrui.store.creation import delete_abandoned, empty_file, new_file, publish_when_done
from bunrui.store.log import Log
from bunrui.store.schema import FORMAT, OF_STRINGS, SEALED, connect, is_whole, migrate, seal, set_to_read, version_of

KEEPS = ("nothing", "digests", "text")  # the further right, the more

AUTHOR = "BUNRUI_AUTHOR"
"""The environment variable that names who makes changes."""

# When the deltas are folded into a new snapshot.
_MOST_DELTAS = 500
_FEW_CELLS = 1 << 17

# An honest file unpacks to some ten times its size; zstd alone would allow thousands.
_LEAST_BUDGET = 1 << 30
_TIMES_SIZE = 100

_MARK_SECONDS = 10.0
_PATIENCE_SECONDS = 0.1  # of a change, for readers: a `refresh` takes some milliseconds

_PART = ", ".join(Part._fields)
_LAST_SNAPSHOT = "SELECT coalesce(max(tx), 0) FROM deltas WHERE is_snapshot"


class State(NamedTuple):
    """How far a reader has read: in the same generation the transactions after `tx` are news, in another all is."""

    generation: int
    tx: int


class End(NamedTuple):
    """Where a file ends: its state, and the number of its last delta."""

    generation: int
    tx: int
    delta: int


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
    is_sealed : bool
        Whether the rows of its small tables have checksums.
    author : str or None
        Who makes the changes from now on: the log says so.
    """

    def __init__(self, path: str, db: Connection, version: int, *, read_only: bool) -> None:
        self.path = db.name
        self.is_sealed = version > 1
        self.author = os.environ.get(AUTHOR)
        self._at = path
        self._read_only = read_only
        self._db: Connection | None = db
        self._place = db.place
        self._patience = _PATIENCE_SECONDS
        self._is_renewing = False
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
    def db(self) -> Connection:
        """The connection."""
        if self._db is None:
            hint = "open it in a process that is started anew, such as multiprocessing's 'spawn' does"
            raise StoreError(f"{self.path} was open when this process was forked", hint=hint)
        return self._db

    # Opening and closing

    @classmethod
    def create(cls, path: str, name: str, meta: Mapping[str, Any]) -> Store:
        """A new file with a description; `name` is its final name."""
        rows = {key: json.dumps(value, default=float) for key, value in meta.items()}  # NumPy's numbers too
        with explain_errors(name):
            new_file(path, name, rows)
        store = cls.open(path, name=name)
        if _has_typed_prior(meta["settings"]):
            with store.writing():
                store.save_settings(meta["settings"])
        return store

    @classmethod
    def open(cls, path: str, *, read_only: bool = False, name: str | None = None) -> Store:
        """A file that is there; `name` is for messages."""
        check_is_file(path)
        if not read_only:
            delete_abandoned(os.path.dirname(os.path.abspath(path)))
        with explain_errors(path):
            db = connect(path, read_only=read_only, name=name)
            try:
                version = version_of(db, path)
                if read_only:
                    set_to_read(db)
                else:
                    migrate(db, version)
                    version = max(version, OF_STRINGS)
                store = cls(path, db, version, read_only=read_only)
                if not read_only and not db.has_mark() and not store._checkpoint(_MARK_SECONDS):
                    problem = f"{path} is of an older bunrui, and another process reads it"
                    raise StoreError(problem, hint="try again when that has ended")
                return store
            except BaseException:
                db.close()
                raise

    def renew(self) -> None:
        """Look again at a file that this process has no right to share with a writer; not inside a transaction."""
        if self.db.may_write:
            return
        if not self._is_renewing:
            self.db.execute("SELECT 1")  # says so where the file was closed
            if self.db.in_transaction:
                return
        self.check_place()
        self._is_renewing = True  # until it succeeds: the next one to ask tries again
        self.db.close()
        self._db = connect(self._at, read_only=self._read_only, name=self.path)
        self._is_renewing = False
        if self._read_only:
            set_to_read(self._db)

    @property
    def is_in_place(self) -> bool:
        """Whether the file still has its name."""
        return place(self._at) == self._place

    def check_place(self, then: str = "nothing was changed") -> None:
        """Refuse to go on with a file that has lost its name: nobody would find that again."""
        if not self.is_in_place:
            raise MovedError(f"{self.path} was moved away or replaced: {then}. Put it back, or open it again")

    def close(self) -> None:
        """Let go of the file."""
        self._is_renewing = False
        if self._db is not None:
            with explain_errors(self.path):
                self._db.close()

    # Reading

    def check_keeps_documents(self) -> None:
        """Refuse a file that keeps counts only."""
        if self.keep == "nothing":
            hint = "learn them into a file with ", Option("keep", "text"), " or ", Option("keep", "digests")
            raise StoreError(f"{self.path} keeps nothing of its documents", hint=hint)

    def unpacker(self) -> Unpacker:
        """For the blobs of this file."""
        return Unpacker(self.path, self.budget)

    def budget(self) -> int:
        """Bytes that the blobs of this file may unpack to."""
        return _LEAST_BUDGET + _TIMES_SIZE * self.size()

    def size(self) -> int:
        """Bytes of the file and of its journal."""
        total = 0
        for path in (self._at, f"{self.db.path}-wal"):
            with suppress(FileNotFoundError):
                total += os.path.getsize(path)
        return total

    def whole(self, table: str) -> str:
        """The condition that a row matches its checksum, in SQL; a file of an older format has none to match."""
        return is_whole(table) if self.is_sealed else "true"

    def check_rows(self, *tables: str) -> None:
        """Refuse a file in which a row of these tables does not match its checksum; by default of all that have any."""
        for table in tables or SEALED:
            wrong = self.db.execute(f"SELECT 1 FROM {table} WHERE NOT ({self.whole(table)}) LIMIT 1").fetchone()
            self.check_row(wrong is None, table)

    def check_row(self, is_whole: bool, table: str) -> None:
        """Refuse a file with a row that does not match its checksum."""
        if not is_whole:
            raise self.unpacker().damaged(f"a row of its table {table} does not match its checksum")

    def _meta(self) -> dict[str, Any]:
        self.check_rows("meta")
        try:
            return {key: json.loads(value) for key, value in self.db.execute("SELECT key, value FROM meta")}
        except (TypeError, ValueError, RecursionError) as error:
            raise self.unpacker().damaged("its description cannot be read") from error

    def settings(self) -> dict[str, Any]:
        """How the counts are read."""
        settings = self._meta().get("settings")
        if not isinstance(settings, dict):
            raise self.unpacker().damaged("its settings cannot be read")
        return settings

    def format(self) -> int:
        """The number of the format of the file."""
        (version,) = self.db.execute("PRAGMA user_version").fetchone()
        return int(version) & FORMAT_MASK

    def labels(self) -> list[Label]:
        """Labels by id."""
        kind = self.label_type()
        rows = self.db.execute("SELECT label, name FROM labels ORDER BY label").fetchall()
        if [label for label, _ in rows] != list(range(len(rows))):
            raise self.unpacker().damaged("its list of labels has gaps")
        names = [name for _, name in rows]
        self.unpacker().check_text(*names)
        try:
            found = names if kind is str else [label_of(name, kind) for name in names]
        except LabelError as error:
            raise self.unpacker().damaged("it has a label of another type than it says") from error
        if len(set(found)) < len(found):
            raise self.unpacker().damaged("it has a label twice")
        return found

    def label_type(self) -> type:
        """The type of the labels; str where there are none."""
        query = f"SELECT value, {self.whole('meta')} FROM meta WHERE key = 'label_type'"
        value, is_whole = self.db.execute(query).fetchone() or ('"str"', True)
        self.check_row(is_whole, "meta")
        known = {json.dumps(name): kind for name, kind in TYPES.items()}
        if value not in known:
            raise self.unpacker().damaged("it does not say which type its labels have")
        return known[value]

    def set_label_type(self, kind: type) -> None:
        """Remember the type of the labels; call while writing, when the file has none."""
        if kind is not self.label_type():
            self._describe("label_type", kind.__name__)
            self._hide_from_older()

    def _describe(self, key: str, value: Any) -> None:
        """Write a value of the description."""
        row = key, json.dumps(value, default=float)  # NumPy's numbers too
        self.db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", row)
        seal(self.db, "meta", "key = ?", (key,))

    def _hide_from_older(self) -> None:
        """Give the file the format that versions for labels of strings alone refuse."""
        (version,) = self.db.execute("PRAGMA user_version").fetchone()
        self.db.execute(f"PRAGMA user_version = {version & ~FORMAT_MASK | FORMAT}")

    def state(self) -> State:
        """How far the file has got."""
        generation = self.db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
        (tx,) = self.db.execute("SELECT coalesce(max(tx), 0) FROM transactions").fetchone()
        if generation is None or not str(generation[0]).isdecimal():
            raise self.unpacker().damaged("it does not say how often it was rewritten")
        self.unpacker().check_whole(tx)
        return State(int(generation[0]), tx)

    def end(self) -> End:
        """Where the file ends."""
        (n_deltas,) = self.db.execute("SELECT coalesce(max(delta), 0) FROM deltas").fetchone()
        self.unpacker().check_whole(n_deltas)
        return End(*self.state(), n_deltas)

    def noted_end(self) -> End:
        """Where the file ended when the last change was written; zeros if older versions have made all changes."""
        noted = self._meta().get("end", [0] * len(End._fields))
        if not isinstance(noted, list) or len(noted) != len(End._fields):
            raise self.unpacker().damaged("it does not say where it ends")
        self.unpacker().check_whole(*noted)
        return End(*noted)

    def load(self) -> tuple[Counts, State]:
        """All counts."""
        with self.reading():
            self.check_rows("labels")
            counts = Counts(self.fingerprint)
            try:
                for sign, delta in self.deltas(-1, is_lazy=self._read_only):
                    if sign > 0 and not counts.labels:
                        counts = delta
                    else:
                        apply(counts, sign, delta, self.unpacker())
            except MemoryError as error:
                hint = (Step("slim", self.path),)
                raise StoreError("this does not fit into memory", file=self.path, hint=hint) from error
            return counts, self.state()

    def news(self, since: State) -> tuple[list[tuple[int, Counts]], State] | None:
        """The counts that were added (1) and taken (-1) since, and the state then; None to read everything again."""
        with self.reading():
            state = self.state()
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
        with explain_errors(self.path):
            inside = self.db.in_transaction
            if not inside:
                self.db.execute("BEGIN")
            try:
                yield
            finally:
                if not inside:
                    self.db.execute("ROLLBACK")
                    self._relieve()

    def deltas(self, after: int, *, is_lazy: bool = False) -> Iterator[tuple[int, Counts]]:
        """The counts that transactions after a number have added (1) and taken (-1); see `join_parts`."""
        labels, unpacker = self.labels(), self.unpacker()
        for sign, head, parts in self._deltas(after, unpacker):
            yield sign, join_parts(head, parts, labels, self.fingerprint, unpacker, is_lazy=is_lazy)

    def pieces(self) -> Iterator[tuple[int, Counts]]:
        """All that was added and taken, in pieces that are small; of a delta, the first piece has the documents."""
        self.check_rows("labels")
        labels = self.labels()
        for sign, head, parts in self._deltas(-1, self.unpacker()):
            for counts in counts_by_part(head, parts, labels, self.fingerprint, self.unpacker):
                yield sign, counts

    def _deltas(self, after: int, unpacker: Unpacker) -> Iterator[tuple[int, Head, Iterator[Part]]]:
        for delta, sign, n_docs, n_terms, n_doc_freq, n_labels, ids, doc_count, is_right in self.db.execute(
            "SELECT delta, sign, n_docs, n_terms, n_doc_freq, n_labels, labels, doc_count, "
            f"{self.whole('deltas')} FROM deltas WHERE tx > ? ORDER BY delta",
            (after,),
        ).fetchall():
            self.check_row(is_right, "deltas")
            unpacker.check_whole(delta, n_docs, n_terms, n_doc_freq)
            if sign not in (-1, 1):
                raise unpacker.damaged("it neither adds nor takes some counts")
            by_label = unpacker.numbers(ids, n_labels), unpacker.numbers(doc_count, n_labels)
            rows = self.db.execute(f"SELECT {_PART} FROM cells WHERE delta = ? ORDER BY part", (delta,))
            yield sign, Head(n_docs, n_terms, n_doc_freq, *by_label), (Part(*row) for row in rows)

    def copy(self, path: str) -> None:
        """Write the file, as it is at one moment, into a new one."""
        with publish_when_done(path) as temporary:
            empty_file(temporary, path)
            with self.reading(), explain_errors(path), closing(sqlite3.connect(temporary)) as target:
                self.db.backup(target)

    # Writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A block that is written as a whole or not at all; no other process writes during it."""
        self.check_place()
        self.db.execute("BEGIN IMMEDIATE")
        before = self.db.total_changes
        try:
            yield
            has_changed = self.db.total_changes > before
            if has_changed:
                self._describe("end", self.end())
                # Page 1 as it was tells which file the journal belongs to.
                (version,) = self.db.execute("PRAGMA user_version").fetchone()
                self.db.execute(f"PRAGMA user_version = {version}")
            self.db.execute("COMMIT")
        except BaseException:
            with explain_errors(self.path):
                if self.db.in_transaction:  # SQLite may have rolled back already
                    self.db.execute("ROLLBACK")
            self.log.roll_back()
            raise
        if has_changed:
            is_settled = False
            with suppress(StoreError):  # the change is in the journal, whatever happens here
                is_settled = self.settle(self._patience)
            if not is_settled:
                self._sync_journal()
            self._patience = _PATIENCE_SECONDS if is_settled else 0  # let changes wait for a long reader only once
        self.check_place("a change that was under way went into the file that had the name before")

    def settle(self, seconds: float) -> bool:
        """Empty the journal into the file, so that a copy of the file has the last change; whether that was possible.

        A reader who began before the change keeps it in the journal, where it is as safe.  After `seconds` it is left
        to the readers: whoever ends reading empties the journal.
        """
        with self._waiting(seconds):
            with suppress(StoreError):  # another process has begun the next change, and will do it
                renew_mark(self.db)
            return self._checkpoint(seconds)

    def _checkpoint(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while True:
            busy, n_pages, _ = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy or n_pages >= 0 or time.monotonic() > until:
                return not busy
            time.sleep(0.001)  # another process is at it, which SQLite does not wait for

    def _sync_journal(self) -> None:
        """Let the journal survive a power cut, too."""
        try:
            with open(f"{self.db.path}-wal", "rb+") as journal:
                os.fsync(journal.fileno())
        except FileNotFoundError:  # the file was replaced
            pass
        except OSError as error:
            raise StoreError.of_system(error, self.path) from error

    def _relieve(self) -> None:
        """Empty the journal if a reader had kept a change in it."""
        with suppress(OSError, StoreError):
            if self.db.may_write and os.path.getsize(f"{self.db.path}-wal"):
                with self._waiting(0):
                    self._checkpoint(0)

    @contextmanager
    def _waiting(self, seconds: float) -> Iterator[None]:
        """A block that waits only so long for other processes."""
        (usual,) = self.db.execute("PRAGMA busy_timeout").fetchone()
        self.db.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
        try:
            yield
        finally:
            self.db.execute(f"PRAGMA busy_timeout = {usual}")

    def is_crowded(self) -> bool:
        """Whether the deltas should be folded into a snapshot."""
        rows = self.db.execute(
            "SELECT coalesce(sum(n_cells), 0) FROM deltas LEFT JOIN cells USING (delta) GROUP BY delta"
        ).fetchall()
        sizes = [n_cells for (n_cells,) in rows]
        largest = max(sizes, default=0)
        return len(sizes) > _MOST_DELTAS or sum(sizes) - largest > max(largest, _FEW_CELLS)

    def save_settings(self, settings: Mapping[str, Any]) -> None:
        """Change how the counts are read; call while writing."""
        self._describe("settings", settings)
        if _has_typed_prior(settings):  # which older versions would call damage
            self._hide_from_older()

    def rename_label(self, label: int, name: Label) -> None:
        """Give a label another name; call while writing."""
        self.db.execute("UPDATE labels SET name = ? WHERE label = ?", (text_of(name), label))
        seal(self.db, "labels", "label = ?", (label,))
        self.new_generation()

    def new_generation(self) -> None:
        """Make all readers read everything again; call while writing."""
        self._describe("generation", self.state().generation + 1)


_stores: WeakSet[Store] = WeakSet()
_inherited: list[Connection | None] = []


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


def _has_typed_prior(settings: Mapping[str, Any]) -> bool:
    """Whether labels of the prior are no strings: then they stand in pairs."""
    prior = settings.get("prior")
    return isinstance(prior, list) and bool(prior) and isinstance(prior[0], list)
