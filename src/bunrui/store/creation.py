"""New files, which are there as a whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from bunrui.errors import StoreError
from bunrui.store.connection import renew_mark
from bunrui.store.schema import APPLICATION_ID, connect, insert, migrate, seal

_NO_LINKS = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # of a file system


@contextmanager
def publish_when_done(path: str) -> Iterator[str]:
    """The name of a file beside the path, which gets that name when the block ends without an error.

    Nobody sees the file before, and a file that somebody else has made under the name meanwhile is not replaced.
    """
    check_new(path)
    check_folder(path)
    with temporary_beside(path) as temporary:
        yield temporary
        _publish(temporary, path)


def check_new(path: str) -> None:
    """Refuse a name that is taken."""
    if os.path.lexists(path):
        raise StoreError("this is there already, and is not replaced", file=path, hint="give another name")


def check_folder(path: str) -> None:
    """Refuse at once a file that could not be written at the end."""
    folder = os.path.dirname(path)
    if os.path.isdir(path):
        raise StoreError("this is a folder", file=path, hint="name a file in it")
    if folder and not os.path.isdir(folder):
        raise StoreError(f"there is no folder {folder}", file=path, hint="make it, or check the path")
    if not os.access(folder or ".", os.W_OK):
        raise StoreError("you may not write into its folder", file=path, hint="choose another folder")


@contextmanager
def temporary_beside(path: str) -> Iterator[str]:
    """The name of a file beside the path, which is deleted when the block ends, if it still has that name.

    Files that killed processes have left in the same folder are deleted, too.
    """
    folder, name = os.path.split(os.path.abspath(path))
    delete_abandoned(folder)
    temporary = os.path.join(folder, f".{name}.{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.unfinished")
    try:
        yield temporary
    finally:
        _delete(temporary)


def _delete(temporary: str) -> None:
    for suffix in ("-journal", "-wal", "-shm", ""):
        with suppress(OSError):
            os.unlink(temporary + suffix)


def delete_abandoned(folder: str) -> None:
    """Delete the unfinished files of processes of this machine that were killed."""
    if os.name != "posix":  # elsewhere a process cannot be asked for without a signal to it
        return
    left = re.compile(rf"\..+\.{_machine()}-([0-9]+)-[0-9a-f]+\.unfinished")
    with suppress(OSError):
        for found in filter(None, map(left.fullmatch, os.listdir(folder))):
            if not _is_alive(int(found[1])):
                _delete(os.path.join(folder, found[0]))


def _machine() -> str:
    """A name for those who count processes together: other machines and containers have numbers of their own."""
    known = [platform.node()]
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        known.append(file.read())  # machines may have the same name
    with suppress(OSError):
        known.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\0".join(known).encode()).hexdigest()[:8]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is somebody else's
    return True


def _publish(temporary: str, path: str) -> None:
    try:
        try:
            os.link(temporary, path)  # unlike a renaming, this never replaces a file
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _rename_new(temporary, path)
    except FileExistsError as error:
        hint = "run it again to add to that file, or give another name"
        raise StoreError("somebody else has made this meanwhile", file=path, hint=hint) from error
    except OSError as error:
        raise StoreError.of_system(error, path) from error
    _sync_folder(os.path.dirname(os.path.abspath(path)))


def _rename_new(temporary: str, path: str) -> None:
    """Rename a file where there are no links: the name is taken first, by an empty file."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    try:
        os.replace(temporary, path)
    except BaseException:
        os.unlink(path)
        raise


def _sync_folder(folder: str) -> None:
    """The new name survives a power cut, too."""
    with suppress(OSError):  # not every system opens folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def empty_file(path: str, name: str) -> None:
    """A file of no bytes; `name` is for messages."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    except OSError as error:
        raise StoreError.of_system(error, name) from error


def new_file(path: str, name: str, meta: Mapping[str, str]) -> None:
    """An empty classifier; `name` is for messages."""
    empty_file(path, name)
    with closing(connect(path, read_only=False, name=name)) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA journal_mode = WAL")
        migrate(db, 0)
        renew_mark(db)
        insert(db, "meta", "key, value", meta.items())
        seal(db, "meta")
