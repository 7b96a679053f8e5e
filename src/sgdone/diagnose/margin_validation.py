"""Validation of the arguments of `margins`, and the margins themselves."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def margins_of(model: Any, X: Any, y: Any) -> tuple[Array, int]:
    """Return the margin of every row, and the number of classes."""
    if not callable(getattr(model, "decision_function", None)):
        raise TypeError(
            f"{type(model).__name__} has no decision_function, which margins need: give a fitted classifier with one, "
            "for example a linear model"
        )
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has the shape {labels.shape}: give a one-dimensional array of labels")
    if labels.size == 0:
        raise ValueError("y is empty: give at least one row")
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} has no classes_: give a fitted classifier")
    classes = np.asarray(model.classes_)
    numbers = _numbers_of(labels, classes)
    shape = (labels.size,) if classes.size == 2 else (labels.size, classes.size)
    if scores.shape != shape:
        raise ValueError(
            f"decision_function returned the shape {scores.shape} for {labels.size} labels of {classes.size} classes, "
            f"expected {shape}: do X and y have the same rows?"
        )
    wrong = np.flatnonzero(~np.isfinite(scores if scores.ndim == 1 else scores.sum(axis=1)))
    if wrong.size:
        raise ValueError(
            f"the score of row {wrong[0]} is not finite ({wrong.size} of {labels.size} scores): check X and the "
            "coefficients of the model"
        )
    if scores.ndim == 1:
        return np.where(numbers == 1, scores, -scores), 2
    rows = np.arange(labels.size)
    own = scores[rows, numbers]
    others = scores.copy()
    others[rows, numbers] = -np.inf
    return own - others.max(axis=1), classes.size


def _numbers_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Index of each label in the classes of the model."""
    by_label = {label: k for k, label in enumerate(classes.tolist())}
    numbers = np.array([by_label.get(label, -1) for label in labels.tolist()], dtype=np.intp)
    unknown = np.flatnonzero(numbers < 0)
    if unknown.size:
        raise ValueError(
            f"the label of row {unknown[0]} is {labels.tolist()[unknown[0]]!r}, which is not one of the model's "
            f"classes {classes.tolist()}"
        )
    return numbers


def check_number(name: str, value: Any, *, positive: bool = False) -> float:
    """Return a finite number; raise if it is not finite, or not positive although ``positive`` is set."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or (positive and number <= 0):
        kind = "positive finite" if positive else "finite"
        raise ValueError(f"{name}={value!r} is not a {kind} number: give one in units of the margins")
    return number
