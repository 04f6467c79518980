"""The compiled twins of `primitives.py`, name for name."""
# mypy: ignore-errors

from __future__ import annotations

from functools import reduce

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from bunrui.kernel.primitives import DOUBTFUL, LOWERING


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


@intrinsic
def ctz(typingctx, x):
    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), codegen


@intrinsic
def popcount(typingctx, x):
    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


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


@intrinsic
def nonzero64(typingctx, buffer, i):
    def codegen(context, builder, signature, args):
        vector = _load_v64(context, builder, signature.args[0], args[0], args[1])
        return _mask(builder, builder.icmp_unsigned("!=", vector, _splat(0)))

    return types.uint64(buffer, i), codegen


def _within(builder, vector, first, count):
    return builder.icmp_unsigned("<", builder.sub(vector, _splat(first)), _splat(count))


def _store_v64(context, builder, array_type, array, index, vector):
    pointer = _element_pointer(context, builder, array_type, array, index)
    builder.store(vector, builder.bitcast(pointer, _V64.as_pointer()), align=1)


@intrinsic
def fold_words64(typingctx, src, i, out, o):
    def codegen(context, builder, signature, args):
        vector = _load_v64(context, builder, signature.args[0], args[0], args[1])
        lower = builder.or_(vector, _splat(0x20))
        letter = _within(builder, lower, ord("a"), 26)
        digit = _within(builder, vector, ord("0"), 10)
        other = builder.or_(digit, builder.icmp_unsigned("==", vector, _splat(ord("_"))))
        folded = builder.select(letter, lower, builder.select(other, vector, _splat(0)))
        _store_v64(context, builder, signature.args[2], args[2], args[3], folded)
        return _mask(builder, builder.icmp_signed("<", vector, _splat(0)))

    return types.uint64(src, i, out, o), codegen


@intrinsic
def fold_ascii64(typingctx, src, i, out, o):
    def codegen(context, builder, signature, args):
        vector = _load_v64(context, builder, signature.args[0], args[0], args[1])
        lower = builder.or_(vector, _splat(0x20))
        letter = _within(builder, lower, ord("a"), 26)
        _store_v64(context, builder, signature.args[2], args[2], args[3], builder.select(letter, lower, vector))
        return _mask(builder, builder.or_(letter, _within(builder, vector, ord("0"), 10)))

    return types.uint64(src, i, out, o), codegen


@intrinsic
def printable64(typingctx, buffer, i):
    def codegen(context, builder, signature, args):
        vector = _load_v64(context, builder, signature.args[0], args[0], args[1])
        return _mask(builder, _within(builder, vector, 0x21, 0x7F - 0x21))

    return types.uint64(buffer, i), codegen


@intrinsic
def wide64(typingctx, buffer, i):
    def codegen(context, builder, signature, args):
        vector = _load_v64(context, builder, signature.args[0], args[0], args[1])
        return _mask(builder, builder.icmp_signed("<", vector, _splat(0)))

    return types.uint64(buffer, i), codegen


def _beginning(rules):
    n_bytes = max(map(len, rules))

    @intrinsic
    def beginning64(typingctx, buffer, i):
        def codegen(context, builder, signature, args):
            places = [builder.add(args[1], ir.Constant(ir.IntType(64), k)) for k in range(n_bytes)]
            vectors = [_load_v64(context, builder, signature.args[0], args[0], place) for place in places]
            found = ir.Constant(ir.VectorType(ir.IntType(1), 64), [0] * 64)
            for rule in rules:
                each = [_between(builder, vector, *ends) for vector, ends in zip(vectors, rule, strict=False)]
                found = builder.or_(found, reduce(builder.and_, each))
            return _mask(builder, found)

        return types.uint64(buffer, i), codegen

    return beginning64


def _between(builder, vector, first, last):
    if first == last:
        return builder.icmp_unsigned("==", vector, _splat(first))
    return _within(builder, vector, first, last + 1 - first)


doubtful64 = _beginning(DOUBTFUL)
lowering64 = _beginning(LOWERING)


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
