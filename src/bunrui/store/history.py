"""Everything that was done to a file, and how the last of it is taken back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from bunrui.counts import Counts
from bunrui.errors import StoreError
from bunrui.store.codec import Unpacker
from bunrui.store.schema import seal
from bunrui.store.store import Store
from bunrui.store.transaction import now
from bunrui.store.trouble import explained

__all__ = ["Entry", "History", "undo"]


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

    def last_undone(self) -> Entry | None:
        """The transaction that was undone last."""
        return next(iter(self._select("WHERE undone IS NOT NULL ORDER BY undone DESC LIMIT 1")), None)

    def with_engine(self) -> list[Entry]:
        """Those that name the engine that has counted, and were not undone."""
        # The plus keeps SQLite from the index on `undone`, which has nearly all of them.
        entries = self._select("WHERE instr(note, '\"engine\"') AND +undone IS NULL ORDER BY tx")
        found = [entry for entry in entries if "engine" in entry.note]
        if any("workers" not in entry.note for entry in found):
            raise self._store.unpacker().damaged("a change names its engine without the number of workers")
        return found

    def changed(self) -> str | None:
        """When the file was changed for the last time."""
        found = [*self.entries(limit=1), *filter(None, [self.last_undone()])]
        return max((entry.undone or entry.time for entry in found), default=None)

    def n_docs(self, after: int, upto: int, besides: Sequence[str]) -> int:
        """Documents of the transactions between two numbers that were not undone, but for some kinds."""
        kinds = ", ".join("?" * len(besides))
        where = f"tx > ? AND tx <= ? AND undone IS NULL AND kind NOT IN ({kinds})"
        with explained(self._store.path):
            query = f"SELECT sum(n_docs) FROM transactions WHERE {where}"
            (n_docs,) = self._store.db.execute(query, (after, upto, *besides)).fetchone()
        self._store.unpacker().check_whole(n_docs or 0)
        return n_docs or 0

    def _select(self, rest: str) -> list[Entry]:
        store = self._store
        query = f"SELECT tx, kind, time, n_docs, note, undone, {store.whole('transactions')} FROM transactions {rest}"
        with explained(store.path):
            rows = store.db.execute(query).fetchall()
        for *_, is_whole in rows:
            store.check_row(is_whole, "transactions")
        unpacker = store.unpacker()
        return [_entry(row[:-1], unpacker) for row in rows]


def _entry(row: Any, unpacker: Unpacker) -> Entry:
    tx, kind, time, n_docs, note, undone = row
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


def undo(store: Store) -> tuple[Entry, list[tuple[int, Counts]]]:
    """Take the last transaction back; call while writing.  Also what it had added (1) and taken (-1)."""
    db = store.db
    with explained(store.path):
        last = History(store).last_standing()
        if last is None:
            raise StoreError(f"there is nothing to undo in {store.path}")
        tx = last.number
        if tx <= store.snapshot():
            raise StoreError(
                f"the last change of {store.path} was joined with those before it, by compact or because they were "
                "many, and cannot be undone: unlearn its documents instead"
            )
        deltas = list(store.deltas(tx - 1))
        for table in ("documents", "removals", "labels"):  # nobody else has used its labels
            db.execute(f"DELETE FROM {table} WHERE tx = ?", (tx,))
        db.execute("DELETE FROM cells WHERE delta IN (SELECT delta FROM deltas WHERE tx = ?)", (tx,))
        db.execute("DELETE FROM deltas WHERE tx = ?", (tx,))
        _restore(store, last)
        db.execute("UPDATE transactions SET undone = ? WHERE tx = ?", (now(), tx))
        seal(db, "transactions", "tx = ?", (tx,))
        store.new_generation()
    return last, deltas


def _restore(store: Store, last: Entry) -> None:
    """Put back what a transaction changed besides documents and counts."""
    if last.kind == "rename":
        names = (last.note.get("label"), last.note.get("to"))
        store.unpacker().check_text(*names)
        store.db.execute("UPDATE labels SET name = ? WHERE name = ?", names)
        seal(store.db, "labels", "name = ?", names[:1])
    elif last.kind in ("set", "calibrate") and isinstance(last.note.get("before"), dict):
        store.save_settings(last.note["before"])
