"""Scalar functions of a loss over whole arrays."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.kernels.jit import compiled


def over_arrays(function: Callable[..., float], parameters: NDArray[np.float64], *operands: ArrayLike) -> Any:
    """Apply ``function(*scalars, parameters)`` elementwise with broadcasting, in float64."""
    arrays = np.broadcast_arrays(*(np.asarray(operand, dtype=np.float64) for operand in operands))
    shape = arrays[0].shape
    flat = np.ascontiguousarray(np.stack([array.ravel() for array in arrays]))
    out = np.empty(flat.shape[1])
    _elementwise(function, len(operands))(flat, parameters, out)
    return out.reshape(shape)[()]


@lru_cache(maxsize=256)
def _elementwise(function: Callable[..., float], arity: int) -> Callable[..., None]:
    def two(operands: Any, parameters: Any, out: Any) -> None:
        for i in range(out.size):
            out[i] = function(operands[0, i], operands[1, i], parameters)

    def three(operands: Any, parameters: Any, out: Any) -> None:
        for i in range(out.size):
            out[i] = function(operands[0, i], operands[1, i], operands[2, i], parameters)

    return compiled(function)({2: two, 3: three}[arity])
