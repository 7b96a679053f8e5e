"""A loss of the user's own: two plain Python functions, compiled into the same loops as the others."""

from dataclasses import dataclass, fields
from math import inf
from types import FunctionType
from typing import Any, final, get_args

import numpy as np

from sgdone.losses._derivative_check import ScalarLoss, check_convex, check_derivative
from sgdone.losses._number import number
from sgdone.losses._user_kernel import user_kernel
from sgdone.losses.loss import Loss, LossKernel, LossTask, Parameters


@final
@dataclass(frozen=True, init=False, repr=False)
class CustomLoss(Loss):
    """A convex loss from plain Python functions of a prediction ``z`` and a label ``y``.

    The functions run compiled: floats, ``math`` and what else Numba knows; a Python function that they call
    in turn needs ``numba.njit``. What they take from outside, a global number say, is fixed when they are
    first used. The implicit step is found from the slope.

    Parameters
    ----------
    value, slope : callable
        ``value(z, y)`` and its derivative in ``z``. Where the slope jumps it may return either side.
    name : str
        What to call it in reports.
    task : {"classification", "regression", "both"}
        Which labels it takes: −1 and 1, or real numbers.
    curvature : callable, optional
        The second derivative ``curvature(z, y)``; by default a central difference of the slope.
    smoothness, lipschitz : float
        The largest curvature and the largest absolute slope, infinite if there is none or none is known.
        The automatic step size takes an infinite ``smoothness`` for 1.

    Raises
    ------
    ValueError
        If the slope is not that of the value, or the loss not convex, at a few points.

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
    name: str  # type: ignore[misc]  # of each object, where other losses have one for the class
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
            raise ValueError(f"the name is {self.name!r}: give a word to call the loss by")
        for constant in ("smoothness", "lipschitz"):
            if not number(getattr(self, constant)) > 0:
                raise ValueError(
                    f"{constant} is {getattr(self, constant)!r}: give a positive number, or math.inf if none is known"
                )
        self.check()

    def check(self) -> None:
        """Compare slope and value (and curvature and slope) at a few points, without compiling anything."""
        value, slope, curvature = self._plain_functions()
        check_derivative(value, slope, self.task, "slope", "value")
        check_convex(slope, self.task)
        if curvature is not None:
            check_derivative(slope, curvature, self.task, "curvature", "slope")

    @property
    def kernel(self) -> LossKernel:
        """The scalar functions for the compiled loops: the same objects for the same user's functions."""
        return user_kernel(*self._plain_functions())

    @property
    def parameters(self) -> Parameters:
        """Empty: the functions hold their own constants."""
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
    """Return the Python function itself, also from under Numba's decorator."""
    plain = getattr(function, "py_func", function)
    if not isinstance(plain, FunctionType):
        raise TypeError(
            f"{what} is {function!r}: give a plain Python function {what}(z, y), written with def or lambda"
        )
    return plain
