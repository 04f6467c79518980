"""A file or pipe → bytes: counted, decompressed, and peeked at."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any

import pyarrow as pa

from bunrui.documents.addresses import FarSource, unreachable
from bunrui.documents.reading import Progress, Source
from bunrui.errors import DataError

__all__ = ["COMPRESSIONS", "MAX_RECORD", "Stream"]

COMPRESSIONS = ("gz", "bz2", "xz", "zst")
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, pa.ArrowException)
_PEEK = 1 << 16
_FAR = 8 << 20  # bytes of one request, where decompressors would ask for a few at a time
_MOST = 16 << 20

MAX_RECORD = 1 << 30
"""Bytes of the longest document: more is taken for a mistake, such as a quote that is never closed."""


class _Counted(io.RawIOBase):
    """A file that counts what is read from it."""

    def __init__(self, file: Any, progress: Progress, source: Source) -> None:
        self._file, self._progress, self._source = file, progress, source
        self._owned = source.path is not None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._owned:
            try:
                n_bytes = int(self._file.readinto(buffer))
            except OSError as error:
                if isinstance(self._source, FarSource):
                    raise unreachable(self._source.name, error) from error
                raise
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


class Stream:
    """The bytes of a source, decompressed.

    Files that it opened are closed with it; the standard input and streams that the caller gave stay open.

    >>> with Stream(Source("x", None, io.BytesIO(gzip.compress(b"abc"))), Progress()) as stream:
    ...     stream.peek(), stream.read(2), stream.read(2), stream.read(2)
    (b'abc', b'ab', b'c', b'')
    """

    def __init__(self, source: Source, progress: Progress) -> None:
        self.source = source
        self._closing: list[Any] = []
        self._head = b""
        try:
            self._open(source, progress)
        except BaseException:
            self.close()
            raise

    def _open(self, source: Source, progress: Progress) -> None:
        if isinstance(source, FarSource):
            file: Any = source.open_stream()
        elif source.path is not None:
            try:
                file = open(source.path, "rb", buffering=0)  # noqa: SIM115 (closed in close)
            except OSError as error:
                raise DataError(f"{source.name} cannot be opened: {error.strerror}") from error
        else:
            file = sys.stdin.buffer if source.stream is None else source.stream
        counted = _Counted(file, progress, source)
        self._closing.append(counted)
        is_far = isinstance(source, FarSource) and source.compression
        raw: Any = io.BufferedReader(counted, _FAR if is_far else _PEEK)
        self._file = raw
        compression = source.compression
        if not compression and source.path is None:
            start = self._guarded(partial(raw.peek, 8))
            compression = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")
        if compression:
            self._file = _decompressed(raw, compression)
            self._closing.append(self._file)

    def peek(self, n_bytes: int = _PEEK) -> bytes:
        """At least so many of the first bytes, if there are, without taking them."""
        if len(self._head) < n_bytes:
            self._head += self._fill(n_bytes - len(self._head))
        return self._head

    def read(self, n_bytes: int) -> bytes:
        """So many bytes; fewer only at the end."""
        taken, self._head = self._head[:n_bytes], self._head[n_bytes:]
        if len(taken) == n_bytes:
            return taken
        rest = self._fill(n_bytes - len(taken))
        return taken + rest if taken else rest

    def whole(self) -> bytes:
        """All bytes of a file that is one document."""
        data = self.read(MAX_RECORD + 1)
        if len(data) > MAX_RECORD:
            raise DataError(f"{self.source.name} is one document of more than {MAX_RECORD >> 20} MB: give its format")
        return data

    def _fill(self, n_bytes: int) -> bytes:
        parts: list[bytes] = []
        while n_bytes > 0:
            most = min(n_bytes, _MOST)  # Python makes room for all that is asked for before it reads
            part = self._guarded(partial(self._file.read, most))
            if not part:
                break
            parts.append(part)
            n_bytes -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _guarded(self, read: Callable[[], bytes]) -> bytes:
        try:
            return bytes(read())
        except _DAMAGED as error:
            raise self._damaged(error) from error
        except OSError as error:
            if error.errno is None:  # of gzip, bz2 or Arrow, not of the system
                raise self._damaged(error) from error
            raise DataError(f"{self.source.name} cannot be read: {error.strerror}") from error

    def _damaged(self, error: Exception) -> DataError:
        return DataError(f"{self.source.name} is damaged or cut short and cannot be decompressed: {error}")

    def seekable(self) -> Any:
        """The same bytes as an Arrow file, to be read in any order; those of a pipe go through a temporary file."""
        source = self.source
        if isinstance(source, FarSource) and not source.compression:
            file = source.open_file()
        elif source.path is not None and not source.compression and source.size is not None:
            file = pa.OSFile(source.path)
        else:
            copy = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
            self._closing.append(copy)
            while part := self.read(1 << 20):
                copy.write(part)
            copy.seek(0)
            file = pa.PythonFile(copy, "r")
        self._closing.append(file)
        return file

    def close(self) -> None:
        """Close what was opened."""
        while self._closing:
            self._closing.pop().close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _decompressed(raw: Any, compression: str) -> Any:
    match compression:
        case "gz":
            return gzip.GzipFile(fileobj=raw)
        case "bz2":
            return bz2.BZ2File(raw)
        case "xz":
            return lzma.LZMAFile(raw)
        case _:
            return pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
