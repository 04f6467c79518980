"""Sums that do not depend on the order of their terms.

Each term is cut to a multiple of 2 ** -50 and added as integers; so the constants that models take over the whole
vocabulary have the same bits whatever the order of features, threads or merges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bunrui.kernel.library import run
from bunrui.kernel.primitives import i64, inline
from bunrui.kernel.signature import F64s, I32s, I64s, Read, kernel

HIGH_BITS = 20
LOW_BITS = 30
HIGH = float(1 << HIGH_BITS)
LOW = float(1 << LOW_BITS)


def exact_sums(values: Any, groups: Any, n_groups: int) -> npt.NDArray[np.float64]:
    """The sum of `values` (below 2 ** 30 in size) in every group, (n_groups,)."""
    return exact_sums_of([(values, groups)], n_groups)


def exact_sums_of(parts: Iterable[tuple[Any, Any]], n_groups: int) -> npt.NDArray[np.float64]:
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


def joined(halves: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
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
