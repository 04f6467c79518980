"""The arguments of a kernel: their types, and the words in which a compiled kernel finds them.

A kernel is a function marked with `@kernel`.  Its annotations, and those of the records that it takes, are all that
the compiler and the caller know of it:

    U8s … F64s      a one-dimensional contiguous array of this type, which the kernel may write
    Read[U8s]       the same, which the kernel only reads
    int, float      a number of 64 bits; Unsigned, one without a sign
    a record        a NamedTuple of these, marked with `@record`

A compiled kernel gets the address of one block of 64-bit words: two for each array (address, length), one for each
number, one for each record: the address of its own block.  Compiled code checks nothing, so arrays are checked when
they are packed.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

READ = "read"

_HEAD = object.__basicsize__
_word_at = ctypes.c_size_t.from_address

U8s = Annotated[Any, np.dtype(np.uint8)]
U32s = Annotated[Any, np.dtype(np.uint32)]
U64s = Annotated[Any, np.dtype(np.uint64)]
I32s = Annotated[Any, np.dtype(np.int32)]
I64s = Annotated[Any, np.dtype(np.int64)]
F64s = Annotated[Any, np.dtype(np.float64)]
Read = Annotated[T, READ]
Unsigned = Annotated[int, "Q"]


class Argument(NamedTuple):
    """The type of one argument, or of one field of a record."""

    name: str
    code: str  # as in `struct`: "q", "Q", "d" a number, "Qq" an array, "P" a record
    dtype: np.dtype[Any] | None = None
    writes: bool = False
    record: Any = None


class Signature(NamedTuple):
    """What a kernel takes, and what it returns: codes of numbers, none, one or several."""

    arguments: tuple[Argument, ...]
    result: str


def kernel(function: F) -> F:
    """Mark a function that is called from outside: it is compiled when the package is built."""
    function.__dict__["is_kernel"] = True
    return function


def record(fields: type[T]) -> type[T]:
    """Mark a NamedTuple that kernels take: each one remembers its packed block."""

    def reduce(self: Any) -> Any:
        # Without what is remembered: addresses mean nothing elsewhere.
        return type(self), tuple(self)

    names = {"__module__": fields.__module__, "__qualname__": fields.__qualname__, "__doc__": fields.__doc__}
    return type(fields.__name__, (fields,), {**names, "__reduce__": reduce})


@cache
def signature_of(function: Callable[..., Any]) -> Signature:
    """The types of a kernel."""
    hints = get_type_hints(function, include_extras=True)
    result = hints.pop("return")
    results = get_args(result) if get_origin(result) is tuple else () if result is type(None) else (result,)
    return Signature(tuple(_argument(*hint) for hint in hints.items()), "".join(_number(each) for each in results))


@cache
def fields_of(fields: type) -> tuple[Argument, ...]:
    """The types of a record."""
    return tuple(_argument(*hint) for hint in get_type_hints(fields, include_extras=True).items())


def _argument(name: str, hint: Any) -> Argument:
    if hasattr(hint, "_fields"):
        return Argument(name, "P", record=hint)
    if get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], np.dtype):
        return Argument(name, "Qq", hint.__metadata__[0], writes=READ not in hint.__metadata__)
    return Argument(name, _number(hint))


def _number(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        return str(hint.__metadata__[0])
    codes = {int: "q", bool: "q", float: "d"}
    if hint not in codes:
        raise TypeError(f"a kernel cannot take or return {hint}")
    return codes[hint]


def packer(arguments: tuple[Argument, ...]) -> Callable[[Any], bytes]:
    """A function that gives the words of values, every array checked."""
    codes = "".join(argument.code for argument in arguments)
    join = struct.Struct("=" + codes.replace("P", "Q")).pack

    kinds = [(argument.dtype, argument.writes, argument.record, argument) for argument in arguments]

    def pack(values: Any) -> bytes:
        words: list[Any] = []
        for (dtype, writes, record, argument), value in zip(kinds, values, strict=True):
            if dtype is not None:
                flags = value.flags
                if value.dtype != dtype or value.ndim != 1 or not flags.c_contiguous or writes > flags.writeable:
                    raise _wrong_array(argument, value)
                words += address_of(value), len(value)
            elif record is not None:
                block = value.__dict__.get("block") if type(value) is record else None
                words.append(_pack_record(argument, value) if block is None else block[0])
            else:
                words.append(value)
        return join(*words)

    return pack


@cache
def _packer_of(fields: type) -> Callable[[Any], bytes]:
    return packer(fields_of(fields))


def address_of(array: Any) -> int:
    """Where the data of an array begin.

    In NumPy's binary interface this address comes first in an array.  To read it takes .1 µs; to ask for
    array.ctypes.data takes 1 µs, 40 times for each document that is learned alone.
    """
    return int(_word_at(id(array) + _HEAD).value)


def _wrong_array(argument: Argument, array: Any) -> TypeError:
    return TypeError(
        f"{argument.name} should be a contiguous array of {argument.dtype} of one dimension"
        f"{' that can be written' if argument.writes else ''}, not {array.dtype} of shape {array.shape}"
    )


def _pack_record(argument: Argument, value: Any) -> int:
    """The address of the block of a record, which is packed once."""
    if not isinstance(value, argument.record):
        raise TypeError(f"{argument.name} should be {argument.record}, not {type(value)}")
    words = ctypes.create_string_buffer(_packer_of(argument.record)(value))
    # Two threads may pack the same record: both use the words of the first, which the record keeps.
    known = value.__dict__.setdefault("block", (ctypes.addressof(words), words))
    return int(known[0])
