"""Implicit stochastic gradient descent."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

from sgdone.interfaces.stop_rule import Needs
from sgdone.kernels.updates import make_implicit
from sgdone.losses.loss import Loss, ScalarFunction
from sgdone.solvers.row_solver import RowSolver


@final
@dataclass(frozen=True)
class ISGD(RowSolver):
    """The proximal point of one row's loss and the penalty: Chee & Toulis (2018), eq. (5), with a penalty.

    w⁺ = (w − γvs·x)/(1 + γα) and b⁺ = b − γvs, with the slope s = ℓ′(z⁺, y) taken at the *new* prediction. It
    does not blow up at any step size.

    Examples
    --------
    >>> from sgdone import SGDRegressor, steps
    >>> model = SGDRegressor(solver=ISGD(), step=steps.Constant(1e6), fit_intercept=False, alpha=0.0)
    >>> model.fit([[1.0], [2.0]], [2.0, 4.0]).coef_.round(3)
    array([2.])
    """

    name: ClassVar[str] = "isgd"
    needs: ClassVar[Needs] = Needs(convex_loss=True)

    @property
    def make_update(self) -> Callable[..., Any]:
        """The implicit step."""
        return make_implicit

    def slope_of(self, loss: Loss) -> ScalarFunction:
        """The slope at the prediction after the step."""
        return loss.kernel.implicit
