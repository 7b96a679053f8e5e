"""Instructions that Numba has no name for: words of eight bytes, two numbers changed at once, and prefetches.

Each function is a line or two of Python where Numba is switched off. Words are little-endian: the first byte is the
lowest.
"""

from typing import Any

import numpy as np

from sgdone.kernels.jit import compiled_as, with_numba

#: Bytes after the last one of a text that a load of a word may touch.
PADDING = 16
#: Number of rows between the prefetch of a row and its use.
AHEAD = 6
#: Number of rows between the prefetch of where a row begins and its use.
FAR_AHEAD = 4 * AHEAD
#: LLVM's number for the third level of cache. Filling the innermost one takes the few buffers that the loop's own loads
#: need, and was slower on every machine measured.
_LOCALITY = 1


def word_at(data: Any, at: Any) -> Any:
    """The eight bytes from ``at`` on, which is not checked."""
    return np.uint64(int.from_bytes(data[int(at) : int(at) + 8].tobytes(), "little"))


def product(first: Any, second: Any) -> Any:
    """The high and the low word of a product of two words."""
    found = int(first) * int(second)
    return np.uint64(found >> 64), np.uint64(found & (2**64 - 1))


def leading_zeros(word: Any) -> Any:
    """Number of zero bits above the highest one; 64 for zero."""
    return np.uint64(64 - int(word).bit_length())


def trailing_zeros(word: Any) -> Any:
    """Number of zero bits below the lowest one; 64 for zero."""
    value = int(word)
    return np.uint64((value & -value).bit_length() - 1 if value else 64)


def float_of(bits: Any) -> Any:
    """The float with these bits."""
    return bits.view(np.float64)


def add_pair(weights: Any, j: Any, x: Any, a: Any, b: Any) -> None:
    """weights[j] += (a·x, b·x), for unsigned j and C-contiguous weights of shape (features, 2)."""
    weights[j, 0] += a * x
    weights[j, 1] += b * x


def prefetch(array: Any, index: Any) -> None:
    """Prefetch the cache line of ``array[index]``, which may lie beyond the array's end; nothing in plain Python."""


@with_numba
def _emit() -> None:
    """Replace the functions above by instructions in compiled code.

    Compiled code calls functions around the intrinsics: Numba gives an intrinsic another name in every process, so that
    a closure with one in it would never be found in the disk cache.
    """
    from llvmlite import ir
    from numba import extending, types

    intrinsic: Any = extending.intrinsic
    pair_of_words: Any = types.UniTuple(types.uint64, 2)  # type: ignore[no-untyped-call]

    def address_in(context: Any, builder: Any, signature: Any, arguments: Any, index: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.gep(view.data, [index])

    @intrinsic
    def emitted_word_at(typingctx: Any, data: Any, at: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = address_in(context, builder, signature, arguments, arguments[1])
            return builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()), align=1)

        return types.uint64(data, types.uint64), emit

    @intrinsic
    def emitted_product(typingctx: Any, first: Any, second: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            wide, word = ir.IntType(128), ir.IntType(64)
            found = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
            high = builder.trunc(builder.lshr(found, wide(64)), word)
            return context.make_tuple(builder, signature.return_type, (high, builder.trunc(found, word)))

        return pair_of_words(types.uint64, types.uint64), emit

    @intrinsic
    def emitted_leading_zeros(typingctx: Any, word: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctlz(arguments[0], ir.IntType(1)(0))

        return types.uint64(types.uint64), emit

    @intrinsic
    def emitted_trailing_zeros(typingctx: Any, word: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.IntType(1)(0))

        return types.uint64(types.uint64), emit

    @intrinsic
    def emitted_float_of(typingctx: Any, bits: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir.DoubleType())

        return types.float64(types.uint64), emit

    @intrinsic
    def emitted_add_pair(typingctx: Any, weights: Any, j: Any, x: Any, a: Any, b: Any) -> Any:
        # LLVM alone makes two loads and two stores of it.
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _, index, number, first, second = arguments
            index = builder.zext(index, ir.IntType(64)) if index.type.width < 64 else index
            pair, word = ir.VectorType(number.type, 2), ir.IntType(32)
            address = address_in(context, builder, signature, arguments, builder.shl(index, ir.IntType(64)(1)))
            place = builder.bitcast(address, pair.as_pointer())
            size = 8 if isinstance(number.type, ir.DoubleType) else 4
            empty = ir.Constant(pair, ir.Undefined)
            amounts = builder.insert_element(builder.insert_element(empty, first, word(0)), second, word(1))
            both = builder.insert_element(builder.insert_element(empty, number, word(0)), number, word(1))
            change = builder.fmul(amounts, both, flags=("contract",))
            changed = builder.fadd(builder.load(place, align=size), change, flags=("contract",))
            builder.store(changed, place, align=size)
            return context.get_dummy_value()

        return types.void(weights, j, x, a, b), emit

    @intrinsic
    def emitted_prefetch(typingctx: Any, array: Any, index: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = address_in(context, builder, signature, arguments, arguments[1])
            pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
            declaration = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
            function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], declaration)
            builder.call(function, [builder.bitcast(address, pointer), word(0), word(_LOCALITY), word(1)])
            return context.get_dummy_value()

        return types.void(array, index), emit

    compiled_as(word_at, lambda data, at: emitted_word_at(data, at))
    compiled_as(product, lambda first, second: emitted_product(first, second))
    compiled_as(leading_zeros, lambda word: emitted_leading_zeros(word))
    compiled_as(trailing_zeros, lambda word: emitted_trailing_zeros(word))
    compiled_as(float_of, lambda bits: emitted_float_of(bits))
    compiled_as(add_pair, lambda weights, j, x, a, b: emitted_add_pair(weights, j, x, a, b))
    compiled_as(prefetch, lambda array, index: emitted_prefetch(array, index))
