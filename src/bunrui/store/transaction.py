"""`Transaction`: the writes of one change; `History`: all changes of a file; `undo`: takes the last ones back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bunrui.cells import Integers
from bunrui.counts import Counts, Label
from bunrui.errors import ChangedError, StoreError
from bunrui.labels import check_types, text_of
from bunrui.store.codec import Part, pack_numbers, parts_of
from bunrui.store.log import COLUMNS, Block
from bunrui.store.schema import SEALED, insert, seal
from bunrui.store.weights import are_weights_of, carry_weights, drop_weights

if TYPE_CHECKING:
    from bunrui.store.store import State, Store

# Changes after which a trained model can go on from the weights that it had.
GOES_ON = ("learn", "set", "calibrate", "choose", "slim")
# Changes that are about no documents.
OF_SETTINGS = frozenset({"set", "calibrate", "choose"})


SIGNED = ("by", "undone_by")
"""Parts of a note that say who made a change, and who took it back."""
NAMED = ("label", "to")
"""Parts of a note that are labels."""
_LONGEST_NAME = 100  # characters of an author


def write_time(moment: datetime) -> str:
    """A time, as the file writes it down."""
    return moment.isoformat(timespec="microseconds")


def now() -> str:
    """The time, as the file writes it down."""
    return write_time(datetime.now(UTC))


def sign(author: str | None, key: str = "by") -> dict[str, str]:
    """The part of a note that names the author; empty where there is none.

    >>> sign("Ann\\tLee "), sign(" "), sign(None)
    ({'by': 'Ann Lee'}, {}, {})
    """
    # The environment may have half characters, which no file can hold.
    name = " ".join((author or "").encode("utf-8", "replace").decode().split())[:_LONGEST_NAME]
    return {key: name} if name else {}


class Transaction:
    """An entry in the list of changes that is under way; make it while writing.

    Attributes
    ----------
    kind : str
    number : int
    time : int
        Microseconds since 1970.
    n_docs : int
        Documents that it is about.
    changes : list of (1 or -1, Counts)
        The counts that it will add to those of the file, and take from them.
    note : dict
        More fields for the list of changes, as JSON.
    """

    def __init__(self, store: Store, kind: str, note: Mapping[str, Any] | None = None) -> None:
        self._store = store
        self.kind = kind
        insert = "INSERT INTO transactions (kind, time, n_docs, note) VALUES (?, ?, 0, ?) RETURNING tx"
        self.note = {**(note or {}), **sign(store.author)}
        moment = datetime.now(UTC)
        self.time = int(moment.timestamp() * 1e6)
        self.number: int = self._db.execute(insert, (kind, write_time(moment), self._note())).fetchone()[0]
        self._seal()
        self.n_docs = 0
        self.changes: list[tuple[int, Counts]] = []
        self._labels: dict[Label, int] | None = None  # nobody else changes them before the transaction ends

    def _note(self) -> str:
        return json.dumps(self.note, ensure_ascii=False, default=float)

    def _seal(self) -> None:
        seal(self._db, "transactions", "tx = ?", (self.number,))

    @property
    def _db(self) -> sqlite3.Connection:
        return self._store.db

    def label_ids(self, names: Sequence[Label]) -> Integers:
        """The file's ids of labels; new ones get the next."""
        if self._labels is None:
            self._labels = {name: label for label, name in enumerate(self._store.labels())}
        known = self._labels
        first = len(known)
        check_types(names, known)
        if names and not known:
            self._store.set_label_type(type(names[0]))
        for name in names:
            if name not in known:
                insert(self._db, "labels", "label, name, tx", [(len(known), text_of(name), self.number)])
                known[name] = len(known)
        if len(known) > first:
            seal(self._db, "labels", "label >= ?", (first,))
        return np.array([known[name] for name in names], np.int64)

    def with_labels(self, block: Block, labels: Sequence[Sequence[Label]]) -> Block:
        """A block with other labels, by code."""
        used = sorted({name for code in set(block.codes.tolist()) for name in labels[code]})
        ids = dict(zip(used, self.label_ids(used).tolist(), strict=True))
        return block._replace(label_sets=[sorted(ids.get(name, 0) for name in names) for names in labels]).tidy()

    def _ids_of(self, counts: Counts) -> Integers:
        """The file's ids of the labels of counts; those without documents get one that no label has."""
        live = np.flatnonzero(counts.doc_count)
        known = self.label_ids([counts.labels[c] for c in live.tolist()])
        ids = np.full(len(counts.labels), known.max(initial=-1) + 1, np.int64)
        ids[live] = known
        return ids

    def log(self, row: tuple[Any, ...]) -> None:
        """Keep a block of documents, which is a row by now."""
        insert_block(self._db, self.number, row)

    def remove(self, found: Mapping[int, Collection[int]]) -> None:
        """Mark documents as unlearned, by block."""
        insert_removals(self._db, self.number, found)

    def snapshot(self, counts: Counts, upto: int) -> None:
        """Replace all deltas by their sum: the counts of the transactions up to a number."""
        self._db.execute("DELETE FROM cells")
        self._db.execute("DELETE FROM deltas")
        self.add_parts(counts, partial(parts_of, counts), tx=upto, is_snapshot=True)

    def add_parts(
        self,
        head: Counts,
        parts: Callable[[Integers], Iterable[Part]],
        *,
        sign: int = 1,
        tx: int | None = None,
        is_snapshot: bool = False,
    ) -> None:
        """Write counts to the file, part by part.  The memory does not change.

        `parts` makes them when it is told the file's ids of the labels of `head`, which has their numbers afterwards.
        They belong to this transaction, or to all transactions up to `tx`.
        """
        db, label_ids = self._db, self._ids_of(head)
        (delta,) = db.execute("SELECT coalesce(max(delta), 0) + 1 FROM deltas").fetchone()
        rows = ((delta, number, *part) for number, part in enumerate(parts(label_ids)))
        insert(db, "cells", f"delta, part, {', '.join(Part._fields)}", rows)
        used = np.flatnonzero(head.doc_count)
        numbers = head.n_docs, head.n_terms, head.n_doc_freq, len(used)
        blobs = pack_numbers(label_ids[used]), pack_numbers(head.doc_count[used])
        row = (delta, self.number if tx is None else tx, sign, int(is_snapshot), *numbers, *blobs)
        insert(db, "deltas", SEALED["deltas"], [row])
        seal(db, "deltas", "delta = ?", (delta,))

    def finish(self) -> bool:
        """Write the changes; return whether there are any.  If not, there was no transaction."""
        # A `set` or `choose` is about no documents; a shard may have none, which is worth to be known; and texts
        # without a label are not counted.
        is_setting = isinstance(self.note.get("before"), dict) or "settings_before" in self.note
        if not self.n_docs and not is_setting and not {"shards", "unlabelled"} & self.note.keys():
            self._db.execute("DELETE FROM labels WHERE tx = ?", (self.number,))
            self._db.execute("DELETE FROM transactions WHERE tx = ?", (self.number,))
            return False
        for sign, counts in self.changes:
            self.add_parts(counts, partial(parts_of, counts), sign=sign)
        if self.kind not in GOES_ON and not is_of_pool(self.kind, self.n_docs):
            drop_weights(self._store)
        row = (self.n_docs, self._note(), self.number)
        self._db.execute("UPDATE transactions SET n_docs = ?, note = ? WHERE tx = ?", row)
        self._seal()
        return True


def insert_block(db: sqlite3.Connection, tx: int, row: tuple[Any, ...], number: int | None = None) -> None:
    """The row of a block, under a new number unless one is given."""
    insert(db, "documents", f"block, tx, {COLUMNS}", [(number, tx, *row)])


def insert_removals(db: sqlite3.Connection, tx: int, found: Mapping[int, Collection[int]]) -> None:
    """The rows of documents that were unlearned, by block."""
    (last,) = db.execute("SELECT coalesce(max(removal), 0) FROM removals").fetchone()
    blobs = {block: pack_numbers(np.array(sorted(places), np.int64)) for block, places in found.items()}
    insert(db, "removals", "block, tx, n_docs, places", [(k, tx, len(found[k]), blob) for k, blob in blobs.items()])
    seal(db, "removals", "removal > ?", (last,))


class Entry(NamedTuple):
    """A transaction in the list."""

    number: int
    kind: str
    time: str
    n_docs: int
    note: dict[str, Any]
    undone: str | None  # when


class History:
    """The list of transactions of a file; its length costs nothing but where all of it is asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def entries(self, *, before: int | None = None, after: int | None = None, limit: int | None = None) -> list[Entry]:
        """Transactions in order: those between two numbers, and of them only the last ones where there is a limit."""
        bounds = [f"tx {sign} {number:d}" for sign, number in (("<", before), (">", after)) if number is not None]
        most = "" if limit is None else f"LIMIT {limit:d}"
        return self._select(f"WHERE {' AND '.join(bounds) or 'true'} ORDER BY tx DESC {most}")[::-1]

    def last_standing(self) -> Entry | None:
        """The last transaction that was not undone."""
        return next(iter(self._select("WHERE undone IS NULL ORDER BY tx DESC LIMIT 1")), None)

    def standing(self, after: int, upto: int | None = None) -> list[Entry]:
        """The transactions after a number that were not undone, the last one first; or one of those up to another."""
        where = f"WHERE undone IS NULL AND tx > {after:d}"
        return self._select(f"{where} ORDER BY tx DESC" if upto is None else f"{where} AND tx <= {upto:d} LIMIT 1")

    def with_engine(self) -> list[Entry]:
        """Transactions that name the engine that has counted, and were not undone."""
        # The plus keeps SQLite from the index on `undone`, which has nearly all of them.
        entries = self._select("WHERE instr(note, '\"engine\"') AND +undone IS NULL ORDER BY tx")
        found = [entry for entry in entries if "engine" in entry.note]
        if any("workers" not in entry.note for entry in found):
            raise self._store.unpacker().damaged("a change names its engine without the number of workers")
        return found

    def changed(self) -> str | None:
        """When the file was changed for the last time."""
        found = self.entries(limit=1) + self._select("WHERE undone IS NOT NULL ORDER BY undone DESC LIMIT 1")
        return max((entry.undone or entry.time for entry in found), default=None)

    def n_docs(self, after: int, upto: int, besides: Sequence[str]) -> int:
        """Documents of the transactions between two numbers that were not undone, but for some kinds."""
        kinds = ", ".join("?" * len(besides))
        where = f"tx > ? AND tx <= ? AND undone IS NULL AND kind NOT IN ({kinds})"
        query = f"SELECT sum(n_docs) FROM transactions WHERE {where}"
        (n_docs,) = self._store.db.execute(query, (after, upto, *besides)).fetchone()
        self._store.unpacker().check_whole(n_docs or 0)
        return n_docs or 0

    def _select(self, rest: str) -> list[Entry]:
        store = self._store
        query = f"SELECT {store.whole('transactions')}, {SEALED['transactions']} FROM transactions {rest}"
        return [_entry(store, *row) for row in store.db.execute(query).fetchall()]


def _entry(store: Store, is_whole: Any, tx: Any, kind: Any, time: Any, n_docs: Any, note: Any, undone: Any) -> Entry:
    store.check_row(is_whole, "transactions")
    unpacker = store.unpacker()
    unpacker.check_whole(tx, n_docs)
    unpacker.check_text(kind, time, note, undone or "")
    try:
        is_aware = datetime.fromisoformat(time).tzinfo is not None
        known = json.loads(note)
    except (ValueError, RecursionError) as error:
        raise unpacker.damaged("its list of transactions cannot be read") from error
    if not is_aware or not isinstance(known, dict):
        raise unpacker.damaged("its list of transactions has something else where a time or a note should be")
    return Entry(tx, kind, time, n_docs, known, undone)


def is_of_pool(kind: str, n_docs: int) -> bool:
    """Whether a change is one of texts without a label alone."""
    return not n_docs and kind in ("learn", "unlearn")


def kinds_since(store: Store, mark: State) -> set[str]:
    """The kinds of the changes after a state that stand; "rewritten" where the file does not go on from there.

    Changes of texts without a label are left out: no trained model reads these.
    """
    state = store.state()
    if mark.generation != state.generation or mark.tx > state.tx:
        return {"rewritten"}
    return {entry.kind for entry in History(store).standing(mark.tx) if not is_of_pool(entry.kind, entry.n_docs)}


def undo(store: Store, to: int | None = None, last: int | None = None) -> tuple[list[Entry], list[tuple[int, Counts]]]:
    """Take back all transactions after a number, by default the last one; call while writing.

    With `last`, only if that is the number of the last one: later changes of others stay.  Returns the transactions,
    the last one first, and the counts that they had added (1) and taken (-1).
    """
    db, history = store.db, History(store)
    newest = history.last_standing()
    if last is not None and (newest is None or newest.number != last):
        now_last = "nothing is left to undo" if newest is None else f"the last one is {newest.number}"
        raise ChangedError(f"change {last} is not the last one of {store.path}: {now_last}, and nothing was undone")
    if newest is None or (to is not None and newest.number <= to):
        after = "" if to is None else f" after change {to}"
        raise StoreError(f"there is nothing to undo in {store.path}{after}")
    to = newest.number - 1 if to is None else to
    _check_apart(store, newest, to)
    taken, deltas = history.standing(to), list(store.deltas(to))
    for table in ("documents", "removals", "unlabelled", "labels"):  # nobody else has used their labels
        db.execute(f"DELETE FROM {table} WHERE tx > ?", (to,))
    db.execute("DELETE FROM cells WHERE delta IN (SELECT delta FROM deltas WHERE tx > ?)", (to,))
    db.execute("DELETE FROM deltas WHERE tx > ?", (to,))
    before = store.state()
    # Nobody can train the weights of a slim copy again: those that it had before all that is taken back stay.
    weights_stay = all(entry.kind in OF_SETTINGS or is_of_pool(entry.kind, entry.n_docs) for entry in taken) or (
        store.keep != "text" and are_weights_of(store, to)
    )
    if not weights_stay:
        drop_weights(store)
    moment, signature = now(), sign(store.author, "undone_by")
    for entry in taken:
        _restore(store, entry)
        note = json.dumps(entry.note | signature, ensure_ascii=False)
        db.execute("UPDATE transactions SET undone = ?, note = ? WHERE tx = ?", (moment, note, entry.number))
        seal(db, "transactions", "tx = ?", (entry.number,))
    store.new_generation()
    if weights_stay:
        carry_weights(store, before)
    return taken, deltas


def _check_apart(store: Store, newest: Entry, to: int) -> None:
    """Refuse to undo transactions that the snapshot stands for: nobody can tell them apart any more."""
    joined = store.snapshot()
    if newest.number <= joined:
        what, hint = "the last change", "learn or unlearn its documents instead"
    elif History(store).standing(to, joined):
        what, hint = f"change {joined}", f"take back those after {joined}, or unlearn documents of the others"
    else:
        return
    why = "by compact or because they were many"
    raise StoreError(f"{what} of {store.path} was joined with those before it, {why}, and cannot be undone", hint=hint)


def _restore(store: Store, last: Entry) -> None:
    """Put back the settings or the label that a transaction has changed."""
    if last.kind == "rename":
        names = tuple(text_of(name) if isinstance(name, int) else name for name in map(last.note.get, NAMED))
        store.unpacker().check_text(*names)
        store.db.execute("UPDATE labels SET name = ? WHERE name = ?", names)
        seal(store.db, "labels", "name = ?", names[:1])
    # Other changes have settings to put back if they have chosen a model.
    before = last.note.get("before" if last.kind in ("set", "calibrate") else "settings_before")
    if isinstance(before, dict):
        store.save_settings(before)
