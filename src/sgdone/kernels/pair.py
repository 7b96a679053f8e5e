"""Two neighbouring numbers changed by one load, one multiply-add and one store."""

from typing import Any

from sgdone.kernels.jit import compiled_as, with_numba


def _add_pair(weights: Any, j: Any, x: Any, a: Any, b: Any) -> None:
    weights[j, 0] += a * x
    weights[j, 1] += b * x


@with_numba
def _emit() -> None:
    """Replace the functions above by instructions in compiled code."""
    from llvmlite import ir
    from numba import extending, types

    intrinsic: Any = extending.intrinsic

    @intrinsic
    def emitted_add_pair(typingctx: Any, weights: Any, j: Any, x: Any, a: Any, b: Any) -> Any:
        """Emit the two-lane form: LLVM alone makes two loads and two stores of it."""

        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, index, number, first, second = arguments
            view = context.make_array(signature.args[0])(context, builder, array)
            index = builder.zext(index, ir.IntType(64)) if index.type.width < 64 else index
            scalar = number.type
            pair = ir.VectorType(scalar, 2)
            word = ir.IntType(32)
            place = builder.bitcast(builder.gep(view.data, [builder.shl(index, ir.IntType(64)(1))]), pair.as_pointer())
            size = 8 if isinstance(scalar, ir.DoubleType) else 4
            empty = ir.Constant(pair, ir.Undefined)
            amounts = builder.insert_element(builder.insert_element(empty, first, word(0)), second, word(1))
            both = builder.insert_element(builder.insert_element(empty, number, word(0)), number, word(1))
            product = builder.fmul(amounts, both, flags=("contract",))
            changed = builder.fadd(builder.load(place, align=size), product, flags=("contract",))
            builder.store(changed, place, align=size)
            return context.get_dummy_value()

        return types.void(weights, j, x, a, b), emit

    compiled_as(_add_pair, lambda: lambda weights, j, x, a, b: emitted_add_pair(weights, j, x, a, b))


#: ``add_pair(weights, j, x, a, b)``: weights[j] += (a·x, b·x), j unsigned, weights C-contiguous of shape (features, 2).
add_pair = _add_pair
