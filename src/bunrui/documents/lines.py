"""One document a line: plain lines, lines with labels in front as fastText writes them, and JSON lines.

Bytes are cut into blocks of whole lines, or of whole records, in valid UTF-8.  Each block is read on the fast path, or
else on the slow path.  The fast path of JSON lines is Arrow's reader.  It would also accept objects that share a line
or span lines.  So it is used only if every line begins with { and ends with }, and if there are as many rows as lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from bunrui.documents.encodings import MARK, encoding_error, is_utf8, transcoder
from bunrui.documents.sources import MAX_RECORD, Stream
from bunrui.documents.tabular import row_text
from bunrui.documents.validation import STRING, TOKENS, Batches, Object, Reading, Row, Rows, Written, label_type, tidy
from bunrui.errors import DataError, EncodingError, Option

Integers = npt.NDArray[np.int64]

_BOM = b"\xef\xbb\xbf"
_SHORT = 1 << 16  # bytes of a line
_SPACE = " \t\v\f\r\0"  # what fastText splits at: ASCII only
_LABELLED = re.compile(rf"^__label__([^{_SPACE}\n]+)[{_SPACE}]+(.*)$", re.MULTILINE)
# The look back comes second: so `re` searches for the letters, and reads long texts ten times as fast.
_LABEL = re.compile(rf"__label__(?<![^{_SPACE}]__label__)([^{_SPACE}]*)[{_SPACE}]*")


class Block(NamedTuple):
    """Whole rows: `data` ends with a line feed; `line` is the number of its first line.

    `valid` is False where bad rows are skipped and some bytes are not valid UTF-8.
    """

    data: bytes
    line: int
    valid: bool


def find_last_line(data: bytes) -> int:
    """Find the end of the last whole line."""
    return data.rfind(b"\n") + 1


def cut_blocks(
    stream: Stream, reading: Reading, cut: Callable[[bytes], int] = find_last_line, *, raw: bool = False
) -> Iterator[Block]:
    """Cut a stream into blocks.

    Parameters
    ----------
    stream : Stream
    reading : Reading
    cut : callable
        Finds the end of the last whole row in some bytes; 0 if there is none.
    raw : bool
        Leave the bytes as they are, whatever their encoding.
    """
    size = reading.options.batch_bytes
    line, carry = 1, b""
    read = stream.read_on if raw else _Utf8(stream, reading).read
    # As much again as is left over, so that a line of any length is read in linear time.
    while chunk := read(max(size - len(carry), len(carry)), len(carry) if len(carry) > _SHORT else 1):
        data, carry = _cut(carry, chunk, cut)
        if not data:
            if len(carry) > MAX_RECORD:
                raise DataError(
                    f"the row that begins here is longer than {MAX_RECORD >> 20} MB and has no end",
                    hint="is a quote not closed, or is this another format?",
                    cause="quotes",
                    **reading.place(line),
                )
            continue
        yield _check_block(data, line, reading, raw)
        line += _n_lines(data)
    if carry:
        yield _check_block(carry if carry.endswith(b"\n") else carry + b"\n", line, reading, raw)


def _cut(carry: bytes, chunk: bytes, cut: Callable[[bytes], int]) -> tuple[bytes, bytes]:
    """Whole rows, and the rest."""
    if cut is find_last_line:
        end = find_last_line(chunk)
        if end:
            return b"".join([carry, memoryview(chunk)[:end]]), chunk[end:]  # copied once, not twice
    data = carry + chunk
    end = cut(data)
    return (data, b"") if end == len(data) else (data[:end], data[end:])


def _n_lines(data: bytes) -> int:
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))  # a third of the time of data.count


def _check_block(data: bytes, line: int, reading: Reading, raw: bool) -> Block:
    valid = raw or is_utf8(data)
    if not valid and not reading.options.skip_bad:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            place = reading.place(line + data.count(b"\n", 0, error.start))
            raise encoding_error(data, error.start, "utf-8", several=reading.several, **place) from None
    return Block(data, line, valid)


class _Utf8:
    """A stream in UTF-8, without a byte order mark."""

    def __init__(self, stream: Stream, reading: Reading) -> None:
        self._stream, self._reading = stream, reading
        self._decoder = transcoder(reading.options.encoding, MARK if reading.options.skip_bad else "strict")
        self._line, self._at_start = 1, True

    def read(self, n_bytes: int, least: int) -> bytes:
        """Read `n_bytes` of the source, as UTF-8, or fewer (`Stream.read_on`); only the end gives nothing."""
        while True:
            data = self._stream.read_on(max(n_bytes, len(_BOM)), least)
            out = self._decode(data) if self._decoder else data
            if self._at_start and out:
                out, self._at_start = out.removeprefix(_BOM), False
            if out or not data:
                return out

    def _decode(self, data: bytes) -> bytes:
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


def _batches(
    stream: Stream,
    reading: Reading,
    quick: Callable[[Block, Reading], pa.RecordBatch | None],
    parse: Callable[[bytes, Reading], Row | None],
) -> Batches:
    """A batch for each block: from `quick`, or, if that returns None, line by line."""
    for block in cut_blocks(stream, reading):
        batch = quick(block, reading) if block.valid else None
        if batch is None:
            rows = Rows(reading)
            lines = enumerate(block.data[:-1].split(b"\n"), block.line)
            rows.add(lines, lambda line: parse(line.removesuffix(b"\r"), reading))
            batch = rows.batch()
        yield _with_lines(batch, block) if batch and reading.options.rows and parse is _parse_json else batch


_PART = 1 << 20  # Arrow's arrays grow with a block: twice as fast in parts that fit a cache, joined afterwards


def parse_in_parts(parse: Callable[[int], pa.Table], n_bytes: int) -> pa.Table | None:
    """A table that is parsed in parts, or, where a row is longer than a part, as a whole; None if neither can be."""
    for size in (_PART, n_bytes + 1):
        try:
            return parse(size)
        except (pa.ArrowException, UnicodeDecodeError):
            if size >= n_bytes:
                return None
    return None


def join_chunks(column: pa.ChunkedArray) -> pa.Array:
    """The parts of a column as one array."""
    array = column.combine_chunks()
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array  # as an older Arrow has it


# --- lines of text


def read_lines(stream: Stream, reading: Reading) -> Batches:
    """Batches of a stream with one document a line; an empty line is an empty document."""
    _refuse_ids(reading)
    if reading.wants_label:
        raise DataError(
            f"{reading.source.name} has lines without labels",
            hint=("begin each with __label__ and its label, or give all of them one with ", Option("as", ...)),
        )
    yield from _batches(stream, reading, _quick_lines, _parse_line)


def _quick_lines(block: Block, reading: Reading) -> pa.RecordBatch | None:
    texts = block.data[:-1].decode().split("\n")
    if b"\r" in block.data:
        texts = [text.removesuffix("\r") for text in texts]
    return tidy(reading, [pa.array(texts, STRING)], None, None, np.arange(len(texts)) + block.line)


def _parse_line(line: bytes, _: Reading) -> Row:
    return [line.decode()], None, None


def read_fasttext(stream: Stream, reading: Reading) -> Batches:
    """Batches of a stream of `__label__spam __label__ad text` lines.

    As in fastText, a label may stand anywhere in its line.
    """
    _refuse_ids(reading)
    yield from _batches(stream, reading, _quick_fasttext, _parse_fasttext)


def _quick_fasttext(block: Block, reading: Reading) -> pa.RecordBatch | None:
    """A block in which each line has one label and some text."""
    n_lines = block.data.count(b"\n")
    if b"\r" in block.data or block.data.count(b"__label__") != n_lines:
        return None
    pairs = _LABELLED.findall(block.data.decode())
    if len(pairs) != n_lines:
        return None
    labels, texts = zip(*pairs, strict=True)
    label = pa.array(labels, STRING) if reading.wants_label else None
    return tidy(reading, [pa.array(texts, STRING)], label, None, np.arange(n_lines) + block.line)


def _parse_fasttext(line: bytes, reading: Reading) -> Row | None:
    text = line.decode()
    if not text.strip(_SPACE):
        return None
    labels = _LABEL.findall(text)
    if reading.wants_label and not labels:
        raise DataError("there is no label: begin the line with __label__ and its label", cause="empty-label")
    label = labels if len(labels) > 1 else next(iter(labels), None)
    return [_LABEL.sub("", text)], label if reading.wants_label else None, None


def _refuse_ids(reading: Reading) -> None:
    if reading.options.id:
        raise DataError((f"{reading.source.name} has lines, and lines have no ids: read it without ", Option("id")))


# --- JSON lines


def read_jsonl(stream: Stream, reading: Reading) -> Batches:
    """Batches of a stream of JSON lines."""
    if stream.peek().removeprefix(_BOM).lstrip()[:1] == b"[":
        hint = "write one object a line, as jq -c '.[]' does"
        raise DataError("this is a JSON array", file=reading.source.name, hint=hint, cause="json-array")
    yield from _batches(stream, reading, _quick_json, _parse_json)


def _with_lines(batch: pa.RecordBatch, block: Block) -> pa.RecordBatch:
    """The batch with its lines; none is made a Python object, which would take as long as parsing short ones."""
    starts = np.append(0, np.flatnonzero(np.frombuffer(block.data, np.uint8) == ord("\n")) + 1)
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(block.data)]
    lines = pa.Array.from_buffers(pa.large_string(), len(starts) - 1, buffers)
    whole = pc.ascii_trim_whitespace(lines.take(pa.array(batch["line"].to_numpy() - block.line)))
    return batch.append_column("row", whole.cast(STRING))


def _drop_constant(name: str) -> None:
    """NaN is nobody's label."""


def _quick_json(block: Block, reading: Reading) -> pa.RecordBatch | None:
    if reading.options.columns:
        return None
    places = _find_objects(block.data)
    if places is None or not len(places):
        return None
    schema = _find_schema(block.data, reading)
    if schema is None:
        return None
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")

    def parse(size: int) -> pa.Table:
        return pa.json.read_json(pa.BufferReader(block.data), pa.json.ReadOptions(False, size), options)

    table = parse_in_parts(parse, len(block.data))
    if table is None or table.num_rows != len(places):
        return None
    strings = pa.schema([(field.name, TOKENS if pa.types.is_list(field.type) else STRING) for field in schema])
    columns = dict(zip(schema.names, map(join_chunks, table.cast(strings).columns), strict=True))
    if reading.wants_label:
        reading.label_type = label_type(schema.field(reading.options.label).type)
    batch = tidy(reading, *reading.pick(columns), places + block.line)
    reading.label_type = str  # the slow path knows the type of each
    return batch


def _find_objects(data: bytes) -> Integers | None:
    """Which lines of a block hold something, if each of these begins with { and ends with }."""
    chars = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(chars == ord("\n"))
    starts = np.append(0, ends[:-1] + 1)
    ends -= chars[np.maximum(ends - 1, 0)] == ord("\r")
    full = np.flatnonzero(ends > starts)
    are_objects = (chars[starts[full]] == ord("{")) & (chars[ends[full] - 1] == ord("}"))
    return full if are_objects.all() else None


def _find_schema(data: bytes, reading: Reading) -> pa.Schema | None:
    """The types of the columns, as the first line has them."""
    start = len(data) - len(data.lstrip())
    try:
        row = _parse_object(data[start : data.index(b"\n", start)])
    except DataError:
        return None
    kinds = {name: _find_type(row.get(name)) for name in reading.columns}
    texts = all(kinds[name] in (STRING, TOKENS) for name in reading.options.text)
    is_id = reading.options.id is None or kinds[reading.options.id] in _TYPES.values()
    return pa.schema(list(kinds.items())) if texts and is_id and None not in kinds.values() else None


_TYPES = {str: STRING, bool: pa.bool_(), int: pa.int64()}


def _find_type(value: Any) -> pa.DataType | None:
    """The type of a value, or of the first one in a list; None for all that Arrow may read in another way."""
    if not isinstance(value, list):
        return _TYPES.get(type(value))
    kind = _TYPES.get(type(value[0])) if value else STRING
    return None if kind is None else pa.list_(kind)


def _parse_json(line: bytes, reading: Reading) -> Row | None:
    if not line.strip():
        return None
    row = _parse_object(line, Written if reading.options.columns else _drop_constant)
    columns = reading.columns
    if any(name not in row for name in columns):
        raise DataError(reading.lacks(row), cause="no-column")
    if repeated := row.repeated if reading.options.columns else row.repeated.intersection(columns):
        raise DataError(f"the object has {min(repeated)!r} twice: keep one")
    texts, label, id = reading.pick(row)
    return [_write_row(row, reading)] if reading.options.columns else texts, label, id


def _write_row(row: Object, reading: Reading) -> str:
    """The row of a table, which has columns of its own, as a document."""
    options = reading.options
    cells = {name: cell for name, cell in row.items() if name not in (options.label, options.id)}
    reading.progress.columns.update(dict.fromkeys(cells))
    return row_text(cells)


def _parse_object(line: bytes, constant: Callable[[str], Any] = _drop_constant) -> Object:
    """An object; `constant` is what Infinity and NaN are."""
    try:
        row = json.loads(line.decode(), object_pairs_hook=Object, parse_float=Written, parse_constant=constant)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")
        raise DataError(f"this is not JSON: {what} at character {error.pos + 1}", cause="json") from None
    except RecursionError:
        deep = "this JSON is nested too deeply: give text, label and id at the top of the object"
        raise DataError(deep, cause="json") from None
    except UnicodeDecodeError:
        raise
    except ValueError as error:  # a number with thousands of digits
        raise DataError(f"this JSON cannot be read: {error}", cause="json") from None
    if not isinstance(row, Object):
        raise DataError(f"a JSON object was expected, as in {_EXAMPLE}", cause="json")
    return row


_EXAMPLE = '{"label": "spam", "text": "..."}'
