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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bunrui.documents.validation import STRING, Object, Reading, RowError, Rows, Written, tidy
from bunrui.errors import DataError, Option

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


def tidy_columns(
    reading: Reading, columns: Mapping[str, pa.Array], lines: Any, read: Callable[[Any], Any] | None = None
) -> pa.RecordBatch | None:
    """Columns by name → a batch, or None if a row of them needs a closer look; `read` makes cells of values."""
    texts, label, id = reading.pick(columns)
    if reading.options.columns:
        text = _join_cells(reading.options.text, texts, read or (lambda value: value))
        if text is None:
            return None
        texts = [text]
    return tidy(reading, texts, label, id, lines)


def add_row(rows: Rows, values: Mapping[str, Any], line: int, read: Callable[[Any], Any] | None = None) -> None:
    """Add a row, given its values by column, unless it is bad."""
    reading = rows.reading
    texts, label, id = reading.pick(values)
    if reading.options.columns:
        cells = zip(reading.options.text, map(read, texts) if read else texts, strict=True)
        try:
            texts = [row_text(dict(cells))]
        except RowError as bad:
            reading.refuse(bad.problem, line, cause=bad.cause)
            return
    rows.add(texts, label, id, line=line)


# --- one row


def row_text(cells: Mapping[str, Any]) -> str:
    """The document of a row.

    >>> row_text({"age": 39, "名前": "花子", "born": date(1986, 5, 1), "size": None})
    '{"age":39,"名前":"花子","born":"1986-05-01","size":null}'
    """
    if isinstance(cells, Object) and cells.repeated:
        raise RowError(f"the object has {min(cells.repeated)!r} twice: keep one")
    if not cells:
        raise RowError("the row has no column but the label: there is nothing to classify by")
    if "" in cells:
        raise RowError("a column of the row has no name: give it one")
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
    raise RowError(f"the column {name!r} holds {kind}: {_CELL}")


def _write_number(name: str, cell: Any) -> str:
    try:
        value = float(cell)
    except OverflowError:
        value = math.inf
    if math.isinf(value):
        raise RowError(f"the column {name!r} has {str(cell)[:20]}, which is no finite number: leave the cell empty")
    return "null" if math.isnan(value) else repr(cell) if isinstance(cell, float) else str(cell)


# --- whole columns


def _join_cells(names: Sequence[str], columns: Sequence[pa.Array], read: Callable[[Any], Any]) -> pa.Array | None:
    """The documents of all rows, or None if a row needs a closer look; `read` makes cells of values."""
    parts: list[Any] = []
    for name, column in zip(names, columns, strict=True):
        try:
            cells = _map_distinct(column, lambda value, name=name: _write_cell(name, read(value)))  # type: ignore[misc]
        except (RowError, ValueError, OverflowError):
            return None
        parts += [f"{',' if parts else '{'}{_quote(name)}:", pc.fill_null(cells, "null")]
    try:
        return pc.binary_join_element_wise(*parts, "}", "")
    except pa.ArrowException:  # more than 2 GB
        return None


def trim(column: pa.Array) -> pa.Array:
    """Strings without the white space around them."""
    return _map_distinct(column, str.strip)


def _map_distinct(column: pa.Array, function: Callable[[Any], str]) -> pa.Array:
    """Call a function for each value, once for values that are equal."""
    coded = column.dictionary_encode()
    return pa.array(list(map(function, coded.dictionary.to_pylist())), STRING).take(coded.indices)


def to_cells(column: pa.Array, name: str, source: str) -> pa.Array:
    """A column of Parquet or Arrow, in a type whose values are cells."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        words = column.dictionary
        # Arrow cannot take from views of strings.
        words = words.cast(pa.large_string()) if pa.types.is_string_view(words.type) else words
        return to_cells(words.take(column.indices), name, source)
    if pa.types.is_null(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pc.cast(column, options=pc.CastOptions(pa.large_string(), allow_invalid_utf8=True))
    if pa.types.is_floating(kind):
        return column.cast(pa.float64())
    # The times of Python end at microseconds.
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz), safe=False)
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("us"), safe=False)
    if pa.types.is_time64(kind):
        return column.cast(pa.time64("us"), safe=False)
    plain = (pa.types.is_string, pa.types.is_large_string, pa.types.is_boolean, pa.types.is_integer, pa.types.is_date)
    if any(is_kind(kind) for is_kind in (*plain, pa.types.is_decimal, pa.types.is_time)):
        return column
    raise DataError(f"{source}: the column {name!r} holds {kind}: {_CELL}")
