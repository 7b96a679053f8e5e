"""What the labels tell the default fit before training: constant predictions and a curvature for step sizes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.comparison import is_worse_than_constant, mean, standard_error
from sgdone.auto.constants import Z_CONSTANT
from sgdone.interfaces.objective import Objective

#: Smallest share of a model to start from that is tried, and share of the loss that a smaller model must gain.
_LEAST_SHARE, _LEAST_GAIN = 2.0**-20, 0.05


def is_robust(objective: Objective) -> bool:
    """Whether distant targets have bounded influence, because the slope of the loss is bounded."""
    return objective.is_regression and objective.loss.lipschitz < np.inf


def initial_intercept(
    objective: Objective, labels: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Intercepts that fit some rows without their features: the mean or median target, or log class frequencies."""
    count = objective.n_outputs
    if not objective.fit_intercept:
        return np.zeros(count)
    if objective.is_regression:
        return np.array([_centre(objective, labels)])
    if not objective.loss.probabilistic:
        return np.zeros(count)
    two = objective.predicts == "two_classes"
    numbers = (labels > 0).astype(np.intp) if two else labels.astype(np.intp)
    frequencies = np.bincount(numbers, weights, minlength=max(2, count))
    if not frequencies.all():  # perhaps sorted by class: these rows may not be like those to come
        return np.zeros(count)
    logs: NDArray[np.float64] = np.log(frequencies.astype(np.float64))
    if two:
        return np.asarray(logs[1:] - logs[:1], dtype=np.float64)
    if objective.predicts == "softmax":
        return np.asarray(logs - logs.mean(), dtype=np.float64)
    others = np.log((frequencies.sum() - frequencies).astype(np.float64))
    return np.asarray(logs - others, dtype=np.float64)


def best_constant(
    objective: Objective, labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Intercepts of the model that predicts the same for all rows.

    Known in closed form, or the best of 41 values: margins from −1 to 1, or quantiles of the targets.
    """
    loss, count = objective.loss, objective.n_outputs
    if not objective.fit_intercept:
        return np.zeros(count)
    if objective.is_regression and loss.quadratic:
        return np.array([np.average(labels, weights=weights)])
    if loss.probabilistic:
        return initial_intercept(objective, labels, weights)
    grid = np.quantile(labels, np.linspace(0.0, 1.0, 41)) if objective.is_regression else np.linspace(-1.0, 1.0, 41)
    if objective.predicts == "one_vs_rest":
        outputs = [np.where(labels == k, 1.0, -1.0) for k in range(count)]
    else:
        outputs = [labels]
    means = [[np.average(loss.value(np.full(own.size, z), own), weights=weights) for z in grid] for own in outputs]
    return np.asarray(grid[np.argmin(means, axis=1)], dtype=np.float64)


def best_share(losses_at: Callable[[float], NDArray[np.float64]], weights: NDArray[np.float64]) -> tuple[float, str]:
    """How much of a model to start from is used, and why not all of it; the rest is a constant prediction.

    A start that is clearly worse than a constant prediction is not used. One that is clearly better at a half, a
    quarter, … is taken there: steps are made for models that are too small, not for those that are too large.
    """
    now, constant = losses_at(1.0), losses_at(0.0)
    if is_worse_than_constant(now, constant, weights):
        return 0.0, "the model to start from was worse than a constant prediction and was not used"
    share, best = 1.0, now
    while share > _LEAST_SHARE:
        half = losses_at(share / 2.0)
        if mean(half - best, weights) >= 0:
            break
        share, best = share / 2.0, half
    difference = now - best
    least = max(_LEAST_GAIN * mean(best, weights), Z_CONSTANT * standard_error(difference, weights))
    if share < 1.0 and mean(difference, weights) > least:
        return share, f"the model to start from was too large and was multiplied by {share:g}"
    return 1.0, ""


def curvature(objective: Objective, labels: NDArray[np.float64]) -> float:
    """A curvature for step sizes: the largest of the loss, or its largest slope over a typical distance."""
    distance = 1.0
    if objective.is_regression:
        distance = float(np.median(np.abs(labels - _centre(objective, labels)))) or 1.0
    found = min(objective.loss.smoothness, objective.loss.lipschitz / distance)
    return found if 0 < found < np.inf else 1.0


def _centre(objective: Objective, labels: NDArray[np.float64]) -> float:
    return float(np.median(labels) if is_robust(objective) else labels.mean())
