"""Data sets of Chee & Toulis (2018), section 4.4, and the grids that learning parameters are chosen from."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone import datasets
from sgdone.data import ArraySource
from sgdone.papers.diagnostics.courses import (
    AVERAGED,
    CLASSICAL,
    HALF,
    VARIANCE_REDUCED,
    Quantity,
    Setting,
    averaged_settings,
    classical_settings,
    half_settings,
    svrg_settings,
)

METHODS = (HALF, VARIANCE_REDUCED, CLASSICAL, AVERAGED)
#: First steps in units of 1/(L·mean of ‖x‖² + 1), L = ¼.
_STEPS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_SVRG_STEPS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
#: Decays in units of L times the mean square of a feature.
_DECAYS = (1e-4, 1e-3, 1e-2, 1e-1)
#: One in so many training rows is kept to choose parameters on.
_VALIDATION = 5

Floats = NDArray[np.float32]


@final
@dataclass(frozen=True)
class Rows:
    """Rows and their labels −1 and 1."""

    X: Floats
    y: NDArray[np.float64]

    def source(self) -> ArraySource:
        """Read in passes of random order."""
        return ArraySource(self.X, self.y)

    def error(self) -> Quantity:
        """The fraction predicted wrongly."""
        return lambda coef, intercept: float(
            np.mean((self.X @ coef.astype(np.float32) + intercept > 0) != (self.y > 0))
        )


@final
@dataclass(frozen=True)
class Benchmark:
    """Training rows, the two parts of them that parameters are chosen on, and test rows."""

    train: Rows
    fit: Rows
    validation: Rows
    test: Rows

    @classmethod
    def load(cls, name: str, limit: int | None, standardise: bool, rng: np.random.Generator) -> "Benchmark":
        """Pixels are divided by the largest of them, other features standardised, both by the training rows.

        Parameters
        ----------
        name : str
            As `datasets.load` has it.
        limit : int, optional
            Use so many training rows, chosen at random.
        standardise : bool
            Whether to shift and scale each feature, or to divide all by the largest.
        rng : numpy.random.Generator
            Chooses rows.
        """
        train, test = (datasets.load(name, subset=subset, dtype=np.float32) for subset in ("train", "test"))
        order = rng.permutation(len(train.y))[:limit]
        X, y = train.X[order], train.y[order].astype(np.float64)
        shift, scale = np.zeros(X.shape[1]), np.full(X.shape[1], float(X.max()))
        if standardise:
            shift, scale = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
            scale[scale == 0] = 1.0
        X, X_test = (((rows - shift) / scale).astype(np.float32) for rows in (X, test.X))
        cut = len(y) // _VALIDATION
        return cls(Rows(X, y), Rows(X[cut:], y[cut:]), Rows(X[:cut], y[:cut]), Rows(X_test, test.y.astype(np.float64)))

    def settings(self, method: str, n_rows: int) -> list[Setting]:
        """What a method's parameters are chosen from, for so many training rows."""
        square = float(np.mean(np.einsum("ij,ij->i", self.train.X, self.train.X, dtype=np.float64)))
        unit = 1.0 / (0.25 * (square + 1.0))
        steps = [unit * step for step in _STEPS]
        decays = [0.25 * square / self.train.X.shape[1] * decay for decay in _DECAYS]
        if method == HALF:
            return half_settings(steps, (n_rows // 100, n_rows // 10))
        if method == VARIANCE_REDUCED:
            return svrg_settings([unit * step for step in _SVRG_STEPS], (n_rows, 2 * n_rows))
        return (classical_settings if method == CLASSICAL else averaged_settings)(steps, decays)
