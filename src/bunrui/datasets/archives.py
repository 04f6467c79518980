"""Archives, folders and plain files → their members, in memory.

Archives are taken to be hostile.  Nothing in them is ever written to disk: the name of a member is looked at and no
more, links and devices are passed over, and there is a limit for each unpacked member and for all of them.
"""

from __future__ import annotations

import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bunrui.documents.sources import Progress, Source, Stream
from bunrui.errors import DataError

MAX_MEMBER = 256 << 20
MAX_UNPACKED = 2 << 30
MAX_MEMBERS = 500_000
"""Twice and more of what the largest corpus has: IMDB unpacks to 0.3 GB in 100,000 files."""

_ZIP = b"PK\x03\x04"
_TAR_NAMES = (".tar", ".tgz", ".tbz", ".tbz2", ".txz")
_MALFORMED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, LookupError, OverflowError, ValueError)


class Member(NamedTuple):
    """A file, alone or in an archive or a folder.

    Attributes
    ----------
    source : str
        The archive or folder that has it, for messages.
    parts : tuple of str
        The folders on its path, the outermost first, and its name.
    read : callable
        All its bytes; to be called before the next member is asked for.
    """

    source: str
    parts: tuple[str, ...]
    read: Callable[[], bytes]

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.parts[-1]

    @property
    def where(self) -> str:
        """The source and the path in it, as messages begin with it."""
        path = "/".join(self.parts)
        return self.source if self.source.endswith(path) else f"{self.source}, {path}"


def members(path: Path, progress: Progress | None = None) -> Iterator[Member]:
    """All files in an archive (tar, compressed or not, or zip) or a folder, or a file by itself.

    Parameters
    ----------
    path : Path
    progress : Progress, optional
        Counts the bytes that are read, before decompression.

    Raises
    ------
    DataError
        For archives that are damaged, cut short, too large, or that name places outside of themselves.
    """
    progress = progress or Progress()
    if path.is_dir():
        yield from _read_folder(path, progress)
        return
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise DataError.of_system(error) from error
    with file:
        if file.read(len(_ZIP)) == _ZIP:
            yield from _guard(_read_zip(path, file, progress), path)
            return
        file.seek(0)
        with Stream(Source(str(path), None, file), progress) as stream:
            if _is_tar(path, stream):
                yield from _guard(_read_tar(path, stream), path)
            else:
                yield Member(str(path), (path.name,), lambda: _limit(stream.read(MAX_MEMBER + 1), path))


def _read_folder(path: Path, progress: Progress) -> Iterator[Member]:
    top = path.absolute()
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            if not file.is_file():
                continue
            progress.bytes_read += file.stat().st_size
            # With the name of the folder itself, which may be that of a split: train, enron1.
            yield Member(str(path), file.absolute().relative_to(top.parent).parts, partial(_read_file, file))


def _read_file(file: Path) -> bytes:
    with open(file, "rb") as stream:
        return _limit(stream.read(MAX_MEMBER + 1), file)


def _limit(data: bytes, path: Path) -> bytes:
    if len(data) > MAX_MEMBER:
        raise _size_error(path)
    return data


# --- tar


def _is_tar(path: Path, stream: Stream) -> bool:
    # Archives of the nineties have no magic.
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return any(suffix in _TAR_NAMES for suffix in suffixes) or stream.peek()[257:262] == b"ustar"


class _Counted:
    """A stream that stops a bomb: the headers of a tar file can be of any length, too."""

    def __init__(self, stream: Stream, path: Path) -> None:
        self._stream, self._path, self._left = stream, path, MAX_UNPACKED

    def read(self, n_bytes: int) -> bytes:
        data = self._stream.read(n_bytes)
        self._left -= len(data)
        if self._left < 0:
            raise _size_error(self._path)
        return data


def _read_tar(path: Path, stream: Stream) -> Iterator[Member]:
    unpacked = _Counted(stream, path)
    # Decompressed by us: tarfile's own reader of streams does not look at the checksum of gzip.
    with tarfile.open(fileobj=unpacked, mode="r|", errors="surrogateescape") as archive:  # type: ignore[call-overload]
        for count, member in enumerate(archive):
            archive.members = []  # or all headers stay in memory
            if count >= MAX_MEMBERS or member.size > MAX_MEMBER:
                raise _size_error(path)
            parts = _split_name(member.name, path)
            if member.isfile() and parts:
                yield Member(str(path), parts, partial(_read_member, archive, member))
        while unpacked.read(1 << 20):  # to the end: the checksum is there
            pass


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return b"" if file is None else file.read()


# --- zip


def _read_zip(path: Path, file: Any, progress: Progress) -> Iterator[Member]:
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        if len(infos) > MAX_MEMBERS or sum(info.file_size for info in infos) > MAX_UNPACKED:
            raise _size_error(path)
        for info in infos:
            progress.bytes_read += info.compress_size
            parts = _split_name(info.filename, path)
            if info.file_size > MAX_MEMBER:
                raise _size_error(path)
            if info.flag_bits & 1:
                raise DataError("this is encrypted", file=str(path), hint=_UNPACK)
            if parts and not info.is_dir():
                yield Member(str(path), parts, partial(_unzip, archive, info, path))


def _unzip(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> bytes:
    try:
        with archive.open(info) as file:
            return _limit(file.read(MAX_MEMBER + 1), path)
    except NotImplementedError as error:
        raise DataError(f"this cannot be unpacked ({error})", file=str(path), hint=_UNPACK) from error


# --- trouble

NOT_OFFICIAL = "this is not the official file"
_UNPACK = "unpack it, and give the folder"


def _split_name(name: str, path: Path) -> tuple[str, ...]:
    """The parts of a member's path; one that leads out of the archive is no mistake, but an attack."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\\", "/")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in parts or (parts and parts[0].endswith(":")):
        raise DataError(f"the member {name!r} is outside of the archive", file=str(path), hint=NOT_OFFICIAL)
    return parts


def _size_error(path: Path) -> DataError:
    most = f"{MAX_UNPACKED >> 30} GB, {MAX_MEMBER >> 20} MB for a file, {MAX_MEMBERS:,} files"
    return DataError(f"this unpacks to more than a corpus can have ({most})", file=str(path), hint=NOT_OFFICIAL)


def _guard(found: Iterator[Member], path: Path) -> Iterator[Member]:
    """The same members, with errors that name the archive."""

    def call(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except DataError:
            raise
        except _MALFORMED as error:
            why = f"this is damaged or cut short ({error or type(error).__name__})"
            raise DataError(why, file=str(path), hint="get it again") from error

    while (member := call(lambda: next(found, None))) is not None:
        yield member._replace(read=partial(call, member.read))
