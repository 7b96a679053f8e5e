"""Compilation of user-defined loss functions to a loss kernel."""

from functools import cache
from typing import Any

import numpy as np

from sgdone.kernels.elementwise import over_arrays
from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import inlined
from sgdone.losses._derivative_check import ScalarLoss, describe
from sgdone.losses._implicit_from_slope import curvature_from, implicit_from
from sgdone.losses.loss import LossKernel, Parameters, ScalarFunction


@cache
def user_kernel(value: ScalarLoss, slope: ScalarLoss, curvature: ScalarLoss | None) -> LossKernel:
    """Build the kernel of the user's functions. The same functions always return the same object.

    Compiled loops are cached by the identity of the functions they call.
    """
    slope_kernel = _with_parameters(slope)
    kernel = LossKernel(
        value=_with_parameters(value),
        slope=slope_kernel,
        curvature=curvature_from(slope_kernel) if curvature is None else _with_parameters(curvature),
        implicit=implicit_from(slope_kernel),
    )
    _try(kernel.value, value, "value")
    _try(kernel.slope, slope, "slope")
    if curvature is not None:
        _try(kernel.curvature, curvature, "curvature")
    return kernel


@cache
def _with_parameters(function: ScalarLoss) -> ScalarFunction:
    """Wrap ``function(z, y)`` in the signature ``(z, y, p)`` of built-in losses."""
    mark = fingerprint(function)  # part of the cache key: an edited file must not reuse an old compiled loop
    user_function = inlined(function)

    @inlined
    def with_parameters(z: float, y: float, p: Parameters) -> float:
        _ = mark
        return float(user_function(z, y))

    return with_parameters


def _try(kernel: ScalarFunction, function: ScalarLoss, what: str) -> None:
    from numba.core.errors import NumbaError

    try:
        over_arrays(kernel, np.empty(0), 0.25, 1.0)
    except NumbaError as error:
        raise ValueError(
            f"the {what} {describe(function)} cannot be compiled: use only floats, branches "
            f"and the math module. Numba reports: {_complaint(function) or error}"
        ) from error


def _complaint(function: ScalarLoss) -> str:
    """Numba's message for the function alone, which is shorter than that for a loop that calls it."""
    import numba
    from numba.core.errors import NumbaError

    jit: Any = numba.njit
    try:
        jit(function)(0.25, 1.0)
    except NumbaError as error:
        return str(error)
    return ""
