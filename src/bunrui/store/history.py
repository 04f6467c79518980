"""Everything that was done to a file, and how the last of it is taken back."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

from bunrui.counts import Counts
from bunrui.errors import StoreError
from bunrui.store.codec import Unpacker
from bunrui.store.store import Store
from bunrui.store.transaction import now
from bunrui.store.trouble import explained

__all__ = ["Entry", "history", "undo"]

_ROWS = "SELECT tx, kind, time, n_docs, note, undone FROM transactions"


class Entry(NamedTuple):
    """A transaction in the list."""

    number: int
    kind: str
    time: str
    n_docs: int
    note: dict[str, Any]
    undone: str | None  # when


def history(store: Store) -> list[Entry]:
    """Every transaction, in order."""
    with explained(store.path):
        rows = store.db.execute(f"{_ROWS} ORDER BY tx").fetchall()
    return [_entry(row, store.unpacker()) for row in rows]


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
        row = db.execute(f"{_ROWS} WHERE undone IS NULL ORDER BY tx DESC LIMIT 1").fetchone()
        if row is None:
            raise StoreError(f"there is nothing to undo in {store.path}")
        last = _entry(row, store.unpacker())
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
        store.new_generation()
    return last, deltas


def _restore(store: Store, last: Entry) -> None:
    """Put back what a transaction changed besides documents and counts."""
    if last.kind == "rename":
        names = (last.note.get("label"), last.note.get("to"))
        store.unpacker().check_text(*names)
        store.db.execute("UPDATE labels SET name = ? WHERE name = ?", names)
    elif last.kind in ("set", "calibrate") and isinstance(last.note.get("before"), dict):
        store.save_settings(last.note["before"])
