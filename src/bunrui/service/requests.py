"""Bytes of a request → a body of `schemas.py`.

    small JSON    read at once, by pydantic
    large JSON    read by Arrow, which makes no Python strings and does not block the event loop: 57 MB of messages took
                  88 ms instead of 87 ms, but the loop stood still for only 1 ms
    Arrow         columns text, label, id; options stand in the address

All of them give the same objects, with Arrow arrays in place of lists in the large ones.

An Arrow stream may be hostile.  Everything in it is checked before it is used, and it may not grow in memory: no
compression, no dictionary of texts, no views of labels.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import reduce
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from pydantic import BaseModel, ValidationError

from bunrui.service import Limits
from bunrui.service.admission import ARROW, SMALL, Body, Head, media_type
from bunrui.service.errors import Problem
from bunrui.service.schemas import MOST_LABELS, OPTIONS

T = TypeVar("T", bound=BaseModel)

_MOST_ERRORS = 5
_STRINGS = pa.list_(pa.large_string())
_COLUMNS = {"text": "texts", "label": "labels", "id": "ids"}
_OF_LABELS = ("labels", "to", "label", "against")
_NAMES = ("ids", "digests", "kept")
_LISTS = ("texts", "labels", *_NAMES)
_MAY_BE_EMPTY = ("kept",)
_TYPES = {
    **dict.fromkeys(_LISTS, _STRINGS),
    **dict.fromkeys(("top", "transaction", "row", "n"), pa.int64()),
    **dict.fromkeys(("trained", "html", "several", "skipped", "report"), pa.bool_()),
    "threshold": pa.float64(),
}
_SAID = {
    "missing": "this is missing",
    "extra_forbidden": "there is no such field: /openapi.json lists them",
    "string_type": "this should be a string",
    "list_type": "this should be a list",
    "int_type": "this should be a whole number",
    "int_parsing": "this should be a whole number",
    "int_from_float": "this should be a whole number",
    "bool_type": "this should be true or false",
    "bool_parsing": "this should be true or false",
    "model_type": "this should be a JSON object",
    "too_short": "this is empty: give at least {min_length}",
    "string_too_long": "this has more than {max_length:,} characters: send less",
    "greater_than_equal": "this should be at least {ge}",
    "less_than_equal": "this should be at most {le}",
    "literal_error": "this should be {expected}",
    "json_invalid": "this is not JSON: {error}",
    "value_error": "{error}",
}
"""What is wrong with a field, by the type that pydantic gives it."""
_BEFORE = b'{"body":'
_QUOTES = 6  # of each document: text, label, id
_PIECE = 1 << 20


def is_small(head: Head, body: Body) -> bool:
    """Whether a body can be read at once."""
    return len(body) <= SMALL and media_type(head) != ARROW


def read(kind: type[T], head: Head, body: Body, query: bytes, limits: Limits) -> T:
    """The body, if it is right and not too much."""
    if not body:
        found = _checked(kind, b"{}")
    elif media_type(head) == ARROW:
        found = _read_arrow(kind, body, query, limits)
    elif query and options_of(kind, query):
        raise Problem("invalid", "options stand in the JSON body, not in the address")
    elif len(body) <= SMALL:
        found = _checked(kind, body)
    else:
        found = _read_large(kind, body, limits)
    _check_limits(found, limits)
    return found


def _checked(kind: type[T], given: Body | dict[str, Any]) -> T:
    try:
        if isinstance(given, (bytes, bytearray)):
            return kind.model_validate_json(given)
        return kind.model_validate(given)
    except ValidationError as error:
        # Without the input: that may be a document.
        raise _invalid(error.errors(include_url=False, include_input=False)) from None


def describe(item: Any) -> str:
    """What pydantic has found, in our words.

    >>> describe({"type": "greater_than_equal", "loc": ("top",), "msg": "Input should be …", "ctx": {"ge": 1}})
    'this should be at least 1'
    """
    return _SAID.get(item["type"], "{msg}").format(**{"msg": item["msg"]} | item.get("ctx", {}))


def _invalid(found: Sequence[Any]) -> Problem:
    errors = []
    for item in found[:_MOST_ERRORS]:
        name, *rest = item["loc"] or ("",)
        # Beside places in lists, these are names of types that pydantic has tried.
        places = [name, *(part for part in rest if isinstance(part, int))] if name else []
        errors.append({"pointer": "".join(f"/{part}" for part in places), "detail": describe(item)})
    first = errors[0]
    where = f"{first['pointer']}: " if first["pointer"] else ""
    return Problem("invalid", f"{where}{first['detail']}", errors=errors)


def _with_columns(kind: type[T], options: dict[str, Any], columns: dict[str, Any]) -> T:
    """An object whose texts and labels are Arrow arrays; a stand-in passes the checks of the class for each.

    What is in them the classifier checks, as it does for all who give it arrays.
    """
    names = {name: columns.pop(name).to_pylist() for name in _NAMES if name in columns}
    stand_ins = {name: [[""]] if pa.types.is_list(column.type) else [""] for name, column in columns.items()}
    found = _checked(kind, options | names | stand_ins)
    return found.model_copy(update=columns)


# --- JSON


def _read_large(kind: type[T], body: Body, limits: Limits) -> T:
    _check_quotes(body, limits)
    try:
        row = _parsed(kind, body, _TYPES | _label_types(kind, body))
    except pa.ArrowInvalid as error:
        raise Problem("invalid", f"the JSON is not what was expected: {error}") from None
    columns, options = {}, {}
    for name, values in zip(row.type.names, row.flatten(), strict=True):
        if values.null_count:
            continue
        if name == "labels" and "texts" not in kind.model_fields:  # of one document
            options[name] = values.flatten()[: MOST_LABELS + 1].to_pylist()
        elif name in _LISTS and pa.types.is_list(values.type):
            columns[name] = values.flatten()
        else:
            options[name] = values[0].as_py()
    return _with_columns(kind, options, columns)


def _label_types(kind: type[BaseModel], body: Body) -> dict[str, pa.DataType]:
    """The types of labels, by the first of them and the brackets before it.

    >>> from bunrui.service.schemas import Learn
    >>> _label_types(Learn, b'{"texts": ["a"], "labels": [[], [-1]]}')
    {'labels': ListType(list<item: list<item: int64>>)}
    """
    types = {}
    for name in _OF_LABELS:
        if name in kind.model_fields and (
            # Possessive: white space that two parts could share would take hours of a hostile body.
            found := re.search(rb'"%s"\s*+:\s*+(\[?)\s*+(\[?)[\[\],\s]*+(.)' % name.encode(), body)
        ):
            first = pa.bool_() if found[3] in b"tf" else pa.int64() if found[3] in b"-0123456789" else pa.large_string()
            types[name] = reduce(lambda of, _: pa.list_(of), found[1] + found[2], first)
    return types


def _parsed(kind: type[BaseModel], body: Body, types: dict[str, pa.DataType]) -> pa.StructArray:
    fields = [(name, types.get(name, pa.string())) for name in kind.model_fields]
    # Arrow reads one object after the other; inside of one, nothing can follow.
    whole = np.empty(len(_BEFORE) + len(body) + 1, np.uint8)
    whole[: len(_BEFORE)] = np.frombuffer(_BEFORE, np.uint8)
    whole[len(_BEFORE) : -1] = np.frombuffer(body, np.uint8)
    whole[-1] = ord("}")
    table = pyarrow.json.read_json(
        pa.BufferReader(whole),
        pyarrow.json.ReadOptions(use_threads=False, block_size=len(whole) + 1),
        pyarrow.json.ParseOptions(
            explicit_schema=pa.schema([("body", pa.struct(fields))]),
            newlines_in_values=True,
            unexpected_field_behavior="error",
        ),
    )
    table.validate(full=True)
    if table.num_rows != 1 or table["body"].null_count:
        raise pa.ArrowInvalid("there is more, or less, than one object")
    return table["body"].combine_chunks()


def _check_quotes(body: Body, limits: Limits) -> None:
    """Refuse millions of short strings before they take fifty times their bytes.

    A string begins with a quote that no backslash precedes, and ends with one that seldom has one before it.
    """
    data = np.frombuffer(body, np.uint8)
    n_quotes = 0
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE + 1]
        n_quotes += int(np.count_nonzero((piece[1:] == ord('"')) & (piece[:-1] != ord("\\"))))
    if n_quotes > _QUOTES * limits.documents + SMALL:
        raise Problem("too-large", "the body has too many strings: send several")


# --- Arrow


def _read_arrow(kind: type[T], body: Body, query: bytes, limits: Limits) -> T:
    columns = {name: column for name, column in _COLUMNS.items() if column in kind.model_fields}
    found = read_stream(body, list(columns), limits.body)
    if "text" not in found:
        raise Problem("invalid", "the Arrow stream has no column text")
    return _with_columns(kind, options_of(kind, query), {columns[name]: values for name, values in found.items()})


def options_of(kind: type[BaseModel], query: bytes) -> dict[str, Any]:
    """Options in the address: `model` and `top`.

    >>> from bunrui.service.schemas import Predict
    >>> options_of(Predict, b"top=3&x=1&model=binary")
    {'top': 3, 'model': 'binary'}
    """
    try:
        given = parse_qsl(query.decode("ascii"), max_num_fields=100, errors="strict")
        known = OPTIONS.keys() & kind.model_fields
        return {name: int(value) if name == "top" else value for name, value in given if name in known}
    except ValueError:
        raise Problem("invalid", "the options in the address cannot be read: top is a number, model a name") from None


# --- limits


def _check_limits(found: BaseModel, limits: Limits) -> None:
    for name, values in found.__dict__.items():
        if name not in _LISTS or values is None:
            continue
        if not len(values) and name not in _MAY_BE_EMPTY:
            raise Problem("invalid", f"{name} is empty: give at least one")
        if len(values) > limits.documents:
            said = f"a request has at most {limits.documents:,} documents: send several"
            raise Problem("too-large", said, cause="documents", most=limits.documents)
        if name == "texts" and _longest(values) > limits.characters:
            said = f"a document has at most {limits.characters:,} characters: cut it into several"
            raise Problem("too-large", said, cause="characters", most=limits.characters)


def _longest(texts: Any) -> int:
    if isinstance(texts, pa.Array):
        return int(pc.max(pc.utf8_length(texts)).as_py() or 0)
    return max(map(len, texts))


# --- Arrow streams

_DICTIONARY, _BATCH = 2, 3  # kinds of messages that hold data


def read_stream(body: Body, columns: Sequence[str], most_bytes: int) -> dict[str, pa.Array]:
    """Some columns of a stream, those that it has; texts have at most so many bytes in all."""
    try:
        for message in pa.ipc.MessageReader.open_stream(body):
            if _is_packed(message.metadata.to_pybytes()):
                raise Problem("invalid", "the Arrow stream is compressed: send it as it is")
        table = pa.ipc.open_stream(body).read_all()
        table = table.select([name for name in columns if name in table.column_names])
        table.validate(full=True)
        return {name: _whole(name, table[name], most_bytes) for name in table.column_names}
    except (pa.ArrowException, OSError, ValueError, KeyError, struct.error) as error:
        raise Problem("invalid", f"the body is no Arrow stream: {error}") from error


def _whole(name: str, column: pa.ChunkedArray, most_bytes: int) -> pa.Array:
    kind = column.type
    if name == "text" and pa.types.is_string_view(kind):
        # Views of one long text could stand for more than there is memory.
        if sum(_view_bytes(chunk) for chunk in column.chunks) > most_bytes:
            raise Problem("too-large", f"the texts have more than {most_bytes:,} bytes: send several streams")
        column = column.cast(pa.large_string())
    elif not (_is_string(kind) or (name == "label" and _is_labels(kind))):
        raise Problem("invalid", f"the column {name} holds strings, not {kind}: cast it to string or large_string")
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_labels(kind: pa.DataType) -> bool:
    """Whether it is labels, a dictionary of them, which nobody unpacks, or lists of them, which do not overlap."""
    if pa.types.is_dictionary(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return bool(_is_string(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _view_bytes(views: pa.Array) -> int:
    """A view is 16 bytes, and begins with its length."""
    lengths = np.frombuffer(views.buffers()[1] or b"", np.int32)[::4]
    return int(lengths[views.offset : views.offset + len(views)].sum(dtype=np.int64))


def _is_packed(metadata: bytes) -> bool:
    """Whether a message says that its body is compressed; its metadata is a flatbuffer, which Arrow has verified."""
    (root,) = struct.unpack_from("<I", metadata)
    kind, header = _field(metadata, root, 1), _field(metadata, root, 2)
    if not kind or not header or metadata[kind] not in (_DICTIONARY, _BATCH):
        return False
    batch = _table(metadata, header)
    if metadata[kind] == _DICTIONARY:
        batch = _table(metadata, _field(metadata, batch, 1))
    return bool(_field(metadata, batch, 3))


def _table(data: bytes, at: int) -> int:
    return at + int(struct.unpack_from("<I", data, at)[0])


def _field(data: bytes, table: int, number: int) -> int:
    """Where a field of a table stands; 0 if it is left out."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    entry = 4 + 2 * number
    if entry >= struct.unpack_from("<H", data, vtable)[0]:
        return 0
    offset = int(struct.unpack_from("<H", data, vtable + entry)[0])
    return table + offset if offset else 0
