"""Rows of tables → documents: the text is a JSON object of the cells, in the order of the columns.

A cell of CSV, TSV and spreadsheets, without the white space around it, is

    a number     39, -1.5, .5, 6e-3; not 007, nan or inf
    null         nothing at all, ?, NA, N/A, null, None, NaN or nan
    a string     all else

JSON, Parquet and Arrow have their own types; dates become strings in ISO 8601, durations numbers of days.  A column may
hold numbers in one row and strings in another: learning decides its kind.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bunrui.documents.validation import COUNTS, STRING, Object, Reading, Row, Rows, Written, each_once, tidy
from bunrui.errors import DataError, EncodingError, Option

TABLES = ("csv", "tsv", "tab", "xlsx", "jsonl", "parquet", "arrow")
"""The formats that have columns."""

LARGEST = 1e150
"""The largest number: the squares of larger ones are too large for a variance."""

MISSING = ("", "?", "NA", "N/A", "null", "None", "NaN", "nan")
"""Cells of CSV, TSV and spreadsheets that have no value."""

_NUMBER = re.compile(r"([+-]?)(0|[1-9][0-9]*|(?=\.[0-9]))(?:\.([0-9]*))?((?:[eE][+-]?[0-9]+)?)")
_CELL = "a cell is a string, a number, a date, true, false or null"


def check_format(name: str, format: str) -> None:
    """Refuse a source without columns; an empty format is not known yet."""
    if format and format not in TABLES:
        raise DataError(f"{name} ({format}) has no columns: a table is {', '.join(TABLES[:-1])} or {TABLES[-1]}")


def take_columns(reading: Reading, names: list[str], hint: tuple[str | Option, ...] = ()) -> None:
    """Check the columns of a file.  Where tables are read, all of them but the label and the id are its text."""
    source, options = reading.source.name, reading.options
    if options.columns:
        if "" in names:
            raise DataError(f"{source}: column {names.index('') + 1} has no name: give it one, or take it out")
        cells = tuple(name for name in names if name not in (options.label, options.id))
        if not cells:
            only = ", ".join(map(repr, names))
            raise DataError(f"{source} has no column but {only}: there is nothing to classify by")
        reading.options = replace(options, text=cells)
        reading.progress.columns.update(dict.fromkeys(cells))
    reading.check_columns(names, hint)


# --- rows with named columns, of a table or with a text


def read_columns(
    reading: Reading, columns: Mapping[str, pa.Array], lines: npt.NDArray[np.int64], *, written: bool = False
) -> pa.RecordBatch | None:
    """Columns by name → a batch of the good rows; `written` if cells are strings that may stand for numbers."""
    batch = _tidy_columns(reading, columns, lines, written)
    if batch is None:
        rows = Rows(reading)
        found = zip(lines.tolist(), range(len(lines)), strict=True)
        rows.add(found, lambda at: row_of(reading, _read_values(columns, at), written=written))
        batch = rows.batch()
    return batch


def _tidy_columns(
    reading: Reading, columns: Mapping[str, pa.Array], lines: npt.NDArray[np.int64], written: bool
) -> pa.RecordBatch | None:
    """The batch, or None if a row of it needs a closer look."""
    try:
        for column in () if written else columns.values():
            column.validate(full=True)
    except pa.ArrowInvalid:
        return None
    texts, label, id = reading.pick(columns)
    if reading.options.columns:
        text = _join_cells(reading.options.text, texts, read_cell if written else lambda value: value)
        if text is None:
            return None
        texts = [text]
        if written:
            label, id = (None if column is None else _map_distinct(column, str.strip) for column in (label, id))
    return tidy(reading, texts, label, id, lines)


def row_of(reading: Reading, values: Mapping[str, Any], *, written: bool = False) -> Row:
    """A row, given its values by column."""
    texts, label, id = reading.pick(values)
    if reading.options.columns:
        texts = [row_text(dict(zip(reading.options.text, map(read_cell, texts) if written else texts, strict=True)))]
        if written:
            label, id = (None if value is None else value.strip() for value in (label, id))
    return texts, label, id


def _read_values(columns: Mapping[str, pa.Array], at: int) -> dict[str, Any]:
    try:
        values = {name: column[at].as_py() for name, column in columns.items()}
    except UnicodeDecodeError as error:
        shown = error.object[error.start : error.start + 4].hex(" ")
        what = f"the bytes {shown} are not valid utf-8: decode the text before it is written"
        raise EncodingError(what) from None
    except (ValueError, OverflowError) as error:  # a date beyond the calendar
        raise DataError(f"a cell cannot be read: {error}") from None
    return {name: Object(v) if v is not None and columns[name].type == COUNTS else v for name, v in values.items()}


def with_rows(
    batch: pa.RecordBatch | None, lines: npt.NDArray[np.int64], columns: Iterable[pa.Array], names: Sequence[str]
) -> pa.RecordBatch | None:
    """The batch with the whole rows, given those of some lines."""
    if batch is None or not batch.num_rows:
        return None
    places = np.searchsorted(lines, batch["line"].to_numpy())
    rows = pa.StructArray.from_arrays(list(columns), each_once(names))
    # Not always `take`: Arrow has none for some types, and bad rows are rare.
    is_all = places[-1] - places[0] + 1 == len(places)
    return batch.append_column("row", rows.slice(places[0], len(places)) if is_all else rows.take(pa.array(places)))


# --- one row


def row_text(cells: Mapping[str, Any]) -> str:
    """The document of a row.

    >>> row_text({"age": 39, "名前": "花子", "born": date(1986, 5, 1), "size": None})
    '{"age":39,"名前":"花子","born":"1986-05-01","size":null}'
    """
    if not cells:
        raise DataError("the row has no column but the label: there is nothing to classify by")
    if "" in cells:
        raise DataError("a column of the row has no name: give it one")
    return "{" + ",".join(f"{_quote(name)}:{_write_cell(name, cell)}" for name, cell in cells.items()) + "}"


def read_cell(text: str) -> Any:
    """A cell of CSV.

    >>> [read_cell(text) for text in (" 39", "+.50", "007", "?", "1e999", " a b ")]
    ['39', '0.50', '007', None, '1e999', 'a b']
    >>> isinstance(read_cell("1.50"), Written), isinstance(read_cell("007"), Written)
    (True, False)
    """
    text = text.strip()
    if text in MISSING:
        return None
    found = _NUMBER.fullmatch(text)
    if found is None or abs(float(text)) > LARGEST:
        return text
    sign, whole, fraction, exponent = found.groups()
    return Written(f"{sign.strip('+')}{whole or '0'}{'.' + fraction if fraction else ''}{exponent}")


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _write_cell(name: str, cell: Any) -> str:
    """A cell as JSON."""
    match cell:
        case None:
            return "null"
        case bool():
            return "true" if cell else "false"
        case Written() | int() | float() | Decimal():
            return _write_number(name, cell)
        case str():
            return _quote(cell)
        case datetime() | date() | time():
            return _quote(cell.isoformat())
        case timedelta():
            return repr(cell / timedelta(days=1))
    kind = "a list" if isinstance(cell, list) else "an object" if isinstance(cell, dict) else type(cell).__name__
    raise DataError(f"the column {name!r} holds {kind}: {_CELL}")


def _write_number(name: str, cell: Any) -> str:
    try:
        value = float(cell)
    except OverflowError:
        value = math.inf
    if math.isinf(value):
        raise DataError(f"the column {name!r} has {str(cell)[:20]}, which is no finite number: leave the cell empty")
    return "null" if math.isnan(value) else repr(cell) if isinstance(cell, float) else str(cell)


# --- whole columns


def _join_cells(names: Sequence[str], columns: Sequence[pa.Array], read: Callable[[Any], Any]) -> pa.Array | None:
    """The documents of all rows, or None if a row needs a closer look; `read` makes cells of values."""
    parts: list[Any] = []
    for name, column in zip(names, columns, strict=True):
        try:
            cells = _map_distinct(column, lambda value, name=name: _write_cell(name, read(value)))  # type: ignore[misc]
        except (DataError, ValueError, OverflowError):
            return None
        parts += [f"{',' if parts else '{'}{_quote(name)}:", pc.fill_null(cells, "null")]
    try:
        return pc.binary_join_element_wise(*parts, "}", "")
    except pa.ArrowException:  # more than 2 GB
        return None


def _map_distinct(column: pa.Array, function: Callable[[Any], str]) -> pa.Array:
    """Call a function for each value, once for values that are equal."""
    coded = column.dictionary_encode()
    return pa.array(list(map(function, coded.dictionary.to_pylist())), STRING).take(coded.indices)


def to_strings(column: pa.Array) -> pa.Array:
    """A column without a dictionary; strings of any type, bytes and nulls as large strings, all else as it is."""
    kind = column.type
    if pa.types.is_dictionary(kind):  # not dictionary_decode: it knows no string_view
        return to_strings(to_strings(column.dictionary).take(column.indices))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pc.cast(column, options=pc.CastOptions(pa.large_string(), allow_invalid_utf8=True))
    return column.cast(pa.large_string()) if is_string(kind) or pa.types.is_null(kind) else column


def is_string(kind: pa.DataType) -> bool:
    """Whether a type is one of strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def to_cells(column: pa.Array, name: str, source: str) -> pa.Array:
    """A column of Parquet or Arrow, in a type whose values are cells."""
    column = to_strings(column)
    kind = column.type
    if pa.types.is_floating(kind):
        return column.cast(pa.float64())
    # The times of Python end at microseconds.
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz), safe=False)
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("us"), safe=False)
    if pa.types.is_time64(kind):
        return column.cast(pa.time64("us"), safe=False)
    cells = (
        is_string,
        pa.types.is_boolean,
        pa.types.is_integer,
        pa.types.is_date,
        pa.types.is_decimal,
        pa.types.is_time,
    )
    if any(is_kind(kind) for is_kind in cells):
        return column
    raise DataError(f"{source}: the column {name!r} holds {kind}: {_CELL}")
