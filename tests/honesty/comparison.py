"""A fit beside what its verdict claims: the loss of fresh rows, and the training objective."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_softmax
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor

from .problems import Array, Problem

#: A fit that is called converged must not be worse by this share of the loss, and as many errors of the difference.
SHARE, ERRORS = 0.05, 3.0
#: A training objective that is called minimised must not exceed its minimum by more than this share.
OBJECTIVE_SHARE = 1e-6
#: Columns beyond which the curvature is not factorised.
_MOST_FACTORISED = 500


@dataclass(frozen=True)
class Comparison:
    """A fit beside a reference: the exact optimum with its penalty or, for a named method, a constant prediction.

    Mean losses of fresh rows, the standard error of their difference, and the training objective over its minimum.
    """

    status: str
    loss: float
    reference: float
    error: float
    claims_minimum: bool = False
    objective: float = float("nan")

    @property
    def is_worse(self) -> bool:
        """Whether the fit is clearly worse than the reference on fresh rows, and by enough to matter."""
        excess = self.loss - self.reference
        return excess > SHARE * self.reference and excess > ERRORS * self.error

    @property
    def is_dishonest(self) -> bool:
        """Whether it was called converged and is worse, or its objective was called minimised and is not."""
        above = self.claims_minimum and self.objective > 1.0 + OBJECTIVE_SHARE
        return self.status == "converged" and (self.is_worse or above)


def compare(problem: Problem) -> Comparison:
    """Fit a problem, and compare it with what it is to be compared with."""
    return _named(problem) if problem.named else _default(problem)


def _default(problem: Problem) -> Comparison:
    model = (LinearRegressor if problem.regression else LinearClassifier)(random_state=0, **problem.options)
    with tempfile.TemporaryDirectory() as folder:
        start = {} if problem.start is None else {"coef_init": problem.start}
        model.fit(*problem.rows(Path(folder)), **start)
    exact = _Exact(model, problem)
    X, y = problem.fresh(problem.n_fresh, np.random.default_rng(12345))
    classes = None if problem.regression else model.classes_
    found, best = (_losses(each, classes, X, y) for each in (model, exact))
    verdict = model.verdict_
    # A verdict that does not say otherwise is read as one about the objective.
    claims = "the training objective was not minimised" not in str(verdict)
    return _compared(str(verdict.status), found, best, claims, exact.objective_over_minimum(model, classes))


def _named(problem: Problem) -> Comparison:
    """Wrong classes or squared errors of a named method, and of a constant prediction."""
    model = (SGDRegressor if problem.regression else SGDClassifier)(random_state=0, **problem.options)
    constant = DummyRegressor() if problem.regression else DummyClassifier()
    model.fit(problem.X, problem.y)
    X, y = problem.fresh(problem.n_fresh, np.random.default_rng(12345))
    predictions = (each.predict(X) for each in (model, constant.fit(problem.X, problem.y)))
    losses = [0.5 * (z - y) ** 2 if problem.regression else (z != y).astype(float) for z in predictions]
    return _compared(str(model.verdict_.status), *losses)


def _compared(status: str, found: Array, best: Array, claims: bool = False, objective: float = np.nan) -> Comparison:
    difference = found - best
    error = float(difference.std() / np.sqrt(difference.size))
    return Comparison(status, float(found.mean()), float(best.mean()), error, claims, objective)


class _Exact:
    """The exact optimum with the units and the penalty of a fit, by scikit-learn."""

    def __init__(self, model: Any, problem: Problem) -> None:
        scaling = model._fitted.results[0].state.units.scaling
        self.problem, self.scale, self.shift, self.alpha = problem, scaling.scale, scaling.shift, model.alpha_
        self.encoder = model._fitted.encoder_
        strength = model.alpha_ * len(problem.y)
        self.model: Any = Ridge(strength)
        if not problem.regression:
            solver = "newton-cholesky" if self.scale.size <= _MOST_FACTORISED else "lbfgs"
            self.model = LogisticRegression(C=1.0 / strength, solver=solver, tol=1e-8, max_iter=10_000)
        elif sparse.issparse(problem.X) or isinstance(problem.X, pd.DataFrame):
            self.model = Ridge(strength, solver="sparse_cg", tol=1e-8)
        self.model.fit(self._scaled(problem.X), problem.y)

    def objective_over_minimum(self, model: Any, classes: NDArray[Any] | None) -> float:
        """The training objective of a fit over that of the optimum."""
        # A column that never occurs has an infinite scale, and no coefficient.
        own = np.atleast_2d(model.coef_) * np.where(np.isfinite(self.scale), self.scale, 0.0)
        return self._objective(model, own, classes) / self._objective(self, self.model.coef_, classes)

    def _objective(self, model: Any, scaled_coef: Array, classes: NDArray[Any] | None) -> float:
        """The mean loss, and the penalty of the coefficients of the scaled columns."""
        losses = _losses(model, classes, self.problem.X, self.problem.y)
        return float(losses.mean() + self.alpha / 2.0 * (scaled_coef**2).sum())

    def _scaled(self, X: Any) -> Any:
        if isinstance(X, pd.DataFrame) and self.encoder is not None:
            found = self.encoder.encode(X)
            dense = found.dense if self.shift is None else found.dense - self.shift[: found.dense.shape[1]]
            return sparse.hstack([sparse.csr_array(dense), found.sparse]).tocsr() @ sparse.diags(1.0 / self.scale)
        X = X.to_numpy() if isinstance(X, pd.DataFrame) else X
        if self.shift is not None:
            X = X - self.shift
        return X @ sparse.diags(1.0 / self.scale) if sparse.issparse(X) else X / self.scale

    def predict(self, X: Any) -> Any:
        return self.model.predict(self._scaled(X))

    def decision_function(self, X: Any) -> Any:
        return self.model.decision_function(self._scaled(X))


def _losses(model: Any, classes: NDArray[Any] | None, X: Any, y: Array) -> Array:
    if classes is None:
        return np.asarray(0.5 * (model.predict(X) - y) ** 2)
    # A class that the rows to fit lack has no probability: rows of it are left out for both models.
    known = np.isin(y, classes)
    scores, places = model.decision_function(X[known]), np.searchsorted(classes, y[known])
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(scores.size), scores])
    return np.asarray(-log_softmax(scores, axis=1)[np.arange(places.size), places])
