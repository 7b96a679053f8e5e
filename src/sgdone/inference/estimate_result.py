"""The result of an estimation: coefficients, their covariance, and refusals."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.covariance import Covariance
from sgdone.inference.layout import Layout
from sgdone.inference.prediction import Predictor
from sgdone.inference.refusals import Refusal

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Estimate:
    """Result of an estimation.

    Attributes
    ----------
    coef : ndarray
        Coefficients of the summary.
    refused : dict
        Refusals by position.
    coefficients : int
        Number of coefficients estimated.
    loss : float
        Summed loss at these coefficients.
    covariance : Covariance or None
        Covariance of the coefficients; None if all of them are refused.
    predictor : Predictor or None
        For intervals of predictions; None if there are none.
    monte_carlo_error : float
        Relative error of the standard errors that comes from random numbers.
    attained : bool
        Whether the likelihood has a maximum; otherwise some coefficients are infinite.
    """

    coef: Array
    refused: dict[int, Refusal]
    coefficients: int = 0
    loss: float = np.nan
    covariance: Covariance | None = None
    predictor: Predictor | None = None
    monte_carlo_error: float = 0.0
    attained: bool = True

    @classmethod
    def nothing(cls, layout: Layout, refusal: Refusal) -> "Estimate":
        """All coefficients refused, for one reason."""
        return cls(np.full(layout.size, np.nan), dict.fromkeys(range(layout.size), refusal))
