"""Summary statistics of margins."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ROUNDING = 2.0**-40


@final
@dataclass(frozen=True)
class MarginStatistics:
    """Location, spread and skewness of margins, and the fraction of small margins.

    A margin is the label ±1 times the score. ``wrong`` is the fraction of margins ≤ 0, ``below`` the fraction below γ.
    The standard deviation divides by n. The skewness of equal margins is 0.

    Examples
    --------
    >>> numbers = MarginStatistics.of(np.array([-1.0, 0.5, 1.0, 1.5, 2.0]), gamma=1.0)
    >>> numbers.mean, numbers.median, numbers.wrong, numbers.below
    (0.8, 1.0, 0.2, 0.4)
    """

    mean: float
    median: float
    standard_deviation: float
    lower_quartile: float
    upper_quartile: float
    skew: float
    wrong: float
    below: float

    @classmethod
    def of(cls, margins: Array, gamma: float, weights: Array | None = None) -> "MarginStatistics":
        """Statistics of at least one finite margin, optionally weighted."""
        if weights is not None:
            margins, weights = margins[weights > 0.0], weights[weights > 0.0]
        mean = _mean(margins, weights)
        away = margins - mean
        spread = float(np.abs(away).max())
        deviation, skew = 0.0, 0.0
        # By rounding, equal margins may differ in their last digits.
        if spread > _ROUNDING * abs(mean):
            away /= spread
            second, third = _mean(away * away, weights), _mean(away * away * away, weights)
            deviation, skew = spread * second**0.5, third / second**1.5
        lower, median, upper = _quantiles(margins, weights)
        return cls(
            mean,
            median,
            deviation,
            lower,
            upper,
            skew,
            _mean((margins <= 0.0).astype(np.float64), weights),
            _mean((margins < gamma).astype(np.float64), weights),
        )


def _mean(values: Array, weights: Array | None) -> float:
    return float(np.mean(values)) if weights is None else float(weights @ values / np.sum(weights))


def _quantiles(margins: Array, weights: Array | None) -> tuple[float, float, float]:
    """Quartiles: inverse of the weighted distribution function at ¼, ½, ¾; the midpoint where it is flat."""
    shares = np.array([0.25, 0.5, 0.75])
    if weights is None:
        lower, median, upper = np.quantile(margins, shares, method="averaged_inverted_cdf")
        return float(lower), float(median), float(upper)
    used = np.flatnonzero(weights)
    order = used[np.argsort(margins[used], kind="stable")]
    values, shares_so_far = margins[order], np.cumsum(weights[order])
    shares_so_far /= shares_so_far[-1]
    first = np.searchsorted(shares_so_far, shares - _ROUNDING)
    after = np.minimum(np.searchsorted(shares_so_far, shares + _ROUNDING), values.size - 1)
    lower, median, upper = values[first] + 0.5 * (values[after] - values[first])
    return float(lower), float(median), float(upper)
