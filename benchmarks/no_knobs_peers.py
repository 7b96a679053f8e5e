"""What people use instead: a scaler and a search of C, an exact fit at C = 1, or SGD with its defaults."""

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Ridge, RidgeCV, SGDClassifier, SGDRegressor

import no_knobs_packages
import no_knobs_vowpal
from contenders.contender import MissingError
from no_knobs_data import Part
from no_knobs_measure import LONG, Measured, measured, scaled

#: C of logistic regression; the alphas of ridge regression are their inverses.
CHOICES = (0.01, 0.1, 1.0, 10.0, 100.0)
#: The grid of ``LogisticRegressionCV(Cs=20)``.
GRID = tuple(np.logspace(-4, 4, 20).tolist())
_ITERATIONS = 1000
#: Values of C and folds of a search, the first that there is time for.
_SEARCHES = ((GRID, 5), (CHOICES, 5), (CHOICES, 3))


@dataclass(frozen=True)
class Circumstances:
    """What a peer may need to know."""

    seed: int
    #: Seconds that a peer may take on all splits of a set; None for no limit.
    patience: float | None
    n_splits: int = 1
    #: The five fits of the same rows, made before all others.
    five: Sequence[Measured] = ()


@dataclass(frozen=True)
class Peer:
    """A column of the tables: its heading, its fit and its package."""

    heading: str
    fit: Callable[[Part, Circumstances], list[Measured]]
    package: str = "scikit-learn"

    @property
    def version(self) -> str:
        """The package's version, if it is installed."""
        try:
            return f"{self.package} {importlib.metadata.version(self.package)}"
        except importlib.metadata.PackageNotFoundError:
            return self.package


def five(part: Part, around: Circumstances) -> list[Measured]:
    """A fit for each C; they share the time of the scaler, which is fitted once."""
    rows = scaled(part)
    fits = []
    for C in CHOICES:
        model = Ridge(alpha=1.0 / C) if part.is_regression else LogisticRegression(C=C, max_iter=_ITERATIONS)
        setting = f"alpha={1.0 / C:g}" if part.is_regression else f"C={C:g}"
        found = measured(model, rows.part, setting, both=True)
        fits.append(rows.charge(found, 1.0 / len(CHOICES)))
    return fits


def cross_validated(part: Part, around: Circumstances) -> list[Measured]:
    """The C that cross-validation chooses by the loss that all are judged by."""
    rows = scaled(part)
    if part.is_regression:
        model: Any = RidgeCV(alphas=[1.0 / C for C in GRID])
        found = measured(model, rows.part)
        return [rows.charge(replace(found, setting=f"alpha={model.alpha_:.3g}"))]
    choices, folds = _affordable_search(around)
    model = LogisticRegressionCV(Cs=list(choices), cv=folds, scoring="neg_log_loss", max_iter=_ITERATIONS)
    found = measured(model, rows.part)
    less = "" if (choices, folds) == _SEARCHES[0] else f" of {len(choices)}, cv={folds}"
    return [rows.charge(replace(found, setting=f"C={np.ravel(model.C_)[0]:.3g}{less}"))]


def _affordable_search(around: Circumstances) -> tuple[tuple[float, ...], int]:
    """The first search that there is time for, to judge by the seconds of the five fits.

    A search of m values with k folds fits (k − 1) · m / 5 times as many rows as the five fits, then all rows once.
    A search that is not long is timed twice.
    """
    if around.patience is None:
        return _SEARCHES[0]
    total, longest = (how(one.seconds for one in around.five) for how in (sum, max))
    for choices, folds in _SEARCHES:
        once = (folds - 1) * len(choices) / len(CHOICES) * total + longest
        foreseen = around.n_splits * once * (2 if once < LONG else 1)
        if foreseen <= around.patience:
            return choices, folds
    raise MissingError(f"{folds} folds would take about {foreseen:,.0f} s, with a limit of {around.patience:,.0f} s")


def newton_cholesky(part: Part, around: Circumstances) -> list[Measured]:
    """The exact fit at C = 1."""
    if part.is_regression:
        raise MissingError("classification only; Ridge is exact")
    no_knobs_packages.check_hessian(part)
    rows = scaled(part)
    model = LogisticRegression(solver="newton-cholesky", max_iter=_ITERATIONS)
    return [rows.charge(measured(model, rows.part))]


def sgd_raw(part: Part, around: Circumstances) -> list[Measured]:
    """SGD with its defaults on the rows as they are."""
    return [_sgd(part, around)]


def sgd_scaled(part: Part, around: Circumstances) -> list[Measured]:
    """SGD with its defaults on scaled rows."""
    rows = scaled(part)
    return [rows.charge(_sgd(rows.part, around))]


def _sgd(part: Part, around: Circumstances) -> Measured:
    seed = around.seed + part.number
    model = SGDRegressor(random_state=seed) if part.is_regression else SGDClassifier(loss="log_loss", random_state=seed)
    found = measured(model, part)
    return replace(found, passes=float(model.n_iter_))


#: All columns but our own, by the names that ``--peers`` takes; "cv" needs the times of "five".
PEERS = {
    "five": Peer("best of five C", five),
    "cv": Peer("C by CV", cross_validated),
    "newton-cholesky": Peer("newton-cholesky", newton_cholesky),
    "glum": Peer("glum", no_knobs_packages.glum, "glum"),
    "snapml": Peer("Snap ML", no_knobs_packages.snap, "snapml"),
    "vw": Peer("VW", no_knobs_vowpal.vowpal, "vowpalwabbit"),
    "sgd": Peer("SGD raw", sgd_raw),
    "sgd-scaled": Peer("SGD scaled", sgd_scaled),
}
