"""The tables of a classifier file, and how it is opened.

    meta          analyzer, fingerprint, what is kept, how the counts are read; one value for each key
    labels        names of labels by id
    transactions  everything that was done, in order; never deleted
    documents     the log: blocks of documents (`blocks.py`)
    removals      documents of a block that were unlearned
    deltas        what a transaction added to the counts or took from them (`cells.py`); the first may be a snapshot,
                  which stands for all transactions up to its own
    cells         the parts of a delta

Changes of the schema are numbered and append-only: `MIGRATIONS[n]` takes a file from format n to n + 1.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from urllib.parse import quote

from bunrui.errors import DamagedError, StoreError
from bunrui.store.journal import FORMAT_MASK, OPENING, Connection, owned

__all__ = ["APPLICATION_ID", "FORMAT", "MIGRATIONS", "connect", "migrate", "version_of"]

_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"
APPLICATION_ID = 0x6275_6E72  # "bunr"
WAIT_SECONDS = 10.0
_LEAST_SQLITE = (3, 37)  # STRICT tables
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1 << 30,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1 << 16,
    sqlite3.SQLITE_LIMIT_ATTACHED: 1,  # VACUUM needs one
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
}

MIGRATIONS = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE labels (label INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, tx INTEGER NOT NULL) STRICT;
    CREATE TABLE transactions (
        tx INTEGER PRIMARY KEY, kind TEXT NOT NULL, time TEXT NOT NULL, n_docs INTEGER NOT NULL, note TEXT NOT NULL,
        undone TEXT
    ) STRICT;
    CREATE TABLE documents (
        block INTEGER PRIMARY KEY, tx INTEGER NOT NULL, n_docs INTEGER NOT NULL, times BLOB NOT NULL,
        digests BLOB NOT NULL, label_sets BLOB NOT NULL, codes BLOB NOT NULL, ids BLOB NOT NULL,
        sources BLOB NOT NULL, source_codes BLOB NOT NULL, sizes BLOB NOT NULL, text BLOB NOT NULL,
        given INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE removals (
        removal INTEGER PRIMARY KEY, block INTEGER NOT NULL, tx INTEGER NOT NULL, n_docs INTEGER NOT NULL,
        places BLOB NOT NULL
    ) STRICT;
    CREATE TABLE deltas (
        delta INTEGER PRIMARY KEY, tx INTEGER NOT NULL, sign INTEGER NOT NULL CHECK (sign IN (-1, 1)),
        is_snapshot INTEGER NOT NULL, n_docs INTEGER NOT NULL, n_terms INTEGER NOT NULL,
        n_doc_freq INTEGER NOT NULL, n_labels INTEGER NOT NULL, labels BLOB NOT NULL, doc_count BLOB NOT NULL
    ) STRICT;
    CREATE TABLE cells (
        delta INTEGER NOT NULL, part INTEGER NOT NULL, n_features INTEGER NOT NULL, n_cells INTEGER NOT NULL,
        sizes BLOB NOT NULL, text BLOB NOT NULL, lengths BLOB NOT NULL, labels BLOB NOT NULL, docs BLOB NOT NULL,
        more BLOB NOT NULL, totals BLOB NOT NULL, PRIMARY KEY (delta, part)
    ) STRICT;
    """,
)
FORMAT = len(MIGRATIONS)


def _may_write(path: str) -> bool:
    """Also beside the file: even to read, SQLite makes its other files there."""
    return os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)


def connect(path: str, *, read_only: bool) -> Connection:
    """A connection to a file that is there; what it holds is not looked at yet."""
    if sqlite3.sqlite_version_info < _LEAST_SQLITE:
        raise StoreError(f"this Python has SQLite {sqlite3.sqlite_version}: classifier files need 3.37 or newer")
    path = os.path.realpath(path)  # SQLite names the journal after the file itself
    may_write = _may_write(path)
    with OPENING:
        is_own = owned(path, may_write=may_write)
        mode = "mode=rw"
        if not read_only and not is_own:
            raise StoreError(f"{path}-wal belongs to a file that was here before: delete it, and {path}-shm")
        if read_only and not may_write:
            # Without the right to write, SQLite shares a file with a writer only if its journal is there.
            mode = "mode=ro" if is_own and os.path.exists(f"{path}-wal") else "immutable=1"
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(path))}?{mode}",
            uri=True,
            timeout=WAIT_SECONDS,
            isolation_level=None,  # transactions begin and end where the code says so
            check_same_thread=False,
            factory=Connection,
        )
        connection.know(path, may_write=may_write, has_locks=mode != "immutable=1")
    # A file may come from anywhere: its schema may call no functions, and writes nothing beside its own pages.
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    # `Store.settle` empties the journal after every change, and syncs it and the file.
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")
    return connection


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Take a file from a format to the newest one."""
    (known,) = connection.execute("PRAGMA user_version").fetchone()
    for number, script in enumerate(MIGRATIONS[version:], known + 1):  # beside the mark of the file
        connection.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {number}; COMMIT")


def version_of(connection: sqlite3.Connection, name: str) -> int:
    """The format of a file, if it is a classifier that this version can read."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id != APPLICATION_ID:
        raise StoreError(f"{name} is not a bunrui classifier, but another SQLite database")
    (known,) = connection.execute("PRAGMA user_version").fetchone()
    version = known & FORMAT_MASK
    if not 1 <= version <= FORMAT:
        raise StoreError(f"{name} has format {version}, this bunrui knows 1 to {FORMAT}: install a newer bunrui")
    with closing(sqlite3.connect(":memory:")) as plain:
        for script in MIGRATIONS[:version]:
            plain.executescript(script)
        if connection.execute(_SCHEMA).fetchall() != plain.execute(_SCHEMA).fetchall():
            # A view in place of a table may never end, and a trigger may do anything.
            raise DamagedError(f"{name} has other tables than a classifier has: take a copy from a backup")
    return int(version)
