"""Bytes → blocks of whole lines or records, in valid UTF-8."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bunrui.documents.encodings import MARK, encoding_error, is_utf8, transcoder
from bunrui.documents.reading import Reading
from bunrui.documents.streams import MAX_RECORD, Stream
from bunrui.errors import DataError, EncodingError

__all__ = ["Block", "batches", "blocks", "last_line", "undecodable"]

_BOM = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Whole rows: `data` ends with a line feed; `line` is the number of its first line.

    `valid` is False where bad rows are skipped and some bytes are not valid UTF-8.
    """

    data: bytes
    line: int
    valid: bool


def last_line(data: bytes) -> int:
    """Where the last whole line ends."""
    return data.rfind(b"\n") + 1


def blocks(
    stream: Stream, reading: Reading, cut: Callable[[bytes], int] = last_line, *, raw: bool = False
) -> Iterator[Block]:
    """Cut a stream into blocks.

    Parameters
    ----------
    stream : Stream
    reading : Reading
    cut : callable
        Where the last whole row in some bytes ends; 0 if there is none.
    raw : bool
        Leave the bytes as they are, whatever their encoding.
    """
    size = reading.options.batch_bytes
    line, carry = 1, b""
    read = stream.read if raw else _Utf8(stream, reading).read
    # As much again as is left over, so that a line of any length is read in linear time.
    while chunk := read(max(size - len(carry), len(carry))):
        data, carry = _cut(carry, chunk, cut)
        if not data:
            if len(carry) > MAX_RECORD:
                raise DataError(
                    f"what begins here is longer than {MAX_RECORD >> 20} MB and has no end",
                    hint="is a quote not closed, or is this another format?",
                    **reading.place(line),
                )
            continue
        yield _block(data, line, reading, raw)
        line += _n_lines(data)
    if carry:
        yield _block(carry if carry.endswith(b"\n") else carry + b"\n", line, reading, raw)


def _cut(carry: bytes, chunk: bytes, cut: Callable[[bytes], int]) -> tuple[bytes, bytes]:
    """Whole rows, and what is left over."""
    if cut is last_line:
        end = last_line(chunk)
        if end:
            return b"".join([carry, memoryview(chunk)[:end]]), chunk[end:]  # copied once, not twice
    data = carry + chunk
    end = cut(data)
    return (data, b"") if end == len(data) else (data[:end], data[end:])


def _n_lines(data: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))  # a third of the time of data.count


def _block(data: bytes, line: int, reading: Reading, raw: bool) -> Block:
    valid = raw or is_utf8(data)
    if not valid and not reading.options.skip_bad:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            place = reading.place(line + data.count(b"\n", 0, error.start))
            raise encoding_error(data, error.start, "utf-8", several=reading.several, **place) from None
    return Block(data, line, valid)


def undecodable(reading: Reading, line: int | None, data: bytes, start: int) -> EncodingError:
    """An error about bytes of a row that are not valid UTF-8."""
    encoding = reading.options.encoding
    if transcoder(encoding, "strict") is None:
        return encoding_error(data, start, "utf-8", several=reading.several, **reading.place(line))
    return EncodingError(f"some bytes are not valid {encoding}", **reading.place(line))  # what they were is gone


class _Utf8:
    """A stream in UTF-8, without a byte order mark."""

    def __init__(self, stream: Stream, reading: Reading) -> None:
        self._stream, self._reading = stream, reading
        self._decoder = transcoder(reading.options.encoding, MARK if reading.options.skip_bad else "strict")
        self._line, self._at_start = 1, True

    def read(self, n_bytes: int) -> bytes:
        """What that many bytes of the source give; nothing only at the end."""
        while True:
            data = self._stream.read(max(n_bytes, len(_BOM)))
            out = self._decoded(data) if self._decoder else data
            if self._at_start and out:
                out, self._at_start = out.removeprefix(_BOM), False
            if out or not data:
                return out

    def _decoded(self, data: bytes) -> bytes:
        assert self._decoder is not None
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            reading, encoding = self._reading, self._reading.options.encoding
            line = self._line + error.object[: error.start].decode(encoding, "replace").count("\n")
            found = bytes(error.object), error.start, encoding
            raise encoding_error(*found, several=reading.several, **reading.place(line)) from None
        except UnicodeError as error:  # no byte order mark, say
            name = self._reading.options.encoding
            raise EncodingError(f"this is not {name}: {error}", **self._reading.place(self._line)) from error
        self._line += text.count("\n")
        return text.encode("utf-8", "surrogatepass")


def batches(
    found: Iterable[Block],
    reading: Reading,
    quick: Callable[[Block, Reading], pa.RecordBatch | None],
    slow: Callable[[Block, Reading], pa.RecordBatch | None],
) -> Iterator[pa.RecordBatch]:
    """A batch for each block, the quick way where it will do: it gives None where it will not."""
    for block in found:
        batch = quick(block, reading) if block.valid else None
        if batch is None:
            batch = slow(block, reading)
        if batch is not None and batch.num_rows:
            yield batch
