"""Arithmetic with the same bits everywhere: one logarithm, and sums that do not depend on the order of their terms.

NumPy's vectorised log differs from libm's in the last bit on some processors, and a weight must not depend on whether
it was computed in bulk or for one document, compiled or not.

Each term of a sum is cut to a multiple of 2 ** -50 and added as integers; so the constants that models take over the
whole vocabulary have the same bits whatever the order of features, threads or merges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from math import expm1 as scalar_expm1
from math import log as scalar_log
from math import log1p as scalar_log1p
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.kernel.library import run
from bunrui.kernel.primitives import i64, inline
from bunrui.kernel.signature import F64s, I32s, I64s, Read, kernel

Floats = npt.NDArray[np.float64]

_FEW = 64

HIGH_BITS = 20
LOW_BITS = 30
HIGH = float(1 << HIGH_BITS)
LOW = float(1 << LOW_BITS)


def log(x: npt.ArrayLike) -> Floats:
    """The natural logarithm of every element."""
    return _apply(_log_loop, scalar_log, x)


def log1p(x: npt.ArrayLike) -> Floats:
    """log(1 + x) for every element."""
    return _apply(_log1p_loop, scalar_log1p, x)


def expm1(x: npt.ArrayLike) -> Floats:
    """exp(x) - 1 for every element."""
    return _apply(_expm1_loop, scalar_expm1, x)


def _apply(loop: Callable[..., None], scalar: Callable[[float], float], x: npt.ArrayLike) -> Floats:
    array = np.asarray(x, dtype=np.float64)
    if array.size <= _FEW:
        # A number for each class: quicker in Python than through numba, and the same libm.
        return np.array([scalar(value) for value in array.ravel().tolist()]).reshape(array.shape)
    out = np.empty(array.size)
    run(loop, np.ascontiguousarray(array).reshape(-1), out)
    return out.reshape(array.shape)


@kernel
def _log_loop(x: Read[F64s], out: F64s) -> None:
    for i in range(len(x)):
        out[i] = scalar_log(x[i])


@kernel
def _log1p_loop(x: Read[F64s], out: F64s) -> None:
    for i in range(len(x)):
        out[i] = scalar_log1p(x[i])


@kernel
def _expm1_loop(x: Read[F64s], out: F64s) -> None:
    for i in range(len(x)):
        out[i] = scalar_expm1(x[i])


def exact_sums(values: Any, groups: Any, n_groups: int) -> Floats:
    """The sum of `values` (below 2 ** 30 in size) in every group, (n_groups,)."""
    return exact_sums_of([(values, groups)], n_groups)


def exact_sums_of(parts: Iterable[tuple[Any, Any]], n_groups: int) -> Floats:
    """The same of values and groups that come in parts."""
    halves = np.zeros((2, n_groups), np.int64)
    for values, groups in parts:
        halves += halves_of(values, groups, n_groups)
    return joined(halves)


def halves_of(values: Any, groups: Any, n_groups: int) -> npt.NDArray[np.int64]:
    """The sums of values by group as integers, (2, n_groups): first the high halves, then the low ones."""
    high, low = halves = np.zeros((2, n_groups), np.int64)
    run(add_parts, np.ascontiguousarray(values, np.float64), np.ascontiguousarray(groups, np.int32), high, low)
    return halves


def joined(halves: npt.NDArray[np.int64]) -> Floats:
    """Sums from their halves."""
    high, low = halves
    return np.asarray(high / HIGH + low / (HIGH * LOW))


@kernel
def add_parts(values: Read[F64s], groups: Read[I32s], high: I64s, low: I64s) -> None:
    for k in range(len(values)):
        add_term(high, low, i64(groups[k]), values[k])


@inline
def add_term(high: I64s, low: I64s, group: int, value: float) -> None:
    """Add one term, below 2 ** 30 in size, to the sum of a group."""
    scaled = value * HIGH
    whole = math.floor(scaled)
    high[group] += i64(whole)
    low[group] += i64(math.floor((scaled - whole) * LOW))
