"""Log-likelihood, and what is computed from it."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sgdone.inference.sample import Sample

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Likelihood:
    """Log-likelihood of a model and of the model with an intercept only.

    Parameters
    ----------
    log_likelihood, null_log_likelihood : float
        Of a normal distribution with the variance RSS/n if the loss is squared.
    rows : float
        Number of rows.
    coefficients, null_coefficients : int
        Number of coefficients, intercepts included.
    r2 : float
        McFadden's R², or that of least squares.
    """

    log_likelihood: float
    null_log_likelihood: float
    rows: float
    coefficients: int
    null_coefficients: int
    r2: float

    @property
    def ratio(self) -> float:
        """Twice the difference of the two."""
        return 2.0 * (self.log_likelihood - self.null_log_likelihood)

    @property
    def df(self) -> int:
        """Degrees of freedom of the test of all coefficients but the intercepts."""
        return self.coefficients - self.null_coefficients

    @property
    def p(self) -> float | None:
        """Probability of a larger ratio if these coefficients are 0; None if there are none."""
        return float(stats.chi2.sf(self.ratio, self.df)) if self.df else None

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return 2.0 * self.coefficients - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's information criterion."""
        return float(np.log(self.rows)) * self.coefficients - 2.0 * self.log_likelihood


def likelihood(sample: Sample, loss: float, coefficients: int) -> Likelihood | None:
    """The likelihood at an optimum whose losses sum to ``loss``; None if there is none."""
    objective, rows = sample.objective, sample.n_rows
    if sample.weights != "frequency" or objective.predicts == "one_vs_rest":
        return None
    if not (objective.loss.probabilistic or (objective.is_regression and objective.loss.quadratic)):
        return None
    null = sample.null_loss()
    intercepts = objective.n_free_outputs * int(objective.fit_intercept)
    if not objective.is_regression:
        r2 = 1.0 - loss / null if null > 0 else np.nan
        return Likelihood(-loss, -null, rows, coefficients, intercepts, r2)
    r2 = 1.0 - loss / null if null > 0 else np.nan
    return Likelihood(_normal(loss, rows), _normal(null, rows), rows, coefficients, intercepts, r2)


def _normal(loss: float, rows: float) -> float:
    """Log-likelihood of residuals whose halved squares sum to ``loss``, with the variance that fits them best."""
    variance = max(2.0 * loss / rows, float(np.finfo(np.float64).tiny))
    return float(-0.5 * rows * (np.log(2.0 * np.pi * variance) + 1.0))
