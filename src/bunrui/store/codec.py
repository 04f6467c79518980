"""Arrays and strings ↔ the blobs of a file.

    blob     method (1 byte: 0 as it is, 1 zstd), CRC-32 of the content (4), its length (8), the content
    numbers  whole numbers ≥ 0 as planes: the lowest byte of all of them, then the next, as many as the largest needs

Most counts are small: the higher planes are zeros, which zstd takes to nothing.

Nothing that a file says is believed: lengths are checked before memory is asked for, contents against their checksum.
"""

from __future__ import annotations

import json
import struct
import zlib
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bunrui.errors import DamagedError

__all__ = ["HEAD_SIZE", "Unpacker", "pack", "pack_json", "pack_numbers", "size_of"]

Integers = npt.NDArray[np.int64]

_HEAD = struct.Struct("<BIQ")
HEAD_SIZE = _HEAD.size
_PLAIN, _ZSTD = 0, 1
_WORTH_PACKING = 64
_LEVEL = 1  # IMDB: .42 of the text, where level 3 has .37 and takes a third longer; counting takes a third of either
_MOST_PLANES = 8
_JSON_TIMES = 32  # bytes that a byte of JSON may take as lists


@cache
def _zstd() -> Any:
    return pa.Codec("zstd", compression_level=_LEVEL)


def pack(content: Any) -> bytes:
    """Bytes → a blob."""
    size = len(content)
    head = (zlib.crc32(content), size)
    if size >= _WORTH_PACKING:
        packed = _zstd().compress(content)
        if len(packed) < size:
            return b"".join([_HEAD.pack(_ZSTD, *head), packed])
    return b"".join([_HEAD.pack(_PLAIN, *head), content])


def pack_json(value: Any) -> bytes:
    """Lists, strings and numbers → a blob."""
    return pack(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def pack_numbers(numbers: Any) -> bytes:
    """Whole numbers ≥ 0 → a blob."""
    largest = int(numbers.max()) if len(numbers) else 0
    planes = [(numbers >> (8 * k)).astype(np.uint8) for k in range((largest.bit_length() + 7) // 8)]
    return pack(np.concatenate(planes).data if planes else b"")


def size_of(head: bytes) -> int:
    """How long the content of a blob says it is, by its first bytes."""
    return int(_HEAD.unpack(head)[2])


class Unpacker:
    """Blobs → what was packed, as long as they do not claim more memory than there can be in an honest file.

    Parameters
    ----------
    name : str
        The file, for messages.
    budget : int
        Bytes that all blobs together may unpack to.
    """

    def __init__(self, name: str, budget: int) -> None:
        self.name = name
        self._left = budget

    def damaged(self, what: str) -> DamagedError:
        """The error to raise for something that does not fit."""
        # On one line: a reason may be quoted from the file, or be the message of another library.
        what = " ".join(what.split())
        return DamagedError(f"{self.name} is damaged: {what}. Take a copy from a backup, or learn the documents again")

    def check_whole(self, *numbers: Any) -> None:
        """Refuse what is no whole number ≥ 0: SQLite checks the types of columns only when they are written."""
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise self.damaged("it has something else where a number should be")

    def check_text(self, *values: Any) -> None:
        """Refuse what is no text."""
        if not all(isinstance(value, str) for value in values):
            raise self.damaged("it has something else where a text should be")

    def unpack(self, blob: Any, most: int | None = None) -> memoryview:
        """The content of a blob."""
        if not isinstance(blob, bytes) or len(blob) < _HEAD.size:
            raise self.damaged("a block of data is too short")
        method, checksum, size = _HEAD.unpack_from(blob)
        body = memoryview(blob)[_HEAD.size :]
        if method not in (_PLAIN, _ZSTD) or (method == _PLAIN and size != len(body)):
            raise self.damaged("a block of data has a wrong header")
        if most is not None and size > most:
            raise self.damaged("a block of data is longer than it should be")
        self.charge(size)
        if method == _ZSTD:
            try:
                body = memoryview(_zstd().decompress(body, size, asbytes=True))
            except (OSError, ValueError, MemoryError) as error:
                raise self.damaged("a block of data cannot be decompressed") from error
        if len(body) != size or zlib.crc32(body) != checksum:
            raise self.damaged("a block of data does not match its checksum")
        return body

    def charge(self, n_bytes: int) -> None:
        """Memory that goes with what is unpacked."""
        if n_bytes > self._left:
            raise self.damaged("its blocks claim to hold far more than the size of the file allows")
        self._left -= n_bytes

    def is_empty(self, blob: Any) -> bool:
        """Whether a blob holds nothing; damage is found when it is unpacked."""
        return isinstance(blob, bytes) and len(blob) == _HEAD.size

    def numbers(self, blob: Any, n: int) -> Integers:
        """`n` numbers."""
        self.check_whole(n)
        content = self.unpack(blob, _MOST_PLANES * n)
        n_planes, rest = divmod(len(content), n) if n else (0, len(content))
        if rest or n_planes > _MOST_PLANES:
            raise self.damaged("a list of numbers has another length than it should")
        planes = np.frombuffer(content, np.uint8).reshape(n_planes, n)
        self.charge(8 * n)
        out = planes[0].astype(np.int64) if n_planes else np.zeros(n, np.int64)
        for k, plane in enumerate(planes[1:], 1):
            places = np.flatnonzero(plane)
            out[places] += plane[places].astype(np.int64) << (8 * k)
        if n_planes == _MOST_PLANES and (out < 0).any():
            raise self.damaged("a number is too large")
        return out

    def json(self, blob: Any) -> Any:
        """Lists, strings and numbers."""
        content = bytes(self.unpack(blob, self._left // _JSON_TIMES))
        self.charge(_JSON_TIMES * len(content))
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self.damaged("a list of values cannot be read") from error
