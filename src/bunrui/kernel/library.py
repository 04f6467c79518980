"""Call kernels: `run(function, *args)` calls the compiled twin of a function of this package.

The twins stand in a library that is made when the package is built (`build.py`).  Where there is none, numba compiles
each kernel when it is first called, if it is installed.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bunrui.errors import KernelError, OptionError
from bunrui.kernel.signature import packer, signature_of

FOLDER = Path(__file__).parent
LIBRARY = FOLDER / "_kernels.so"
VARIANTS = ("v3", "v2", "host")  # the best first

_log = logging.getLogger("bunrui")
_RESULT = ctypes.c_uint64 * 4


def run(function: Callable[..., Any], *args: Any) -> Any:
    """Call `function(*args)`, compiled."""
    return entry_of(function)(*args)


def symbol_of(function: Callable[..., Any], variant: str) -> str:
    """The name of a kernel in the library."""
    return f"{function.__module__.removeprefix('bunrui.kernel.')}_{function.__name__}_{variant}"


def digest_of_sources() -> str:
    """A digest of everything that the library is made of."""
    digest = hashlib.sha256()
    for path in sorted(FOLDER.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def entry_of(function: Callable[..., Any]) -> Callable[..., Any]:
    library = _library()
    if library is None:
        return _compiled_here(function)
    functions, variant = library
    foreign = getattr(functions, symbol_of(function, variant))
    foreign.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    foreign.restype = ctypes.c_int32
    arguments, codes = signature_of(function)
    pack, unpack = packer(arguments), struct.Struct("=" + codes).unpack_from

    def call(*args: Any) -> Any:
        words = pack(args)
        # As numba calls functions: the place of the result, the place of an exception (there is none), arguments.
        result = _RESULT()
        if foreign(result, ctypes.byref(result, 24), words):
            raise KernelError(f"the kernel {function.__name__} failed")
        values = unpack(result)
        return values if len(values) > 1 else values[0] if values else None

    return call


@cache
def _library() -> tuple[Any, str] | None:
    """The loaded library, and which of its variants this machine runs; None where it runs none."""
    if not LIBRARY.exists():
        return None
    functions = ctypes.CDLL(str(LIBRARY))
    if _text(functions, "bunrui_digest") != digest_of_sources():
        raise KernelError("the kernels have changed since they were compiled; make test compiles them")
    held = _text(functions, "bunrui_variants").split()
    usable = [variant for variant in VARIANTS if variant in held and (variant != "v3" or functions.bunrui_runs_v3())]
    wanted = os.environ.get("BUNRUI_KERNELS")
    if wanted is None:
        return (functions, usable[0]) if usable else None
    if wanted not in usable:
        raise OptionError(f"BUNRUI_KERNELS should be one of {', '.join(usable)} here, not {wanted!r}")
    return functions, wanted


def _text(functions: Any, name: str) -> str:
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(functions, name))).decode()


def _compiled_here(function: Callable[..., Any]) -> Callable[..., Any]:
    """The twin of a kernel that numba compiles, or finds in its cache."""
    try:
        from bunrui.kernel.compile import compiled
    except ImportError:
        raise KernelError(
            "this installation of bunrui has no compiled kernels: install numba, which compiles them when they are "
            "needed (pip install 'bunrui[jit]'), or a C compiler (apt install gcc), and then bunrui again"
        ) from None
    _say_once("bunrui has no compiled kernels for this machine: numba compiles them now, which takes a minute, once")
    arguments, _ = signature_of(function)
    twin = compiled(function)
    unsigned = [argument.code == "Q" for argument in arguments]

    def call(*args: Any) -> Any:
        return twin(*(np.uint64(arg) if is_unsigned else arg for arg, is_unsigned in zip(args, unsigned, strict=True)))

    return call


@cache
def _say_once(message: str) -> None:
    _log.warning(message)
