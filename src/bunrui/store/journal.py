"""The journal beside a file: is it the file's own?

SQLite writes a change first into a journal, FILE-wal, and the processes at work share an index of it, FILE-shm.  It
finds both by the name of the file alone.  Whoever replaces FILE leaves it the journal of another file, and SQLite would
write that into it.  So nobody opens a file before `owns_journal` has looked:

- Every file has a mark, the bits 8 to 30 of `user_version` on page 1.  A change writes page 1 with the mark that it
  found.  Then `Store.settle` writes a new mark, and empties the journal into the file, page 1 first.  A journal that
  was left behind belongs to a file if one of its copies of page 1 has the mark of the file.  Otherwise the file is
  whole without it.
- A process at work holds a lock on its file, and another one on the index.  If the index is in use and the file is not,
  somebody works on the file that had the name before.  What he has open stays his; the names go to the new file.
  SQLite's own lock is not enough to tell: it is gone when the process opens the file a second time, say to copy it, and
  closes that.  So a process holds a lock of its own, which belongs to a descriptor, not to the process.

docs/decisions/013
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from weakref import WeakSet

from bunrui.errors import StoreError
from bunrui.kernel.mutex import Mutex

if sys.platform != "win32":
    import fcntl

FORMAT_MASK = 0xFF  # of `user_version`: the rest is the mark

# As SQLite has them: https://sqlite.org/fileformat2.html, os_unix.c
_USER_VERSION = slice(60, 64)
_JOURNAL_HEADER = 32
_FRAME_HEADER = 24
_SHARED = 0x4000_0002  # the bytes of a file that its users lock
_N_SHARED = 510
_INDEX_IN_USE = 128  # the byte of the index
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


class Connection(sqlite3.Connection):
    """A connection that the process knows of.

    Attributes
    ----------
    path : str
        Of the file, without links.
    place : tuple or None
        The file itself, as `place` tells it.
    may_write : bool
        Whether the process has the right to write to the file and beside it.
    """

    path: str
    place: tuple[int, int] | None
    may_write: bool

    def know(self, path: str, *, may_write: bool, has_locks: bool) -> None:
        """Say what was opened, and let the process know of its locks."""
        self.path, self.place, self.may_write = path, place(path), may_write
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
    """Whether the journal at a path without links is that of the file; if we may write, it is afterwards.

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
    with _opened(path) as handle:
        fcntl.lockf(handle, fcntl.LOCK_EX, 1, _LOOKING)
        yield not _is_locked(handle, _N_SHARED, _SHARED) and not _is_locked(handle, 1, _AT_WORK)


def _is_in_use(index: str) -> bool:
    try:
        with _opened(index) as handle:
            return _is_locked(handle, 1, _INDEX_IN_USE)
    except OSError:
        return False


@contextmanager
def _opened(path: str) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR)
    try:
        yield handle
    finally:
        os.close(handle)


def _is_locked(handle: int, n_bytes: int, start: int) -> bool:
    """Whether another process has locked some bytes of a file; if not, this one has until it closes it."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, n_bytes, start)
    except OSError:
        return True
    return False
