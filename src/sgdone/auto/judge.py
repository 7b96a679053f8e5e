"""Who is ahead among the candidates, and who is left behind."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: A candidate is behind if its mean loss exceeds the best by so many standard errors of the difference …
_CLEAR = 3.0
#: … and by this share of the best's.
_WORTH_TELLING = 0.003
#: Standard errors of the difference within which two candidates are as good as each other.
_TIED = 1.0


def means(losses: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean losses of the columns, rows counting by their weights.

    Sums are NumPy's own: a product of this size would wake the threads of a BLAS, which takes longer.
    """
    found: NDArray[np.float64] = (losses * weights[:, None]).sum(axis=0) / weights.sum()
    return found


def mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The same of one column."""
    return float((values * weights).sum() / weights.sum())


def standard_error(values: NDArray[np.float64], weights: NDArray[np.float64], count: float | None = None) -> float:
    """Standard error of a weighted mean of values, as if over ``count`` of them."""
    error = standard_errors(values[:, None], weights)[0]
    return float(error if count is None else error * np.sqrt(values.size / count))


def standard_errors(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard errors of the weighted means of columns: heavy rows count as few."""
    difference = (values - means(values, weights)) * weights[:, None]
    unit = np.abs(difference).max(axis=0, initial=0.0)
    shares = np.divide(difference, unit, out=np.zeros_like(difference), where=unit > 0)
    errors: NDArray[np.float64] = unit * np.sqrt((shares * shares).sum(axis=0)) / weights.sum()
    return errors


def clear_losers(losses: NDArray[np.float64], weights: NDArray[np.float64], lead: int) -> NDArray[np.bool_]:
    """Which columns are worse than the leading one beyond doubt, row by row compared."""
    difference = losses - losses[:, [lead]]
    behind_by = means(difference, weights)
    spread = standard_errors(difference, weights)
    return is_behind(behind_by, spread, mean(losses[:, lead], weights))


def is_behind(behind_by: NDArray[np.float64], errors: NDArray[np.float64], best: float) -> NDArray[np.bool_]:
    """Whether differences to the best mean loss are beyond doubt, and worth telling."""
    behind: NDArray[np.bool_] = behind_by > np.maximum(_CLEAR * errors, _WORTH_TELLING * abs(best))
    return behind


def ties(losses: NDArray[np.float64], weights: NDArray[np.float64], lead: int) -> Sequence[int]:
    """Which columns are as good as the leading one, as far as these rows can tell."""
    difference = losses - losses[:, [lead]]
    behind_by = means(difference, weights)
    spread = standard_errors(difference, weights)
    return [int(k) for k in np.flatnonzero(behind_by <= _TIED * spread)]


def worth_keeping(losers: NDArray[np.bool_], lead: int) -> Sequence[int]:
    """Places of the candidates to go on with, of those ordered from cautious to bold.

    The best step size only ever falls as rows come, so that a bold loser has lost for good; the next more cautious
    than the leader stays, because its time may come.
    """
    return [k for k in range(losers.size) if not losers[k] or k == lead - 1]
