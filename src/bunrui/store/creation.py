"""New files, which are there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from bunrui.errors import StoreError
from bunrui.store.schema import APPLICATION_ID, connect, migrate

__all__ = ["new_file", "unpublished"]


@contextmanager
def unpublished(path: str) -> Iterator[str]:
    """The name of a file beside the path, which gets that name when the block ends without an error.

    Nobody sees the file before, and a file that somebody else has made under the name meanwhile is not replaced.
    """
    if os.path.lexists(path):
        raise StoreError(f"{path} is there already: open it, or choose another name")
    folder, name = os.path.split(os.path.abspath(path))
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.unfinished")
    try:
        yield temporary
        _publish(temporary, path)
    finally:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(temporary + suffix)


def _publish(temporary: str, path: str) -> None:
    try:
        try:
            os.link(temporary, path)  # unlike a renaming, this never replaces a file
        except (PermissionError, NotImplementedError):  # a file system without links
            os.rename(temporary, path)
    except FileExistsError as error:
        raise StoreError(f"{path} was made by somebody else meanwhile: open it, or choose another name") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be made: {error.strerror}") from error
    _sync_folder(os.path.dirname(os.path.abspath(path)))


def _sync_folder(folder: str) -> None:
    """The new name survives a power cut, too."""
    with suppress(OSError):  # not every system opens folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def new_file(path: str, name: str, meta: Mapping[str, str]) -> None:
    """An empty classifier; `name` is for messages."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    except OSError as error:
        raise StoreError(f"{name} cannot be made: {error.strerror}") from error
    with closing(connect(path, read_only=False)) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA journal_mode = WAL")
        migrate(db, 0)
        db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
