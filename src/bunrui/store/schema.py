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
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import quote

from bunrui.errors import StoreError

__all__ = ["FORMAT", "MIGRATIONS", "connect", "migrate", "new_file", "version_of"]

APPLICATION_ID = 0x6275_6E72  # "bunr"
WAIT_SECONDS = 10.0
_LEAST_SQLITE = (3, 37)  # STRICT tables

MIGRATIONS = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE labels (label INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE transactions (
        tx INTEGER PRIMARY KEY, kind TEXT NOT NULL, time TEXT NOT NULL, n_docs INTEGER NOT NULL, note TEXT NOT NULL,
        undone TEXT
    ) STRICT;
    CREATE TABLE documents (
        block INTEGER PRIMARY KEY, tx INTEGER NOT NULL, n_docs INTEGER NOT NULL, txs BLOB NOT NULL,
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


def connect(path: str, *, read_only: bool) -> sqlite3.Connection:
    """A connection to a file that is there; what it holds is not looked at yet."""
    if sqlite3.sqlite_version_info < _LEAST_SQLITE:
        raise StoreError(f"this Python has SQLite {sqlite3.sqlite_version}: classifier files need 3.37 or newer")
    mode = "mode=rw"
    if read_only and not os.access(path, os.W_OK):
        # Without the right to write, SQLite can share the file with a writer only if its other files are there.
        mode = "mode=ro" if os.path.exists(path + "-wal") else "immutable=1"
    connection = sqlite3.connect(
        f"file:{quote(os.path.abspath(path))}?{mode}",
        uri=True,
        timeout=WAIT_SECONDS,
        isolation_level=None,  # transactions begin and end where the code says so
        check_same_thread=False,
    )
    # A file may come from anywhere: its schema may call no functions, and writes nothing beside its own pages.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA synchronous = FULL")  # a transaction that returned survives a power cut
    connection.execute(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")
    return connection


def new_file(path: str, meta: Mapping[str, str]) -> None:
    """A new file, which is there as a whole or not at all."""
    if os.path.lexists(path):
        raise StoreError(f"{path} is there already: open it, or choose another name")
    folder = os.path.dirname(os.path.abspath(path))
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.bunrui")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        db = connect(temporary, read_only=False)
        try:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute("PRAGMA journal_mode = WAL")
            migrate(db, 0)
            db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        finally:
            db.close()
        try:
            os.link(temporary, path)  # unlike a renaming, this never replaces a file that somebody else has just made
        except (PermissionError, NotImplementedError):  # a file system without links
            os.rename(temporary, path)
    except FileExistsError as error:
        raise StoreError(f"{path} is there already: open it, or choose another name") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be made: {error.strerror}") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Take a file from a format to the newest one."""
    for number, script in enumerate(MIGRATIONS[version:], version + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {number}; COMMIT")


def version_of(connection: sqlite3.Connection, name: str) -> int:
    """The format of a file, if it is a classifier that this version can read."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    if application_id != APPLICATION_ID:
        raise StoreError(f"{name} is not a bunrui classifier, but another SQLite database")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not 1 <= version <= FORMAT:
        raise StoreError(f"{name} has format {version}, this bunrui knows 1 to {FORMAT}: install a newer bunrui")
    return int(version)
