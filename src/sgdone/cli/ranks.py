"""Ranks, and the area under the ROC curve."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def average_ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks from 1 on; equal values share the mean of their ranks.

    Examples
    --------
    >>> average_ranks(np.array([7, 3, 7]))
    array([2.5, 1. , 2.5])
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def area_under_roc(
    positive: NDArray[np.bool_], scores: NDArray[Any], weights: NDArray[np.float64] | None = None
) -> float:
    """Probability that a positive row has a higher score than a negative one; equal scores count half.

    NaN if one of the two kinds of rows has no weight.

    Examples
    --------
    >>> area_under_roc(np.array([False, True, True]), np.array([0.1, 0.4, 0.1]))
    0.75
    """
    counts = np.ones(positive.size) if weights is None else weights
    places = np.unique(scores, return_inverse=True)[1]
    above, below = (np.bincount(places, weights=counts * kind) for kind in (positive, ~positive))
    pairs = float(above.sum() * below.sum())
    return float(above @ (np.cumsum(below) - below / 2)) / pairs if pairs > 0 else math.nan
