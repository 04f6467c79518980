"""Documents with their original rows.

parquet, arrow       a struct of all columns
jsonl                the line
csv, tsv, tab        a line with a JSON object: the fields by the names in the header
all other formats    a struct of text, id, source and line
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bunrui.documents import Reader
from bunrui.documents.delimited import read_delimited, split_records
from bunrui.documents.encodings import AUTO, FIRST, detect, transcoder
from bunrui.documents.formats import guess_format
from bunrui.documents.lines import read_jsonl
from bunrui.documents.reader import Tracked
from bunrui.documents.sources import Progress, Source, Stream
from bunrui.documents.tabular import take_columns
from bunrui.documents.validation import Reading
from bunrui.errors import DataError, OptionError

Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

COLUMNAR = ("parquet", "arrow")
"""Formats whose columns have types."""

_DELIMITERS = {"csv": b",", "tsv": b"\t", "tab": b"\t"}
_BOM = b"\xef\xbb\xbf"
_MOST_ROWS = 1 << 16


class Batch(NamedTuple):
    """Documents, as `bunrui.documents.read` gives them, and a function that gives the rows of some of them."""

    documents: pa.RecordBatch
    rows: Callable[[Mask], pa.Array]


class Originals(Tracked):
    """The documents of a reader, with their rows.

    Each pass reads the files from the start.  What a progress bar asks a reader, it can ask this.

    Examples
    --------
    >>> import tempfile
    >>> from bunrui.documents import read
    >>> with tempfile.NamedTemporaryFile("wb", suffix=".csv") as file:
    ...     _ = file.write(b"id,text\\n7,one\\n8,two\\n"), file.flush()
    ...     for batch in Originals(read(file.name, labelled=False)):
    ...         print(batch.documents["text"].to_pylist(), batch.rows(np.array([False, True])).to_pylist())
    ['one', 'two'] ['{"id": "8", "text": "two"}']
    """

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self._reader = reader
        for source in reader.sources:
            _check_encoding(source, source.format, self._reader.options.encoding)

    @property
    def bytes_total(self) -> int | None:
        """Bytes of all files."""
        return self._reader.bytes_total

    def schema(self) -> pa.Schema | None:
        """The columns of all files together; None where a file has no columns with types.

        Raises
        ------
        DataError
            If the types that a column has in two files do not go together.
        """
        schemas = []
        for source in self._reader.sources:
            if source.format not in COLUMNAR:
                return None
            reading = Reading(source, self._reader.options, Progress())
            with Stream(source, reading.progress) as stream:
                schemas.append(_open(stream, reading).schema)
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException as error:
            raise DataError(f"the files have a column of the same name with different types: {error}") from error

    def __iter__(self) -> Iterator[Batch]:
        self._progress = progress = Progress()
        for source in self._reader.sources:
            before = progress.bytes_read
            yield from self._batches(source, Reading(source, self._reader.options, progress, before))
            if source.size is not None:
                progress.bytes_read = before + source.size

    def _batches(self, source: Source, reading: Reading) -> Iterator[Batch]:
        format = source.format or _guessed(source, reading)
        if not source.format:
            _check_encoding(source, format, reading.options.encoding)
        if format not in (*COLUMNAR, "jsonl", *_DELIMITERS):
            for batch in Reader([source], reading.options).batches(reading.progress):
                yield Batch(batch, partial(_known, batch))
            return
        with closing(_Remembering(source, reading.progress)) as stream:
            if format in COLUMNAR:
                yield from _columnar(stream, reading)
            elif format == "jsonl":
                yield from _lines(stream, read_jsonl(stream, reading), None)
            else:
                style = _DELIMITERS[format], format != "tab"
                yield from _lines(stream, read_delimited(stream, reading, style[0], quotes=style[1]), style)


def _check_encoding(source: Source, format: str, encoding: str) -> None:
    if format not in ("jsonl", *_DELIMITERS):
        return
    if encoding == AUTO:
        with Stream(source, Progress()) as stream:
            encoding = detect(stream.peek(FIRST))
    if transcoder(encoding, "strict") is not None:
        raise OptionError("its rows are copied as they are", file=source.name, hint="convert it to utf-8 first")


def _guessed(source: Source, reading: Reading) -> str:
    with Stream(source, Progress()) as stream:
        return guess_format(stream.peek(), reading)


def _known(documents: pa.RecordBatch, mask: Mask) -> pa.Array:
    chosen = documents.filter(pa.array(mask))
    columns = {name: chosen[name] for name in ("text", "id", "source", "line")}
    return pa.record_batch(columns | {"source": columns["source"].dictionary_decode()}).to_struct_array()


# --- columns


class _Columns(NamedTuple):
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    n_rows: int | None


def _open(stream: Stream, reading: Reading) -> _Columns:
    """A file with all of its columns."""
    import pyarrow.parquet as pq

    from bunrui.documents.columnar import ERRORS

    try:
        if stream.peek().startswith(b"PAR1"):
            file = pq.ParquetFile(stream.seekable())
            metadata = file.metadata
            n_bytes = sum(metadata.row_group(g).total_byte_size for g in range(metadata.num_row_groups))
            n_rows = reading.options.batch_bytes * metadata.num_rows // max(1, n_bytes)
            batches = file.iter_batches(max(1, min(n_rows, _MOST_ROWS)), use_threads=False)
            return _Columns(file.schema_arrow, batches, metadata.num_rows)
        if stream.peek().startswith(b"ARROW1"):
            opened = pa.ipc.open_file(stream.seekable())
            return _Columns(opened.schema, map(opened.get_batch, range(opened.num_record_batches)), None)
        opened = pa.ipc.open_stream(stream.seekable())
        return _Columns(opened.schema, iter(opened), None)
    except ERRORS as error:
        raise DataError(f"this cannot be read ({error})", file=reading.source.name) from error


def _columnar(stream: Stream, reading: Reading) -> Iterator[Batch]:
    from bunrui.documents.columnar import ERRORS, read_batches

    opened = _open(stream, reading)
    take_columns(reading, opened.schema.names)
    before = 0
    current: Any = []

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal before, current
        for batch in opened.batches:
            before += len(current)
            current = batch
            yield batch

    try:
        for documents in read_batches(batches(), reading, opened.n_rows):
            places = documents["line"].to_numpy() - 1 - before
            yield Batch(documents, partial(_taken, current, places))
    except ERRORS as error:
        raise DataError(f"this cannot be read ({error})", file=reading.source.name) from error


def _taken(batch: pa.RecordBatch, places: Integers, mask: Mask) -> pa.Array:
    return batch.take(pa.array(places[mask])).to_struct_array()


# --- lines


class _Remembering(Stream):
    """A stream that keeps what was read from it, until somebody takes it."""

    def __init__(self, source: Source, progress: Progress) -> None:
        self._parts: list[bytes] = []
        super().__init__(source, progress)

    def read(self, n_bytes: int) -> bytes:
        data = super().read(n_bytes)
        self._parts.append(data)
        return data

    def taken(self) -> bytes:
        """All that was read since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _lines(stream: _Remembering, found: Iterator[pa.RecordBatch], style: tuple[bytes, bool] | None) -> Iterator[Batch]:
    """Documents with their lines; with a style (delimiter, quotes), with JSON objects of their fields."""
    data, first = b"", 1
    read: Callable[[bytes], str] | None = None if style else _line
    for documents in found:
        data += stream.taken()
        if read is None or first == 1:
            data = data.removeprefix(_BOM)
        if read is None and style:
            header = next(record.fields for record in split_records(data + b"\n", *style) if record.fields != [b""])
            names = [name.decode() for name in header]
            _refuse_repeated(names, stream.source)
            read = partial(_object, names, style)
        assert read is not None
        starts = np.concatenate([[0], np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1])
        numbers = documents["line"].to_numpy()
        starts = starts[numbers - first]
        yield Batch(documents, partial(_cut, data, np.append(starts, len(data)), read))
        # The last row may go on for some lines: where it ends is not known here.
        data, first = data[int(starts[-1]) :], int(numbers[-1])


def _refuse_repeated(names: list[str], source: Source) -> None:
    for name in names:
        if names.count(name) > 1:
            several = f"there are {names.count(name)} columns {name!r}, and a JSON object holds one"
            raise DataError(several, file=source.name, hint="give each a name of its own")


def _cut(data: bytes, bounds: Integers, read: Callable[[bytes], str], mask: Mask) -> pa.Array:
    """Rows, each from where it begins to where the next one does: behind it may be empty lines and bad rows."""
    places = np.flatnonzero(mask)
    pairs = zip(bounds[places].tolist(), bounds[places + 1].tolist(), strict=True)
    return pa.array([read(data[start:end]) for start, end in pairs], pa.large_string())


def _line(data: bytes) -> str:
    return data.partition(b"\n")[0].strip().decode()


def _object(names: list[str], style: tuple[bytes, bool], data: bytes) -> str:
    fields = next(split_records(data if data.endswith(b"\n") else data + b"\n", *style)).fields
    return json.dumps(dict(zip(names, [field.decode() for field in fields], strict=False)), ensure_ascii=False)
