"""Cut a column of numbers where its classes change, by the minimum description length principle.

    E(S; T) = |S1|/|S| Ent(S1) + |S2|/|S| Ent(S2)           T cuts S into S1 and S2; the smallest is tried
    Gain(S; T) = Ent(S) - E(S; T) > (log2(N - 1) + Δ) / N       accepted, and both parts are cut in their turn
    Δ = log2(3^k - 2) - (k Ent(S) - k1 Ent(S1) - k2 Ent(S2))    k classes in S, k1 in S1, k2 in S2; N rows in S

Fayyad, Irani (1993), Multi-interval discretization of continuous-valued attributes.  A cut lies halfway between two
values.  Cuts are learned from labels: do it inside the fold, as an estimator's `fit` does.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.classcounts import is_missing
from bunrui.errors import DataError
from bunrui.sparse import Floats, Integers


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


def as_floats(column: npt.NDArray[Any]) -> Floats:
    """A column as numbers, with NaN for missing values.

    Examples
    --------
    >>> as_floats(np.array([1, "2.5", None], object)).tolist()
    [1.0, 2.5, nan]
    """
    if column.dtype.kind in "biuf":
        floats = column.astype(np.float64)
    else:
        floats = np.array([_as_float(value) for value in column.tolist()], np.float64)
    if np.isinf(floats).any():
        raise DataError("a column of numbers that is cut should have no infinite values: replace them")
    return floats


def _as_float(value: Any) -> float:
    if is_missing(value):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise DataError(f"a column that is cut should have numbers, not {value!r}: see discretise") from error


def learn_cuts(
    X: Any, columns: Collection[int], codes: Integers, weights: npt.NDArray[Any]
) -> tuple[Floats | None, ...]:
    """Where to cut some columns of a table; None for the others."""
    return tuple(mdl_cuts(as_floats(X[:, j]), codes, weights) if j in columns else None for j in range(X.shape[1]))


def cut_columns(X: Any, cuts: tuple[Floats | None, ...]) -> npt.NDArray[Any]:
    """A table of values, with intervals in place of numbers that are cut."""
    if all(each is None for each in cuts):
        return np.asarray(X)
    if hasattr(X, "indptr"):
        raise DataError("columns were cut when this learned, and a sparse matrix is read as presence: give an array")
    if all(each is not None for each in cuts):
        columns = [intervals(as_floats(X[:, j]), each) for j, each in enumerate(cuts) if each is not None]
        return np.column_stack(columns)
    out = np.asarray(X).astype(object)
    for j, each in enumerate(cuts):
        if each is not None:
            out[:, j] = intervals(as_floats(X[:, j]), each)
    return out
