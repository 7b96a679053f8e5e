"""Comparing candidates by their losses on the same rows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.constants import LOST_SHARE, Z_CONSTANT, Z_LOST, Z_TIED


def means(losses: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weighted mean losses of the columns.

    NumPy's own sums: starting the threads of a BLAS would take longer than a product of this size.
    """
    found: NDArray[np.float64] = (losses * weights[:, None]).sum(axis=0) / weights.sum()
    return found


def mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Weighted mean of one column."""
    return float((values * weights).sum() / weights.sum())


def standard_error(values: NDArray[np.float64], weights: NDArray[np.float64], count: float | None = None) -> float:
    """Standard error of a weighted mean, scaled to ``count`` values if given."""
    error = standard_errors(values[:, None], weights)[0]
    return float(error if count is None else error * np.sqrt(values.size / count))


def grouped_error(
    values: NDArray[np.float64], weights: NDArray[np.float64], groups: NDArray[np.intp]
) -> tuple[float, int]:
    """Standard error of a weighted mean of values that are independent between groups only, and the number of groups.

    Groups that are not known are single values.
    """
    if not groups.size:
        return standard_error(values, weights), values.size
    sums = np.bincount(groups, (values - mean(values, weights)) * weights)
    return float(np.sqrt((sums * sums).sum()) / weights.sum()), int(np.unique(groups).size)


def standard_errors(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard errors of the weighted means of columns."""
    difference = (values - means(values, weights)) * weights[:, None]
    unit = np.abs(difference).max(axis=0, initial=0.0)
    shares = np.divide(difference, unit, out=np.zeros_like(difference), where=unit > 0)
    errors: NDArray[np.float64] = unit * np.sqrt((shares * shares).sum(axis=0)) / weights.sum()
    return errors


def clear_losers(losses: NDArray[np.float64], weights: NDArray[np.float64], lead: int) -> NDArray[np.bool_]:
    """Which columns are clearly worse than the leading one, by paired differences."""
    difference = losses - losses[:, [lead]]
    behind_by = means(difference, weights)
    spread = standard_errors(difference, weights)
    return is_behind(behind_by, spread, mean(losses[:, lead], weights))


def is_behind(behind_by: NDArray[np.float64], errors: NDArray[np.float64], best: float) -> NDArray[np.bool_]:
    """Whether differences to the best mean loss are clear, and large enough to matter."""
    behind: NDArray[np.bool_] = behind_by > np.maximum(Z_LOST * errors, LOST_SHARE * abs(best))
    return behind


def is_worse_than_constant(
    losses: NDArray[np.float64],
    constant: NDArray[np.float64],
    weights: NDArray[np.float64],
    errors: float = Z_CONSTANT,
    factor: float = 1.0,
) -> bool:
    """Whether the losses of a model clearly exceed those of a constant prediction of the same rows."""
    difference = losses - constant
    clear = mean(difference, weights) > errors * standard_error(difference, weights)
    return clear and mean(losses, weights) > factor * mean(constant, weights)


def ties(losses: NDArray[np.float64], weights: NDArray[np.float64], lead: int) -> Sequence[int]:
    """Which columns cannot be told apart from the leading one."""
    difference = losses - losses[:, [lead]]
    behind_by = means(difference, weights)
    spread = standard_errors(difference, weights)
    return [int(k) for k in np.flatnonzero(behind_by <= Z_TIED * spread)]


def worth_keeping(losers: NDArray[np.bool_], lead: int) -> Sequence[int]:
    """Places of the candidates to keep; they are ordered from small to large steps.

    The best step size only falls as more rows are read, so that a loser with larger steps has lost for good; the
    candidate with the next smaller steps than the leader stays, because it may become the best.
    """
    return [k for k in range(losers.size) if not losers[k] or k == lead - 1]
