"""`Connection`: one file, open in this process; errors of SQLite and the system become advice.

SQLite writes a change first into a journal, FILE-wal, and the processes at work share an index of it, FILE-shm.  It
finds both by the name of the file alone.  Whoever replaces FILE leaves it the journal of another file, and SQLite would
write that into it.  So nobody opens a file before `owns_journal` has looked:

- Every file has a mark, the bits 8 to 30 of `user_version` on page 1.  A change writes page 1 with the mark that it
  found.  Then `Store.settle` writes a new mark, and empties the journal into the file, page 1 first.  A journal that
  was left behind belongs to a file if one of its copies of page 1 has the mark of the file.  Otherwise the file is
  whole without it.
- A process at work holds a lock on its file, and another one on the index.  If the index is in use and the file is not,
  somebody works on the file that had the name before.  That process keeps what it has open; the names go to the new
  file.
  SQLite's own lock is not enough to tell: it is gone when the process opens the file a second time, say to copy it, and
  closes that.  So a process holds a lock of its own, which belongs to a descriptor, not to the process.

docs/decisions/013
"""

from __future__ import annotations

import errno
import logging
import os
import re
import secrets
import shutil
import sqlite3
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import PurePath
from typing import IO, Any
from weakref import WeakSet

from bunrui.errors import DamagedError, Step, StoreError
from bunrui.kernel.slices import Mutex

if sys.platform != "win32":
    import fcntl

_log = logging.getLogger("bunrui")

_ADVICE = {
    sqlite3.SQLITE_BUSY: "{name} is in use by another process that is writing to it: try again when that is done",
    sqlite3.SQLITE_LOCKED: "{name} is in use: try again later",
    sqlite3.SQLITE_FULL: "the disk is full: nothing was changed in {name}. Make room and try again",
    sqlite3.SQLITE_READONLY: "{name} cannot be written: check its permissions and those of its folder",
    sqlite3.SQLITE_CANTOPEN: "{name} cannot be opened: check the permissions of the file and its folder",
    sqlite3.SQLITE_IOERR: "{name} cannot be read or written ({error}): check the disk",
    sqlite3.SQLITE_NOTADB: "{name} is not a bunrui classifier: give a file that bunrui has made",
    sqlite3.SQLITE_CORRUPT: "{name} is damaged ({error}): take a copy from a backup, or learn the documents again",
    sqlite3.SQLITE_TOOBIG: "something is too large to be kept in {name}: cut very long documents into several",
}

_GIVE_ANOTHER = "give a file that bunrui has made"

# Locks of SQLite do not reach other machines.
_NETWORK = {"9p", "afs", "ceph", "cifs", "davfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
_OVER_FUSE = ("sshfs", "glusterfs", "s3fs", "rclone", "gcsfuse", "smbnetfs", "cephfs")


@contextmanager
def explain_errors(name: str) -> Iterator[None]:
    """Errors of SQLite in the block become `StoreError`s with advice."""
    try:
        yield
    except UnicodeDecodeError as error:  # text that is none, or a message about it
        raise DamagedError(f"{name} is damaged: it has text that is not UTF-8. Take a copy from a backup") from error
    except sqlite3.ProgrammingError as error:
        raise StoreError(f"{name} is closed ({error}): open it again") from error
    except sqlite3.Error as error:
        # The low byte is the kind of error, the others say more about it.
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        kind = StoreError if code in _ADVICE and code != sqlite3.SQLITE_CORRUPT else DamagedError
        advice = _ADVICE.get(code, "{name} is damaged or not a bunrui classifier ({error})")
        folder = os.path.dirname(name) or "."
        if code == sqlite3.SQLITE_IOERR and _lacks_room(error, folder):
            advice = _ADVICE[sqlite3.SQLITE_FULL]
        if code == sqlite3.SQLITE_CANTOPEN and os.access(name, os.R_OK) and not os.access(folder, os.W_OK):
            advice = "{name} can be read, but not changed: a change needs a file beside it, and its folder is read-only"
        # SQLite quotes the statements of a broken schema, with their line breaks.
        raise kind(advice.format(name=name, error=" ".join(str(error).split()))) from error


def _lacks_room(error: sqlite3.Error, folder: str) -> bool:
    """Whether the disk is too full for the index; SQLite says so only of the file and its journal."""
    if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_IOERR_SHMSIZE:
        return False
    with suppress(OSError):
        return shutil.disk_usage(folder).free < _INDEX_BYTES
    return False


def check_is_file(path: str) -> None:
    """Refuse a path that is plainly no classifier, before SQLite sees it."""
    if os.path.exists(path) and not os.path.isfile(path):
        what = "a folder, not a classifier" if os.path.isdir(path) else "no file"
        raise StoreError(f"this is {what}", file=path, hint=_GIVE_ANOTHER)
    # The file is not opened here: closing it again would drop the locks that SQLite has on it for this process, and the
    # next process to leave would take the last changes away with it.  That it is no database SQLite finds by itself.
    if not os.path.exists(path):
        raise StoreError(f"there is no classifier {path}", hint=(Step("create", path),))
    if not os.access(path, os.R_OK):
        raise StoreError.of_system(PermissionError(errno.EACCES, ""), path)
    if not os.path.getsize(path):
        raise StoreError("the file is empty", file=path, hint=_GIVE_ANOTHER)
    _warn_of_network(path)


def network_kind(path: str, mountinfo: str) -> str | None:
    """The file system of a path if it is one of another machine; `mountinfo` as Linux tells it.

    >>> table = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\\n40 22 0:40 / /mnt/my\\\\040share rw - nfs4 host:/x rw"
    >>> network_kind("/mnt/my share/mail.bunrui", table)
    'nfs4'
    >>> network_kind("/mnt/other/mail.bunrui", table)
    """
    rows = (line.split(" ") for line in mountinfo.splitlines() if " - " in line)
    kinds = {re.sub(r"\\(\d{3})", lambda at: chr(int(at[1], 8)), row[4]): row[row.index("-") + 1] for row in rows}
    points = (str(point) for point in (PurePath(path), *PurePath(path).parents))
    kind = next((kinds[point] for point in points if point in kinds), "")
    is_network = kind in _NETWORK or (kind.startswith("fuse") and kind.endswith(_OVER_FUSE))
    return kind if is_network else None


def _warn_of_network(path: str) -> None:
    """Warn once for each file that lies on another machine: no two machines may use it at a time."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            kind = network_kind(os.path.realpath(path), file.read())
    except OSError:  # not Linux
        return
    if kind is not None:
        _warn_once(path, kind)


@cache
def _warn_once(path: str, kind: str) -> None:
    why = f"is on a network file system ({kind}), where locks are not reliable"
    _log.warning("%s %s: let only one machine use it at a time", path, why)


# --- the journal

FORMAT_MASK = 0xFF  # of `user_version`: the rest is the mark

# As SQLite has them: https://sqlite.org/fileformat2.html, os_unix.c
_USER_VERSION = slice(60, 64)
_JOURNAL_HEADER = 32
_FRAME_HEADER = 24
_SHARED = 0x4000_0002  # the bytes of a file that its users lock
_N_SHARED = 510
_INDEX_IN_USE = 128  # the byte of the index
_INDEX_BYTES = 1 << 15  # that it has at least
_LOOKING = 0x4000_0400  # ours
_AT_WORK = 0x4000_0401
_FLOCK = "hhqqi4x"  # struct flock of Linux: type, whence, start, length, process

OPENING = Mutex()
"""Held from the look at a journal until the connection is known to the next who looks."""

_open: WeakSet[Connection] = WeakSet()
_at_work: dict[tuple[int, int], int] = {}
"""A descriptor for each file that is open here.  To close one drops SQLite's locks, so it is closed after the last."""


def _after_fork() -> None:
    # Locks stay with the parent.
    _open.clear()
    for descriptor in _at_work.values():
        os.close(descriptor)
    _at_work.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Cursor(sqlite3.Cursor):
    """Rows.  It explains errors that happen while they are read."""

    connection: Connection

    def fetchone(self) -> Any:
        return _explained(self.connection, super().fetchone)

    def fetchall(self) -> list[Any]:
        rows: list[Any] = _explained(self.connection, super().fetchall)
        return rows

    def __next__(self) -> Any:
        return _explained(self.connection, super().__next__)


def _explained(connection: Connection, work: Callable[[], Any]) -> Any:
    """Do some work, and explain its errors; a `with` for each row would take longer than the row."""
    try:
        return work()
    except (sqlite3.Error, UnicodeDecodeError):
        with explain_errors(connection.name):
            raise


class Connection(sqlite3.Connection):
    """A connection that the process knows of.

    Attributes
    ----------
    name : str
        The name of the file in messages.
    path : str
        The path of the file, links resolved.
    place : tuple or None
        The file itself, as `place` tells it.
    may_write : bool
        Whether the process has the right to write to the file and beside it.
    """

    name: str
    path: str
    place: tuple[int, int] | None
    may_write: bool

    def execute(self, *args: Any) -> Cursor:
        """Run a statement; errors are explained."""
        found: Cursor = _explained(self, lambda: self.cursor(Cursor).execute(*args))
        return found

    def executemany(self, *args: Any) -> Cursor:
        """The same for many rows of values."""
        found: Cursor = _explained(self, lambda: self.cursor(Cursor).executemany(*args))
        return found

    def know(self, path: str, name: str, *, may_write: bool, has_locks: bool) -> None:
        """Note which file was opened, and let the process know of its locks."""
        self.path, self.name, self.place, self.may_write = path, name, place(path), may_write
        if has_locks and self.place is not None:
            _open.add(self)
            _begin_work(path, self.place)

    def close(self) -> None:
        """Let go of the file."""
        with OPENING:
            super().close()
            _open.discard(self)
            if self.place is not None and not any(other.place == self.place for other in _open):
                descriptor = _at_work.pop(self.place, None)
                if descriptor is not None:
                    os.close(descriptor)

    def has_mark(self) -> bool:
        """Whether the file itself has a mark; changes that are still in the journal do not count."""
        descriptor = _at_work.get(self.place) if self.place is not None else None
        return descriptor is None or _mark(os.pread(descriptor, 100, 0)) != 0


def _begin_work(path: str, at: tuple[int, int]) -> None:
    """Lock a file until the last connection to it is closed."""
    if sys.platform == "win32" or at in _at_work or not hasattr(fcntl, "F_OFD_SETLK"):
        return
    descriptor = os.open(path, os.O_RDONLY)
    lock = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, _AT_WORK, 1, 0)
    with suppress(OSError):  # some file systems have no locks
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, lock)
    _at_work[at] = descriptor


def place(path: str) -> tuple[int, int] | None:
    """The file itself, whatever its name."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def renew_mark(db: sqlite3.Connection) -> None:
    """Give a file a new mark: no journal of the state before belongs to it from now on."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    db.execute(f"PRAGMA user_version = {new_mark() | version & FORMAT_MASK}")


def new_mark() -> int:
    """A mark that no other file has."""
    return (secrets.randbelow((1 << 23) - 1) + 1) << 8


def owns_journal(path: str, *, may_write: bool) -> bool:
    """Whether the journal at a path without links belongs to the file; if we may write, it does afterwards.

    Call while `OPENING`.  The file is opened here only if this process has no connection to it: to close it again would
    drop the locks that SQLite has on it for the process.
    """
    here, names = place(path), (f"{path}-wal", f"{path}-shm")
    for other in _open:
        if other.place == here and other.path != path:
            raise StoreError(f"{path} is open in this process under its old name {other.path}: close that first")
    if not any(map(os.path.lexists, names)):
        return True
    places = {other.place for other in _open if other.path == path}
    if here in places:  # who opened it has looked
        return True
    if not may_write:
        return not places and _fits(path)
    with suppress(OSError), _alone(path) as is_alone:  # without locks, SQLite says why it needs them
        if is_alone and (places or _is_in_use(names[1]) or not _fits(path)):
            for name in names:
                with suppress(OSError):
                    os.unlink(name)
    return True


def is_at_rest(path: str) -> bool:
    """Whether no process has the file open and its journal has no changes; if so, delete the journal and its index.

    Call while `OPENING`, for a path without links.
    """
    if any(other.path == path for other in _open):
        return False
    names = f"{path}-wal", f"{path}-shm"
    with suppress(OSError), _alone(path) as is_alone:
        if is_alone and not has_content(names[0]) and not _is_in_use(names[1]):
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(name)
            return True
    return False


def has_content(journal: str) -> bool:
    """Whether a journal has changes."""
    with suppress(FileNotFoundError):  # another process may be closing it
        return os.path.getsize(journal) > 0
    return False


def _fits(path: str) -> bool:
    """Whether a journal that nobody uses belongs to the file: whether it has a copy of page 1 with the file's mark."""
    try:
        with open(path, "rb") as file, open(f"{path}-wal", "rb") as journal:
            mark, header = _mark(file.read(100)), journal.read(_JOURNAL_HEADER)
            n_frames = n_marks = 0
            page_size = int.from_bytes(header[8:12], "big")
            while len(frame := journal.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == header[16:24]:
                n_frames += 1
                if int.from_bytes(frame[:4], "big") != 1:
                    journal.seek(page_size, os.SEEK_CUR)
                    continue
                n_marks += 1
                if _mark(journal.read(page_size)) == mark:
                    return True
    except OSError:  # there is none, or SQLite says why it cannot be read
        return True
    # Files had no marks once, and changes that left page 1 alone.
    return not n_frames or (not mark and not n_marks)


def _mark(page: bytes) -> int:
    return int.from_bytes(page[_USER_VERSION], "big") & ~FORMAT_MASK


@contextmanager
def _alone(path: str) -> Iterator[bool]:
    """Whether nobody has the file open; nobody else looks before the block ends."""
    if sys.platform == "win32":  # which neither replaces nor deletes files that are open
        yield True
        return
    with open(path, "rb+", buffering=0) as file:
        fcntl.lockf(file, fcntl.LOCK_EX, 1, _LOOKING)
        yield not _is_locked(file, _N_SHARED, _SHARED) and not _is_locked(file, 1, _AT_WORK)


def _is_in_use(index: str) -> bool:
    try:
        with open(index, "rb+", buffering=0) as file:
            return _is_locked(file, 1, _INDEX_IN_USE)
    except OSError:
        return False


def _is_locked(file: IO[bytes], n_bytes: int, start: int) -> bool:
    """Whether another process has locked some bytes of a file; if not, this one has until it closes it."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, n_bytes, start)
    except OSError:
        return True
    return False
