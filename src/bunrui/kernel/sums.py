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
    high = np.zeros(n_groups, np.int64)
    low = np.zeros(n_groups, np.int64)
    for values, groups in parts:
        run(add_parts, np.ascontiguousarray(values, np.float64), np.ascontiguousarray(groups, np.int32), high, low)
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
