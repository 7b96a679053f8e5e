"""Scores of a model on given rows, beside those of the base rate."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cli.input_data import InputData
from sgdone.cli.ranks import area_under_roc
from sgdone.estimators.classification import Classification, log_probabilities
from sgdone.estimators.estimator_cores import EstimatorCore
from sgdone.fit.options import as_loss

Model = EstimatorCore

#: Most classes of a confusion table.
MOST_CONFUSED = 10


@final
@dataclass(frozen=True)
class BaseRate:
    """The best prediction without any feature: the shares of the classes, or the mean, of the training rows."""

    classes: NDArray[Any] | None
    shares: NDArray[np.float64]
    mean: float

    @classmethod
    def of(cls, rows: InputData, *, classification: bool) -> "BaseRate":
        """The base rate of the training rows."""
        if not classification:
            return cls(None, np.zeros(0), float(np.average(rows.labels, weights=rows.weights_of_scores)))
        classes, numbers = np.unique(rows.labels, return_inverse=True)
        counts = np.bincount(numbers, weights=rows.weights_of_scores)
        return cls(classes, counts / counts.sum(), math.nan)


def raw_outputs(model: Model, X: Any) -> NDArray[Any]:
    """The scores of the classes, or the predictions of a regression: all else follows from them."""
    return np.asarray(model.decision_function(X) if isinstance(model, Classification) else model.predict(X))


def numbers_of_classes(scores: NDArray[Any]) -> NDArray[np.intp]:
    """The number of the most likely class of each row."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def score(
    model: Model, rows: InputData, base_rate: BaseRate | None = None, outputs: NDArray[Any] | None = None
) -> dict[str, Any]:
    """Number of rows, mean loss with its standard error, and error, AUC and confusion, or R² and RMSE.

    A row whose class the model does not know is predicted wrong and has no loss. ``base`` are the scores of the base
    rate on the same rows. ``outputs`` are those of :func:`raw_outputs`, if they are known.
    """
    predictions = raw_outputs(model, rows.X) if outputs is None else outputs
    if isinstance(model, Classification):
        return _class_scores(model, predictions, rows, base_rate)
    y, weights = rows.labels.astype(np.float64), rows.weights_of_scores
    losses = as_loss(model.loss, "regression").value(predictions, y)
    found: dict[str, Any] = {
        "rows": rows.n_rows,
        **_mean_and_error(losses, weights),
        **_fit_of(predictions, y, weights),
    }
    if base_rate is not None:
        found["base"] = _fit_of(np.full(y.size, base_rate.mean), y, weights)
    return found


def _class_scores(model: Any, scores: NDArray[Any], rows: InputData, base_rate: BaseRate | None) -> dict[str, Any]:
    y, weights = rows.labels, rows.weights_of_scores
    known = np.isin(y, model.classes_)
    numbers = np.searchsorted(model.classes_, y[known])
    of_known = None if weights is None else weights[known]
    guesses = numbers_of_classes(scores)
    accuracy = float(np.average(model.classes_[guesses] == y, weights=weights))
    losses = _class_losses(model, scores[known], numbers)
    found: dict[str, Any] = {"rows": rows.n_rows, **_mean_and_error(losses, of_known)}
    found |= {"accuracy": accuracy, "error": 1.0 - accuracy}
    if scores.ndim == 1:
        finite = bool(np.isfinite(scores[known]).all())
        found["auc"] = area_under_roc(numbers == 1, scores[known], of_known) if finite else math.nan
    if model.classes_.size <= MOST_CONFUSED:
        counts = np.zeros((model.classes_.size, model.classes_.size), dtype=np.int64)
        np.add.at(counts, (numbers, guesses[known]), 1)
        found["confusion"] = counts.tolist()
    if base_rate is not None:
        found["base"] = _base_scores(model, rows, base_rate, found)
    return found


def _base_scores(model: Any, rows: InputData, base_rate: BaseRate, found: dict[str, Any]) -> dict[str, Any]:
    classes, y = base_rate.classes, rows.labels
    assert classes is not None
    wrong = np.average(y != classes[np.argmax(base_rate.shares)], weights=rows.weights_of_scores)
    known = np.isin(y, classes)
    with np.errstate(divide="ignore"):
        logs = -np.log(base_rate.shares[np.searchsorted(classes, y[known])])
    weights = None if rows.weights_of_scores is None else rows.weights_of_scores[known]
    probabilistic = as_loss(model.loss, "classification").probabilistic
    loss = float(np.average(logs, weights=weights)) if probabilistic and known.any() else math.nan
    return {"loss": loss, "error": float(wrong), **({"auc": 0.5} if "auc" in found else {})}


def _fit_of(
    predictions: NDArray[np.floating], y: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> dict[str, float]:
    with np.errstate(over="ignore", invalid="ignore"):  # predictions of a fit that diverged
        squares = float(np.average((y - predictions) ** 2, weights=weights))
        spread = float(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
        return {"r2": 1.0 - squares / spread if spread > 0 else math.nan, "rmse": math.sqrt(squares)}


def _mean_and_error(losses: NDArray[np.floating], weights: NDArray[np.float64] | None) -> dict[str, float]:
    if losses.size == 0:
        return {"loss": math.nan, "loss_standard_error": math.nan}
    with np.errstate(over="ignore", invalid="ignore"):  # losses of a fit that diverged
        if weights is None:
            error = np.std(losses, ddof=1) / math.sqrt(losses.size) if losses.size > 1 else math.nan
            return {"loss": float(np.mean(losses)), "loss_standard_error": float(error)}
        mean = np.average(losses, weights=weights)
        error = np.sqrt(np.sum((weights * (losses - mean)) ** 2)) / weights.sum()
        return {"loss": float(mean), "loss_standard_error": float(error)}


def _class_losses(model: Any, scores: NDArray[Any], classes: NDArray[np.integer]) -> NDArray[np.floating]:
    """Loss of each row, given its scores and the number of its class.

    With probabilities it is the log loss, as `sklearn.metrics.log_loss`; otherwise, for more than two classes, the mean
    over the one-vs-rest problems.
    """
    loss = as_loss(model.loss, "classification")
    if loss.probabilistic:
        logs = log_probabilities(scores, multinomial=getattr(model, "multinomial_", False))
        return np.asarray(-logs[np.arange(classes.size), classes])
    scores = scores.reshape(classes.size, -1)
    columns = [1] if scores.shape[1] == 1 else range(scores.shape[1])
    each = [
        loss.value(np.ascontiguousarray(scores[:, k]), np.where(classes == column, 1.0, -1.0))
        for k, column in enumerate(columns)
    ]
    return np.asarray(np.mean(each, axis=0))
