"""One logarithm, and its inverse, for everything that becomes a weight.

NumPy's vectorised log differs from libm's in the last bit on some processors, and a weight must not depend on whether
it was computed in bulk or for one document, compiled or not.
"""

from __future__ import annotations

from collections.abc import Callable
from math import expm1 as scalar_expm1
from math import log as scalar_log
from math import log1p as scalar_log1p

import numpy as np
import numpy.typing as npt

from bunrui.kernel.library import run
from bunrui.kernel.signature import F64s, Read, kernel

Floats = npt.NDArray[np.float64]

# Log calls whose cost is that of a byte of text in plain Python.
_PER_BYTE = 10
_FEW = 64


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
