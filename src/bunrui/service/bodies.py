"""Bodies of requests → texts, labels and options.

    small JSON    read at once, by the classes in `schemas.py`
    large JSON    read by Arrow, which needs no Python string and lets the event loop run meanwhile: 57 MB of messages
                  took 88 ms beside 87 ms, but the loop stood still for 1 ms and not for all of them
    Arrow         columns text, label, id; options stand in the address

All of them give the same objects, with Arrow arrays in place of lists in the large ones.
"""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import parse_qsl

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from pydantic import BaseModel, ValidationError

from bunrui.service.arrow import read_stream
from bunrui.service.limits import SMALL, Body
from bunrui.service.problems import Problem
from bunrui.service.security import ARROW, Head, media_type
from bunrui.service.settings import Limits

__all__ = ["SMALL", "is_small", "read"]

T = TypeVar("T", bound=BaseModel)

_MOST_ERRORS = 5
_STRINGS = pa.list_(pa.large_string())
_COLUMNS = {"text": "texts", "label": "labels", "id": "ids"}
_OTHER_TYPES = {"labels": pa.list_(_STRINGS), "to": _STRINGS}  # if the first does not fit
_NAMES = ("ids", "digests", "kept")
_LISTS = ("texts", "labels", *_NAMES)
_MAY_BE_EMPTY = ("kept",)
_TYPES = {**dict.fromkeys(_LISTS, _STRINGS), "top": pa.int64(), "transaction": pa.int64(), "trained": pa.bool_()}
_BEFORE = b'{"body":'
_QUOTES = 6  # of each document: text, label, id
_PIECE = 1 << 20


def is_small(head: Head, body: Body) -> bool:
    """Whether a body can be read at once."""
    return len(body) <= SMALL and media_type(head) != ARROW


def read(kind: type[T], head: Head, body: Body, query: bytes, limits: Limits) -> T:
    """The body, if it is right and not too much."""
    if media_type(head) == ARROW:
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
        raise _invalid(error) from None


def _invalid(error: ValidationError) -> Problem:
    # Without the input: that may be a document.
    found = error.errors(include_url=False, include_context=False, include_input=False)
    errors = [
        {"pointer": "".join(f"/{part}" for part in item["loc"]), "detail": item["msg"]} for item in found[:_MOST_ERRORS]
    ]
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
    types = _TYPES.copy()
    while True:
        try:
            row = _parsed(kind, body, types)
            break
        except pa.ArrowInvalid as error:
            other = next((name for name in _OTHER_TYPES if f"Column(/body/{name}" in str(error)), None)
            if other is None or types.get(other) == _OTHER_TYPES[other]:
                raise Problem("invalid", f"the JSON is not what was expected: {error}") from None
            types[other] = _OTHER_TYPES[other]
    columns, options = {}, {}
    for name, values in zip(row.type.names, row.flatten(), strict=True):
        if values.null_count:
            continue
        if name in _LISTS and pa.types.is_list(values.type):
            columns[name] = values.flatten()
        else:
            options[name] = values[0].as_py()
    return _with_columns(kind, options, columns)


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
    if not columns:
        raise Problem("media-type", "this address takes JSON only")
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
        return {
            name: int(value) if name == "top" else value
            for name, value in given
            if name in ("model", "top") and name in kind.model_fields
        }
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
            raise _too_many(limits)
        if name == "texts" and _longest(values) > limits.characters:
            raise Problem("too-large", f"a document has at most {limits.characters:,} characters: cut it into several")


def _longest(texts: Any) -> int:
    if isinstance(texts, pa.Array):
        return int(pc.max(pc.utf8_length(texts)).as_py() or 0)
    return max(map(len, texts))


def _too_many(limits: Limits) -> Problem:
    return Problem("too-large", f"a request has at most {limits.documents:,} documents: send several")
