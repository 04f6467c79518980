"""Tables → columns: data frames of pandas and polars, and lists of dicts, as one NumPy array for each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import is_missing
from bunrui.errors import DataError
from bunrui.sparse import Floats

_DAY = np.timedelta64(1, "D")


class Given(NamedTuple):
    """The values of a column; `categorical` where its type says that they are categories."""

    values: npt.NDArray[Any]
    categorical: bool = False


def is_frame(X: Any) -> bool:
    """Whether this is a data frame: columns with names, each of a type of its own."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def of_frame(X: Any) -> tuple[list[str], list[Given]]:
    """Names and columns of a data frame of pandas or polars."""
    names = [str(name) for name in X.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"two columns have the name {twice!r}: rename one")
    dtypes = [str(dtype) for dtype in X.dtypes]
    columns = []
    for name, dtype in zip(X.columns, dtypes, strict=True):
        values = X[name].to_numpy()
        # The libraries write "category", "Categorical", "Enum(categories=[...])".
        declared = dtype.lower().startswith(("category", "categorical", "enum"))
        columns.append(Given(values.astype(object) if declared else values, declared))
    return names, columns


def of_dicts(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[Given]]:
    """Names and columns of rows that are mappings; a row that lacks a name has a missing value there.

    Examples
    --------
    >>> names, columns = of_dicts([{"a": 1}, {"a": 2, "b": "x"}])
    >>> names, columns[1].values.tolist()
    (['a', 'b'], [None, 'x'])
    """
    names: dict[str, None] = {}
    for k, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"row {k} should be a dict as the first is, not {row!r}")
        names.update(dict.fromkeys(row))
    columns = []
    for name in names:
        values = np.empty(len(rows), object)
        values[:] = [row.get(name) for row in rows]
        columns.append(Given(values))
    return [str(name) for name in names], columns


def columns_by_name(names: list[str], columns: list[Given], known: Sequence[str]) -> list[Given]:
    """Columns of dicts, which have no order of their own, in the order of those that were learned."""
    for name in known:
        if name not in names:
            raise DataError(f"the column {name!r} is missing: give it, as None where there is no value")
    for name in names:
        if name not in known:
            raise DataError(f"the column {name!r} was not there in training: leave it out")
    return [columns[names.index(name)] for name in known]


def value_kind(name: str, values: npt.NDArray[Any]) -> str:
    """The kind of the values of a column: "number", "boolean", "string", "date", or "nothing" where all are missing."""
    by_dtype = {"b": "boolean", "i": "number", "u": "number", "f": "number", "U": "string", "M": "date", "m": "number"}
    if values.dtype.kind in by_dtype:
        gone = values.dtype.kind in "fMm" and values != values
        return "nothing" if np.all(gone) and gone is not False else by_dtype[values.dtype.kind]
    kinds = {_kind(value): value for value in values.tolist() if not is_missing(value)}
    if not kinds:
        return "nothing"
    if len(kinds) > 1 or "other" in kinds:
        shown = " and ".join(repr(value) for value in kinds.values())
        raise DataError(
            f"the column {name!r} should have numbers, strings, booleans or dates, all of a kind, not {shown}: "
            f"convert it, or leave it out with columns={{{name!r}: 'skip'}}"
        )
    return next(iter(kinds))


def _kind(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "boolean"
    if isinstance(value, (int, float, Decimal, np.number, timedelta)) and not isinstance(value, complex):
        return "number"
    if isinstance(value, str):
        return "string"
    return "date" if isinstance(value, (date, np.datetime64)) else "other"


def as_numbers(name: str, values: npt.NDArray[Any]) -> Floats:
    """float64 with NaN where values are missing; durations in days."""
    if values.dtype.kind == "m":
        return np.asarray(values / _DAY, np.float64)
    if values.dtype.kind == "O":
        values = np.array([np.nan if is_missing(value) else _days(value) for value in values.tolist()], object)
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise _wrong(name, "numbers", values, (bool, int, float, Decimal, np.number)) from error
    if values.dtype.kind == "U" or any(isinstance(value, str) for value in values.tolist()):
        raise _wrong(name, "numbers", values, (bool, int, float, Decimal, np.number))
    if np.isinf(numbers).any():
        raise DataError(f"the column {name!r} has an infinite value: replace it, or make it missing (NaN)")
    return numbers


def _days(value: Any) -> Any:
    return value / timedelta(days=1) if isinstance(value, timedelta) else value


def as_texts(name: str, values: npt.NDArray[Any]) -> list[str]:
    """Strings; an empty one where a value is missing."""
    texts = ["" if is_missing(value) else value for value in values.tolist()]
    if not all(isinstance(text, str) for text in texts):
        raise _wrong(name, "strings", np.array(texts, object), (str,))
    return texts


def as_dates(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.datetime64]:
    """datetime64 in microseconds, as the clock on the wall had it; NaT where a value is missing."""
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    try:
        return np.array([_moment(value) for value in values.tolist()], "datetime64[us]")
    except (TypeError, ValueError) as error:
        raise _wrong(name, "dates", values, (date, np.datetime64)) from error


def as_days(name: str, values: npt.NDArray[Any]) -> Floats:
    """Dates as days since 1970, with NaN where they are missing."""
    moments = as_dates(name, values)
    return np.where(np.isnat(moments), np.nan, (moments - np.datetime64(0, "us")) / _DAY)


def _moment(value: Any) -> Any:
    if is_missing(value):
        return np.datetime64("NaT", "us")
    if isinstance(value, datetime):
        value = value.replace(tzinfo=None)
    if not isinstance(value, (str, date, np.datetime64)):
        raise TypeError
    return np.datetime64(value, "us")  # type: ignore[call-overload]


def _wrong(name: str, what: str, values: npt.NDArray[Any], right: tuple[type, ...]) -> DataError:
    """The error of a column whose values are not what they should be."""
    wrong = [value for value in values.tolist() if not is_missing(value) and not isinstance(value, right)]
    return DataError(f"the column {name!r} should have {what}, not {wrong[0] if wrong else values[0]!r}")
