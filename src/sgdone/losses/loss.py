"""The interface of losses: functions of a prediction and a label, and constants of the theory."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from math import inf, isfinite, isinf, nan
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.kernels.jit import compiled
from sgdone.losses.learning_task import Task

#: ``f(z, y, p)`` of a prediction, a label and the loss's parameters; ``f(z, y, q, p)`` for the implicit step.
ScalarFunction = Callable[..., float]

#: Parameters of a loss as read by its kernel.
Parameters = NDArray[np.float64]

#: The tasks a loss can be used for.
LossTask = Literal[Task, "both"]


@dataclass(frozen=True)
class LossKernel:
    """Scalar functions called by the compiled loops.

    ``value``, ``slope`` and ``curvature`` take ``(z, y, p)``; ``implicit`` takes ``(z, y, q, p)`` and returns the
    ``s`` with ``s = slope(z - q*s, y)``. ``p`` holds the parameters of the loss as floats; q is the step size times
    ‖x‖².
    """

    value: ScalarFunction
    slope: ScalarFunction
    curvature: ScalarFunction
    implicit: ScalarFunction


class Loss(ABC):
    """A loss of a prediction ``z`` and a label ``y`` (−1 or 1 for classes, real for regression).

    A loss is a frozen dataclass. Its fields are its parameters: numbers, in the order in which the kernel reads them.
    """

    name: ClassVar[str]
    task: ClassVar[LossTask]
    #: Whether 1/(1 + exp(−z)) estimates the probability of class 1.
    probabilistic: ClassVar[bool] = False
    #: Whether its generalisation to several classes is the softmax.
    multinomial: ClassVar[bool] = False
    #: Whether the curvature is constant; `sgdone.steps.Xu` chooses its exponent by it.
    quadratic: ClassVar[bool] = False
    #: Whether the loss tends to 0 as the margin grows without reaching it, so that the optimum may be at infinity.
    fades: ClassVar[bool] = False
    #: Whether the loss is convex in ``z``. If not, a fit may find a local minimum, and ``implicit`` returns the slope
    #: at the proximal point: the best of the points where ``s = slope(z − q·s, y)``.
    convex: ClassVar[bool] = True

    @property
    @abstractmethod
    def kernel(self) -> LossKernel:
        """Scalar functions for the compiled loops."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Largest curvature; infinite if the slope jumps or the curvature is unbounded."""

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """Largest absolute slope; infinite if the slope is unbounded."""

    @property
    def smooth_and_convex(self) -> bool:
        """Whether it is convex and has second derivatives, as Newton's method needs."""
        return self.convex and (isfinite(self.smoothness) or isinf(self.lipschitz))

    @property
    def is_open(self) -> bool:
        """Whether a parameter is found from the rows when a fit starts."""
        return False

    @property
    def changes_during_fit(self) -> bool:
        """Whether a parameter is reset during the fit."""
        return False

    @property
    def parameters(self) -> Parameters:
        """The fields as an array of floats, in their order: the ``p`` of the kernel."""
        return np.array([float(getattr(self, f.name)) for f in fields(self)], dtype=np.float64)  # type: ignore[arg-type]

    def value(self, z: ArrayLike, y: ArrayLike) -> Any:
        """Evaluate the loss of the predictions ``z`` for the labels ``y``, elementwise."""
        return over_arrays(self.kernel.value, self.parameters, z, y)

    def slope(self, z: ArrayLike, y: ArrayLike) -> Any:
        """Evaluate the derivative of the loss in ``z``, elementwise."""
        return over_arrays(self.kernel.slope, self.parameters, z, y)

    def curvature(self, z: ArrayLike, y: ArrayLike) -> Any:
        """Evaluate the second derivative of the loss in ``z``, elementwise."""
        return over_arrays(self.kernel.curvature, self.parameters, z, y)

    def implicit(self, z: ArrayLike, y: ArrayLike, q: ArrayLike) -> Any:
        """Find the ``s`` with ``s = slope(z − q·s, y)``, elementwise: the scalar of the implicit step."""
        return over_arrays(self.kernel.implicit, self.parameters, z, y, q)


def is_whole(given: Any, least: int, most: float = inf) -> bool:
    """Whether ``given`` is a whole number in a range, and not a truth value."""
    return isinstance(given, Integral) and not isinstance(given, bool) and least <= int(given) <= most


def real_or_nan(given: Any) -> float:
    """Return ``given`` as a float, or NaN, which fails every range check, if it is not a real number.

    A truth value is not a number here; a whole number that is too large for a float is infinite.
    """
    if isinstance(given, bool) or not isinstance(given, Real):
        return nan
    try:
        return float(given)
    except OverflowError:
        whole: Any = given
        return inf if whole > 0 else -inf


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
