"""The eight simulated problems of Chee & Toulis (2018), section 4.3."""

from typing import NamedTuple, final

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from sgdone.losses import Logistic, Squared
from sgdone.losses.base import Loss
from sgdone.papers.diagnostics.courses import (
    CLASSICAL,
    HALF,
    VARIANCE_REDUCED,
    Setting,
    classical_settings,
    half_settings,
    svrg_settings,
)
from sgdone.papers.diagnostics.models import Array, GaussianModel, binary, decaying, normal

METHODS = (HALF, VARIANCE_REDUCED, CLASSICAL)
#: First steps in units of 1/(L·E‖x‖²), L the loss's smoothness; SVRG takes but small ones.
_STEPS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_SVRG_STEPS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
#: Decays of classical steps in units of L times the variance of a feature.
_DECAYS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(200)


@final
class Panel(NamedTuple):
    """One problem."""

    model: str
    snr: float
    n_features: int

    @property
    def label(self) -> str:
        """As a claim names it."""
        return f"{self.model}, SNR {self.snr:g}, p = {self.n_features}"

    @property
    def logistic(self) -> bool:
        """Whether the outcome is binary."""
        return self.model == "logistic"

    @property
    def loss(self) -> Loss:
        """That of the model's likelihood."""
        return Logistic() if self.logistic else Squared()

    @property
    def scale(self) -> float:
        """Standard deviation of a feature: 1, and for binary outcomes what the signal-to-noise ratio asks for.

        tr Var x/(p·Var(y|x)) is scale²/E[q(1 − q)], q = 1/(1 + exp(−xᵀθ*)): as θ* is given, nothing else can be set.

        Examples
        --------
        >>> round(Panel("logistic", 5.0, 10).scale, 3), Panel("normal", 5.0, 10).scale
        (0.695, 1.0)
        """
        if not self.logistic:
            return 1.0
        size = float(np.linalg.norm(decaying(self.n_features)))
        return float(brentq(lambda scale: scale**2 - self.snr * _variance(scale * size), 1e-3, 10.0))

    def data_model(self) -> GaussianModel:
        """How rows and outcomes are drawn."""
        response = binary if self.logistic else normal(1.0 / np.sqrt(self.snr))
        return GaussianModel(decaying(self.n_features), self.scale * np.eye(self.n_features), response)

    def minimiser(self, X: Array, y: Array) -> Array:
        """Of the mean loss over the rows."""
        if not self.logistic:
            return np.asarray(np.linalg.lstsq(X, y)[0])
        fit = LogisticRegression(C=np.inf, fit_intercept=False, solver="newton-cholesky", tol=1e-8, max_iter=1000)
        return np.asarray(fit.fit(X, y).coef_[0])

    def settings(self, method: str, n_rows: int) -> list[Setting]:
        """What a method's parameters are chosen from."""
        curvature = (0.25 if self.logistic else 1.0) * self.scale**2
        unit = 1.0 / (curvature * self.n_features)
        if method == HALF:
            return half_settings([unit * step for step in _STEPS], (n_rows // 100, n_rows // 10))
        if method == VARIANCE_REDUCED:
            return svrg_settings([unit * step for step in _SVRG_STEPS], (n_rows, 2 * n_rows))
        return classical_settings([unit * step for step in _STEPS], [curvature * decay for decay in _DECAYS])


def _variance(spread: float) -> float:
    """E[q(1 − q)] for the score xᵀθ* ~ N(0, spread²)."""
    q: Array = expit(spread * _NODES)
    return float(_WEIGHTS @ (q * (1.0 - q)) / _WEIGHTS.sum())
