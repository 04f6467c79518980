"""Kernels → compiled code, with numba: when the package is built (`build.py`), or at run time where no library is.

Each function of this package that a kernel calls is compiled with it; the names of `primitives.py` are replaced by
their twins below.
"""
# mypy: ignore-errors

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partialmethod, reduce
from types import FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from bunrui.kernel import primitives
from bunrui.kernel.library import digest_of_sources
from bunrui.kernel.primitives import DOUBTFUL, LOWERING
from bunrui.kernel.signature import Argument, fields_of

_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}
_NUMBERS = {"q": types.int64, "Q": types.uint64, "d": types.float64}


@cache
def twin_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as numba compiles it, with everything that it calls."""
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = scope.get(name)
        if isinstance(value, FunctionType) and value.__module__ == primitives.__name__ and name in globals():
            scope[name] = globals()[name]
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


# The compiled twins of `primitives.py`, name for name


@njit(inline="always")
def u64(x):
    return np.uint64(x)


@njit(inline="always")
def i64(x):
    return np.int64(x)


def _element_pointer(context, builder, array_type, array, index):
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def load64(typingctx, buffer, i):
    """One unaligned load; the caller has padded the buffer."""

    def codegen(context, builder, signature, args):
        pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
        wide = builder.bitcast(pointer, ir.IntType(64).as_pointer())
        return builder.load(wide, align=1)

    return types.uint64(buffer, i), codegen


def _of_word(emit):
    """Make a function of one word."""

    @intrinsic
    def of_word(typingctx, x):
        return types.uint64(types.uint64), lambda context, builder, signature, args: emit(builder, args[0])

    return of_word


ctz = _of_word(lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 0)))
popcount = _of_word(lambda builder, word: builder.ctpop(word))


@intrinsic
def prefetch(typingctx, array, i):
    def codegen(context, builder, signature, args):
        pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
        byte = ir.IntType(8).as_pointer()
        i32 = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32]), "llvm.prefetch.p0"
        )
        # read, keep in all levels, data cache
        builder.call(function, [builder.bitcast(pointer, byte), i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, i), codegen


_BYTE = ir.IntType(8)
_V64 = ir.VectorType(_BYTE, 64)


def _splat(value):
    return ir.Constant(_V64, [value] * 64)


def _load_v64(context, builder, array_type, array, index):
    pointer = _element_pointer(context, builder, array_type, array, index)
    return builder.load(builder.bitcast(pointer, _V64.as_pointer()), align=1)


def _mask(builder, vector):
    return builder.bitcast(vector, ir.IntType(64))


def _within(builder, vector, first, count):
    return builder.icmp_unsigned("<", builder.sub(vector, _splat(first)), _splat(count))


def _test64(test, n_bytes=1):
    """Make a function with a bit for each of 64 bytes: `test` of the byte, or of as many bytes from there on."""

    @intrinsic
    def test64(typingctx, buffer, i):
        def codegen(context, builder, signature, args):
            places = [builder.add(args[1], ir.Constant(ir.IntType(64), k)) for k in range(n_bytes)]
            vectors = [_load_v64(context, builder, signature.args[0], args[0], place) for place in places]
            return _mask(builder, test(builder, *vectors))

        return types.uint64(buffer, i), codegen

    return test64


def _is_wide(builder, vector):
    return builder.icmp_signed("<", vector, _splat(0))


def _begins(rules):
    """A test: does a character begin here that one of the rules allows?"""

    def test(builder, *vectors):
        found = ir.Constant(ir.VectorType(ir.IntType(1), 64), [0] * 64)
        for rule in rules:
            each = [_between(builder, vector, *ends) for vector, ends in zip(vectors, rule, strict=False)]
            found = builder.or_(found, reduce(builder.and_, each))
        return found

    return test


def _between(builder, vector, first, last):
    if first == last:
        return builder.icmp_unsigned("==", vector, _splat(first))
    return _within(builder, vector, first, last + 1 - first)


nonzero64 = _test64(lambda builder, vector: builder.icmp_unsigned("!=", vector, _splat(0)))
printable64 = _test64(lambda builder, vector: _within(builder, vector, 0x21, 0x7F - 0x21))
wide64 = _test64(_is_wide)
doubtful64 = _test64(_begins(DOUBTFUL), max(map(len, DOUBTFUL)))
lowering64 = _test64(_begins(LOWERING), max(map(len, LOWERING)))


def _fold64(fold):
    """Make a function that folds 64 bytes: `fold` gives the folded bytes, and the mask that is returned."""

    @intrinsic
    def fold64(typingctx, src, i, out, o):
        def codegen(context, builder, signature, args):
            vector = _load_v64(context, builder, signature.args[0], args[0], args[1])
            lower = builder.or_(vector, _splat(0x20))
            folded, mask = fold(builder, vector, lower, _within(builder, lower, ord("a"), 26))
            pointer = _element_pointer(context, builder, signature.args[2], args[2], args[3])
            builder.store(folded, builder.bitcast(pointer, _V64.as_pointer()), align=1)
            return _mask(builder, mask)

        return types.uint64(src, i, out, o), codegen

    return fold64


@_fold64
def fold_words64(builder, vector, lower, is_letter):
    digit = _within(builder, vector, ord("0"), 10)
    other = builder.or_(digit, builder.icmp_unsigned("==", vector, _splat(ord("_"))))
    folded = builder.select(is_letter, lower, builder.select(other, vector, _splat(0)))
    return folded, _is_wide(builder, vector)


@_fold64
def fold_ascii64(builder, vector, lower, is_letter):
    word = builder.or_(is_letter, _within(builder, vector, ord("0"), 10))
    return builder.select(is_letter, lower, vector), word


@intrinsic
def copy16(typingctx, src, i, out, o):
    def codegen(context, builder, signature, args):
        wide = ir.VectorType(_BYTE, 16).as_pointer()
        source = _element_pointer(context, builder, signature.args[0], args[0], args[1])
        target = _element_pointer(context, builder, signature.args[2], args[2], args[3])
        builder.store(builder.load(builder.bitcast(source, wide), align=1), builder.bitcast(target, wide), align=1)
        return context.get_dummy_value()

    return types.void(src, i, out, o), codegen


@intrinsic
def equal4(typingctx, words, i, x):
    def codegen(context, builder, signature, args):
        kind = ir.VectorType(ir.IntType(64), 4)
        pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
        vector = builder.load(builder.bitcast(pointer, kind.as_pointer()), align=8)
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), args[2], ir.IntType(32)(0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
        same = builder.icmp_unsigned("==", vector, builder.shuffle_vector(one, one, lanes))
        return builder.zext(builder.bitcast(same, ir.IntType(4)), ir.IntType(64))

    return types.uint64(words, i, types.uint64), codegen


_WORDS = ir.VectorType(ir.IntType(32), 8)


class _Words:
    """Eight numbers of 32 bits, with the operators of Python."""

    def __init__(self, builder, value):
        self.builder, self.value = builder, value

    def _operate(self, name, other):
        other = other.value if isinstance(other, _Words) else ir.Constant(_WORDS, [other] * 8)
        return _Words(self.builder, getattr(self.builder, name)(self.value, other))

    __add__, __xor__ = partialmethod(_operate, "add"), partialmethod(_operate, "xor")
    __and__, __or__ = partialmethod(_operate, "and_"), partialmethod(_operate, "or_")
    __rshift__, __lshift__ = partialmethod(_operate, "lshr"), partialmethod(_operate, "shl")


@intrinsic
def sha256_block8(typingctx, state, buffer, i, stride):
    def codegen(context, builder, signature, args):
        swap = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_WORDS, [_WORDS]), "llvm.bswap.v8i32")

        def pointer_to(number, place):
            pointer = _element_pointer(context, builder, signature.args[number], args[number], place)
            return builder.bitcast(pointer, _WORDS.as_pointer())

        def loaded(lane, half):
            place = builder.add(args[2], builder.mul(args[3], ir.Constant(ir.IntType(64), lane)))
            place = builder.add(place, ir.Constant(ir.IntType(64), 32 * half))
            return builder.call(swap, [builder.load(pointer_to(1, place), align=1)])

        halves = [_transposed(builder, [loaded(lane, half) for lane in range(8)]) for half in (0, 1)]
        pointers = [pointer_to(0, ir.Constant(ir.IntType(64), 8 * k)) for k in range(8)]
        before = [_Words(builder, builder.load(pointer, align=4)) for pointer in pointers]
        message = [_Words(builder, words) for words in (*halves[0], *halves[1])]
        for pointer, new in zip(pointers, primitives.sha256_rounds(before, message), strict=True):
            builder.store(new.value, pointer, align=4)
        return context.get_dummy_value()

    return types.void(state, buffer, i, stride), codegen


def _transposed(builder, rows):
    """Eight vectors of eight words, rows as columns: three times, each half in turn with the other."""
    order = [[(k >> 1) + half + 8 * (k & 1) for k in range(8)] for half in (0, 4)]
    masks = [ir.Constant(ir.VectorType(ir.IntType(32), 8), each) for each in order]
    for _ in range(3):
        pairs = zip(rows[:4], rows[4:], strict=True)
        rows = [builder.shuffle_vector(x, y, mask) for x, y in pairs for mask in masks]
    return rows


@intrinsic
def arguments_at(typingctx, address, kinds):
    """The arguments of a kernel, a tuple of the types `kinds`, from the block at an address (see signature.py)."""
    kinds = kinds.instance_type

    def codegen(context, builder, signature, args):
        return _read(context, builder, kinds, args[0])

    return kinds(types.uint64, types.TypeRef(kinds)), codegen


def _read(context, builder, kinds, address):
    """The fields of a record, or all arguments."""
    block = builder.inttoptr(address, ir.IntType(64).as_pointer())
    values, at = [], 0

    def word():
        nonlocal at
        at += 1
        return builder.load(builder.gep(block, [ir.Constant(ir.IntType(64), at - 1)]))

    for kind in kinds:
        if isinstance(kind, types.Array):
            values.append(_array(context, builder, kind, word(), word()))
        elif isinstance(kind, types.BaseTuple):
            values.append(_read(context, builder, kind, word()))
        else:
            values.append(builder.bitcast(word(), context.get_value_type(kind)))
    return context.make_tuple(builder, kinds, values)


def _array(context, builder, kind, address, n):
    """An array over `n` elements at an address, which somebody else owns."""
    array = make_array(kind)(context, builder)
    element = context.get_data_type(kind.dtype)
    size = context.get_constant(types.intp, context.get_abi_sizeof(element))
    data = builder.inttoptr(address, element.as_pointer())
    populate_array(array, data=data, shape=[n], strides=[size], itemsize=size, meminfo=None)
    return array._getvalue()
