"""Scores of a model on given data."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from sgdone.estimators import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor
from sgdone.estimators.parameters import as_loss

Model = LinearClassifier | LinearRegressor | SGDClassifier | SGDRegressor


@contextmanager
def features_matched() -> Iterator[None]:
    """Suppress scikit-learn's warning about missing feature names: the columns were chosen by name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def score(model: Model, X: Any, y: NDArray[Any]) -> dict[str, float]:
    """Number of rows, mean loss with its standard error, and accuracy or R² and RMSE.

    A row whose class the model does not know is predicted wrong and has no loss.
    """
    with features_matched():
        if is_classifier(model):
            right = model.predict(X) == y
            return {"rows": len(y), **_mean_and_error(_class_losses(model, X, y)), "accuracy": float(np.mean(right))}
        predictions = model.predict(X)
    losses = as_loss(model.loss, "regression").value(predictions, y.astype(np.float64))
    squares = np.mean((y - predictions) ** 2)
    spread = np.var(y)
    r2 = 1.0 - squares / spread if spread > 0 else math.nan
    return {"rows": len(y), **_mean_and_error(losses), "r2": float(r2), "rmse": float(np.sqrt(squares))}


def _mean_and_error(losses: NDArray[np.floating]) -> dict[str, float]:
    with np.errstate(over="ignore", invalid="ignore"):  # losses of a fit that diverged
        error = np.std(losses, ddof=1) / math.sqrt(losses.size) if losses.size > 1 else math.nan
        return {"loss": float(np.mean(losses)), "loss_standard_error": float(error)}


def _class_losses(model: Any, X: Any, y: NDArray[Any]) -> NDArray[np.floating]:
    """Loss of each row of a known class.

    With probabilities it is the log loss, as `sklearn.metrics.log_loss`; otherwise, for more than two classes, the mean
    over the one-vs-rest problems.
    """
    loss = as_loss(model.loss, "classification")
    known = np.flatnonzero(np.isin(y, model.classes_))
    classes = np.searchsorted(model.classes_, y[known])
    if loss.probabilistic:
        return np.asarray(-model.predict_log_proba(X)[known, classes])
    scores = model.decision_function(X).reshape(len(y), -1)[known]
    columns = [1] if scores.shape[1] == 1 else range(scores.shape[1])
    each = [
        loss.value(np.ascontiguousarray(scores[:, k]), np.where(classes == column, 1.0, -1.0))
        for k, column in enumerate(columns)
    ]
    return np.asarray(np.mean(each, axis=0))
