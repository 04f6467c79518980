"""A folder of Parquet files that many processes write, one file for each block."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from bunrui.documents.sources import is_address, located, without_secret
from bunrui.errors import DataError, OptionError

__all__ = ["Folder"]


class Folder(NamedTuple):
    """Where the files go; it can be sent to other machines that see the same place.

    A file is there as a whole or not at all, and under the same name however often its block is done.
    """

    name: str
    filesystem: Any
    path: str

    @classmethod
    def new(cls, name: str) -> Folder:
        """A folder that is made here, or is empty: a path, or an address such as `s3://bucket/labels`."""
        from pyarrow.fs import FileSelector, FileType, LocalFileSystem

        filesystem, path = located(name) if is_address(name) else (LocalFileSystem(), os.path.abspath(name))
        name = without_secret(name)
        folder = cls(name, filesystem, path.rstrip("/"))
        with folder._explained():
            there = filesystem.get_file_info(folder.path)
            if there.type == FileType.File:
                raise OptionError(f"{name} is a file: give the name of a folder, which gets a file for each block")
            if there.type == FileType.Directory and filesystem.get_file_info(FileSelector(folder.path)):
                raise OptionError(f"{name} is there already, and not empty: delete it, or give another folder")
            filesystem.create_dir(folder.path, recursive=True)
        return folder

    def publish(self, local: str) -> None:
        """Put a file of this machine into the folder, as a whole or not at all."""
        from pyarrow.fs import LocalFileSystem, copy_files

        here, name = LocalFileSystem(), os.path.basename(local)
        final = f"{self.path}/{name}"
        with self._explained():
            if not isinstance(self.filesystem, LocalFileSystem):
                copy_files(local, final, here, self.filesystem)  # object stores show a file when it is complete
                return
            hidden = f"{self.path}/.{name}.{secrets.token_hex(4)}"
            copy_files(local, hidden, here, self.filesystem)
            self.filesystem.move(hidden, final)

    def finish(self) -> None:
        """Delete what lost workers have left."""
        self._delete(".part-")

    def clear(self) -> None:
        """Delete all files: the next one who writes here finds it empty."""
        self._delete(".part-", "part-")

    def _delete(self, *prefixes: str) -> None:
        from pyarrow.fs import FileSelector

        with self._explained():
            for info in self.filesystem.get_file_info(FileSelector(self.path)):
                if info.base_name.startswith(prefixes):
                    self.filesystem.delete_file(info.path)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            line = without_secret(str(error).partition("\n")[0])
            raise DataError(f"{self.name} cannot be written: {line}. Check the name and the rights") from error
