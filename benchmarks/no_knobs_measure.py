"""What is measured of a fit: its seconds, and the loss and error of each test row."""

import math
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from threadpoolctl import threadpool_limits

from no_knobs_data import Part

#: A fit that takes fewer seconds is repeated, and the least time counts.
_SHORT, _REPEATS = 0.05, 3
#: A fit that takes more seconds with one thread is not timed with all threads, unless it must be.
LONG = 5.0
_ALL_THREADS = os.cpu_count() or 1
HOW_TIMED = (
    f"Seconds: the faster of one thread of the linear algebra and all {_ALL_THREADS}, for each fit. Fits of less than "
    f"{1000 * _SHORT:.0f} ms: the least of {_REPEATS} repeats. Fits of more than {LONG:g} s: one thread only, but "
    "ours and the five fits always with both."
)


@dataclass(frozen=True, eq=False)
class Measured:
    """A fit; ``setting`` is what it was given, ``note`` what to know beside the numbers."""

    #: Seconds of the fit alone, with one thread of the linear algebra and with all; NaN if not measured.
    seconds_one: float
    seconds_all: float
    #: Mean of the test rows: logarithmic loss, or half the squared error.
    loss: float
    #: Share of test rows predicted wrong, or share of their variance not explained, 1 − R².
    error: float
    setting: str = ""
    passes: float = float("nan")
    #: What the verdict says further optimisation could gain on the training objective.
    decrement: float = float("nan")
    note: str = ""
    #: Loss and error of each test row, for the standard error of a single split.
    rows: NDArray[np.float32] | None = field(default=None, repr=False)

    @property
    def seconds(self) -> float:
        """Seconds at the faster number of threads."""
        return min((s for s in (self.seconds_all, self.seconds_one) if not math.isnan(s)), default=math.nan)

    def __str__(self) -> str:
        passes = f", {self.passes:.3g} passes" if np.isfinite(self.passes) else ""
        setting, note = f"{self.setting}: " if self.setting else "", f" ({self.note})" if self.note else ""
        seconds = f"{self.seconds_one:.3g} s with one thread, {self.seconds_all:.3g} s with all"
        return f"{setting}{seconds}{passes}, loss {self.loss:.4g}, error {100 * self.error:.4g} %{note}"


@dataclass(frozen=True)
class Timed:
    """What a fit returned, and its seconds."""

    fitted: Any
    seconds_one: float
    seconds_all: float
    note: str


def time_fit(fit: Callable[[int], Any], *, both: bool = False) -> Timed:
    """Time ``fit(threads)`` with one thread and with all; with ``both`` also if it takes long.

    The note says if a fit warned that it has not converged.
    """
    fitted, seconds_one, note = _least_time(fit, 1)
    seconds_all = math.nan
    if both or seconds_one < LONG:
        fitted, seconds_all, note = _least_time(fit, _ALL_THREADS)
    return Timed(fitted, seconds_one, seconds_all, note)


def _least_time(fit: Callable[[int], Any], threads: int) -> tuple[Any, float, str]:
    seconds: list[float] = []
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(threads):
        warnings.simplefilter("always")
        while len(seconds) < (_REPEATS if not seconds or seconds[0] < _SHORT else 1):
            start = time.perf_counter()
            fitted = fit(threads)
            seconds.append(time.perf_counter() - start)
    unfinished = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    return fitted, min(seconds), "not converged" if unfinished else ""


def measured(model: Any, part: Part, setting: str = "", *, both: bool = False) -> Measured:
    """Fit an estimator and measure its predictions."""
    timed = time_fit(lambda threads: model.fit(part.X, part.y), both=both)
    if part.is_regression:
        return judge_values(timed, model.predict(part.X_test), part, setting)
    return judge_probabilities(timed, model.predict_proba(part.X_test), part, setting)


def judge_probabilities(timed: Timed, p: NDArray[Any], part: Part, setting: str = "") -> Measured:
    """Logarithmic loss and share of wrong predictions; a probability of 0 counts as 2·10⁻¹⁶, a loss of 36."""
    places = np.searchsorted(part.classes, part.y_test)
    p_true = np.asarray(p, dtype=np.float64)[np.arange(places.size), places]
    losses = -np.log(np.clip(p_true, np.finfo(np.float64).eps, 1.0))
    return _measured(timed, losses, p.argmax(axis=1) != places, setting)


def judge_values(timed: Timed, predicted: NDArray[Any], part: Part, setting: str = "") -> Measured:
    """Half the squared error, and 1 − R²."""
    squares = (predicted - part.y_test) ** 2
    return _measured(timed, squares / 2, squares / np.var(part.y_test), setting)


def _measured(timed: Timed, losses: NDArray[Any], errors: NDArray[Any], setting: str) -> Measured:
    return Measured(
        timed.seconds_one,
        timed.seconds_all,
        float(losses.mean()),
        float(errors.mean()),
        setting,
        note=timed.note,
        rows=np.array([losses, errors], dtype=np.float32),
    )


@dataclass(frozen=True, eq=False)
class Scaled:
    """Rows as linear models usually get them, each feature scaled, and the seconds of fitting the scaler."""

    part: Part
    seconds: float

    def charge(self, fit: Measured, share: float = 1.0) -> Measured:
        """Add the seconds of the scaler, or a share of them, to those of a fit."""
        extra = share * self.seconds
        return replace(fit, seconds_one=fit.seconds_one + extra, seconds_all=fit.seconds_all + extra)


def scaled(part: Part) -> Scaled:
    """Scale by `StandardScaler`, or `MaxAbsScaler` for sparse rows."""
    scaler = MaxAbsScaler() if sparse.issparse(part.X) else StandardScaler()
    X, seconds, _ = _least_time(lambda threads: scaler.fit_transform(part.X), 1)
    return Scaled(replace(part, X=X, X_test=scaler.transform(part.X_test)), seconds)
