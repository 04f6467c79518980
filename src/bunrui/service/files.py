"""Files that clients have sent, each in a folder on disk, with what was made of it.

A folder goes when nobody has asked for it for an hour, when another one needs its room, and when the service ends.
Who knows the id of a folder may use it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import BinaryIO

from bunrui.service.errors import Problem

_PATIENCE = 3600.0
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
    """

    def __init__(self, path: str, is_owners: bool) -> None:
        self.id = secrets.token_urlsafe(12)
        self.path = os.path.join(path, self.id)
        self.name = ""
        self.n_bytes = 0
        self.is_owners = is_owners
        self.asked = time.monotonic()
        self.n_users = 0
        os.mkdir(self.path, 0o700)

    @property
    def file(self) -> str:
        """The path of the file."""
        return os.path.join(self.path, "file")

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """A block during which it stays."""
        self.n_users += 1
        try:
            yield
        finally:
            self.n_users -= 1
            self.asked = time.monotonic()


class Files:
    """The folders of a service; `most` are the bytes of one file."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._root: str | None = None
        self._folders: dict[str, Folder] = {}

    def create(self, is_owners: bool) -> Folder:
        """An empty folder."""
        now = time.monotonic()
        for folder in self._idle():
            if folder.asked + _PATIENCE < now:
                self.remove(folder)
        if self._root is None:
            self._root = tempfile.mkdtemp(prefix="bunrui-")
        folder = Folder(self._root, is_owners)
        self._folders[folder.id] = folder
        return folder

    def put(self, name: str, data: bytes | bytearray) -> Folder:
        """The folder of a file that has come as a whole."""
        folder = self.create(True)
        folder.name = name
        with open(folder.file, "wb") as file:
            self.write(folder, file, data)
        return folder

    def write(self, folder: Folder, file: BinaryIO, data: bytes | bytearray) -> None:
        """Write on, if there is room."""
        folder.n_bytes += len(data)
        self.make_room(folder)
        file.write(data)

    def make_room(self, folder: Folder) -> None:
        """Remove what was not asked for longest, where folders are too large together."""
        alike = [other for other in list(self._folders.values()) if other.is_owners == folder.is_owners]
        over = sum(other.n_bytes for other in alike) - _LARGEST * self.most
        for other in sorted(self._idle(), key=lambda other: other.asked):
            if over <= 0:
                return
            if other is not folder and other.is_owners == folder.is_owners:
                over -= other.n_bytes
                self.remove(other)
        if over > 0:
            raise Problem("no-room", f"files may take {_LARGEST * self.most:,} bytes on disk together: try again later")

    def find(self, id: str) -> Folder:
        """The folder with an id."""
        if id not in self._folders:
            raise Problem("not-found", "there is no such file, or nobody asked for it for long: send it again")
        self._folders[id].asked = time.monotonic()
        return self._folders[id]

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
                self.remove(folder)

    def remove(self, folder: Folder) -> None:
        """Delete it, with all that is in it."""
        self._folders.pop(folder.id, None)
        shutil.rmtree(folder.path, ignore_errors=True)

    def close(self) -> None:
        """Delete all."""
        self._folders = {}
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)

    def _idle(self) -> list[Folder]:
        return [folder for folder in list(self._folders.values()) if not folder.n_users]
