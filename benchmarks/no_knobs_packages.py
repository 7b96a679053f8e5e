"""Peers of other packages: glum and Snap ML, on scaled features, at the penalty of C = 1."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from contenders.contender import MissingError
from no_knobs_data import Part
from no_knobs_measure import Measured, judge_probabilities, judge_values, scaled, time_fit

#: Beyond so many coefficients a Hessian takes too long.
MOST_COEFFICIENTS = 4000


def check_hessian(part: Part) -> None:
    """Refuse a set with too many coefficients for a Hessian.

    Raises
    ------
    MissingError
        If there are more than `MOST_COEFFICIENTS`.
    """
    size = part.X.shape[1] * part.n_scores
    if size > MOST_COEFFICIENTS:
        raise MissingError(f"a Hessian of {size:,} coefficients, more than {MOST_COEFFICIENTS:,}")


def glum(part: Part, around: object) -> list[Measured]:
    """Two classes or real values, by iteratively reweighted least squares."""
    try:
        from glum import GeneralizedLinearRegressor
    except ImportError as error:
        raise MissingError("glum is not installed: pip install 'sgdone[bench]'") from error
    if part.n_scores > 1:
        raise MissingError("glum has no multinomial model")
    check_hessian(part)
    rows = scaled(part)
    family = "normal" if part.is_regression else "binomial"
    X, X_test = _stored_as(sparse.csc_array, rows.part)
    y = part.y if part.is_regression else (part.y == part.classes[1]).astype(np.float64)
    model = GeneralizedLinearRegressor(family=family, alpha=1.0 / y.size)
    timed = time_fit(lambda threads: model.fit(X, y))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sigmoid function too close")
        predicted = timed.fitted.predict(X_test)
    if part.is_regression:
        return [rows.charge(judge_values(timed, predicted, part))]
    return [rows.charge(judge_probabilities(timed, np.column_stack([1 - predicted, predicted]), part))]


def snap(part: Part, around: Any) -> list[Measured]:
    """Coordinate descent in the dual, with an intercept; several classes one against the rest."""
    try:
        import snapml
    except ImportError as error:
        raise MissingError("snapml is not installed: pip install 'sgdone[bench]'") from error
    rows = scaled(part)
    # It refuses sparse arrays.
    X, X_test = _stored_as(sparse.csr_matrix, rows.part)
    kind = snapml.LinearRegression if part.is_regression else snapml.LogisticRegression
    y = part.y if part.is_regression else np.searchsorted(part.classes, part.y)

    def fit(threads: int) -> Any:
        return kind(fit_intercept=True, n_jobs=threads, random_state=around.seed).fit(X, y)

    timed = time_fit(fit)
    if part.is_regression:
        return [rows.charge(judge_values(timed, timed.fitted.predict(X_test), part))]
    return [rows.charge(judge_probabilities(timed, timed.fitted.predict_proba(X_test), part))]


def _stored_as(kind: Any, part: Part) -> tuple[Any, Any]:
    """Training and test rows in the form that a package takes, if they are sparse."""
    X, X_test = (kind(X) if sparse.issparse(X) else X for X in (part.X, part.X_test))
    return X, X_test
