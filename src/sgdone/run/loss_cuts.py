"""Differences of mean losses before and after a cut, and those that chance explains."""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Neighbouring groups whose dependence counts.
LAGS = 3
#: Share of the groups, the smaller ones, in which a rise must be seen.
USUAL = 0.75


def differences(means: Array, cuts: NDArray[np.intp], jump: Array, log_chance: float) -> tuple[Array, Array]:
    """Means after each cut minus means before it, and the differences that chance explains, for each clip.

    Bernstein's inequality: the mean of n independent numbers of variance v, none of which exceeds its mean by more than
    ``jump``, exceeds it by √(2vL/n) + jump·L/(3n) with a probability below exp(−L). The variance is that of groups
    beside their own side of the cut, with the covariances of neighbouring groups (Newey & West 1987) if that is larger.
    """
    n = means.shape[1]
    means = means - means.mean(axis=1, keepdims=True)
    before = np.cumsum(means, axis=1)[:, cuts - 1]
    # Sums over all groups are zero: those after a cut are minus those before it.
    explained = before**2 / cuts + before**2 / (n - cuts)
    squares = np.einsum("ij,ij->i", means, means)
    weights = [2.0 * (1.0 - lag / (LAGS + 1)) for lag in range(1, LAGS + 1)]
    products = [np.einsum("ij,ij->i", means[:, lag:], means[:, :-lag]) for lag in range(1, LAGS + 1)]
    dependent = squares + sum(weight * product for weight, product in zip(weights, products, strict=True))
    alone = squares[:, None] - explained
    together = dependent[:, None] - (1.0 + sum(weights)) * explained
    variance = np.maximum(np.maximum(alone, together), 0.0) / (n - 2)
    shares = 1.0 / cuts + 1.0 / (n - cuts)
    chance = np.sqrt(2.0 * log_chance * variance * shares) + jump[:, None] * log_chance / 3.0 * shares
    return -before / (n - cuts) - before / cuts, chance


def usual_rise(means: Array, cut: int) -> float:
    """Mean after a cut minus that before it, without the largest quarter of the groups on either side.

    A few bad rows raise the mean of a few groups only.

    Examples
    --------
    >>> usual_rise(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 1.0, 1.0]), 4)
    0.0
    """
    before, after = (np.sort(part)[: math.ceil(USUAL * part.size)] for part in (means[:cut], means[cut:]))
    return float(after.mean() - before.mean())
