"""Stochastic gradient descent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

from sgdone.kernels.updates import make_explicit
from sgdone.solvers.row_solver import RowSolver
from sgdone.solvers.single_model import SingleModel


@final
@dataclass(frozen=True)
class SGD(RowSolver):
    """w ← (1 − γα)w − γ·v·ℓ′(z, y)·x and b ← b − γ·v·ℓ′(z, y): Xu (2011), eq. (2) with a penalty.

    Its own step size is `InverseTime`, the best for an iterate that is not averaged.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> SGDClassifier(solver=SGD()).fit([[-1.0], [1.0]], [0, 1]).predict([[3.0]])
    array([1])
    """

    name: ClassVar[str] = "sgd"

    def with_l1_step(self) -> SingleModel:
        """`Truncated` around the method."""
        from sgdone.solvers.truncated import Truncated

        return Truncated(self)

    @property
    def make_update(self) -> Callable[..., Any]:
        """The explicit step."""
        return make_explicit
