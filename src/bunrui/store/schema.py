"""The tables of a classifier file, and how it is opened.

    meta          analyzer, fingerprint, part of documents that is kept, settings of the model; one value for each key.
                  `label_type` is the type of the labels where they are not strings; since format 5.
                  `end` is where the file ended when the last change was written: by it `check` finds what is cut off
    labels        names of labels by id, as text (`bunrui.labels`)
    transactions  everything that was done, in order; never deleted
    documents     the log: blocks of documents (`log.py`)
    removals      documents of a block that were unlearned
    deltas        the counts that a transaction has added or taken (`codec.py`); the first may be a snapshot,
                  which stands for all transactions up to its own
    cells         the parts of a delta
    weights       of a trained model, to save the time of training (`weights.py`); since format 3
    unlabelled    texts without a label that came and went (`pool.py`); since format 4

Blobs carry checksums of their own (`codec.py`).  Since format 2 the rows of the small tables carry one over all of
their values.  `documents`, `unlabelled` and `cells` do not: their numbers have to fit their blobs, and a value behind a
long text cannot be read without it.

Changes of the schema are numbered and append-only: `MIGRATIONS[n]` takes a file from format n to n + 1.

A file gets format 5 with its first label that is no string: older versions, which would take 1 for "1", refuse it.
Files of strings keep format 4, and older versions go on reading them (docs/decisions/039).
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing
from typing import Any
from urllib.parse import quote

from bunrui.errors import DamagedError, StoreError
from bunrui.store.connection import (
    FORMAT_MASK,
    OPENING,
    Connection,
    explain_errors,
    has_content,
    is_at_rest,
    new_mark,
    owns_journal,
)

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
    """
    ALTER TABLE meta ADD COLUMN checksum INTEGER;
    ALTER TABLE labels ADD COLUMN checksum INTEGER;
    ALTER TABLE transactions ADD COLUMN checksum INTEGER;
    ALTER TABLE removals ADD COLUMN checksum INTEGER;
    ALTER TABLE deltas ADD COLUMN checksum INTEGER;
    CREATE INDEX undone ON transactions (undone);
    CREATE INDEX engines ON transactions (tx) WHERE instr(note, '"engine"');
    """,
    """
    CREATE TABLE weights (
        name TEXT NOT NULL, part INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (name, part)
    ) STRICT;
    """,
    """
    CREATE TABLE unlabelled (
        block INTEGER PRIMARY KEY, tx INTEGER NOT NULL, sign INTEGER NOT NULL CHECK (sign IN (-1, 1)),
        n_docs INTEGER NOT NULL, times BLOB NOT NULL, digests BLOB NOT NULL, label_sets BLOB NOT NULL,
        codes BLOB NOT NULL, ids BLOB NOT NULL, sources BLOB NOT NULL, source_codes BLOB NOT NULL,
        sizes BLOB NOT NULL, text BLOB NOT NULL, given INTEGER NOT NULL
    ) STRICT;
    """,
    "",
)
FORMAT = len(MIGRATIONS)
OF_STRINGS = 4
"""The format of files without labels, or whose labels are strings: the newest that a file gets by being opened."""

# The values of a row that its checksum is of.
SEALED = {
    "meta": "key, value",
    "labels": "label, name, tx",
    "transactions": "tx, kind, time, n_docs, note, undone",
    "removals": "removal, block, tx, n_docs, places",
    "deltas": "delta, tx, sign, is_snapshot, n_docs, n_terms, n_doc_freq, n_labels, labels, doc_count",
}
SEALED_SINCE = 2


def _checksum(*values: Any) -> int:
    # Not `repr`: which characters that shows depends on the Unicode tables of the Python that runs.
    return zlib.crc32(ascii(values).encode())


def is_whole(table: str) -> str:
    """The condition that a row matches its checksum, in SQL."""
    return f"checksum IS checksum_of({SEALED[table]})"


def insert(db: sqlite3.Connection, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows into some columns of a table."""
    marks = ", ".join("?" * len(columns.split(",")))
    db.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)


def seal(db: sqlite3.Connection, table: str, where: str = "true", values: tuple[Any, ...] = ()) -> None:
    """Give rows that were written their checksums."""
    db.execute(f"UPDATE {table} SET checksum = checksum_of({SEALED[table]}) WHERE {where}", values)


def connect(path: str, *, read_only: bool, name: str | None = None) -> Connection:
    """A connection to a file that is there; its content is not checked yet.  `name` is for messages."""
    if sqlite3.sqlite_version_info < _LEAST_SQLITE:
        raise StoreError(f"this Python has SQLite {sqlite3.sqlite_version}: classifier files need 3.37 or newer")
    name, path = name or path, os.path.realpath(path)  # SQLite names the journal after the file itself
    # Also beside the file: even to read, SQLite makes its other files there.
    may_write_file, may_write_beside = (os.access(at, os.W_OK) for at in (path, os.path.dirname(path)))
    may_write = may_write_file and may_write_beside
    with OPENING:
        is_own = owns_journal(path, may_write=may_write)
        mode = "mode=rw"
        if not read_only and not is_own:
            raise StoreError(f"{path}-wal belongs to a file that was here before: delete it, and {path}-shm")
        # What SQLite makes beside a file has its mode: where that forbids writing, it would stay, and do so for ever.
        if not may_write and (read_only or may_write_beside):
            # Without the right to write, SQLite shares a file with a writer only if its journal is there.
            has_index, has_journal = os.path.exists(f"{path}-shm"), is_own and os.path.exists(f"{path}-wal")
            if has_journal and not has_index and has_content(f"{path}-wal"):  # both were copied from somewhere
                problem = f"{name}-wal has changes that {name} has not yet, and neither may be written"
                raise StoreError(problem, hint="copy both to a folder of your own, make the copies writable, open that")
            mode = "mode=ro" if has_journal and has_index else "immutable=1"
        connection = _connect(path, name, mode, may_write=may_write)
    try:
        return _set_up(connection)
    except DamagedError:
        raise
    except StoreError:
        with OPENING:
            # Without room for an index, a file that nobody works on is read as one that may not be written.
            if not is_at_rest(path) or not read_only or mode != "mode=rw":
                raise
            connection = _connect(path, name, "immutable=1", may_write=False)
        return _set_up(connection)


def _connect(path: str, name: str, mode: str, *, may_write: bool) -> Connection:
    """A connection to a file that SQLite has not read yet; call while `OPENING`."""
    with explain_errors(name):
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(path))}?{mode}",
            uri=True,
            timeout=WAIT_SECONDS,
            isolation_level=None,  # transactions begin and end where the code says so
            check_same_thread=False,
            factory=Connection,
        )
    connection.know(path, name, may_write=may_write, has_locks=mode != "immutable=1")
    return connection


def _set_up(connection: Connection) -> Connection:
    """The connection, if its file can be read; else it is closed."""
    try:
        # A file may come from anywhere: its schema may call no functions, and writes nothing beside its own pages.
        for limit, most in _LIMITS.items():
            connection.setlimit(limit, most)
        connection.create_function("checksum_of", -1, _checksum, deterministic=True)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        # `Store.settle` empties the journal after every change, and syncs it and the file.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except BaseException:  # a damaged file: SQLite leaves no journal beside it only if it is closed
        connection.close()
        raise
    return connection


def set_to_read(connection: sqlite3.Connection) -> None:
    """Let a connection only read; it gets the tables that an older file lacks: empty ones, in memory."""
    (known,) = connection.execute("PRAGMA user_version").fetchone()
    for script in MIGRATIONS[max(known & FORMAT_MASK, SEALED_SINCE) : OF_STRINGS]:
        connection.execute(script.replace("CREATE TABLE", "CREATE TEMP TABLE"))
    connection.execute("PRAGMA query_only = ON")


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Take a file of an older format to the format of files of strings."""
    if version >= OF_STRINGS:
        return
    with connection:  # commits, or rolls back
        connection.execute("BEGIN IMMEDIATE")
        (known,) = connection.execute("PRAGMA user_version").fetchone()
        version = known & FORMAT_MASK  # another process may have been quicker
        for script in MIGRATIONS[version:OF_STRINGS]:
            for statement in script.split(";"):
                connection.execute(statement)
        if version < SEALED_SINCE:
            for table in SEALED:
                seal(connection, table)
        # With a new mark: files of the first format had none, so that a journal of one would fit another.
        connection.execute(f"PRAGMA user_version = {new_mark() | OF_STRINGS}")


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
