"""What a loss is: functions of a prediction and a label, and the constants that theory needs."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgdone.data.learning_task import Task
from sgdone.kernels.elementwise import over_arrays

#: ``f(z, y, p)`` of a prediction, a label and the loss's parameters; ``f(z, y, q, p)`` for the implicit step.
ScalarFunction = Callable[..., float]

#: A loss's parameters as its kernel reads them.
Parameters = NDArray[np.float64]

#: The tasks a loss can be used for.
LossTask = Literal[Task, "both"]


@dataclass(frozen=True)
class LossKernel:
    """The scalar functions that the compiled loops call.

    ``value``, ``slope`` and ``curvature`` take ``(z, y, p)``; ``implicit`` takes ``(z, y, q, p)`` and
    returns the ``s`` with ``s = slope(z - q*s, y)``. ``p`` holds the loss's parameters as floats.
    """

    value: ScalarFunction
    slope: ScalarFunction
    curvature: ScalarFunction
    implicit: ScalarFunction


class Loss(ABC):
    """A loss of a prediction ``z`` and a label ``y`` (−1 or 1 for classes, real for regression).

    A loss is a frozen dataclass whose fields are numbers: its parameters, in the order the kernel reads them.
    """

    name: ClassVar[str]
    task: ClassVar[LossTask]
    #: Whether 1/(1 + exp(−z)) of a fitted prediction estimates the probability of the class 1.
    probabilistic: ClassVar[bool] = False
    #: Whether the curvature is constant, as Xu's choice of the exponent asks.
    quadratic: ClassVar[bool] = False
    #: Whether it falls towards 0 for ever as the margin grows, so that an optimum may lie at infinity.
    fades: ClassVar[bool] = False
    #: Whether it is convex in ``z``. Of one that is not, a minimum found may be a local one, and ``implicit`` is the
    #: slope at the proximal point: the best of the points where ``s = slope(z − q·s, y)``.
    convex: ClassVar[bool] = True

    @property
    @abstractmethod
    def kernel(self) -> LossKernel:
        """The scalar functions for the compiled loops."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Largest curvature; infinite where the slope jumps or grows without bound."""

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """Largest absolute slope; infinite where there is none."""

    @property
    def parameters(self) -> Parameters:
        """The fields as floats, in their order, for the kernel's ``p``."""
        return np.array([float(getattr(self, f.name)) for f in fields(self)], dtype=np.float64)  # type: ignore[arg-type]

    def value(self, z: ArrayLike, y: ArrayLike) -> Any:
        """Evaluate the loss of the predictions ``z`` at the labels ``y``, elementwise."""
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
