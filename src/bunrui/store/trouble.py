"""What SQLite and the system say → what a user can do about it; and a warning where a file lies on another machine."""

from __future__ import annotations

import errno
import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from bunrui.errors import DamagedError, Step, StoreError

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
        # SQLite quotes the statements of a broken schema, with their line breaks.
        raise kind(advice.format(name=name, error=" ".join(str(error).split()))) from error


def check_is_file(path: str) -> None:
    """Refuse what is plainly no classifier, before SQLite sees it."""
    if os.path.isdir(path):
        raise StoreError("this is a folder, not a classifier", file=path, hint="give a file that bunrui has made")
    if os.path.exists(path) and not os.path.isfile(path):
        raise StoreError("this is no file", file=path, hint="give one that bunrui has made")
    # The file is not opened here: closing it again would drop the locks that SQLite has on it for this process, and the
    # next process to leave would take the last changes away with it.  That it is no database SQLite finds by itself.
    if not os.path.exists(path):
        raise StoreError(f"there is no classifier {path}", hint=(Step("create", path),))
    if not os.access(path, os.R_OK):
        raise StoreError.of_system(PermissionError(errno.EACCES, ""), path)
    if not os.path.getsize(path):
        raise StoreError("the file is empty", file=path, hint="give one that bunrui has made")


def network_kind(path: str, mountinfo: str) -> str | None:
    """The file system of a path if it is one of another machine; `mountinfo` as Linux tells it.

    >>> table = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\\n40 22 0:40 / /mnt/my\\\\040share rw - nfs4 host:/x rw"
    >>> network_kind("/mnt/my share/mail.bunrui", table)
    'nfs4'
    >>> network_kind("/mnt/other/mail.bunrui", table)
    """
    best, kind = "", ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, rest = left.split(" "), right.split(" ")
        if len(fields) < 5:
            continue
        point = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, rest[0]
    is_network = kind in _NETWORK or (kind.startswith("fuse") and kind.endswith(_OVER_FUSE))
    return kind if is_network else None


def warn_of_network(path: str) -> None:
    """Say once for each file that lies on another machine what must not be done with it."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            kind = network_kind(os.path.realpath(path), file.read())
    except OSError:  # not Linux
        return
    if kind is not None:
        _warn_once(path, kind)


@cache
def _warn_once(path: str, kind: str) -> None:
    _log.warning(
        "%s is on a network file system (%s), where locks are not reliable: let only one machine use it at a time",
        path,
        kind,
    )
