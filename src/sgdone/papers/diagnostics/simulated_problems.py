"""The problems of Chee & Toulis (2018), section 4.3, and the grids that methods are tuned on."""

from typing import NamedTuple, final

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from sgdone.losses import Logistic, Squared
from sgdone.losses.loss import Loss
from sgdone.papers.diagnostics.models import GaussianModel, binary, decaying, normal
from sgdone.papers.diagnostics.tuning import Setting, settings_of
from sgdone.papers.tables import Array

#: Models: the normal one, the logistic one with x ~ N(0, I) as the paper has it, and with features scaled to an SNR.
NORMAL, LOGISTIC, SCALED = "normal", "logistic", "logistic, features scaled to the SNR"
#: First steps in units of 1/(L·E‖x‖²), L the loss's smoothness; SVRG needs small ones.
_STEPS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
_SVRG_STEPS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
#: Decays of classical steps in units of L times the variance of a feature.
_DECAYS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(200)


@final
class SimulatedProblem(NamedTuple):
    """One problem."""

    #: One of `NORMAL`, `LOGISTIC` and `SCALED`.
    model: str
    #: None where x ~ N(0, I) and θ* settle it.
    snr: float | None
    n_features: int

    @property
    def label(self) -> str:
        """Name of the panels."""
        ratio = "" if self.snr is None else f"SNR {self.snr:g}, "
        return f"{ratio}p = {self.n_features}"

    @property
    def logistic(self) -> bool:
        """Whether the outcome is binary."""
        return self.model != NORMAL

    @property
    def loss(self) -> Loss:
        """Loss of the model's likelihood."""
        return Logistic() if self.logistic else Squared()

    @property
    def scale(self) -> float:
        """Standard deviation of a feature: 1, and in `SCALED` the one that gives the signal-to-noise ratio.

        tr Var x/(p·Var(y|x)) is scale²/E[q(1 − q)], q = 1/(1 + exp(−xᵀθ*)): as θ* is given, nothing else can be set.

        Examples
        --------
        >>> round(SimulatedProblem(SCALED, 5.0, 10).scale, 3), SimulatedProblem(NORMAL, 5.0, 10).scale
        (0.695, 1.0)
        """
        if self.model != SCALED or self.snr is None:
            return 1.0
        ratio, size = self.snr, float(np.linalg.norm(decaying(self.n_features)))
        return float(brentq(lambda scale: scale**2 - ratio * _variance(scale * size), 1e-3, 10.0))

    def data_model(self) -> GaussianModel:
        """Distribution of rows and outcomes."""
        response = binary if self.snr is None or self.logistic else normal(1.0 / np.sqrt(self.snr))
        return GaussianModel(decaying(self.n_features), self.scale * np.eye(self.n_features), response)

    def minimiser(self, X: Array, y: Array) -> Array:
        """Minimiser of the mean loss over the rows."""
        if not self.logistic:
            return np.asarray(np.linalg.lstsq(X, y, rcond=None)[0])
        fit = LogisticRegression(C=np.inf, fit_intercept=False, solver="newton-cholesky", tol=1e-8, max_iter=1000)
        return np.asarray(fit.fit(X, y).coef_[0])

    def settings(self, method: str, n_rows: int) -> list[Setting]:
        """The grid of a method's parameters."""
        curvature = (0.25 if self.logistic else 1.0) * self.scale**2
        unit = 1.0 / (curvature * self.n_features)
        steps, svrg_steps, decays = (
            [size * value for value in values]
            for size, values in ((unit, _STEPS), (unit, _SVRG_STEPS), (curvature, _DECAYS))
        )
        return settings_of(method, steps, svrg_steps, decays, n_rows)


def _variance(spread: float) -> float:
    """E[q(1 − q)] for the score xᵀθ* ~ N(0, spread²)."""
    q: Array = expit(spread * _NODES)
    return float(_WEIGHTS @ (q * (1.0 - q)) / _WEIGHTS.sum())
