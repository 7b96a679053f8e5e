"""The simulated data of ``coverage.py``: each cell is a model with known coefficients, from which samples are drawn."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse
from scipy.special import expit

from sgdone.inference import refusals

Array = NDArray[np.float64]
Kind = Literal["logistic", "linear"]
Design = Literal["identity", "toeplitz", "condition", "sparse"]

#: The intercept of features with mean 0, and the standard deviation of their score.
_INTERCEPT, _SCORE_SPREAD = 0.3, 1.0
#: Correlation of neighbouring columns, and the smallest eigenvalue of a covariance whose largest is 1.
_NEIGHBOURS, _SMALLEST = 0.5, 1e-3
#: Share of positives where they are rare.
_RARE = 0.05
#: Number of rows with an entry in sparse column j = 0, 1, …: most·((1 + offset)/(1 + j + offset))^power. With 4,000
#: columns of 150,000 rows that makes 13 entries a row, and 58 in the rarest column.
_MOST, _OFFSET, _POWER = 20_000, 30, 1.2


class Sampled(NamedTuple):
    """Rows and labels."""

    X: Any
    y: Array


class Truth(NamedTuple):
    """What a cell's samples have in common.

    Attributes
    ----------
    coefficients : ndarray
        The intercept and the coefficients, in the units of the data.
    mixing : ndarray
        What independent normal columns are multiplied by; empty for sparse rows.
    units, shift : ndarray
        Units and means of the columns; empty for sparse rows.
    sparse_rows : CSR matrix or None
        The rows, if they are sparse: the same in all samples.
    """

    coefficients: Array
    mixing: Array
    units: Array
    shift: Array
    sparse_rows: Any


@final
@dataclass(frozen=True)
class Cell:
    """A kind of data.

    Parameters
    ----------
    kind : {"logistic", "linear"}
        The model.
    n_rows, n_columns : int
        Size of a sample.
    design : {"identity", "toeplitz", "condition", "sparse"}
        Covariance of the columns, before they get units and means of their own; or sparse columns.
    rare : bool
        Whether 5 % of the labels are positive, instead of half of them.
    unequal : bool
        Whether the standard deviation of the errors is exp(z/2) for the first column z, instead of 1.
    """

    kind: Kind
    n_rows: int
    n_columns: int
    design: Design
    rare: bool = False
    unequal: bool = False

    @property
    def name(self) -> str:
        """A name for the command line."""
        size = f"{self.n_rows:.0e}".replace("e+0", "e") if self.design != "sparse" else f"{self.n_rows // 1000}k"
        extra = "-rare" * self.rare + "-unequal" * self.unequal
        return f"{self.kind}-{size}x{self.n_columns}-{self.design}{extra}"

    @property
    def covariances(self) -> tuple[Literal["robust", "classical"], ...]:
        """Covariances to estimate; the classical one is expected to be wrong."""
        return ("robust", "classical") if self.unequal else ("robust",)

    @property
    def seed(self) -> int:
        """A number made of the name."""
        return zlib.crc32(self.name.encode())

    def truth(self) -> Truth:
        """What the samples of the cell have in common."""
        return _truth(self)

    def sample(self, repetition: int) -> Sampled:
        """The rows and labels of a repetition."""
        rng, truth = np.random.default_rng([self.seed, 1, repetition]), self.truth()
        if truth.sparse_rows is not None:
            scores = truth.coefficients[0] + truth.sparse_rows @ truth.coefficients[1:]
            return Sampled(truth.sparse_rows, self._labels(rng, scores, np.zeros(self.n_rows)))
        columns = rng.standard_normal((self.n_rows, self.n_columns))
        if truth.mixing.size:
            columns = columns @ truth.mixing
        X = columns * truth.units + truth.shift
        return Sampled(X, self._labels(rng, truth.coefficients[0] + X @ truth.coefficients[1:], columns[:, 0]))

    def refused(self, y: Array) -> set[int]:
        """Positions of the columns that the documented rule refuses, because they vary in few rows."""
        X = self.truth().sparse_rows
        if X is None:
            return set()
        means = X.mean(axis=0)
        firsts, squares, cubes, fourths = (X.power(power).sum(axis=0) for power in (1, 2, 3, 4))
        about_mean = fourths - 4 * means * cubes + 6 * means**2 * squares - 4 * means**3 * firsts + means**4 * len(y)
        rows = (squares - means**2 * len(y)) ** 2 / about_mean
        fewest: float = refusals.FEWEST_ROWS
        if self.kind == "logistic":
            fewest = refusals.FEWEST_OF_CLASS["robust"] / min(y.mean(), 1.0 - y.mean())
        return set((1 + np.flatnonzero(rows < fewest)).tolist())

    def _labels(self, rng: np.random.Generator, scores: Array, first: Array) -> Array:
        if self.kind == "logistic":
            return (rng.random(self.n_rows) < expit(scores)).astype(np.float64)
        return scores + rng.standard_normal(self.n_rows) * (np.exp(0.5 * first) if self.unequal else 1.0)


@lru_cache(maxsize=2)
def _truth(cell: Cell) -> Truth:
    rng = np.random.default_rng([cell.seed, 0])
    if cell.design == "sparse":
        return _sparse_truth(cell, rng)
    mixing = _MIXING[cell.design](cell.n_columns, rng)
    standard = rng.standard_normal(cell.n_columns)
    standard *= _SCORE_SPREAD / np.linalg.norm(mixing @ standard if mixing.size else standard)
    units = 10.0 ** rng.uniform(-3.0, 3.0, cell.n_columns)
    shift = units * rng.normal(0.0, 2.0, cell.n_columns)
    intercept = _intercept_of_share(_RARE) if cell.rare else _INTERCEPT
    coef = standard / units
    return Truth(np.append(intercept - coef @ shift, coef), mixing, units, shift, None)


def _sparse_truth(cell: Cell, rng: np.random.Generator) -> Truth:
    """Columns with fixed numbers of entries at random rows; entries 1 + log(count), as of words in texts."""
    rarity = (1.0 + np.arange(cell.n_columns) + _OFFSET) / (1.0 + _OFFSET)
    counts = np.round(_MOST * rarity**-_POWER).astype(np.intp)
    rows = np.concatenate([rng.choice(cell.n_rows, count, replace=False) for count in counts.tolist()])
    columns = np.repeat(np.arange(cell.n_columns), counts)
    values = 1.0 + np.log(rng.geometric(0.7, rows.size))
    X = sparse.csr_array((values, (rows, columns)), shape=(cell.n_rows, cell.n_columns))
    coef = rng.standard_normal(cell.n_columns)
    scores = np.asarray(X @ coef)
    coef *= _SCORE_SPREAD / scores.std()
    intercept = _INTERCEPT - scores.mean() * _SCORE_SPREAD / scores.std()
    nothing = np.empty(0)
    return Truth(np.append(intercept, coef), nothing, nothing, nothing, X)


def _no_mixing(n_columns: int, rng: np.random.Generator) -> Array:
    return np.empty(0)


def _toeplitz(n_columns: int, rng: np.random.Generator) -> Array:
    """Neighbouring columns with correlation 0.5."""
    return np.ascontiguousarray(linalg.cholesky(linalg.toeplitz(_NEIGHBOURS ** np.arange(n_columns)), lower=False))


def _condition(n_columns: int, rng: np.random.Generator) -> Array:
    """A covariance with eigenvalues from 1 to 0.001 in a random rotation."""
    rotation = np.linalg.qr(rng.standard_normal((n_columns, n_columns)))[0]
    return np.asarray(np.sqrt(np.geomspace(1.0, _SMALLEST, n_columns))[:, None] * rotation)


_MIXING: dict[str, Callable[[int, np.random.Generator], Array]] = {
    "identity": _no_mixing,
    "toeplitz": _toeplitz,
    "condition": _condition,
}


def _intercept_of_share(share: float) -> float:
    """The intercept with which a share of the labels is positive, for normal scores."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)

    def apart(intercept: float) -> float:
        return float(weights @ expit(intercept + _SCORE_SPREAD * nodes) / weights.sum() - share)

    return float(optimize.brentq(apart, -20.0, 20.0))


_KINDS: tuple[Kind, ...] = ("logistic", "linear")
_DESIGNS: tuple[Design, ...] = ("identity", "toeplitz", "condition")

#: All cells by name, those that take longest last.
CELLS = {
    cell.name: cell
    for cell in [
        *(
            Cell(kind, n, d, design)
            for n in (10_000, 100_000)
            for d in (20, 100)
            for kind in _KINDS
            for design in _DESIGNS
        ),
        *(Cell("logistic", n, d, "identity", rare=True) for n, d in ((10_000, 20), (10_000, 100), (100_000, 100))),
        *(Cell("linear", n, d, "identity", unequal=True) for n, d in ((10_000, 20), (100_000, 100))),
        *(Cell(kind, 150_000, 4_000, "sparse") for kind in _KINDS),
    ]
}
