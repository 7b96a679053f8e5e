"""Losses with an exponential tail, in logarithms: of a margin of 10,000 they are as exact as of a margin of 1."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: Beyond this margin ln(1 + exp(−m)) is exp(−m) to rounding.
_TAIL = 37.0


class TailLoss(NamedTuple):
    """Logarithms of a loss of the margin, of its slope's size, and of its curvature."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    curvature: Callable[[Array], Array]


def _log_logistic(margins: Array) -> Array:
    return np.where(margins > _TAIL, -margins, np.log(np.logaddexp(0.0, -np.minimum(margins, _TAIL))))


def _log_logistic_slope(margins: Array) -> Array:
    return -np.logaddexp(0.0, margins)


def _log_logistic_curvature(margins: Array) -> Array:
    size = np.abs(margins)
    return np.asarray(-size - 2.0 * np.log1p(np.exp(-size)))


TAIL_LOSSES = {
    "logistic": TailLoss(_log_logistic, _log_logistic_slope, _log_logistic_curvature),
    "exponential": TailLoss(np.negative, np.negative, np.negative),
}
