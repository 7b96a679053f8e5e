"""Scores and labels as margins, with errors that say where."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def margins_of(model: Any, X: Any, y: Any) -> tuple[Array, int]:
    """The margin of every row, and the number of classes."""
    if not callable(getattr(model, "decision_function", None)):
        raise TypeError(
            f"{type(model).__name__} has no decision_function, and margins are made of scores: give a fitted "
            "classifier that has one, a linear one say"
        )
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has the shape {labels.shape}: give a vector of labels")
    if labels.size == 0:
        raise ValueError("y is empty: there are no margins without rows")
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} has no classes_: give a fitted classifier")
    classes = np.asarray(model.classes_)
    numbers = _numbers_of(labels, classes)
    shape = (labels.size,) if classes.size == 2 else (labels.size, classes.size)
    if scores.shape != shape:
        wants = "one score a row" if classes.size == 2 else "one score a row and class"
        raise ValueError(
            f"decision_function gave scores of shape {scores.shape} for {labels.size} labels of {classes.size} "
            f"classes, and margins need {wants}, {shape}: are X and y of the same rows?"
        )
    wrong = np.flatnonzero(~np.isfinite(scores if scores.ndim == 1 else scores.sum(axis=1)))
    if wrong.size:
        raise ValueError(
            f"the score of row {wrong[0]} is not finite, and {wrong.size} of {labels.size} are not: look at the rows "
            "of X, and at the model's coefficients"
        )
    if scores.ndim == 1:
        return np.where(numbers == 1, scores, -scores), 2
    rows = np.arange(labels.size)
    own = scores[rows, numbers]
    others = scores.copy()
    others[rows, numbers] = -np.inf
    return own - others.max(axis=1), classes.size


def _numbers_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The number of each label among the model's classes."""
    by_label = {label: k for k, label in enumerate(classes.tolist())}
    numbers = np.array([by_label.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    unknown = np.flatnonzero(numbers < 0)
    if unknown.size:
        raise ValueError(
            f"the label of row {unknown[0]} is {labels.tolist()[unknown[0]]!r}, which is none of the model's classes "
            f"{classes.tolist()}"
        )
    return numbers


def weights_of(sample_weight: Any, n_rows: int) -> Array | None:
    """Finite, non-negative weights, not all of them zero."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must be {n_rows} numbers: found an array of shape {weights.shape}")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if bad.size:
        raise ValueError(f"sample_weight of row {bad[0]} is {weights[bad[0]]}: weights must be finite and not negative")
    if not weights.any():
        raise ValueError("all rows have the weight 0: there are no margins to look at")
    return weights


def check_number(name: str, value: Any, *, positive: bool = False) -> float:
    """A finite number, positive where it has to be."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or (positive and number <= 0):
        kind = "positive finite" if positive else "finite"
        raise ValueError(f"{name}={value!r} is not a {kind} number: give one in units of the margins")
    return number
