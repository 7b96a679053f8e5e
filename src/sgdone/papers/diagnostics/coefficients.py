"""Coefficients of a linear regression with their standard errors, as Table 1 of Chee & Toulis (2018) reports them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


class Coefficient(NamedTuple):
    """An estimate, its standard error, and the two-sided p-value and 95 % interval of Student's t."""

    estimate: float
    error: float
    p: float
    low: float
    high: float

    @property
    def stars(self) -> str:
        """The paper's marks: *** below 0.1 %, ** 1 %, * 5 %, . 10 %."""
        return next(
            (mark for mark, level in (("***", 1e-3), ("**", 0.01), ("*", 0.05), (".", 0.1)) if self.p < level), ""
        )

    @property
    def significant(self) -> bool:
        """At 5 %."""
        return self.p < 0.05


def least_squares(response: ArrayLike, *regressors: ArrayLike) -> list[Coefficient]:
    """Coefficients of the regressors; there is an intercept, which is left out of the answer.

    Examples
    --------
    >>> x = np.arange(6.0)
    >>> slope, = least_squares(2 * x + [0.1, -0.1, 0, 0, -0.1, 0.1], x)
    >>> round(slope.estimate, 6), round(slope.error, 4), slope.stars
    (2.0, 0.0239, '***')
    """
    y = np.asarray(response, float)
    X = np.column_stack([np.ones(y.size), *(np.asarray(column, float) for column in regressors)])
    # Columns of one size: E₀ is of order 100, τ of 1000.
    sizes = np.abs(X).max(axis=0)
    Q, R = np.linalg.qr(X / sizes)
    estimates = np.linalg.solve(R, Q.T @ y) / sizes
    freedom = y.size - X.shape[1]
    residuals = y - X @ estimates
    errors = np.sqrt(residuals @ residuals / freedom * np.sum(np.linalg.inv(R) ** 2, axis=1)) / sizes
    width = stats.t.ppf(0.975, freedom)
    return [
        Coefficient(
            float(b), float(e), float(2 * stats.t.sf(abs(b / e), freedom)), float(b - width * e), float(b + width * e)
        )
        for b, e in zip(estimates[1:], errors[1:], strict=True)
    ]
