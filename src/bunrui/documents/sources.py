"""A file, a pipe or an address → its bytes: counted and decompressed.

Addresses such as `s3://bucket/key.parquet` name files on every file system that pyarrow knows.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import pyarrow as pa

from bunrui.errors import DataError, Option

MAX_RECORD = 1 << 30
"""Bytes of the longest document: more is taken for a mistake, such as a quote that is never closed."""

COMPRESSIONS = ("gz", "bz2", "xz", "zst")
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, pa.ArrowException)
_PEEK = 1 << 16
# A mail is known by several of its first lines.
_OF_MAIL = re.compile(rb"From |(?:from|to|subject|date|received|message-id|mime-version|return-path|x-[\w-]+):", re.I)
_FAR = 8 << 20  # bytes of one request, where decompressors would ask for a few at a time
_MOST = 16 << 20


@dataclass(frozen=True)
class Source:
    """One file, folder, stream or table.

    Attributes
    ----------
    name : str
        How messages and the column `source` call it.
    path : str or None
        None for a stream and a table.
    stream : binary file or None
        None for a path.
    format : str
        One of `FORMATS`, or an empty string: guess from the first bytes.
    compression : str
        A suffix without its dot, or an empty string.
    label : str, int, bool or None
        The label of all its documents, where the caller gives one.
    size : int or None
        Bytes to be read; None for a pipe.
    filesystem : pyarrow.fs.FileSystem or None
        Where a file is that has an address in the place of a path.
    key : str
        Its path there.
    table : object or None
        A table or dataset in memory, in the place of a path.
    """

    name: str
    path: str | None
    stream: Any = None
    format: str = ""
    compression: str = ""
    label: Any = None
    size: int | None = None
    filesystem: Any = None
    key: str = ""
    table: Any = None

    @property
    def is_stream(self) -> bool:
        """Whether it can be read only once."""
        return self.path is None and self.table is None

    @property
    def is_far(self) -> bool:
        """Whether it has an address."""
        return self.filesystem is not None

    def open(self, *, seekable: bool = False) -> Any:
        """Its bytes as they are; `seekable`: as an Arrow file, which is read in any order."""
        if self.is_far:
            with _reaching(self.name):
                if seekable:
                    return self.filesystem.open_input_file(self.key)
                return self.filesystem.open_input_stream(self.key, compression=None)
        if self.path is None:
            return sys.stdin.buffer if self.stream is None else self.stream
        if seekable:
            return pa.OSFile(self.path)
        try:
            return open(self.path, "rb", buffering=0)
        except OSError as error:
            raise DataError.of_system(error, self.name) from error


@dataclass
class Progress:
    """Counters of one pass over the sources."""

    bytes_read: int = 0
    bytes_unpacked: int = 0
    n_skipped: int = 0
    skipped: list[DataError] = field(default_factory=list)
    columns: dict[str, None] = field(default_factory=dict)  # of tables, in the order in which they were met
    encodings: Counter[str] = field(default_factory=Counter)  # files that were found not to be UTF-8
    doubtful_headers: list[str] = field(default_factory=list)  # files whose names of columns look like a row
    unread_labels: list[str] = field(default_factory=list)  # files with a column of labels, which got another label
    label_type: type | None = None  # that all labels get; None before the first document that decides
    has_given_type: bool = False  # whether labels of that type have been given out

    def add(self, other: Progress) -> None:
        """Count what another pass has read."""
        self.bytes_read += other.bytes_read
        self.bytes_unpacked += other.bytes_unpacked
        self.n_skipped += other.n_skipped
        self.skipped += other.skipped
        self.encodings.update(other.encodings)
        self.doubtful_headers += other.doubtful_headers
        self.unread_labels += other.unread_labels

    def unpacked(self, n_bytes: int) -> None:
        """Count bytes that were decompressed; the owner of the progress may refuse columns that are too large."""
        self.bytes_unpacked += n_bytes


# --- bytes


class _Counted(io.RawIOBase):
    """A file that counts the bytes that are read."""

    def __init__(self, file: Any, progress: Progress, source: Source) -> None:
        self._file, self._progress, self._source = file, progress, source
        self._owned = source.path is not None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._owned:
            with _reaching(self._source.name) if self._source.is_far else nullcontext():
                n_bytes = int(self._file.readinto(buffer))
        else:
            data = self._file.read(len(buffer))
            if not isinstance(data, bytes):
                raise DataError(f"a stream gives {type(data).__name__}, not bytes: open it in binary mode")
            n_bytes = len(data)
            buffer[:n_bytes] = data
        self._progress.bytes_read += n_bytes
        return n_bytes

    def close(self) -> None:
        if self._owned and not self.closed:
            self._file.close()
        super().close()


class Stream(ExitStack):
    """The bytes of a source, decompressed.

    `close` closes the files that it opened; the standard input and the caller's streams stay open.  If the
    caller's stream has a method `has_more`, its bytes are read as they arrive.

    >>> with Stream(Source("x", None, io.BytesIO(gzip.compress(b"abc"))), Progress()) as stream:
    ...     stream.peek(), stream.read(2), stream.read(2), stream.read(2)
    (b'abc', b'ab', b'c', b'')
    """

    closed = False  # as Arrow asks files

    def __init__(self, source: Source, progress: Progress) -> None:
        super().__init__()
        self.source, self._progress = source, progress
        self._head = b""
        self._has_more: Callable[[], bool] | None = getattr(source.stream, "has_more", None)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        source = self.source
        counted = _Counted(source.open(), self._progress, source)
        self.callback(counted.close)
        raw: Any = io.BufferedReader(counted, _FAR if source.is_far and source.compression else _PEEK)
        self._file = raw
        compression = source.compression
        if not compression and source.path is None:
            start = self._guard(partial(raw.peek, 8))
            compression = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")
        if compression:
            self._file, self._has_more = _decompress(raw, compression), None
            self.callback(self._file.close)

    def peek(self, n_bytes: int | None = None) -> bytes:
        """Look at the first bytes, at least `n_bytes` if there are, without taking them.

        Without a number, one line is enough if bytes are read as they arrive.
        """
        most = _PEEK if n_bytes is None else n_bytes
        while len(self._head) < most:
            if n_bytes is None and self._has_more and b"\n" in self._head and not _OF_MAIL.match(self._head):
                break
            part = self._fill(most - len(self._head), least=1 if n_bytes is None else most)
            if not part:
                break
            self._head += part
        return self._head

    def read(self, n_bytes: int) -> bytes:
        """Take `n_bytes`; only the end gives fewer."""
        taken, self._head = self._head[:n_bytes], self._head[n_bytes:]
        if len(taken) < n_bytes:
            rest = self._fill(n_bytes - len(taken))
            taken = taken + rest if taken else rest
        self._progress.bytes_unpacked += len(taken)
        return taken

    def read_on(self, n_bytes: int, least: int) -> bytes:
        """As `read`; if bytes are read as they arrive, fewer than `n_bytes`, but at least `least`."""
        if not self._has_more:
            return self.read(n_bytes)
        taken, self._head = self._head[:n_bytes], self._head[n_bytes:]
        if len(taken) < least:
            taken += self._fill(n_bytes - len(taken), least=least - len(taken))
        self._progress.bytes_unpacked += len(taken)
        return taken

    def whole(self) -> bytes:
        """All bytes of a file that is one document."""
        data = self.read(MAX_RECORD + 1)
        if len(data) > MAX_RECORD:
            large = f"this is one document of more than {MAX_RECORD >> 20} MB"
            raise DataError(large, file=self.source.name, hint=("give its format with ", Option("format", ...)))
        return data

    def _fill(self, n_bytes: int, least: int | None = None) -> bytes:
        parts: list[bytes] = []
        left, has_more = n_bytes, None if least is None else self._has_more
        while left > 0:
            most = min(left, _MOST)  # Python makes room for all that is asked for before it reads
            part = self._guard(partial(self._file.read1 if has_more else self._file.read, most))
            if not part:
                break
            parts.append(part)
            left -= len(part)
            if has_more and n_bytes - left >= (least or 0) and not has_more():
                break
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _guard(self, read: Callable[[], bytes]) -> bytes:
        try:
            return bytes(read())
        except (*_DAMAGED, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise DataError.of_system(error, self.source.name) from error
            why = f"this is damaged or cut short ({error})"
            raise DataError(why, file=self.source.name, hint="get it again", cause="damaged-file") from error

    def seekable(self) -> Any:
        """The same bytes as an Arrow file, to be read in any order; those of a pipe go through a temporary file."""
        source = self.source
        if not source.compression and (source.is_far or (source.path is not None and source.size is not None)):
            file = source.open(seekable=True)
        else:
            copy = self.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            copy.write(self._head)
            while part := self._fill(1 << 20):
                copy.write(part)
            copy.seek(0)
            file = pa.PythonFile(copy, "r")
        self.callback(file.close)
        return file


def _decompress(raw: Any, compression: str) -> Any:
    if compression == "zst":
        return pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
    open_file: Any = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}[compression]
    return open_file(raw)


# --- addresses

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# A slash in a secret should be %2F, but an address that is refused for it is shown, too; host:8020/ is a port.
_SECRET = re.compile(r"(?<=://)[^/@:]*:(?!\d*[/?])[^@\s]*@|(?<=[?&])(?:client_secret|sig)=[^&\s']*&?")
_CREDENTIALS = {
    "s3": "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; ?region= behind the address",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET",
}


def is_address(path: str) -> bool:
    """Whether a path is an address.

    >>> is_address("s3://bucket/*.parquet"), is_address("mail.csv"), is_address("C:\\\\mail.csv")
    (True, False, False)
    """
    return _SCHEME.match(path) is not None


def find_files(address: str) -> list[Source]:
    """The file at an address; where that has a star, all files that match, in the order of their names.

    A star stands for characters of one name, not for slashes.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> [(folder / name).write_text("text") for name in ("b.csv", "a.csv", "c.txt")]
    [4, 4, 4]
    >>> [(found.name.removeprefix(f"file://{folder}"), found.size) for found in find_files(f"file://{folder}/*.csv")]
    [('/a.csv', 4), ('/b.csv', 4)]
    >>> find_files("http://example.org/a.csv")
    Traceback (most recent call last):
    bunrui.errors.DataError: http://example.org/a.csv: files are not read by http: give file, s3, gs, abfs or hdfs, ...
    """
    return files_at(without_secret(address), *locate(address))


def files_at(address: str, filesystem: Any, key: str) -> list[Source]:
    """The file at a path in a file system, or all files that match it."""
    from pyarrow.fs import FileType

    with _reaching(address):
        if "*" in address:
            found = list(_match_names(address, filesystem, key))
            if not found:
                raise DataError(f"no file matches {address}: check the pattern; * stands for no slash")
            return found
        info = filesystem.get_file_info(key)
    if info.type == FileType.NotFound:
        raise DataError(f"there is no file {address}: check the address")
    if info.type == FileType.Directory:
        raise DataError(f"{address} is a folder: give the files in it, such as {address.rstrip('/')}/*.parquet")
    return [Source(address, address, size=info.size, filesystem=filesystem, key=key)]


def locate(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    from pyarrow.fs import FileSystem

    shown = without_secret(address)
    try:
        with _reaching(shown):
            return FileSystem.from_uri(address)  # type: ignore[no-any-return]
    except pa.ArrowInvalid as error:
        if "Unrecognized filesystem" in str(error):
            known = f"files are not read by {_scheme(address)}: give file, s3, gs, abfs or hdfs"
            raise DataError(f"{shown}: {known}, or get the file first, as with curl -LO {shown}") from error
        why = f"{shown} is no address ({_first_line(error)})"
        raise DataError(f"{why}: write a space as %20, other signs in the same way") from error


def without_secret(address: str) -> str:
    """An address as it may be shown, or a message with addresses.

    >>> without_secret("s3://key:secret@bucket/a.csv"), without_secret("abfs://container@account/a.csv")
    ('s3://bucket/a.csv', 'abfs://container@account/a.csv')
    >>> without_secret("s3://key:sec/ret@bucket/a.csv"), without_secret("hdfs://host:8020/a@b.csv")
    ('s3://bucket/a.csv', 'hdfs://host:8020/a@b.csv')
    >>> without_secret("abfs://box/a.csv?client_secret=secret&tenant_id=7")
    'abfs://box/a.csv?tenant_id=7'
    """
    return _SECRET.sub("", address)


@contextmanager
def _reaching(address: str) -> Iterator[None]:
    """Say what to check where a file system does not answer, or not as it should."""
    try:
        yield
    except OSError as error:
        known = _CREDENTIALS.get(_scheme(address), "")
        rights = f"the rights to read it ({known})" if known else "the rights to read it"
        check = f"Check the address, the network and {rights}"
        raise DataError(f"{address} cannot be read: {_first_line(error)}. {check}") from error


def _scheme(address: str) -> str:
    match = _SCHEME.match(address)
    return match[1].lower() if match else ""


def _first_line(error: Exception) -> str:
    """The first line of a message, without its end."""
    return without_secret(str(error).partition("\n")[0].rstrip(" .:"))


def _match_names(address: str, filesystem: Any, key: str) -> Iterator[Source]:
    """Name by name: what a star cannot match is never listed."""
    from pyarrow.fs import FileSelector, FileType

    names = key.split("/")
    first = next(at for at, name in enumerate(names) if "*" in name)
    root = "/".join(names[:first])
    shown = address[: address.index("*")].rpartition("/")[0]
    folders = [root]
    for depth, pattern in enumerate(names[first:], first + 1):
        wanted = FileType.File if depth == len(names) else FileType.Directory
        inside = [
            info
            for folder in folders
            for info in filesystem.get_file_info(FileSelector(folder, allow_not_found=True))
            if info.type == wanted and fnmatchcase(info.base_name, pattern)
            if pattern.startswith(".") or not info.base_name.startswith(".")
        ]
        inside.sort(key=lambda info: str(info.path))
        folders = [info.path for info in inside]
    for info in inside:
        name = f"{shown}/{str(info.path).removeprefix(root).lstrip('/')}"
        yield Source(name, name, size=info.size, filesystem=filesystem, key=info.path)
