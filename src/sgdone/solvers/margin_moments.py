"""The optimal margin distribution machine in its first form: mean and variance of the margins beside a loss."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.stop_rule import Needs
from sgdone.losses.loss import real_or_nan
from sgdone.solvers.batch import StepMeasurements, WeighingSolver
from sgdone.solvers.state import State
from sgdone.steps.descent import Descent
from sgdone.steps.step_size import StepSize


@final
@dataclass(frozen=True)
class MarginMoments(WeighingSolver):
    """Descent on mean loss + a·v̄ − b·m̄ + ½α‖w‖², m̄ and v̄ mean and variance of the margins: Zhang & Zhou (2014).

    Holland (2018), section 2.1, prints ½‖w‖² + λ₁v̄ − λ₂m̄ + λ₃·(mean hinge loss): divided by λ₃ that is
    ``loss="hinge"`` with a = λ₁/λ₃, b = λ₂/λ₃ and α = 1/λ₃. The variance couples the rows, so that no single row tells
    the gradient; the later form, `sgdone.losses.OptimalMarginDistribution`, is a loss of a row and goes with every
    solver. Convex if the loss is. Without a penalty −b·m̄ may have no minimum.

    A step costs two reads of the rows, and counts as two passes. The trace shows ``loss`` alone.

    Parameters
    ----------
    variance, mean : float
        a and b, 0 or more.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> X, y = [[-1.0], [1.0], [-2.0], [2.0]], [0, 1, 0, 1]
    >>> SGDClassifier("hinge", solver="margin-moments", alpha=0.1, stop=200).fit(X, y).predict([[1.0]])
    array([1])
    """

    variance: float = 1.0
    mean: float = 0.5
    name: ClassVar[str] = "margin_moments"
    needs: ClassVar[Needs] = WeighingSolver.needs | Needs(classes=True)

    def __post_init__(self) -> None:
        for name in ("variance", "mean"):
            number: Any = getattr(self, name)
            if not 0 <= real_or_nan(number) < inf:
                raise ValueError(f"{name}={number!r}: give the weight of the margins' {name}, a number of 0 or more")

    @property
    def default_step(self) -> StepSize:
        """The step size of gradient descent, with the curvature 2a of the variance in it."""
        return Descent(curvature=2.0 * float(self.variance))

    def coefficients(self, state: State, seen: StepMeasurements) -> NDArray[np.float64]:
        """v(ℓ′ + y(2a(m − m̄) − b))/n."""
        margins = seen.labels * seen.predictions
        away = margins - np.average(margins, weights=seen.weights)
        moments = seen.labels * (2.0 * self.variance * away - self.mean)
        return np.asarray(seen.weights * (seen.slopes + moments) / margins.size)
