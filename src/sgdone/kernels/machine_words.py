"""Eight bytes at once: loads of unaligned words, the 128-bit product, and the zeros at either end of a word.

Each is an instruction or two that Numba has no name for, and a line of Python where Numba is switched off. Words are
little-endian: the first byte is the lowest.
"""

from typing import Any

import numpy as np

from sgdone.kernels.jit import compiled_as, inlined, with_numba

#: Bytes after the last one of a text that a load of a word may touch.
PADDING = 16


def _word_at(data: Any, at: Any) -> Any:
    return np.uint64(int.from_bytes(data[int(at) : int(at) + 8].tobytes(), "little"))


def _product(first: Any, second: Any) -> Any:
    product = int(first) * int(second)
    return np.uint64(product >> 64), np.uint64(product & (2**64 - 1))


def _leading_zeros(word: Any) -> Any:
    return np.uint64(64 - int(word).bit_length())


def _trailing_zeros(word: Any) -> Any:
    value = int(word)
    return np.uint64((value & -value).bit_length() - 1 if value else 64)


def _float_of(bits: Any) -> Any:
    return bits.view(np.float64)


@with_numba
def _emit() -> None:
    """Replace the functions above by instructions in compiled code."""
    from llvmlite import ir
    from numba import extending, types

    intrinsic: Any = extending.intrinsic
    _PAIR: Any = types.UniTuple(types.uint64, 2)  # type: ignore[no-untyped-call]

    @intrinsic
    def emitted_word_at(typingctx: Any, data: Any, at: Any) -> Any:
        """Emit an unaligned load of eight bytes."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            address = builder.gep(view.data, [arguments[1]])
            return builder.load(builder.bitcast(address, ir.IntType(64).as_pointer()), align=1)

        return types.uint64(data, types.uint64), emit

    @intrinsic
    def emitted_product(typingctx: Any, first: Any, second: Any) -> Any:
        """Emit a product of two 64-bit words as two words, the high one first."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            wide, word = ir.IntType(128), ir.IntType(64)
            product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
            high = builder.trunc(builder.lshr(product, wide(64)), word)
            return context.make_tuple(builder, signature.return_type, (high, builder.trunc(product, word)))

        return _PAIR(types.uint64, types.uint64), emit

    @intrinsic
    def emitted_leading_zeros(typingctx: Any, word: Any) -> Any:
        """Emit ``llvm.ctlz``."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctlz(arguments[0], ir.IntType(1)(0))

        return types.uint64(types.uint64), emit

    @intrinsic
    def emitted_trailing_zeros(typingctx: Any, word: Any) -> Any:
        """Emit ``llvm.cttz``."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.cttz(arguments[0], ir.IntType(1)(0))

        return types.uint64(types.uint64), emit

    @intrinsic
    def emitted_float_of(typingctx: Any, bits: Any) -> Any:
        """Emit a change of type that keeps the bits."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], ir.DoubleType())

        return types.float64(types.uint64), emit

    compiled_as(_word_at, lambda: lambda data, at: emitted_word_at(data, at))
    compiled_as(_product, lambda: lambda first, second: emitted_product(first, second))
    compiled_as(_leading_zeros, lambda: lambda word: emitted_leading_zeros(word))
    compiled_as(_trailing_zeros, lambda: lambda word: emitted_trailing_zeros(word))
    compiled_as(_float_of, lambda: lambda bits: emitted_float_of(bits))


@inlined
def word_at(data: Any, at: Any) -> Any:
    """The eight bytes from ``at`` on, which is not checked."""
    return _word_at(data, at)


@inlined
def product(first: Any, second: Any) -> Any:
    """The high and the low word of a product of two words."""
    return _product(first, second)


@inlined
def leading_zeros(word: Any) -> Any:
    """Number of zero bits above the highest one; 64 for zero."""
    return _leading_zeros(word)


@inlined
def trailing_zeros(word: Any) -> Any:
    """Number of zero bits below the lowest one; 64 for zero."""
    return _trailing_zeros(word)


@inlined
def float_of(bits: Any) -> Any:
    """The float with these bits."""
    return _float_of(bits)
