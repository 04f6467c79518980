"""Kernels → compiled code, with numba: when the package is built (`build.py`), or at run time where no library is.

Each function of this package that a kernel calls is compiled with it; the names of `primitives.py` are replaced by
their twins in `native.py`.
"""
# mypy: ignore-errors

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.compiler_lock import global_compiler_lock

from bunrui.kernel import native, primitives
from bunrui.kernel.library import digest_of_sources
from bunrui.kernel.signature import Argument, fields_of

__all__ = ["compiled", "numba_type", "twin_of"]

_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}
_NUMBERS = {"q": types.int64, "Q": types.uint64, "d": types.float64}


@cache
def twin_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as numba compiles it, with everything that it calls."""
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = scope.get(name)
        if isinstance(value, FunctionType) and value.__module__ == primitives.__name__ and hasattr(native, name):
            scope[name] = getattr(native, name)
        elif isinstance(value, primitives.U64):
            scope[name] = np.uint64(int(value))
        elif isinstance(value, FunctionType) and value.__module__.startswith("bunrui.kernel"):
            scope[name] = twin_of(value)
    twin = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    inline = bool(function.__dict__.get("inline"))
    # Only compiled code calls it: with ways in for Python and for C, compiling all kernels took 104 s of processor
    # time, without them 76.
    return numba.njit(forceinline=inline, no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(twin)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that numba compiles for the arguments that it gets, and keeps for the next process where it can."""
    twin = twin_of(function).py_func
    # numba's cache looks at the file of the function alone; with the digest of all sources in the name, a change in a
    # callee counts too.
    twin.__qualname__ = f"{function.__qualname__}_{digest_of_sources()}"
    try:
        return numba.njit(cache=True, **_OPTIONS)(twin)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return numba.njit(**_OPTIONS)(twin)


def numba_type(argument: Argument) -> Any:
    if argument.record is not None:
        return types.NamedTuple([numba_type(field) for field in fields_of(argument.record)], argument.record)
    if argument.dtype is not None:
        return types.Array(numba.from_dtype(argument.dtype), 1, "C", readonly=not argument.writes)
    return _NUMBERS[argument.code]


if hasattr(os, "register_at_fork"):
    # A child would wait for ever for a thread of its parent that compiles.
    lock = global_compiler_lock
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
