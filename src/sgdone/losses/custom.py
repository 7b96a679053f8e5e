"""User-defined losses: plain Python functions compiled into the same loops as built-in losses."""

from dataclasses import dataclass, fields
from math import inf
from types import FunctionType
from typing import Any, final, get_args

import numpy as np

from sgdone.losses._derivative_check import ScalarLoss, check_convex, check_derivative
from sgdone.losses._user_kernel import user_kernel
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters, real_or_nan


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
        given = {
            "value_function": value,
            "slope_function": slope,
            "curvature_function": curvature,
            "name": name,
            "task": task,
            "smoothness": smoothness,
            "lipschitz": lipschitz,
        }
        for field, content in given.items():
            object.__setattr__(self, field, content)
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
