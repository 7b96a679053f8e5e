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
    """Number of rows, mean loss, and accuracy or R² and RMSE."""
    with features_matched():
        if is_classifier(model):
            return {"rows": len(y), "loss": _class_loss(model, X, y), "accuracy": float(np.mean(model.predict(X) == y))}
        predictions = model.predict(X)
    loss = np.mean(as_loss(model.loss, "regression").value(predictions, y.astype(np.float64)))
    squares = np.mean((y - predictions) ** 2)
    spread = np.var(y)
    r2 = 1.0 - squares / spread if spread > 0 else math.nan
    return {"rows": len(y), "loss": float(loss), "r2": float(r2), "rmse": float(np.sqrt(squares))}


def _class_loss(model: Any, X: Any, y: NDArray[Any]) -> float:
    """Mean loss over rows and, for several classes, over the one-vs-rest problems."""
    loss = as_loss(model.loss, "classification")
    scores = model.decision_function(X).reshape(len(y), -1)
    positives = model.classes_[1:] if scores.shape[1] == 1 else model.classes_
    each = [
        np.mean(loss.value(np.ascontiguousarray(scores[:, k]), np.where(y == label, 1.0, -1.0)))
        for k, label in enumerate(positives)
    ]
    return float(np.mean(each))
