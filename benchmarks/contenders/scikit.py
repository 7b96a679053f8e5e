"""scikit-learn: SGDClassifier, LogisticRegression, LinearSVC."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from contenders.contender import Contender, Data, Fit, MissingError, iterations, linear, passes, rows_from

#: Beyond so many features a Newton step by Cholesky takes longer than all others together.
_MOST_FEATURES = 2000


def contenders(loss: str) -> list[Contender]:
    """What can do this loss."""
    found = [
        Contender("SGDClassifier", _sgd(loss, False), rows_from(64), passes(200), "rows"),
        Contender("SGDClassifier averaged", _sgd(loss, True), rows_from(64), passes(200), "rows"),
    ]
    if loss == "logistic":
        found += [_logistic("lbfgs"), _logistic("newton-cholesky"), _logistic("saga", stochastic=True)]
    if loss == "squared_hinge":
        found += [
            Contender("LinearSVC dual", _svc(True), iterations(1), iterations(5000)),
            Contender("LinearSVC primal", _svc(False), iterations(1), iterations(5000), stochastic=False),
        ]
    return found


def _sgd(loss: str, average: bool) -> Callable[[Data], Fit]:
    # Its squared hinge has no ½, so that its alpha is twice ours.
    name, factor = {"logistic": ("log_loss", 1.0), "squared_hinge": ("squared_hinge", 2.0)}[loss]

    def prepare(data: Data) -> Fit:
        def fit(budget: int, seed: int) -> Any:
            model = SGDClassifier(
                loss=name, alpha=factor * data.alpha, fit_intercept=False, average=average, random_state=seed
            )
            if budget < data.n_rows:
                # Less than a pass is what partial_fit is for.
                model.partial_fit(data.X[:budget], data.y[:budget], classes=np.array([-1.0, 1.0]))
            else:
                model.set_params(max_iter=budget // data.n_rows, tol=None).fit(data.X, data.y)
            return linear(model.coef_[0])

        return fit

    return prepare


def _logistic(solver: str, stochastic: bool = False) -> Contender:
    def prepare(data: Data) -> Fit:
        if solver == "newton-cholesky" and data.X.shape[1] > _MOST_FEATURES:
            raise MissingError(f"a Hessian of {data.X.shape[1]:,} features")

        def fit(budget: int, seed: int) -> Any:
            C = 1.0 / (data.alpha * data.n_rows)
            model = LogisticRegression(
                C=C, solver=solver, max_iter=budget, tol=1e-12, fit_intercept=False, random_state=seed
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                X = data.X.toarray() if solver == "newton-cholesky" and sparse.issparse(data.X) else data.X
                return linear(model.fit(X, data.y).coef_[0])

        return fit

    return Contender(f"LogisticRegression {solver}", prepare, iterations(1), iterations(2000), stochastic=stochastic)


def _svc(dual: bool) -> Callable[[Data], Fit]:
    def prepare(data: Data) -> Fit:
        def fit(budget: int, seed: int) -> Any:
            C = 1.0 / (2.0 * data.alpha * data.n_rows)
            model = LinearSVC(C=C, dual=dual, max_iter=budget, tol=1e-12, fit_intercept=False, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return linear(model.fit(data.X, data.y).coef_[0])

        return fit

    return prepare
