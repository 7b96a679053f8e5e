"""What the labels tell the default fit before training: initial intercepts and a curvature for step sizes."""

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective


def is_robust(objective: Objective) -> bool:
    """Whether distant targets have bounded influence, because the slope of the loss is bounded."""
    return objective.is_regression and objective.loss.lipschitz < np.inf


def initial_intercept(objective: Objective, labels: NDArray[np.float64]) -> NDArray[np.float64]:
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
    frequencies = np.bincount(numbers, minlength=max(2, count))
    if not frequencies.all():  # perhaps sorted by class: these rows may not be like those to come
        return np.zeros(count)
    logs: NDArray[np.float64] = np.log(frequencies.astype(np.float64))
    if two:
        return np.asarray(logs[1:] - logs[:1], dtype=np.float64)
    if objective.predicts == "softmax":
        return np.asarray(logs - logs.mean(), dtype=np.float64)
    others = np.log((frequencies.sum() - frequencies).astype(np.float64))
    return np.asarray(logs - others, dtype=np.float64)


def curvature(objective: Objective, labels: NDArray[np.float64]) -> float:
    """A curvature for step sizes: the largest of the loss, or its largest slope over a typical distance."""
    distance = 1.0
    if objective.is_regression:
        distance = float(np.median(np.abs(labels - _centre(objective, labels)))) or 1.0
    found = min(objective.loss.smoothness, objective.loss.lipschitz / distance)
    return found if 0 < found < np.inf else 1.0


def _centre(objective: Objective, labels: NDArray[np.float64]) -> float:
    return float(np.median(labels) if is_robust(objective) else labels.mean())
