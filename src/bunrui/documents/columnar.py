"""Parquet, Arrow IPC, and tables in memory; datasets of Hugging Face, also in the folder that `save_to_disk` makes.

The package `datasets` is not needed: a dataset in memory brings its own methods, and files of it are Arrow and Parquet.
A column of the type ClassLabel holds integers; their names stand in the schema, as JSON:

    huggingface: {"info": {"features": {"label": {"_type": "ClassLabel", "names": ["neg", "pos"]}}}}
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bunrui.documents.sources import Progress, Source, Stream
from bunrui.documents.tabular import is_string, read_columns, take_columns, to_cells, to_strings, with_rows
from bunrui.documents.validation import COUNTS, STRING, TOKENS, Batches, Reading, each_once, label_type
from bunrui.errors import DataError
from bunrui.phrases import some

_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
_MOST_ROWS = 1 << 20
_FEWER = 64  # how many times as many rows are a batch without the other columns: the first rows may be short
_ROW_BYTES = 16  # of a row, whatever it holds: millions of nulls have no bytes of their own
_AT_ONCE = 1000  # rows of a batch of a dataset; those of a stream are made one by one
_NO_LABEL = -1  # of ClassLabel: the row has none
ERRORS = (pa.ArrowException, OSError, UnicodeDecodeError)
"""Errors of pyarrow about files; the last one where the name of a column is no text."""


def read_parquet(stream: Stream, reading: Reading) -> Batches:
    """Batches of a Parquet file."""
    import pyarrow.parquet as pq  # which takes time to import

    try:
        # Reading ahead keeps all of it until the file is closed: worth it only where every request takes its time.
        file = pq.ParquetFile(stream.seekable(), pre_buffer=stream.source.is_far)
        take_columns(reading, file.schema_arrow.names)
        n_rows = file.metadata.num_rows
        columns = None if reading.options.rows else reading.columns
        batches = file.iter_batches(_n_rows(file, reading), columns=columns, use_threads=False)
        yield from read_batches(batches, reading, n_rows)
    except ERRORS as error:
        raise DataError(f"this cannot be read as Parquet ({error})", cause="damaged-file", **reading.place()) from error


def _n_rows(file: Any, reading: Reading) -> int:
    """About how many rows fill a batch.

    The sizes of single columns would tell, but pyarrow ends the process if they are damaged.
    """
    metadata, size = file.metadata, reading.options.batch_bytes
    n_bytes = sum(metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups))
    n_rows = max(1, min(_MOST_ROWS, size * metadata.num_rows // max(1, n_bytes)))
    has_others = not set(file.schema_arrow.names) <= set(reading.columns)  # which may be most of the file
    if has_others and not reading.options.rows:
        first = next(file.iter_batches(n_rows, columns=reading.columns, use_threads=False), None)
        n_rows *= 1 if first is None else max(1, min(_FEWER, size // max(1, first.nbytes)))
    return int(min(_MOST_ROWS, n_rows))


def read_arrow(stream: Stream, reading: Reading) -> Batches:
    """Batches of an Arrow IPC file or stream."""
    try:
        file, is_file = _open_ipc(stream)
        batches = (file.get_batch(at) for at in range(file.num_record_batches)) if is_file else iter(file)
        take_columns(reading, file.schema.names)
        yield from read_batches(_select(batches, reading), reading, None)
    except ERRORS as error:
        why = f"this cannot be read as Arrow IPC ({error})"
        raise DataError(why, cause="damaged-file", **reading.place()) from error


def _open_ipc(stream: Stream) -> tuple[Any, bool]:
    """An Arrow IPC file, and whether it is one with an index, which is read in any order."""
    if stream.peek().startswith(b"ARROW1"):
        return pa.ipc.open_file(stream.seekable()), True
    return pa.ipc.open_stream(pa.PythonFile(stream, "r")), False


def schema_of(source: Source) -> pa.Schema | None:
    """The columns of a Parquet or Arrow file, as its rows have them, with their types; None for another format."""
    if source.format not in ("parquet", "arrow"):
        return None
    import pyarrow.parquet as pq

    with Stream(source, Progress()) as stream:
        try:
            found = pq.read_schema(stream.seekable()) if source.format == "parquet" else _open_ipc(stream)[0].schema
        except ERRORS as error:
            raise DataError(f"this cannot be read ({error})", file=source.name) from error
    fields = zip(found, each_once(found.names), strict=True)
    return pa.schema([field.with_name(name) for field, name in fields], found.metadata)


def read_table(reading: Reading) -> Batches:
    """Batches of a table or dataset in memory."""
    table = reading.source.table
    batches = tables_of(table) if is_dataset(table) else iter(pa.RecordBatchReader.from_stream(table))
    first = next(batches, None)
    if first is None:
        return
    take_columns(reading, first.schema.names)
    batches = _select(chain([first], batches), reading)
    if is_dataset(table):
        batches = chain.from_iterable(map(batches_of, batches))
    yield from read_batches(batches, reading, None)


def _select(batches: Iterator[Any], reading: Reading) -> Iterator[Any]:
    """The batches without columns that nobody wants, unless whole rows are wanted."""
    return batches if reading.options.rows else (batch.select(reading.columns) for batch in batches)


def read_batches(batches: Iterator[Any], reading: Reading, n_rows: int | None) -> Batches:
    """The documents of batches that have the wanted columns, and may have more; `n_rows` in all, if that is known."""
    reading.unit = "row"
    options, texts, done = reading.options, frozenset(reading.options.text), 0
    for batch in batches:
        before = done
        for at in range(batch.num_columns):
            _check_places(batch, at, reading)
        reading.progress.unpacked(batch.nbytes + _ROW_BYTES * batch.num_rows)
        columns = {name: with_names(batch, name, reading) for name in reading.columns}
        if reading.wants_label:
            reading.label_type = label_type(columns[options.label].type)
        whole = pa.record_batch(
            {name: _normalise(column, name, reading, is_text=name in texts) for name, column in columns.items()}
        )
        for part in _halve(whole, options.batch_bytes):
            narrow = {name: _narrow(part.column(name)) for name in part.schema.names}
            out = read_columns(reading, narrow, np.arange(part.num_rows) + done + 1)
            done += part.num_rows
            if n_rows and reading.source.size:
                reading.progress.bytes_read = reading.bytes_before + reading.source.size * done // n_rows
            yield _with_rows(out, batch, before, reading) if options.rows else out


def _with_rows(
    out: pa.RecordBatch | None, batch: pa.RecordBatch, before: int, reading: Reading
) -> pa.RecordBatch | None:
    out = with_rows(out, np.arange(batch.num_rows) + before + 1, batch.columns, batch.schema.names)
    try:
        if out is not None:
            out["row"].validate(full=True)
    except pa.ArrowInvalid as error:
        raise _damage_error(error, reading) from error
    return out


def _damage_error(error: Exception, reading: Reading) -> DataError:
    hint = "get or write it again"
    return DataError(f"this is damaged ({error})", hint=hint, cause="damaged-file", **reading.place())


def _check_places(batch: pa.RecordBatch, at: int, reading: Reading) -> None:
    """Refuse a column whose offsets or indices point out of it, before anything follows them.

    Strings are not checked to be UTF-8 here: each row is, later.
    """
    try:
        column = batch.column(at)
        column.view(_as_bytes(column.type)).validate(full=True)
    except KeyError as error:
        field = batch.schema.field(at)
        holds = f"the column {field.name!r} holds {field.type}"
        raise DataError(holds, **reading.place(), hint="leave it out") from error
    except ValueError as error:
        raise _damage_error(error, reading) from error


def _as_bytes(kind: pa.DataType) -> pa.DataType:
    """The same type with bytes in place of strings."""
    match kind:
        case pa.DictionaryType():
            return pa.dictionary(kind.index_type, _as_bytes(kind.value_type), kind.ordered)
        case pa.MapType():
            return pa.map_(_as_bytes(kind.key_type), _as_bytes(kind.item_type))
        case pa.ListType():
            return pa.list_(_as_bytes(kind.value_type))
        case pa.LargeListType():
            return pa.large_list(_as_bytes(kind.value_type))
        case pa.FixedSizeListType():
            return pa.list_(_as_bytes(kind.value_type), kind.list_size)
        case pa.StructType():
            return pa.struct([(field.name, _as_bytes(field.type)) for field in kind])
    return _BYTES.get(kind, kind)


def _halve(batch: pa.RecordBatch, n_bytes: int) -> Iterator[pa.RecordBatch]:
    """A batch in halves of halves, until each is small enough or one row."""
    if batch.num_rows > 1 and batch.nbytes > 2 * n_bytes:
        half = batch.num_rows // 2
        yield from _halve(batch.slice(0, half), n_bytes)
        yield from _halve(batch.slice(half), n_bytes)
    elif batch.num_rows:
        yield batch


# --- types


def _normalise(array: pa.Array, name: str, reading: Reading, *, is_text: bool) -> pa.Array:
    """A column as large strings, lists of strings or maps from string to int64."""
    if is_text and reading.options.columns:
        return to_cells(array, name, reading.source.name)
    kind = array.type
    try:
        if pa.types.is_dictionary(kind):
            return to_strings(array.dictionary).cast(pa.large_string()).take(array.indices)
        array = to_strings(array)
        if pa.types.is_large_string(array.type):
            return array
        if pa.types.is_map(kind) and is_text and pa.types.is_integer(kind.item_type) and is_string(kind.key_type):
            return array.cast(COUNTS)
        if pa.types.is_struct(kind) and is_text and all(pa.types.is_integer(field.type) for field in kind):
            rows = array.to_pylist()
            return pa.array([row and [(k, v) for k, v in row.items() if v is not None] for row in rows], COUNTS)
        if is_list(kind) and (is_string(kind.value_type) or not is_text):
            return array.cast(TOKENS)
        if not is_text and not pa.types.is_nested(kind):
            return (pc.if_else(pc.is_nan(array), None, array) if pa.types.is_floating(kind) else array).cast(STRING)
    except pa.ArrowNotImplementedError:
        pass
    wanted = "strings, lists of tokens, or maps from word to count" if is_text else "strings, numbers, or lists of them"
    raise DataError(f"the column {name!r} holds {kind}: {wanted} were expected", cause="column-kind", **reading.place())


def _narrow(array: pa.Array) -> pa.Array:
    return array.cast(STRING) if array.type == pa.large_string() else array


# --- datasets of Hugging Face


def is_dataset(data: Any) -> bool:
    """Whether this is a Dataset or an IterableDataset in memory."""
    return hasattr(data, "with_format") and hasattr(data, "iter")


def splits_of(data: Any) -> list[str]:
    """The names of the splits of a DatasetDict in memory; none of anything else.

    >>> splits_of({"spam": "spam.txt"})
    []
    """
    is_dict = isinstance(data, dict) and type(data) is not dict  # a plain one has datasets by label
    return list(data) if is_dict and data and all(map(is_dataset, data.values())) else []


def tables_of(dataset: Any) -> Iterator[pa.Table]:
    """The rows of a dataset in memory."""
    # A stream whose rows passed through Python may know its features still, when its tables have lost them.
    schema = getattr(getattr(dataset, "features", None), "arrow_schema", None)
    for table in dataset.with_format("arrow").iter(_AT_ONCE):
        if schema is not None and b"huggingface" not in (table.schema.metadata or {}):
            table = table.replace_schema_metadata(schema.metadata)
        if table.num_rows:
            yield table


def batches_of(table: pa.Table) -> list[pa.RecordBatch]:
    """A table in few batches: rows that were shuffled, filtered or made by Python are a chunk each.

    >>> len(batches_of(pa.table({"text": pa.chunked_array([["a"], ["b"]])})))
    1
    """
    with suppress(pa.ArrowException):  # pictures, say, of more than 2 GiB
        table = table.combine_chunks()
    return list(table.to_batches())


# --- a folder


def files_of(folder: str) -> list[str]:
    """The Arrow files in a folder that `save_to_disk` made; none of another folder."""
    splits = _read(folder, "dataset_dict.json").get("splits")
    if splits and isinstance(splits, list):
        example = os.path.join(folder, str(splits[0]))
        raise DataError(f"{folder} has the splits {some(splits)}: give the folder of one, such as {example}")
    if not all(os.path.isfile(os.path.join(folder, name)) for name in ("dataset_info.json", "state.json")):
        return []
    files = _read(folder, "state.json").get("_data_files")
    if not isinstance(files, list):
        raise DataError("state.json does not list the files of this dataset", file=folder, hint="save it again")
    if not files:
        raise DataError("this dataset has no rows", file=folder)
    paths = []
    for file in files:
        name = file.get("filename") if isinstance(file, dict) else None
        # Nothing but the name of a file: a dataset of strangers must not point elsewhere.
        is_name = isinstance(name, str) and os.path.basename(name) == name
        paths.append(os.path.join(folder, str(name)))
        if not is_name or not os.path.isfile(paths[-1]):
            raise DataError(f"state.json names the file {name!r}, which is not in the folder", file=folder)
    return paths


def _read(folder: str, name: str) -> dict[str, Any]:
    """A JSON object of a file; an empty one if there is none."""
    try:
        with open(os.path.join(folder, name), "rb") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


# --- names of labels


def with_names(batch: pa.RecordBatch, name: str, reading: Reading) -> pa.Array:
    """A column of a batch; if it is a ClassLabel, or a list of them, with names in the place of integers."""
    column, metadata = batch.column(name), batch.schema.metadata or {}
    names = _names_of(metadata.get(b"huggingface", b"")).get(name)
    if names is None:
        return column
    try:
        return _decode(column, names)
    except IndexError as error:
        problem = f"the column {name!r} has the label {error}, and names only for 0 to {len(names) - 1}"
        raise DataError(problem, **reading.place(), hint="correct its features, or cast it to integers") from None


def _decode(column: pa.Array, names: list[str]) -> pa.Array:
    """Names in the place of integers; an IndexError has the integer that has none."""
    kind = column.type
    if is_list(kind):
        sizes = pc.list_value_length(column).fill_null(0).to_numpy()
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        is_null = np.append(column.is_null().to_numpy(zero_copy_only=False), False)
        return pa.LargeListArray.from_arrays(pa.array(offsets, mask=is_null), _decode(column.flatten(), names))
    if not pa.types.is_integer(kind):
        return column
    codes = column.cast(pa.int64()).fill_null(_NO_LABEL).to_numpy()
    strange = codes[(codes < _NO_LABEL) | (codes >= len(names))]
    if len(strange):
        raise IndexError(strange[0])
    return pa.array(names, pa.string()).take(pa.array(codes, mask=codes == _NO_LABEL))


def is_list(kind: pa.DataType) -> bool:
    """Whether a type is one of lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


@lru_cache(8)
def _names_of(metadata: bytes) -> dict[str, list[str]]:
    """The names of labels by column.

    >>> _names_of(b'{"info": {"features": {"a": {"_type": "ClassLabel", "names": ["x", "y"]}}}}')
    {'a': ['x', 'y']}
    """
    try:
        features = json.loads(metadata)["info"]["features"].items()
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}
    names = {}
    for column, feature in features:
        if isinstance(feature, dict):
            feature = feature.get("feature", feature)
        elif isinstance(feature, list) and len(feature) == 1:
            feature = feature[0]
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            found = feature.get("names")
            if isinstance(found, list) and all(isinstance(each, str) for each in found):
                names[column] = found
    return names
