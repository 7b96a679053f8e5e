"""What is measured of a fit: its seconds, and how well it predicts rows that it has not seen."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from no_knobs_data import Part


@dataclass(frozen=True)
class Measured:
    """A fit: ``setting`` is what was given to it, ``note`` what is to be known beside the numbers."""

    #: Wall seconds of the fit alone.
    seconds: float
    #: Mean logarithmic loss of the test rows, or the root of their mean squared error.
    loss: float
    #: The share of test rows predicted wrong, or of their variance that is not explained, 1 − R².
    error: float
    setting: str = ""
    passes: float = float("nan")
    note: str = ""

    def __str__(self) -> str:
        passes = f", {self.passes:.3g} passes" if np.isfinite(self.passes) else ""
        setting, note = f"{self.setting}: " if self.setting else "", f" ({self.note})" if self.note else ""
        return f"{setting}{self.seconds:.3g} s{passes}, loss {self.loss:.4g}, error {100 * self.error:.4g} %{note}"


def timed(fit: Callable[[], Any]) -> tuple[Any, float, str]:
    """What a fit returns, its seconds, and a note if it says that it has not converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        fitted = fit()
        seconds = time.perf_counter() - start
    unfinished = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    return fitted, seconds, "not converged" if unfinished else ""


def measured(model: Any, part: Part, setting: str = "") -> Measured:
    """Fit an estimator and judge it."""
    model, seconds, note = timed(lambda: model.fit(part.X, part.y))
    if part.is_regression:
        loss, error = judge_values(model.predict(part.X_test), part.y_test)
    else:
        loss, error = judge_probabilities(model.predict_proba(part.X_test), model.classes_, part.y_test)
    return Measured(seconds, loss, error, setting, note=note)


def judge_probabilities(p: NDArray[Any], classes: NDArray[Any], y: NDArray[Any]) -> tuple[float, float]:
    """Logarithmic loss and share of wrong predictions; a probability of 0 counts as 2·10⁻¹⁶, a loss of 36."""
    return float(log_loss(y, p, labels=classes)), float(np.mean(classes[p.argmax(axis=1)] != y))


def judge_values(predicted: NDArray[Any], y: NDArray[Any]) -> tuple[float, float]:
    """The root of the mean squared error, and 1 − R²."""
    mean_square = float(np.mean((predicted - y) ** 2))
    return float(np.sqrt(mean_square)), mean_square / float(np.var(y))


def scaled(part: Part) -> tuple[Part, float]:
    """The rows as linear models usually get them, each feature scaled, and the seconds that it took to learn that."""
    scaler = MaxAbsScaler() if sparse.issparse(part.X) else StandardScaler()
    start = time.perf_counter()
    X = scaler.fit_transform(part.X)
    seconds = time.perf_counter() - start
    return replace(part, X=X, X_test=scaler.transform(part.X_test)), seconds
