"""Minimising Catoni's location of the losses in the place of their mean."""

from dataclasses import dataclass
from math import inf, nan
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.batch import location
from sgdone.losses.loss import real_or_nan
from sgdone.solvers.batch import StepMeasurements, WeighingSolver
from sgdone.solvers.state import State


@dataclass
class CatoniLocation:
    """The location of the losses at the last step."""

    location: float = nan


@final
@dataclass(frozen=True)
class Catoni(WeighingSolver):
    """Descent on γ̂(w) + ½α‖w‖², γ̂ the Catoni location of the losses: Brownlees, Joly & Lugosi (2015).

    Holland (2018), eq. (2) and (3), defines γ̂ by Σ v·ψ((γ̂ − ℓ)/s) = 0; differentiated, it gives
    ∇γ̂ = Σ vψ′·∇ℓ/Σ vψ′ with ψ′(u) = max(0, 1 − u²/2), u = (γ̂ − ℓ)/s. Rows whose loss is √2·s from γ̂ or more, above
    or below, are left out; where all are, only the penalty acts. The method of the paper is that of ``loss="hinge"``.
    γ̂ need not be convex in w: a descent may end in a local minimum. From 0, where all losses are equal, the first step
    is that of gradient descent, and wild rows may lead it into a valley of theirs; start from another fit where there
    are any (``coef_init``, ``warm_start``).

    A step costs two reads of the rows and the root of eq. (2), some ten to a hundred sums over the losses.

    Parameters
    ----------
    scale : float
        s, in units of the loss: gradient descent on the mean loss if it is large.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> X, y = [[-1.0], [1.0], [-2.0], [2.0], [300.0]], [0, 1, 0, 1, 0]  # the last row has the wrong label
    >>> model = SGDClassifier("hinge", solver="catoni", alpha=0.01, stop=100, fit_intercept=False)
    >>> model.fit(X, y, coef_init=[[0.5]]).predict([[1.0]])
    array([1])
    """

    scale: float = 1.0
    name: ClassVar[str] = "catoni"
    keeps: ClassVar[type] = CatoniLocation
    weights_are_relative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        scale: Any = self.scale
        if not 0 < real_or_nan(scale) < inf:
            raise ValueError(f"scale={scale!r} of Catoni's location: give a positive number, in units of the loss")

    def coefficients(self, state: State, seen: StepMeasurements) -> NDArray[np.float64]:
        """vψ′ℓ′/Σ vψ′."""
        guess = float(np.average(seen.losses, weights=seen.weights))
        found = location(seen.losses, seen.weights, float(self.scale), guess)
        state.extra.location = float(found)
        shares = seen.weights * np.maximum(1.0 - 0.5 * ((found - seen.losses) / self.scale) ** 2, 0.0)
        total = float(np.sum(shares))
        return shares * seen.slopes / total if total > 0.0 else np.zeros(shares.size)

    def evidence(self, state: State) -> dict[str, Any]:
        """The location of the losses before the last step."""
        return super().evidence(state) | {"location": state.extra.location}
