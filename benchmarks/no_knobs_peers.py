"""What people use instead: a scaler and a search of C, or stochastic gradients with the defaults."""

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Ridge, RidgeCV, SGDClassifier, SGDRegressor

import no_knobs_vowpal
from contenders.contender import MissingError
from no_knobs_data import Part
from no_knobs_measure import Measured, measured, scaled

#: C of logistic regression; the alphas of ridge regression are their inverses.
CHOICES = (0.01, 0.1, 1.0, 10.0, 100.0)
_ITERATIONS = 1000
#: The folds of a search of C, and what to do with when so many would take too long.
_FOLDS = (5, 3)


@dataclass(frozen=True)
class Circumstances:
    """What a peer may want to know."""

    seed: int
    #: Seconds that a search of C may take.
    patience: float
    #: The five fits of the same rows, made before all others.
    five: Sequence[Measured] = ()


@dataclass(frozen=True)
class Peer:
    """A column of the tables: what it is called, how it is fitted, whose it is."""

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
    """A fit each C; the scaler, which need not be fitted again for each, is shared among them."""
    rows, scaling = scaled(part)
    fits = []
    for C in CHOICES:
        if part.is_regression:
            found = measured(Ridge(alpha=1.0 / C), rows, f"alpha={1.0 / C:g}")
        else:
            found = measured(LogisticRegression(C=C, max_iter=_ITERATIONS), rows, f"C={C:g}")
        fits.append(replace(found, seconds=found.seconds + scaling / len(CHOICES)))
    return fits


def cross_validated(part: Part, around: Circumstances) -> list[Measured]:
    """The C that cross-validation chooses by the loss that all are judged by."""
    rows, scaling = scaled(part)
    if part.is_regression:
        model: Any = RidgeCV(alphas=[1.0 / C for C in CHOICES])
        found = measured(model, rows)
        return [replace(found, seconds=found.seconds + scaling, setting=f"alpha={model.alpha_:g}")]
    folds = _affordable_folds(around)
    model = LogisticRegressionCV(Cs=list(CHOICES), cv=folds, scoring="neg_log_loss", max_iter=_ITERATIONS)
    found = measured(model, rows)
    setting = f"C={np.ravel(model.C_)[0]:g}" + (f", cv={folds}" if folds != _FOLDS[0] else "")
    return [replace(found, seconds=found.seconds + scaling, setting=setting)]


def _affordable_folds(around: Circumstances) -> int:
    """As many as there is time for: k folds fit k − 1 times as many rows as the five fits did, then all rows once."""
    total, longest = (how(one.seconds for one in around.five) for how in (sum, max))
    for folds in _FOLDS:
        if (folds - 1) * total + longest <= around.patience:
            return folds
    foreseen = (_FOLDS[-1] - 1) * total + longest
    raise MissingError(f"{_FOLDS[-1]} folds would take about {foreseen:,.0f} s, more than {around.patience:,.0f} s")


def sgd_raw(part: Part, around: Circumstances) -> list[Measured]:
    """Stochastic gradients with the defaults on the rows as they are."""
    return [_sgd(part, around)]


def sgd_scaled(part: Part, around: Circumstances) -> list[Measured]:
    """Stochastic gradients with the defaults on scaled rows."""
    rows, scaling = scaled(part)
    found = _sgd(rows, around)
    return [replace(found, seconds=found.seconds + scaling)]


def _sgd(part: Part, around: Circumstances) -> Measured:
    seed = around.seed + part.number
    model = SGDRegressor(random_state=seed) if part.is_regression else SGDClassifier(loss="log_loss", random_state=seed)
    try:
        found = measured(model, part)
    except ValueError as error:
        # Steps too large for the data end in numbers too large for the computer.
        raise MissingError(str(error).splitlines()[0]) from error
    return replace(found, passes=float(model.n_iter_))


#: All columns but our own, by the names that ``--peers`` takes; those that ask for others' times come later.
PEERS = {
    "five": Peer("best of five C", five),
    "cv": Peer("C by CV", cross_validated),
    "sgd": Peer("SGD raw", sgd_raw),
    "sgd-scaled": Peer("SGD scaled", sgd_scaled),
    "vw": Peer("VW", no_knobs_vowpal.vowpal, "vowpalwabbit"),
}
