"""User-defined losses: plain Python functions compiled into the same loops as built-in losses."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from itertools import pairwise
from math import inf
from types import FunctionType
from typing import Any, final, get_args

import numpy as np

from sgdone.kernels.jit import inlined
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters, ScalarFunction, over_arrays, real_or_nan

ScalarLoss = Callable[[float, float], float]

# Arbitrary digits, so that no point is at a kink.
_PREDICTIONS = (-3.7129, -1.9187, -0.8311, -0.1373, 0.2719, 0.9173, 1.6421, 2.4177, 4.1093)
_LABELS = {"classification": (-1.0, 1.0), "regression": (-1.3, 0.0, 2.6), "both": (-1.0, 1.0, 2.6)}
_STEP = 1e-5
_TOLERANCE = 1e-4


def check_convex(slope: ScalarLoss, task: str) -> None:
    """Raise if ``slope`` decreases between test points: stopping rules and the implicit step need a convex loss."""
    for y in _LABELS[task]:
        for z, further in pairwise(_PREDICTIONS):
            here, there = evaluate(slope, "slope", z, y), evaluate(slope, "slope", further, y)
            if there < here - 1e-9 * max(1.0, abs(here)):
                raise ValueError(
                    f"the slope {describe(slope)} decreases from {here:.6g} at z={z} to {there:.6g} "
                    f"at z={further}, y={y:g}: the loss is not convex in z; give a convex loss"
                )


def check_derivative(function: ScalarLoss, derivative: ScalarLoss, task: str, what: str, of: str) -> None:
    """Raise unless ``derivative`` is the derivative of ``function`` in ``z``; ``what`` and ``of`` are their names."""
    for y in _LABELS[task]:
        for z in _PREDICTIONS:
            rise = evaluate(function, of, z + _STEP, y) - evaluate(function, of, z - _STEP, y)
            expected = rise / (2.0 * _STEP)
            found = evaluate(derivative, what, z, y)
            if abs(found - expected) > _TOLERANCE * max(1.0, abs(expected)):
                raise ValueError(
                    f"the {what} {describe(derivative)} is {found:.6g} at z={z}, y={y:g}, but the derivative of the "
                    f"{of} {describe(function)} there is {expected:.6g}: give the derivative of the {of} in z"
                )


def evaluate(function: ScalarLoss, what: str, z: float, y: float) -> float:
    """Evaluate ``function(z, y)``; raise a ValueError that names the function if it fails or is not finite."""
    try:
        result = float(function(z, y))
    except Exception as error:
        raise ValueError(
            f"the {what} {describe(function)} fails at z={z}, y={y:g} with {type(error).__name__}: {error}; "
            f"it is called as {what}(z, y) with two floats and returns one"
        ) from error
    if not math.isfinite(result):
        raise ValueError(f"the {what} {describe(function)} is {result} at z={z}, y={y:g}: it must be finite")
    return result


def describe(function: Callable[..., object]) -> str:
    """Name of a function and where it is defined."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", repr(function))
    return f"{name!r} ({code.co_filename}:{code.co_firstlineno})" if code else f"{name!r}"


_EPSILON = 2.0**-52
# Roots below the smallest count as 0; slopes are clipped to the largest.
_SMALLEST = 1e-305
_LARGEST = 1e300
_MAX_ITERATIONS = 300
# The cube root of ε balances rounding and truncation error of a central difference.
_DIFFERENCE = 6e-6


def implicit_from(slope: ScalarFunction) -> ScalarFunction:
    """Build ``implicit(z, y, q, p)`` from a nondecreasing ``slope(z, y, p)``, which may jump.

    With ``d`` the sign of the slope at ``z``, ``x = |s|`` solves ``f(x) = x − d·slope(z − q·d·x) = 0``;
    ``f`` increases, and ``f(0) < 0 ≤ f(|slope(z)|)``. Chandrupatla's method (1997) combines interpolation and
    bisection. It closes the bracket to a few units in the last place, so it finds jumps as well as roots.
    """

    @inlined
    def implicit(z: float, y: float, q: float, p: Parameters) -> float:
        first = slope(z, y, p)
        if q <= 0.0 or first == 0.0 or math.isnan(first):
            return first
        sign = 1.0 if first > 0.0 else -1.0
        high = min(abs(first), _LARGEST)
        far = sign * slope(z - q * sign * high, y, p)
        at_high = high - far
        if at_high <= 0.0:
            return sign * high
        low = 0.0
        at_low = -high
        # The slope decreases along the step, so the slope at the far end is a lower bound of the root.
        if far > 0.0:
            low = far
            at_low = low - sign * slope(z - q * sign * low, y, p)
            if at_low >= 0.0:
                return sign * low

        # a is the latest point, b the other end of the bracket, c the previous point.
        a, at_a = high, at_high
        b, at_b = low, at_low
        c, at_c = a, at_a
        shrink = 0.5
        new = _middle(low, high, shrink)
        for _ in range(_MAX_ITERATIONS):
            at_new = new - sign * slope(z - q * sign * new, y, p)
            if (at_new > 0.0) == (at_a > 0.0):
                c, at_c = a, at_a
            else:
                c, at_c = b, at_b
                b, at_b = a, at_a
            a, at_a = new, at_new
            width = abs(b - a)
            tolerance = 2.0 * _EPSILON * max(a, b) + _SMALLEST
            if at_a == 0.0 or width <= 2.0 * tolerance:
                break
            low = min(a, b)
            high = max(a, b)
            new = high
            xi = (a - b) / (c - b)
            phi = (at_a - at_b) / (at_c - at_b)
            if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
                inverse_quadratic = at_a / (at_b - at_a) * (at_c / (at_b - at_c))
                inverse_quadratic += (c - a) / (b - a) * (at_a / (at_c - at_a)) * (at_b / (at_c - at_b))
                limit = tolerance / width
                new = a + min(max(inverse_quadratic, limit), 1.0 - limit) * (b - a)
            # Also if the products above overflow; compiled code may reorder them.
            if not low < new < high:
                new = _middle(low, high, shrink)
                if low == 0.0:
                    shrink *= shrink
        return sign * (a if abs(at_a) < abs(at_b) else b)

    return implicit


def curvature_from(slope: ScalarFunction) -> ScalarFunction:
    """Build ``curvature(z, y, p)`` as a central difference of ``slope(z, y, p)``."""

    @inlined
    def curvature(z: float, y: float, p: Parameters) -> float:
        h = _DIFFERENCE * max(1.0, abs(z))
        above = z + h
        below = z - h
        return max((slope(above, y, p) - slope(below, y, p)) / (above - below), 0.0)

    return curvature


@inlined
def _middle(low: float, high: float, shrink: float) -> float:
    """Next point of a bisection: of the exponent while the bracket is wide, then of the value."""
    if low == 0.0:
        return high * shrink
    if high > 4.0 * low:
        return math.sqrt(low) * math.sqrt(high)
    return 0.5 * (low + high)


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
    user_function = inlined(function)

    @inlined
    def with_parameters(z: float, y: float, p: Parameters) -> float:
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


@final
@dataclass(frozen=True, init=False, repr=False)
class CustomLoss(Loss):
    """A convex loss defined by plain Python functions of a prediction ``z`` and a label ``y``.

    The functions are compiled by Numba. They may use floats, ``math`` and everything else that Numba supports; Python
    functions they call need ``numba.njit``. Global variables are read once, at compilation. The implicit step is
    computed from the slope.

    Parameters
    ----------
    value, slope : callable
        ``value(z, y)`` and its derivative in ``z``. Where the slope jumps, it may return either side.
    name : str
        Name of the loss in reports.
    task : {"classification", "regression", "both"}
        Labels of the loss: −1 and 1, real numbers, or both.
    curvature : callable, optional
        The second derivative ``curvature(z, y)``; by default a central difference of the slope.
    smoothness, lipschitz : float
        The largest curvature and the largest absolute slope; infinite if unbounded or unknown. The automatic step
        size replaces an infinite ``smoothness`` by 1.

    Raises
    ------
    ValueError
        If the slope is not the derivative of the value, or the loss is not convex, at a few test points.

    Examples
    --------
    >>> import math
    >>> from sgdone.losses import CustomLoss
    >>> def value(z, y):
    ...     return math.log(math.cosh(z - y))
    >>> def slope(z, y):
    ...     return math.tanh(z - y)
    >>> CustomLoss(value, slope, name="log_cosh", task="regression", smoothness=1.0, lipschitz=1.0)
    CustomLoss(value, slope, name='log_cosh', task='regression', smoothness=1.0, lipschitz=1.0)
    """

    value_function: ScalarLoss
    slope_function: ScalarLoss
    curvature_function: ScalarLoss | None
    name: str  # type: ignore[misc]  # an instance attribute here, a class attribute of other losses
    task: LossTask  # type: ignore[misc]
    smoothness: float = inf
    lipschitz: float = inf

    def __init__(
        self,
        value: ScalarLoss,
        slope: ScalarLoss,
        *,
        name: str = "custom",
        task: LossTask = "classification",
        curvature: ScalarLoss | None = None,
        smoothness: float = inf,
        lipschitz: float = inf,
    ) -> None:
        given = value, slope, curvature, name, task, smoothness, lipschitz
        for field, content in zip(fields(self), given, strict=True):
            object.__setattr__(self, field.name, content)
        self.__post_init__()

    def __post_init__(self) -> None:
        if self.task not in get_args(LossTask):
            raise ValueError(f"the task is {self.task!r}: give one of {', '.join(map(repr, get_args(LossTask)))}")
        if not (isinstance(self.name, str) and self.name):
            raise ValueError(f"name={self.name!r} is not a non-empty string: give the loss a name")
        for constant in ("smoothness", "lipschitz"):
            if not real_or_nan(getattr(self, constant)) > 0:
                raise ValueError(
                    f"{constant}={getattr(self, constant)!r} is not a positive number: give one, or math.inf if unknown"
                )
        self.check()

    def check(self) -> None:
        """Check the derivatives and convexity at a few test points, without compiling anything."""
        value, slope, curvature = self._plain_functions()
        check_derivative(value, slope, self.task, "slope", "value")
        check_convex(slope, self.task)
        if curvature is not None:
            check_derivative(slope, curvature, self.task, "curvature", "slope")

    @property
    def kernel(self) -> LossKernel:
        """Scalar functions for the compiled loops; the same objects for the same user functions."""
        return user_kernel(*self._plain_functions())

    @property
    def parameters(self) -> Parameters:
        """Empty: constants are part of the functions."""
        return np.empty(0)

    def _plain_functions(self) -> tuple[ScalarLoss, ScalarLoss, ScalarLoss | None]:
        value = _plain(self.value_function, "value")
        slope = _plain(self.slope_function, "slope")
        given = self.curvature_function
        return value, slope, None if given is None else _plain(given, "curvature")

    def __repr__(self) -> str:
        shown = [self.value_function.__name__, self.slope_function.__name__]
        if self.curvature_function is not None:
            shown.append(f"curvature={self.curvature_function.__name__}")
        shown += [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self)[3:]]
        return f"CustomLoss({', '.join(shown)})"


def _plain(function: Any, what: str) -> ScalarLoss:
    """Return the Python function, without Numba's decorator if there is one."""
    plain = getattr(function, "py_func", function)
    if not isinstance(plain, FunctionType):
        raise TypeError(f"{what}={function!r} is not a plain Python function: define {what}(z, y) with def or lambda")
    return plain
