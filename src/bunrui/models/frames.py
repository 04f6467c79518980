"""Tables → columns: data frames of pandas and polars, and lists of dicts, as one NumPy array for each column.

A column of numbers can be cut where its classes change, by the minimum description length principle (`mdl_cuts`):

    E(S; T) = |S1|/|S| Ent(S1) + |S2|/|S| Ent(S2)           T cuts S into S1 and S2; the smallest is tried
    Gain(S; T) = Ent(S) - E(S; T) > (log2(N - 1) + Δ) / N       accepted, and both parts are cut in their turn
    Δ = log2(3^k - 2) - (k Ent(S) - k1 Ent(S1) - k2 Ent(S2))    k classes in S, k1 in S1, k2 in S2; N rows in S

Fayyad, Irani (1993), Multi-interval discretization of continuous-valued attributes.  A cut lies halfway between two
values.  Cuts are learned from labels: do it inside the fold, as an estimator's `fit` does.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import is_missing
from bunrui.errors import DataError
from bunrui.sparse import Floats, Integers

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


def as_numbers(name: str | int, values: npt.NDArray[Any]) -> Floats:
    """float64 with NaN where values are missing; durations in days."""
    if values.dtype.kind == "m":
        return np.asarray(values / _DAY, np.float64)
    if values.dtype.kind == "O":
        # One by one: from lists, NumPy would make more dimensions.
        values = np.fromiter((np.nan if is_missing(value) else _days(value) for value in values.tolist()), object)
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise _wrong(name, "numbers", values, (bool, int, float, Decimal, np.number)) from error
    if values.dtype.kind in "OU" and any(isinstance(value, str) for value in values.tolist()):
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


def _wrong(name: str | int, what: str, values: npt.NDArray[Any], right: tuple[type, ...]) -> DataError:
    """The error of a column whose values are not what they should be."""
    wrong = [value for value in values.tolist() if not is_missing(value) and not isinstance(value, right)]
    return DataError(f"the column {name!r} should have {what}, not {wrong[0] if wrong else values[0]!r}")


# Cuts


def mdl_cuts(values: Floats, codes: Integers, weights: npt.NDArray[Any] | None = None) -> Floats:
    """Where to cut a column, ascending; none where the numbers do not tell the classes apart.

    Parameters
    ----------
    values : (n_rows,)
        Finite, or NaN where the value is missing: such rows are skipped.
    codes : (n_rows,)
        The class of each row, from 0.
    weights : (n_rows,), optional
        A row of weight 2 counts as two.

    Examples
    --------
    >>> mdl_cuts(np.array([1.0, 2, 3, 7, 8, 9, np.nan]), np.array([0, 0, 0, 1, 1, 1, 1])).tolist()
    [5.0]
    >>> mdl_cuts(np.array([1.0, 2, 3, 7, 8, 9]), np.array([0, 1, 0, 1, 0, 1])).tolist()
    []
    """
    if weights is None:
        weights = np.ones(len(values))
    there = ~np.isnan(values) & (weights > 0)
    distinct, at = np.unique(values[there], return_inverse=True)
    counts = np.zeros((len(distinct) + 1, int(codes.max(initial=0)) + 1))
    np.add.at(counts, (at.reshape(-1) + 1, codes[there]), weights[there])
    below = counts.cumsum(axis=0)  # rows by class with fewer than k of the distinct values
    cuts, parts = [], [(0, len(distinct))]
    while parts:
        lo, hi = parts.pop()
        middle = _best(below[lo : hi + 1] - below[lo])
        if middle:
            cuts.append(_between(distinct[lo + middle - 1], distinct[lo + middle]))
            parts += [(lo, lo + middle), (lo + middle, hi)]
    return np.sort(np.array(cuts, np.float64))


def _best(below: Floats) -> int:
    """How many of the distinct values go to the left; 0 if it is not worth it."""
    if len(below) < 3:
        return 0
    total = below[-1]
    n = float(total.sum())
    # Fractions of rows: of less than one there is nothing to describe.
    if n <= 1.0 or (total > 0).sum() < 2:
        return 0
    bits = _bits(below[1:-1]) + _bits(total - below[1:-1])
    k = int(bits.argmin())
    left = below[1 + k]
    all_bits, left_bits, right_bits = (_bits(part) for part in (total, left, total - left))
    n_left = float(left.sum())
    entropies = float(all_bits) / n, float(left_bits) / n_left, float(right_bits) / (n - n_left)
    classes = [int((part > 0).sum()) for part in (total, left, total - left)]
    # log2(3^k - 2), for any k.
    delta = classes[0] * math.log2(3.0) + math.log2(1.0 - 2.0 * 3.0 ** -classes[0])
    delta -= classes[0] * entropies[0] - classes[1] * entropies[1] - classes[2] * entropies[2]
    gain = entropies[0] - float(bits[k]) / n
    return k + 1 if gain > (math.log2(n - 1.0) + delta) / n else 0


def _bits(counts: Floats) -> Any:
    """N Ent of rows by class, over the last axis."""
    return _n_log_n(counts.sum(axis=-1)) - _n_log_n(counts).sum(axis=-1)


def _n_log_n(n: Any) -> Any:
    return n * np.log2(np.where(n > 0, n, 1.0))


def _between(low: float, high: float) -> float:
    """Halfway; a number that belongs to the left is not above it."""
    middle = float(low / 2 + high / 2)
    return middle if low <= middle < high else float(low)


def intervals(values: Floats, cuts: Floats) -> Floats:
    """The interval of every number, from 0; NaN where it is missing.  A number on a cut is left of it.

    Examples
    --------
    >>> intervals(np.array([1.0, 5.0, 5.1, np.nan]), np.array([5.0])).tolist()
    [0.0, 0.0, 1.0, nan]
    """
    return np.where(np.isnan(values), np.nan, np.searchsorted(cuts, values, side="left"))


def as_floats(name: int, column: npt.NDArray[Any]) -> Floats:
    """A column that is cut as numbers, with NaN for missing values; strings may be numbers, too.

    Examples
    --------
    >>> as_floats(0, np.array([1, "2.5", None], object)).tolist()
    [1.0, 2.5, nan]
    """
    if column.dtype.kind in "mM":
        raise _not_to_cut(name, column.dtype.name)
    if column.dtype.kind not in "biuf":
        column = np.array([_as_float(name, value) for value in column.tolist()], np.float64)
    return as_numbers(name, column)


def _as_float(name: int, value: Any) -> float:
    if is_missing(value):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise _not_to_cut(name, value) from error


def _not_to_cut(name: int, value: Any) -> DataError:
    return DataError(f"the column {name} is cut and should have numbers, not {value!r}: see discretise")


def learn_cuts(
    X: Any, columns: Collection[int], codes: Integers, weights: npt.NDArray[Any]
) -> tuple[Floats | None, ...]:
    """Where to cut some columns of a table; None for the others."""
    every = range(X.shape[1])
    return tuple(mdl_cuts(as_floats(j, X[:, j]), codes, weights) if j in columns else None for j in every)


def cut_columns(X: Any, cuts: Sequence[Floats | None]) -> npt.NDArray[Any]:
    """A table of values, with intervals in place of numbers that are cut."""
    if all(each is None for each in cuts):
        return np.asarray(X)
    if hasattr(X, "indptr"):
        raise DataError("columns were cut when this learned, and a sparse matrix is read as presence: give an array")
    found = {j: intervals(as_floats(j, X[:, j]), each) for j, each in enumerate(cuts) if each is not None}
    if len(found) == len(cuts):
        return np.column_stack(list(found.values()))
    out = np.asarray(X).astype(object)
    for j, column in found.items():
        out[:, j] = column
    return out
