"""JSON lines: one object a line.

The quick way is Arrow's reader on a whole block.  It also takes objects that share a line or span lines; a block in
which every line begins with { and ends with }, and that has as many rows as lines, has none of these.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from bunrui.documents.blocks import Block, batches, blocks, undecodable
from bunrui.documents.reading import Reading, RowError
from bunrui.documents.rows import LABELS, STRING, TOKENS, Object, Rows, Written, tidy
from bunrui.documents.streams import Stream
from bunrui.documents.tables import row_text
from bunrui.errors import DataError

__all__ = ["read_jsonl"]

Integers = npt.NDArray[np.int64]

_PART = 1 << 20  # Arrow's arrays grow with a block: twice as fast in parts that fit a cache, joined afterwards


def read_jsonl(stream: Stream, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Batches of a stream of JSON lines."""
    if stream.peek().removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[":
        raise DataError(f"{reading.source.name} is a JSON array: write one object a line, as jq -c '.[]' does")
    yield from batches(blocks(stream, reading), reading, _quick, _slow)


def _nothing(name: str) -> None:
    """NaN is nobody's label."""


# --- the quick way


def _quick(block: Block, reading: Reading) -> pa.RecordBatch | None:
    if reading.options.columns:
        return None
    places = _object_lines(block.data)
    if places is None or not len(places):
        return None
    schema = _schema(block.data, reading)
    if schema is None:
        return None
    table = _parsed(block.data, schema)
    if table is None or table.num_rows != len(places):
        return None
    columns = {name: _strings(table[name]) for name in table.column_names}
    if any(column is None for column in columns.values()):
        return None
    options = reading.options
    texts = [columns[name] for name in options.text]
    label = columns[options.label] if reading.wants_label else None
    return tidy(reading, texts, label, columns[options.id] if options.id else None, places + block.line)


def _object_lines(data: bytes) -> Integers | None:
    """Which lines of a block hold something, if each of these begins with { and ends with }."""
    chars = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(chars == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1])
    ends = ends - (chars[np.maximum(ends - 1, 0)] == ord("\r"))
    full = np.flatnonzero(ends > starts)
    if (chars[starts[full]] == ord("{")).all() and (chars[ends[full] - 1] == ord("}")).all():
        return full
    return None


def _schema(data: bytes, reading: Reading) -> pa.Schema | None:
    """The types of the columns, as the first line has them."""
    start = len(data) - len(data.lstrip())
    try:
        row = _object(data[start : data.index(b"\n", start)])
    except RowError:
        return None
    types = {}
    for name in reading.columns:
        kind = _type(row.get(name))
        is_text, is_list = name in reading.options.text, kind is not None and pa.types.is_list(kind)
        if kind is None or (is_text and kind not in (STRING, TOKENS)) or (is_list and name == reading.options.id):
            return None
        types[name] = kind
    return pa.schema(list(types.items()))


def _type(value: Any) -> pa.DataType | None:
    match value:
        case Written() | None:
            return None
        case str():
            return STRING
        case bool():
            return pa.bool_()
        case int():
            return pa.int64()
        case [first, *_] if not isinstance(first, list):
            inner = _type(first)
            return None if inner is None else pa.list_(inner)
        case []:
            return TOKENS
        case _:
            return None


def _parsed(data: bytes, schema: pa.Schema) -> pa.Table | None:
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    for size in (_PART, len(data) + 1):  # a line longer than a part is an error to Arrow
        try:
            return pa.json.read_json(pa.BufferReader(data), pa.json.ReadOptions(False, size), options)
        except pa.ArrowException:
            if size >= len(data):
                return None
    return None


def _strings(column: pa.ChunkedArray) -> pa.Array | None:
    """A column as strings or lists of strings, if that is what its values mean."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # an older Arrow gives one back
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_list(array.type):
        return array if array.type == TOKENS else pc.cast(array, LABELS)
    return array if array.type == STRING else pc.cast(array, STRING)


# --- the slow way


def _slow(block: Block, reading: Reading) -> pa.RecordBatch | None:
    rows, options = Rows(reading), reading.options
    columns = reading.columns
    for line, data in enumerate(block.data[:-1].split(b"\n"), block.line):
        if not data.strip():
            continue
        try:
            row = _object(data, Written if options.columns else _nothing)
            if any(name not in row for name in columns):
                raise RowError(reading.lacks(list(row)))
            for name in columns:
                if name in row.repeated:
                    raise RowError(f"the object has {name!r} twice: keep one")
            parts = [_row_text(row, reading)] if options.columns else [row[name] for name in options.text]
        except RowError as bad:
            reading.bad(bad.problem, line)
        except UnicodeDecodeError as error:
            reading.fail(undecodable(reading, line, data, error.start))
        else:
            label = row[options.label] if reading.wants_label else None
            rows.add(parts, label, row[options.id] if options.id else None, line=line)
    return rows.batch()


def _row_text(row: Object, reading: Reading) -> str:
    """The row of a table, which has columns of its own, as a document."""
    options = reading.options
    cells = Object((name, cell) for name, cell in row.items() if name not in (options.label, options.id))
    cells.repeated = row.repeated
    text = row_text(cells)
    reading.progress.columns.update(dict.fromkeys(cells))
    return text


def _object(line: bytes, constant: Callable[[str], Any] = _nothing) -> Object:
    """An object; `constant` is what Infinity and NaN are."""
    try:
        row = json.loads(line.decode(), object_pairs_hook=_pairs, parse_float=Written, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise RowError(f"this is not JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}") from None
    except RecursionError:
        raise RowError("this JSON is nested too deeply: give text, label and id at the top of the object") from None
    except UnicodeDecodeError:
        raise
    except ValueError as error:  # a number with thousands of digits
        raise RowError(f"this JSON cannot be read: {error}") from None
    if not isinstance(row, Object):
        raise RowError(f"a JSON object was expected, as in {_EXAMPLE}")
    return row


_EXAMPLE = '{"label": "spam", "text": "..."}'


def _pairs(pairs: list[tuple[str, Any]]) -> Object:
    row = Object(pairs)
    if len(row) < len(pairs):
        row.repeated = frozenset(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
    return row
