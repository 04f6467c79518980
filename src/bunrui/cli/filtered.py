"""Selected rows → JSON lines on stdout, or a file."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, time
from typing import TYPE_CHECKING, Any

from bunrui.cli.console import to_json
from bunrui.cli.output import finished, format_of, open_table
from bunrui.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from bunrui.selection.filter import Rows, Selection

__all__ = ["check_output", "open_rows"]

Write = Callable[["Rows"], None]

SCORE = "log_ratio"

_SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}

# Bytes that are gathered before they are written as one group of rows.
_GROUP = 64 << 20
_BLOCK = 16 << 20


def check_output(path: str) -> None:
    """Refuse a name that does not tell the format."""
    format_of(path, _SUFFIXES)


@contextmanager
def open_rows(path: str | None, selection: Selection, *, scores: bool) -> Iterator[Write]:
    """A function that writes rows to stdout or the path, with their ratios where `scores`."""
    if path is None:
        is_seen = sys.stdout.isatty()

        def show(rows: Rows) -> None:
            for line in lines_of(rows, scores):
                print(to_json(json.loads(line)) if is_seen else line)

        yield show
        return
    schema = None
    if format_of(path, _SUFFIXES) == "parquet":
        schema = selection.originals.schema()
        if schema is None:
            with _lines_to_parquet(path, scores) as write:
                yield write
            return
        _refuse_column(scores and SCORE in schema.names)
        with _tables(path, schema, scores) as write:
            yield write
        return
    with finished(path) as unfinished, open(unfinished, "w", encoding="utf-8", newline="\n") as file:
        yield lambda rows: file.writelines([f"{line}\n" for line in lines_of(rows, scores)])


def _refuse_column(is_there: bool) -> None:
    if is_there:
        raise DataError(f"raw has a column {SCORE!r} already: rename it, or leave --scores out")


# --- lines


def lines_of(rows: Rows, scores: bool) -> Iterator[str]:
    """Rows as JSON objects, those that were JSON lines as they are.

    >>> import numpy as np, pyarrow as pa
    >>> from bunrui.selection.filter import Rows
    >>> list(lines_of(Rows(pa.array(['{"a": 1e2}']), np.array([0.5])), True))
    ['{"a": 1e2, "log_ratio": 0.5}']
    >>> list(lines_of(Rows(pa.array([{"a": float("nan"), "b": date(2026, 1, 2)}]), np.array([0.5])), False))
    ['{"a": null, "b": "2026-01-02"}']
    """
    found = rows.rows.to_pylist()
    if found and isinstance(found[0], dict):
        _refuse_column(scores and SCORE in found[0])
        lines = (json.dumps(_plain(row), ensure_ascii=False) for row in found)
    else:
        lines = iter(found)
    if not scores:
        yield from lines
        return
    for line, score in zip(lines, rows.log_ratio.tolist(), strict=True):
        _refuse_column(f'"{SCORE}"' in line and SCORE in json.loads(line))
        yield f'{line.removesuffix("}").rstrip()}, "{SCORE}": {score!r}}}'


def _plain(value: Any) -> Any:
    """A value as JSON knows it."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (date, time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, bytes):
        raise DataError("raw has a column of bytes, which JSON lines do not hold: write .parquet")
    return value if value is None or isinstance(value, (str, int, bool)) else str(value)


# --- Parquet


@contextmanager
def _tables(path: str, schema: pa.Schema, scores: bool) -> Iterator[Write]:
    """Of columns that have types."""
    import pyarrow as pa

    gathered: list[pa.Table] = []
    with open_table(path) as write:

        def flush() -> None:
            write(pa.concat_tables(gathered))
            gathered.clear()

        def take(rows: Rows) -> None:
            table = _with_columns(pa.RecordBatch.from_struct_array(rows.rows), schema)
            gathered.append(table.append_column(SCORE, pa.array(rows.log_ratio)) if scores else table)
            if sum(part.nbytes for part in gathered) >= _GROUP:
                flush()

        empty = schema.append(pa.field(SCORE, pa.float64())) if scores else schema
        gathered.append(empty.empty_table())
        yield take
        flush()


def _with_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """The columns of a schema, null where the rows come from a file without."""
    import pyarrow as pa

    there = batch.schema.names
    columns = [
        batch.column(field.name).cast(field.type) if field.name in there else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


@contextmanager
def _lines_to_parquet(path: str, scores: bool) -> Iterator[Write]:
    """Of lines, whose types are known when all are there: until then they are in a temporary file."""
    with open_table(path) as write, tempfile.TemporaryFile(dir=os.path.dirname(path) or ".") as file:
        yield lambda rows: file.writelines([f"{line}\n".encode() for line in lines_of(rows, scores)])
        try:
            schema = _schema(file)
            write(schema.empty_table())
            for block in _blocks(file):
                write(_parsed(block, schema))
        except ValueError as error:  # of Arrow
            raise DataError(f"the selected rows do not fit into columns: {error}. Write .jsonl") from error


def _blocks(file: Any) -> Iterator[bytes]:
    file.seek(0)
    while lines := file.readlines(_BLOCK):
        yield b"".join(lines)


def _parsed(block: bytes, schema: pa.Schema | None = None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.json

    options = pa.json.ParseOptions(explicit_schema=schema)
    return pa.json.read_json(pa.BufferReader(block), pa.json.ReadOptions(False, len(block) + 1), options)


def _schema(file: Any) -> pa.Schema:
    """The columns of all lines together."""
    import pyarrow as pa

    schemas = [_parsed(block).schema for block in _blocks(file)]
    if not schemas:
        return pa.schema([("text", pa.string())])
    schemas = [pa.schema([field.with_type(_as_written(field.type)) for field in schema]) for schema in schemas]
    return pa.unify_schemas(schemas, promote_options="permissive")


def _as_written(kind: pa.DataType) -> pa.DataType:
    """Strings that look like dates to Arrow are strings."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_as_written(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_as_written(field.type)) for field in kind])
    return kind
