"""Run a kernel plain or compiled.

`run(function, *args, work=...)` calls a function of this package with buffers in `args`.  Small work runs as plain
Python, so that one prediction from the shell waits neither for numba's import (0.4 s) nor for its compiler (tens of
seconds, once); as soon as the work of the process adds up, everything goes to the compiled twins.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from bunrui.kernel import primitives

_log = logging.getLogger("bunrui")

# Bytes of text that a process handles in plain Python before it loads numba.  Plain runs at about 1 MB/s, importing
# numba and loading cached kernels takes half a second.
PLAIN_BUDGET = 256 * 1024

_state: dict[str, Any] = {"plain_work": 0, "force": None}


def force(mode: str | None) -> None:
    """Always run `"plain"` or `"compiled"`; None chooses by the amount of work (for tests)."""
    _state["force"] = mode


def is_compiled(work: int) -> bool:
    """Whether a call with so much work (bytes of text, or an equal number of small steps) is to be compiled."""
    if _state["force"] is not None:
        return bool(_state["force"] == "compiled")
    if _state["plain_work"] > PLAIN_BUDGET:
        return True
    _state["plain_work"] += work
    return bool(_state["plain_work"] > PLAIN_BUDGET)


def run(function: Callable[..., Any], *args: Any, work: int) -> Any:
    """Call `function(*args)`, compiled or plain."""
    if is_compiled(work):
        return compiled(function)(*args)
    return function(*(_plain(arg) for arg in args))


def _tell(function: Callable[..., Any]) -> None:
    """Say once that the compiler is at work, unless its results lie in a cache."""
    folder = Path(__file__).parent
    if "NUMBA_CACHE_DIR" in os.environ or not os.access(folder, os.W_OK):
        return  # the cache lies elsewhere
    if not any(folder.glob(f"__pycache__/*.{function.__name__}_{_source_digest()}-*.nbi")):
        _warn_once("compiling the kernels: about half a minute in all, once for this installation")


def _plain(arg: Any) -> Any:
    if isinstance(arg, np.ndarray):
        return memoryview(arg)  # type: ignore[arg-type]
    if isinstance(arg, tuple) and hasattr(arg, "_fields"):
        return type(arg)(*(_plain(item) for item in arg))
    return arg


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The numba twin of a kernel, with everything that it calls."""
    import numba

    from bunrui.kernel import native

    assert isinstance(function, FunctionType)
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = scope.get(name)
        if isinstance(value, FunctionType) and value.__module__ == primitives.__name__ and hasattr(native, name):
            scope[name] = getattr(native, name)
        elif isinstance(value, primitives.U64):
            scope[name] = np.uint64(int(value))
        elif isinstance(value, FunctionType) and value.__module__.startswith("bunrui.kernel"):
            scope[name] = compiled(value)
    twin = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    # numba's cache looks at the file of the function alone; the digest of all sources in the name makes a change in
    # a callee count too.
    twin.__qualname__ = f"{function.__qualname__}_{_source_digest()}"
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
    if function.__dict__.get("inline"):
        return numba.njit(forceinline=True, **options)(twin)
    _tell(function)
    try:
        return numba.njit(cache=True, **options)(twin)
    except RuntimeError:
        # Neither the package's folder nor the user's cache can be written.
        _warn_once("compiled kernels cannot be kept on this machine; set NUMBA_CACHE_DIR to a writable folder")
        return numba.njit(**options)(twin)


def _at_fork(what: str) -> None:
    """Take or give back the lock of numba's compiler: a child would wait for ever for a thread that compiles."""
    if "numba.core.compiler_lock" in sys.modules:
        getattr(sys.modules["numba.core.compiler_lock"].global_compiler_lock, what)()


if hasattr(os, "register_at_fork"):
    after = partial(_at_fork, "release")
    os.register_at_fork(before=partial(_at_fork, "acquire"), after_in_parent=after, after_in_child=after)


@cache
def _warn_once(message: str) -> None:
    _log.warning(message)


@cache
def _source_digest() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
