"""Ask the memory for a row before its turn comes.

Both prefetches aim at the outer caches: filling the innermost one takes up the few buffers that the loop's own
loads need, and was slower on every machine measured.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sgdone.kernels.jit import INTERPRETED, inlined

#: Rows between a row's prefetch and its use; a window ahead of that, rows are fetched in the order they lie in.
AHEAD = 6
#: Rows between looking up where a row begins and its use.
FAR_AHEAD = 4 * AHEAD
#: LLVM's word for the third level of cache.
_LOCALITY = 1


def _prefetch(array: Any, index: Any) -> None:
    """Do nothing: the interpreter has no prefetch."""


if not INTERPRETED:

    @intrinsic
    def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
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


@inlined
def prefetch(array: Any, index: Any) -> None:
    """Ask for the cache line of ``array[index]``, which may lie beyond the array's end.

    A function around the intrinsic: Numba names an intrinsic anew in every process, and a closure that holds one
    would never be found on disk.
    """
    _prefetch(array, index)
