"""Prefetch memory for rows that come next.

Prefetches go to the outer caches: filling the innermost one takes the few buffers that the loop's own loads need, and
was slower on every machine measured.
"""

from typing import Any

from sgdone.kernels.jit import compiled_as, inlined, with_numba

#: Number of rows between the prefetch of a row and its use.
AHEAD = 6
#: Number of rows between the prefetch of where a row begins and its use.
FAR_AHEAD = 4 * AHEAD
#: LLVM's number for the third level of cache.
_LOCALITY = 1


def _prefetch(array: Any, index: Any) -> None:
    """Do nothing: there is no prefetch in plain Python."""


@with_numba
def _emit() -> None:
    """Replace the functions above by instructions in compiled code."""
    from llvmlite import ir
    from numba import extending, types

    intrinsic: Any = extending.intrinsic

    @intrinsic
    def emitted_prefetch(typingctx: Any, array: Any, index: Any) -> Any:
        """Emit ``llvm.prefetch`` for ``array[index]`` of a contiguous one-dimensional array."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            address = builder.gep(view.data, [arguments[1]])
            pointer = ir.IntType(8).as_pointer()
            word = ir.IntType(32)
            declaration = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
            function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], declaration)
            builder.call(function, [builder.bitcast(address, pointer), word(0), word(_LOCALITY), word(1)])
            return context.get_dummy_value()

        return types.void(array, index), emit

    compiled_as(_prefetch, lambda: lambda array, index: emitted_prefetch(array, index))


@inlined
def prefetch(array: Any, index: Any) -> None:
    """Prefetch the cache line of ``array[index]``, which may lie beyond the array's end.

    A function around the intrinsic: Numba gives an intrinsic another name in every process, so that a closure with one
    in it would never be found in the disk cache.
    """
    _prefetch(array, index)
