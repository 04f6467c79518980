"""Files that clients have sent, each in a folder on disk, with what was made of it.

A folder goes when nobody has asked for it for an hour, when another one needs its room, and when the service ends;
one that is in use goes when it is free.  What a service left behind that was killed goes when another one starts.
Who knows the id of a folder may use it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from glob import escape, glob
from typing import BinaryIO

from bunrui.service.errors import Problem

_PATIENCE = 3600.0
_MOST_FOLDERS = 1000
_PREFIX = "bunrui-files-"
_YOUNG = 60.0  # seconds in which a service locks what it made
_LARGEST = 4  # files of the largest size that all of them together may fill, with what is made of them


class Folder:
    """The folder of one file.

    Attributes
    ----------
    id : str
    path : str
    name : str
        The file's name, as the client gave it; in the folder it is called `file`.
    n_bytes : int
        Of everything in it.
    is_owners : bool
        Whether it was sent with the token.
    asked : float
        When somebody last asked for it, by `time.monotonic`.
    n_users : int
        Work that reads it now.
    is_removed : bool
        Whether it is gone, or goes when it is free.
    """

    def __init__(self, path: str, is_owners: bool) -> None:
        self.id = secrets.token_urlsafe(12)
        self.path = os.path.join(path, self.id)
        self.name = ""
        self.n_bytes = 0
        self.is_owners = is_owners
        self.asked = time.monotonic()
        self.n_users = 0
        self.is_removed = False
        self._lock = threading.RLock()
        self._waiting: list[Callable[[], object]] = []
        os.mkdir(self.path, 0o700)

    @property
    def file(self) -> str:
        """The path of the file."""
        return os.path.join(self.path, "file")

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """A block during which it stays."""
        with self._lock:
            if self.is_removed:
                raise _gone()
            self.n_users += 1
        try:
            yield
        finally:
            with self._lock:
                self.n_users -= 1
                self.asked = time.monotonic()
                self._work_if_free()

    def remove(self) -> None:
        """Delete it, with all that is in it, as soon as nobody uses it."""
        with self._lock:
            self.is_removed = True
            self.when_free(lambda: shutil.rmtree(self.path, ignore_errors=True))

    def when_free(self, work: Callable[[], object]) -> None:
        """Do something as soon as nobody uses it: a deleted file takes its bytes of the disk until it is closed."""
        with self._lock:
            self._waiting.append(work)
            self._work_if_free()

    def _work_if_free(self) -> None:
        while self._waiting and not self.n_users:
            self._waiting.pop(0)()

    def grow(self, n_bytes: int) -> None:
        """Count more bytes in it, or fewer."""
        with self._lock:
            self.n_bytes += n_bytes


class Files:
    """The folders of a service; `most` are the bytes of one file."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._root: str | None = None
        self._held = -1  # the root, locked: another service sees that it is ours
        self._folders: dict[str, Folder] = {}

    def create(self, is_owners: bool) -> Folder:
        """An empty folder."""
        self.sweep()
        if self._root is None:
            _remove_stale()
            self._root = tempfile.mkdtemp(prefix=_PREFIX)
            self._held = _lock(self._root)
        alike = self._alike(is_owners)
        if len(alike) >= _MOST_FOLDERS:
            idle = next((other for other in alike if not other.n_users), None)
            if idle is None:
                raise _no_room(f"there are {len(alike):,} files in use already")
            idle.remove()
        folder = Folder(self._root, is_owners)
        self._folders[folder.id] = folder
        return folder

    def sweep(self) -> None:
        """Remove what nobody has asked for."""
        for folder in list(self._folders.values()):
            if not folder.n_users and folder.asked + _PATIENCE < time.monotonic():
                folder.remove()
            if folder.is_removed and not folder.n_users:
                self._folders.pop(folder.id, None)

    def write(self, folder: Folder, file: BinaryIO, data: bytes | bytearray) -> None:
        """Write on, if there is room."""
        folder.grow(len(data))
        self.make_room(folder)
        file.write(data)

    def make_room(self, folder: Folder) -> None:
        """Remove what was not asked for longest, where folders are too large together."""
        alike = self._alike(folder.is_owners)
        over = sum(other.n_bytes for other in alike) - _LARGEST * self.most
        for other in alike:
            if over > 0 and other is not folder and not other.n_users:
                over -= other.n_bytes
                other.remove()
        if over > 0:
            raise _no_room(f"files may take {_LARGEST * self.most:,} bytes on disk together")

    def find(self, id: str) -> Folder:
        """The folder with an id."""
        folder = self._folders.get(id)
        if folder is None or folder.is_removed:
            raise _gone()
        folder.asked = time.monotonic()
        return folder

    @contextmanager
    def in_use(self, folders: Sequence[Folder], *, remove: bool = False) -> Iterator[None]:
        """A block during which folders stay; at its end they go, if they were made for it."""
        try:
            with ExitStack() as stack:
                for folder in folders:
                    stack.enter_context(folder.in_use())
                yield
        finally:
            for folder in folders if remove else ():
                folder.remove()

    def close(self) -> None:
        """Delete all."""
        self._folders = {}
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root = None
        if self._held >= 0:
            os.close(self._held)
            self._held = -1

    def _alike(self, is_owners: bool) -> list[Folder]:
        """The folders of clients with the token, or of the others; the one that nobody asked for longest first."""
        there = [folder for folder in list(self._folders.values()) if folder.n_users or not folder.is_removed]
        alike = [folder for folder in there if folder.is_owners == is_owners]
        return sorted(alike, key=lambda folder: folder.asked)


def _no_room(why: str) -> Problem:
    return Problem("no-room", f"{why}: try again later", cause="files-in-use")


def _gone() -> Problem:
    said = "there is no such file, or nobody asked for it for long: send it again"
    return Problem("not-found", said, cause="file-gone")


def _lock(root: str) -> int:
    """A descriptor that locks a folder until it is closed, or its process ends; -1 if another one does."""
    try:
        import fcntl

        held = os.open(root, os.O_RDONLY | os.O_NOFOLLOW)
    except (ImportError, OSError):
        return -1
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return -1
    return held


def _remove_stale() -> None:
    """Remove the roots of services that did not end well; by locks, as other containers have other process ids."""
    for root in glob(os.path.join(escape(tempfile.gettempdir()), f"{_PREFIX}*")):
        with suppress(OSError):
            if os.lstat(root).st_mtime < time.time() - _YOUNG and (held := _lock(root)) >= 0:
                shutil.rmtree(root, ignore_errors=True)
                os.close(held)
