"""The data sets of Chee & Toulis (2018), section 4.4, and the grids that methods are tuned on."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone import datasets
from sgdone.papers.diagnostics.tuning import Setting, settings_of
from sgdone.papers.runs import Quantity
from sgdone.rows import ArraySource

#: First steps in units of 1/(L·mean of ‖x‖² + 1), L = ¼, and more of them for features of unlike sizes.
_STEPS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_LARGER_STEPS = (100.0, 300.0, 1000.0, 3000.0)
_SVRG_STEPS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_LARGER_SVRG_STEPS = (10.0, 30.0)
#: Decays in units of L times the mean square of a feature.
_DECAYS = (1e-4, 1e-3, 1e-2, 1e-1)
#: One training row in this number is kept to choose parameters on.
_VALIDATION = 5


@final
@dataclass(frozen=True)
class BenchmarkRows:
    """Rows and their labels −1 and 1."""

    X: NDArray[np.float32]
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

    train: BenchmarkRows
    fit: BenchmarkRows
    validation: BenchmarkRows
    test: BenchmarkRows

    @classmethod
    def load(cls, name: str, limit: int | None, standardise: bool, rng: np.random.Generator) -> "Benchmark":
        """Features are divided by the largest of all, or standardised, by the training rows.

        Parameters
        ----------
        name : str
            Name of the set in `datasets.load`.
        limit : int, optional
            Number of training rows, chosen at random; all if not given.
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
        return cls(
            BenchmarkRows(X, y),
            BenchmarkRows(X[cut:], y[cut:]),
            BenchmarkRows(X[:cut], y[:cut]),
            BenchmarkRows(X_test, test.y.astype(np.float64)),
        )

    def settings(self, method: str, n_rows: int, wide: bool) -> list[Setting]:
        """The grid of a method's parameters for a number of training rows; a wide one for features of unlike sizes."""
        square = float(np.mean(np.einsum("ij,ij->i", self.train.X, self.train.X, dtype=np.float64)))
        unit = 1.0 / (0.25 * (square + 1.0))
        decays = [0.25 * square / self.train.X.shape[1] * decay for decay in _DECAYS]
        steps = [unit * step for step in (*_STEPS, *(_LARGER_STEPS if wide else ()))]
        svrg_steps = [unit * step for step in (*_SVRG_STEPS, *(_LARGER_SVRG_STEPS if wide else ()))]
        return settings_of(method, steps, svrg_steps, decays, n_rows)
