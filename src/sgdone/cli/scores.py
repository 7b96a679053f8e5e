"""Scores of a model on given rows, beside those of the base rate."""

import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.cli.errors import table_errors_named
from sgdone.cli.input_data import OpenedData, for_task
from sgdone.fit.fitted_model import FittedModel, log_probabilities, most_likely
from sgdone.losses.learning_task import Task
from sgdone.readers.table import Table
from sgdone.rows.faults import as_classes


def average_ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks from 1 on; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def area_under_roc(
    positive: NDArray[np.bool_], scores: NDArray[Any], weights: NDArray[np.float64] | None = None
) -> float:
    """Probability that a positive row has a higher score than a negative one; equal scores count half.

    NaN if one of the two kinds of rows has no weight.
    """
    counts = np.ones(positive.size) if weights is None else weights
    places = np.unique(scores, return_inverse=True)[1]
    above, below = (np.bincount(places, weights=counts * kind) for kind in (positive, ~positive))
    pairs = float(above.sum() * below.sum())
    return float(above @ (np.cumsum(below) - below / 2)) / pairs if pairs > 0 else math.nan


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
    def of(cls, rows: Table, task: Task) -> "BaseRate":
        """The base rate of the training rows."""
        if task == "regression":
            return cls(None, np.zeros(0), float(np.average(rows.labels, weights=rows.weights_of_scores)))
        classes, numbers = np.unique(rows.labels, return_inverse=True)
        counts = np.bincount(numbers, weights=rows.weights_of_scores)
        return cls(classes, counts / counts.sum(), math.nan)


def score(
    model: FittedModel, rows: Table, base_rate: BaseRate | None = None, outputs: NDArray[Any] | None = None
) -> dict[str, Any]:
    """Number of rows, mean loss with its standard error, and error, AUC and confusion, or R² and RMSE.

    A row whose class the model does not know is predicted wrong and has no loss. ``base`` are the scores of the base
    rate on the same rows. ``outputs`` are those of `FittedModel.scores`, if they are known.
    """
    predictions = model.scores(rows.X) if outputs is None else outputs
    if model.is_classifier:
        return _class_scores(model, predictions, rows, base_rate)
    y, weights = rows.labels.astype(np.float64), rows.weights_of_scores
    losses = model.options.loss.value(predictions, y)
    found: dict[str, Any] = {
        "rows": rows.n_rows,
        **_mean_and_error(losses, weights),
        **_fit_of(predictions, y, weights),
    }
    if base_rate is not None:
        found["base"] = _fit_of(np.full(y.size, base_rate.mean), y, weights)
    return found


def _class_scores(model: Any, scores: NDArray[Any], rows: Table, base_rate: BaseRate | None) -> dict[str, Any]:
    y, weights = rows.labels, rows.weights_of_scores
    known = np.isin(y, model.classes_)
    numbers = np.searchsorted(model.classes_, y[known])
    of_known = None if weights is None else weights[known]
    guesses = most_likely(scores)
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


def _base_scores(model: Any, rows: Table, base_rate: BaseRate, found: dict[str, Any]) -> dict[str, Any]:
    classes, y = base_rate.classes, rows.labels
    assert classes is not None
    wrong = np.average(y != classes[np.argmax(base_rate.shares)], weights=rows.weights_of_scores)
    known = np.isin(y, classes)
    with np.errstate(divide="ignore"):
        logs = -np.log(base_rate.shares[np.searchsorted(classes, y[known])])
    weights = None if rows.weights_of_scores is None else rows.weights_of_scores[known]
    probabilistic = model.options.loss.probabilistic
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
    loss = model.options.loss
    if loss.probabilistic:
        logs = log_probabilities(scores, multinomial=bool(model.multinomial_))
        return np.asarray(-logs[np.arange(classes.size), classes])
    scores = scores.reshape(classes.size, -1)
    columns = [1] if scores.shape[1] == 1 else range(scores.shape[1])
    each = [
        loss.value(np.ascontiguousarray(scores[:, k]), np.where(classes == column, 1.0, -1.0))
        for k, column in enumerate(columns)
    ]
    return np.asarray(np.mean(each, axis=0))


#: Share of the memory for outputs and labels that are kept, and bytes at least: the scores need some copies of them.
_SHARE_KEPT, _LEAST_KEPT = 1 / 32, 1 << 24


@final
class PartScores:
    """Outputs and labels of rows that come in parts; of the first ones only, if they would take too much memory."""

    def __init__(self, model: FittedModel, max_memory: int) -> None:
        self._model, self._bytes, self._most_bytes = model, 0, max(_LEAST_KEPT, _SHARE_KEPT * max_memory)
        #: Outputs, labels and weights of each part.
        self._parts = list[tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]]()
        self._labelled = True

    def add(self, y: NDArray[Any] | None, weights: NDArray[np.float64] | None, outputs: NDArray[Any]) -> None:
        """Add the rows of a part; if one has no labels, there are no scores."""
        self._labelled &= y is not None
        if y is None or not self._labelled or self._bytes > self._most_bytes:
            return
        self._parts.append((outputs, y, weights))
        self._bytes += outputs.nbytes + y.nbytes

    def scores(self, base_rate: BaseRate | None = None) -> dict[str, Any] | None:
        """Scores of the rows, if they have labels of the kind that the model predicts."""
        if not self._labelled or not self._parts:
            return None
        outputs, y = (np.concatenate([part[k] for part in self._parts]) for k in (0, 1))
        weights = [own for _, _, own in self._parts if own is not None]
        rows = Table(np.empty((y.size, 0)), y, weights=np.concatenate(weights) if weights else None)
        if self._model.classes_ is not None:
            rows = replace(rows, y=as_classes(y))
            known = bool(np.isin(rows.labels, self._model.classes_).any())
        else:
            known = rows.labels.dtype.kind in "biuf"
        return score(self._model, rows, base_rate, outputs) if known else None


def score_opened(model: FittedModel, tested: OpenedData, task: Task, base_rate: BaseRate) -> dict[str, Any] | None:
    """Scores of test rows, in memory or not."""
    if tested.others is None:
        with table_errors_named(tested.rows.name, tested.rows.place):
            return score(model, tested.rows, base_rate)
    found = PartScores(model, tested.others.rows.max_memory)
    for table in tested.others.tables():
        part = for_task(table, task)
        with table_errors_named(tested.rows.name, part.place):
            found.add(part.y, part.weights, model.scores(part.X))
    return found.scores(base_rate)
