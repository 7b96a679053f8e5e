"""Probabilities from the scores of logistic models."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from sgdone.estimators.parameters import as_loss


def estimates_probabilities(model: Any) -> bool:
    """Whether a classifier's loss has probabilities; an AttributeError if not, as in scikit-learn."""
    loss = as_loss(model.loss, "classification")
    if not loss.probabilistic:
        raise AttributeError(
            f"probability estimates need a loss that has them: use loss='logistic' (this one is {loss.name!r})"
        )
    return True


def probabilities(scores: NDArray[Any], *, multinomial: bool = False) -> NDArray[Any]:
    """A column a class; for more than two, the softmax, or the one-vs-rest probabilities made to sum to 1.

    Examples
    --------
    >>> probabilities(np.array([0.0]))
    array([[0.5, 0.5]])
    """
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    return np.asarray(np.exp(log_probabilities(scores, multinomial=multinomial)))


def log_probabilities(scores: NDArray[Any], *, multinomial: bool = False) -> NDArray[Any]:
    """Logarithms of the same, exact where the probabilities themselves underflow."""
    if scores.ndim == 1:
        return np.column_stack([log_expit(-scores), log_expit(scores)])
    logs = scores if multinomial else log_expit(scores)
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
