"""What a change costs when its journal is emptied into the file before it is acknowledged, and what else could be done.

    python benchmarks/journal.py [--changes 300] [--folder .]

All ways survive a power cut, and take turns: each writes one small transaction, as `learn` does for one document, and
then the next does.  Times are lower quartiles, and the ratio is to one write and one fsync of as many bytes.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable

import bunrui
from bunrui import TextClassifier

Change = Callable[[int], object]

BLOB = os.urandom(1000)
TABLES = "documents", "cells", "deltas"


def synced(path: str) -> Change:
    """One write and one fsync."""
    file = open(path, "wb", buffering=0)  # noqa: SIM115 (open as long as the process)

    def change(_: int) -> None:
        file.write(BLOB * len(TABLES))
        os.fsync(file.fileno())

    return change


def in_sqlite(mode: str, sync: str, *, empties: bool = False) -> Callable[[str], Change]:
    """A transaction of SQLite; with `empties`, a new mark and an emptied journal, too."""

    def opened(path: str) -> Change:
        db = sqlite3.connect(path, isolation_level=None)
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("PRAGMA secure_delete = ON")
        for table in TABLES:
            db.execute(f"CREATE TABLE {table} (number INTEGER PRIMARY KEY, value BLOB)")
        db.execute(f"PRAGMA synchronous = {sync}")

        def change(k: int) -> None:
            db.execute("BEGIN IMMEDIATE")
            for table in TABLES:
                db.execute(f"INSERT INTO {table} (value) VALUES (?)", (BLOB,))
            db.execute("COMMIT")
            if empties:
                db.execute(f"PRAGMA user_version = {k + 1}")
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

        return change

    return opened


def learning(clf: TextClassifier) -> Change:
    """One document."""
    return lambda k: clf.learn([f"document {k} of some words that are common"], ["x"])


WAYS: dict[str, Callable[[str], Change]] = {
    "write and fsync": synced,
    "WAL, FULL, left there": in_sqlite("WAL", "FULL"),
    "WAL, FULL, emptied": in_sqlite("WAL", "FULL", empties=True),
    "WAL, NORMAL, emptied": in_sqlite("WAL", "NORMAL", empties=True),
    "rollback, DELETE, FULL": in_sqlite("DELETE", "FULL"),
    "rollback, DELETE, EXTRA": in_sqlite("DELETE", "EXTRA"),
    "rollback, TRUNCATE": in_sqlite("TRUNCATE", "FULL"),
    "rollback, PERSIST": in_sqlite("PERSIST", "FULL"),
    "learn, in a file": lambda path: learning(bunrui.create(path)),
    "learn, in memory": lambda _: learning(TextClassifier()),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=300)
    parser.add_argument("--folder", default=".", help="On the disk that is to be measured.")
    options = parser.parse_args()
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        changes = {way: opened(os.path.join(folder, str(k))) for k, (way, opened) in enumerate(WAYS.items())}
        for k in range(options.changes):
            for way, change in changes.items():
                start = time.perf_counter()
                change(k)
                times[way].append(time.perf_counter() - start)
    quartiles = {way: statistics.quantiles(found, n=4)[0] for way, found in times.items()}
    for way, seconds in quartiles.items():
        print(f"{way:<24} {seconds * 1e3:6.2f} ms {seconds / quartiles['write and fsync']:6.1f}×")


if __name__ == "__main__":
    main()
