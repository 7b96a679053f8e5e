"""Measured numbers: means and their standard errors, and both as text."""

import math

import numpy as np
from numpy.typing import NDArray

#: Variance of the loss between fits to samples of n rows, relative to that of the validation loss, over the number of
#: coefficients per row: with this factor 95 % of the true losses lie within 1.96 of the verdict's standard errors
#: (``python -m tests.honesty errors``); without it, 86 % of fits to 60 rows.
FIT_VARIANCE = 3.0


def measured(value: float, error: float) -> str:
    """Format a number with three significant digits and its standard error with two.

    Examples
    --------
    >>> measured(0.064428, 0.01834), measured(1507.3, 101.2), measured(0.5, float("nan"))
    ('0.0644 ± 0.018', '1,507 ± 101', '0.5')
    """
    return f"{_rounded(value, 3)} ± {_rounded(error, 2)}" if math.isfinite(error) else _rounded(value, 3)


def _rounded(value: float, digits: int) -> str:
    """A number as text, without an exponent where that is easier to read."""
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"


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


def standard_errors(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard errors of the weighted means of columns."""
    difference = (values - means(values, weights)) * weights[:, None]
    unit = np.abs(difference).max(axis=0, initial=0.0)
    shares = np.divide(difference, unit, out=np.zeros_like(difference), where=unit > 0)
    errors: NDArray[np.float64] = unit * np.sqrt((shares * shares).sum(axis=0)) / weights.sum()
    return errors


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
