"""Hugging Face datasets: in memory, in the folder that `save_to_disk` makes, and the names of their labels.

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
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bunrui.documents.validation import Reading
from bunrui.errors import DataError
from bunrui.phrases import some

_AT_ONCE = 1000  # rows of a batch; those of a stream are made one by one
_NO_LABEL = -1  # of ClassLabel: the row has none


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
        examples = [os.path.join(folder, str(split)) for split in splits]
        raise DataError(
            f"{folder} has the splits {some(map(str, splits))}: give the folder of one, such as {examples[0]}"
        )
    if not all(os.path.isfile(os.path.join(folder, name)) for name in ("dataset_info.json", "state.json")):
        return []
    files = _read(folder, "state.json").get("_data_files")
    if not isinstance(files, list):
        raise DataError("state.json does not list the files of this dataset", file=folder, hint="save it again")
    if not files:
        raise DataError("this dataset has no rows", file=folder)
    names: list[Any] = [file.get("filename") if isinstance(file, dict) else None for file in files]
    for name in names:
        # Nothing but the name of a file: a dataset of strangers must not point elsewhere.
        is_name = isinstance(name, str) and os.path.basename(name) == name
        if not is_name or not os.path.isfile(os.path.join(folder, name)):
            raise DataError(f"state.json names the file {name!r}, which is not in the folder", file=folder)
    return [os.path.join(folder, name) for name in names]


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
        if isinstance(feature, dict) and "feature" in feature:
            feature = feature["feature"]
        elif isinstance(feature, list) and len(feature) == 1:
            feature = feature[0]
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            found = feature.get("names")
            if isinstance(found, list) and all(isinstance(each, str) for each in found):
                names[column] = found
    return names
