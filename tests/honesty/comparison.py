"""The loss of a default fit on fresh rows against that of the exact optimum with the same penalty."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression, Ridge

from sgdone import LinearClassifier, LinearRegressor

from .problems import Array, Problem

#: A fit that is called converged must not be worse by this share of the loss, and as many errors of the difference.
SHARE, ERRORS = 0.05, 3.0
FRESH_ROWS = 20_000


@dataclass(frozen=True)
class Comparison:
    """A fit beside the optimum: mean losses on fresh rows, and the standard error of their difference."""

    status: str
    loss: float
    optimum: float
    error: float

    @property
    def is_worse(self) -> bool:
        """Whether the fit is clearly worse than the optimum, and by enough to matter."""
        excess = self.loss - self.optimum
        return excess > SHARE * self.optimum and excess > ERRORS * self.error

    @property
    def is_dishonest(self) -> bool:
        """Whether it is and yet was called converged."""
        return self.is_worse and self.status == "converged"


def compare(problem: Problem) -> Comparison:
    """Fit a problem, and find the optimum at the penalty that the fit chose."""
    model = (LinearRegressor if problem.regression else LinearClassifier)(random_state=0, **problem.options)
    model.fit(problem.X, problem.y, coef_init=problem.start)
    X, y = problem.fresh(FRESH_ROWS, np.random.default_rng(12345))
    classes = None if problem.regression else model.classes_
    found, best = (_losses(each, classes, X, y) for each in (model, _Exact(model, problem)))
    difference = found - best
    error = float(difference.std() / np.sqrt(difference.size))
    return Comparison(str(model.verdict_.status), float(found.mean()), float(best.mean()), error)


class _Exact:
    """The exact optimum with the units and the penalty of a fit, by scikit-learn."""

    def __init__(self, model: Any, problem: Problem) -> None:
        scaling = model._results[0].state.units.scaling
        self.scale, self.shift, strength = scaling.scale, scaling.shift, model.alpha_ * len(problem.y)
        self.model: Any = Ridge(strength)
        if not problem.regression:
            self.model = LogisticRegression(C=1.0 / strength, solver="newton-cholesky", tol=1e-8, max_iter=1000)
        self.model.fit(self._scaled(problem.X), problem.y)

    def _scaled(self, X: Array) -> Array:
        return np.asarray((X - self.shift) / self.scale)

    def predict(self, X: Array) -> Any:
        return self.model.predict(self._scaled(X))

    def decision_function(self, X: Array) -> Any:
        return self.model.decision_function(self._scaled(X))


def _losses(model: Any, classes: NDArray[Any] | None, X: Array, y: Array) -> Array:
    if classes is None:
        return np.asarray(0.5 * (model.predict(X) - y) ** 2)
    # A class that the rows to fit lack has no probability: rows of it are left out for both models.
    known = np.isin(y, classes)
    scores, places = model.decision_function(X[known]), np.searchsorted(classes, y[known])
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(scores.size), scores])
    return np.asarray(-log_softmax(scores, axis=1)[np.arange(places.size), places])
