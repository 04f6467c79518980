"""Where corpora are kept, and how files come to be there: as a whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from bunrui.errors import DataError

__all__ = [
    "VARIABLE",
    "digest",
    "folder",
    "forget",
    "locked",
    "remember",
    "remembered",
    "remove_empty",
    "user_cache",
    "writing",
]

VARIABLE = "BUNRUI_DATASETS"
"""The environment variable that names another folder."""

_LOCK = ".lock"
_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def folder() -> Path:
    """The folder of all corpora: `BUNRUI_DATASETS`, or one in the user's cache.  It may not be there yet."""
    named = os.environ.get(VARIABLE)
    try:
        return Path(named).expanduser() if named else user_cache(sys.platform, os.environ, Path.home())
    except RuntimeError as error:
        raise DataError(f"there is no home folder for a cache: name a folder with {VARIABLE}") from error


def user_cache(platform: str, environment: Mapping[str, str], home: Path) -> Path:
    """Where the system keeps what can be had again.

    >>> user_cache("linux", {}, Path("/home/kim")).as_posix()
    '/home/kim/.cache/bunrui/datasets'
    >>> user_cache("linux", {"XDG_CACHE_HOME": "/scratch/kim"}, Path("/home/kim")).as_posix()
    '/scratch/kim/bunrui/datasets'
    >>> user_cache("darwin", {}, Path("/Users/kim")).as_posix()
    '/Users/kim/Library/Caches/bunrui/datasets'
    """
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "bunrui" / "Cache" / "datasets"
    if platform == "darwin":
        return home / "Library" / "Caches" / "bunrui" / "datasets"
    cache = environment.get("XDG_CACHE_HOME", "")
    # Relative paths are to be ignored, says the specification.
    return (Path(cache) if cache.startswith("/") else home / ".cache") / "bunrui" / "datasets"


@contextmanager
def writing(where: Path) -> Iterator[None]:
    """Say what to do where a folder cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            what = f"there is no room left in {where}: free some"
        else:
            what = f"{where} cannot be written ({error.strerror or error})"
        raise DataError(f"{what}, or name another folder with {VARIABLE}") from error


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Keep other processes from fetching into the same folder, which is made."""
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        lock = open(home / _LOCK, "ab")  # noqa: SIM115
    with lock:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise DataError(f"another process is fetching into {home}: wait until it is done") from error
            except OSError:  # a file system without locks
                pass
        yield


def remove_empty(home: Path) -> None:
    """Remove a folder that is `locked`, if nothing is in it."""
    if any(file.name != _LOCK for file in home.iterdir()):
        return
    with suppress(OSError):  # Windows removes no file that is open
        (home / _LOCK).unlink()
        home.rmdir()


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remembered(path: Path) -> str | None:
    """The SHA-256 that was written beside a file when it came."""
    with suppress(OSError, ValueError, IndexError):
        return _beside(path).read_text(encoding="utf-8").split()[0]
    return None


def remember(path: Path, sha256: str) -> None:
    """Write a SHA-256 beside a file, as `sha256sum --check` reads it."""
    _beside(path).write_text(f"{sha256}  {path.name}\n", encoding="utf-8")


def forget(path: Path) -> None:
    """Remove the SHA-256 beside a file."""
    _beside(path).unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")
