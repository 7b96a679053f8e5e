"""Least squares with every penalty at once, from products of columns that one pass adds up.

With the eigenvectors U and eigenvalues s of the products of scaled columns and c = Uᵀb, b their products with the
target, the coefficients at a penalty λ are U(c/(s + λ)).
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh

from sgdone.interfaces.objective import means
from sgdone.kernels.csr_gram import add_products
from sgdone.machine.threads import mapped
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.newton.penalty_path import (
    ALONE,
    FIRST_EXPONENT,
    LARGEST,
    NO_COEFFICIENT,
    NO_PENALTY,
    Evaluated,
    PenaltyGrid,
    PenaltyOptimum,
    PenaltyPath,
    Readings,
    lam_at,
)
from sgdone.rows.rows import Block, Scaling
from sgdone.sums.pieces import PIECE, BlockPieces, pieces_of
from sgdone.sums.row_sum import merged
from sgdone.sums.system import System, constant_model

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Gram:
    """Σv, weighted means and Σv(x − means)(x − means)ᵀ of the columns and, last, the targets.

    Without centring the means are 0. Merging is that of Chan, Golub & LeVeque (1983).
    """

    weight: float
    means: Array
    products: Array

    def merge(self, other: "Gram") -> "Gram":
        """The sums over the rows of both."""
        weight = self.weight + other.weight
        apart = other.means - self.means
        products = self.products + other.products
        products += np.outer(apart, apart * (self.weight * other.weight / weight))
        return Gram(weight, self.means + apart * (other.weight / weight), products)


def gram(block: Block, *, centred: bool, frequency: float = 1.0, threads: int = 1) -> Gram:
    """The sums over all rows of positive weight of a block's matrix.

    Examples
    --------
    >>> from sgdone.rows import ArraySource
    >>> X, y = np.array([[1.0], [3.0]]), np.array([5.0, 9.0])
    >>> block = next(ArraySource(X, y).blocks(np.random.default_rng(0)))
    >>> gram(block, centred=True).products
    array([[2., 4.],
           [4., 8.]])
    """

    def one(piece: tuple[Any, Array, Array]) -> Gram:
        part, labels, weights = piece
        return _piece(part, labels, frequency * weights, centred)

    return merged(mapped(one, pieces_of(block), threads if block.n_used > PIECE else 1))


def _piece(part: Any, labels: Array, weights: Array, centred: bool) -> Gram:
    total = float(weights.sum())
    if isinstance(part, MixedMatrix):
        return _mixed_piece(part, labels, weights, centred)
    if not isinstance(part, np.ndarray):
        return _sparse_piece(part, labels, weights, total, centred)
    rows = np.empty((part.shape[0], part.shape[1] + 1))
    rows[:, :-1], rows[:, -1] = part, labels
    means = np.zeros(rows.shape[1])
    if centred:
        means = weights @ rows / total
        rows -= means
    if np.any(weights != 1.0):
        rows *= np.sqrt(weights)[:, None]
    return Gram(total, means, rows.T @ rows)


def _mixed_piece(part: MixedMatrix, labels: Array, weights: Array, centred: bool) -> Gram:
    """Products of dense columns and targets, of sparse columns, and of both; columns in the order of ``part``."""
    numbers, entries = (_piece(of_columns, labels, weights, centred) for of_columns in (part.dense, part.sparse))
    d, width = part.n_dense, part.shape[1]
    apart = weights[:, None] * (part.dense - numbers.means[:d])
    products = np.empty((width + 1, width + 1))
    dense, others = np.append(np.arange(d), width), np.arange(d, width + 1)
    products[np.ix_(others, others)], products[np.ix_(dense, dense)] = entries.products, numbers.products
    # Deviations sum to 0: those of the sparse columns from their means need not be taken.
    products[d:width, :d] = part.sparse.T @ apart
    products[:d, d:width] = products[d:width, :d].T
    return Gram(numbers.weight, np.append(numbers.means[:d], entries.means), products)


def _sparse_piece(part: sparse.csr_array, labels: Array, weights: Array, total: float, centred: bool) -> Gram:
    """Products of the rows as they are; the means are subtracted afterwards."""
    width = part.shape[1]
    types = " ".join(str(array.dtype) for array in (part.data, part.indices, part.indptr))
    found = np.zeros((width + 1, width + 1, 1))
    add_products(types)(part.data, part.indices, part.indptr, weights[:, None].copy(), found)
    products = found[:, :, 0]
    sums = np.append(products[width, :width], weights @ labels)
    products[width, :width] = products[:width, width] = part.T @ (weights * labels)
    products[width, width] = weights @ (labels * labels)
    if not centred:
        return Gram(total, np.zeros(width + 1), products)
    means = sums / total
    return Gram(total, means, products - np.outer(sums, means))


def in_units(found: Gram, scaling: Scaling) -> tuple[Array, Array, float]:
    """Products of the scaled columns, with the target, and of the target with itself."""
    inverse = 1.0 / scaling.scale
    columns = found.products[:-1, :-1] * inverse[:, None] * inverse
    return columns, found.products[:-1, -1] * inverse, float(found.products[-1, -1])


#: With more rows than one piece has, and as many for each column, generalised cross-validation chooses the same penalty
#: as leaving out rows does, and needs no second pass.
_ROWS_PER_COLUMN = 50
#: Eigenvalues below this share of the largest are rounding errors; so are residual sums below that of the target's.
_FLAT, _ROUNDING = 1e-14, 1e-12


@final
class RidgePath(PenaltyPath):
    """The optimum of the squared loss for all penalties, and the best of them.

    ``sums`` are those of the rows in the user's units, if they are known; ``one_pass`` says that the rows cannot be
    read again.
    """

    def __init__(
        self, system: System, pieces: BlockPieces, sums: Gram | None = None, *, one_pass: bool = False
    ) -> None:
        self.system, self.objective, self.pieces = system, system.objective, pieces
        self._sums, self._one_pass = sums, one_pass
        self.grid: PenaltyGrid = PenaltyGrid()
        self._best = PenaltyOptimum(constant_model(system, pieces.block))

    def evaluations(self) -> Readings:
        """Read the rows once for the sums, and once more for leaving out rows, if that is worthwhile."""
        yield None
        rows, objective = self.pieces, self.objective
        found = self._sums or gram(rows.block, centred=objective.fit_intercept, frequency=rows.frequency)
        if not np.all(np.isfinite(found.products)):
            raise OverflowError("the products of columns and targets are too large")
        columns, targets, energy = in_units(found, rows.scaling)
        values, vectors = eigh(columns, check_finite=False)
        largest = max(float(values.max(initial=0.0)), np.finfo(np.float64).tiny)
        known = values > _FLAT * largest
        values, vectors = np.where(known, values, 0.0), vectors[:, known]
        spectrum = _Spectrum(values[known], vectors, vectors.T @ targets, energy, found, objective.fit_intercept)
        self.grid.lowest = 2.0 * math.log10(NO_PENALTY * largest) if known.any() else FIRST_EXPONENT
        given = None if objective.alpha is None else objective.alpha * found.weight
        lams = self._lams(spectrum) if given is None else np.array([given])
        rss = spectrum.residual_sums(lams)
        losses = None
        if not self._one_pass and (rows.n_rows <= PIECE or rows.n_rows < _ROWS_PER_COLUMN * rows.n_features):
            self._choose(spectrum, found, lams, spectrum.generalised(lams, rss), None)
            self.evaluated = _evaluated(float(rss.min()) / found.weight)
            yield None
            losses = self._leave_one_out(spectrum, lams)
        scores = spectrum.generalised(lams, rss)
        if losses is not None:
            scores = means(losses, np.concatenate([piece.weights for piece in rows]))
        place = self._choose(spectrum, found, lams, scores, losses)
        self.evaluated = _evaluated(float(rss[place]) / found.weight)

    def _choose(self, spectrum: "_Spectrum", sums: Gram, lams: Array, scores: Array, losses: Array | None) -> int:
        """The place of the penalty with the least score."""
        for lam, score in zip(lams.tolist(), scores.tolist(), strict=True):
            self.grid.record(round(2.0 * math.log10(lam)) if self.objective.alpha is None else 0, score)
        place = int(np.lexsort((-lams, np.where(np.isnan(scores), np.inf, scores)))[0])
        lam, own = float(lams[place]), np.empty(0) if losses is None else losses[:, place]
        self._best = PenaltyOptimum(spectrum.model(lam, sums, self.pieces.scaling), lam, own, 0.0)
        self._loss = float(scores[place])
        return place

    @property
    def compared_by(self) -> str:
        """Generalised cross-validation, where no row is left out."""
        return "leave-one-out" if self._best.losses.size else "generalised cross-validation"

    def has_finite_optimum(self) -> bool:
        """Always true: least squares has a finite optimum."""
        return True

    def _lams(self, spectrum: "_Spectrum") -> Array:
        """All penalties between the ends: evaluating one costs little."""
        lams = [lam_at(k) for k in range(math.ceil(self.grid.lowest), LARGEST)]
        found = np.array(lams)
        varying = np.flatnonzero(np.logical_not(spectrum.is_constant(found)))
        # One penalty at least, and one at which nothing is left of the coefficients.
        last = int(varying[-1]) + 2 if varying.size else max(1, round(FIRST_EXPONENT - math.ceil(self.grid.lowest)) + 1)
        self.grid.highest = math.ceil(self.grid.lowest) + min(last, len(found)) - 1
        return found[:last]

    def _leave_one_out(self, spectrum: "_Spectrum", lams: Array) -> Array:
        """Losses of rows (rows) left out, at penalties (columns): exact."""
        parts = []
        inverse = 1.0 / (spectrum.values[:, None] + lams)
        shape = spectrum.vectors.shape
        turn = np.zeros((shape[0] + 1, shape[1] + 1))
        turn[:-1, :-1], turn[-1, -1] = spectrum.vectors, 1.0
        shift = spectrum.centre(self.pieces.scaling)
        with np.errstate(invalid="ignore", divide="ignore"):
            for rows, labels, weights in self.pieces:
                turned = rows.times(turn)[:, :-1] - shift @ spectrum.vectors
                leverages = (turned * turned) @ inverse + spectrum.of_intercept
                residuals = turned @ (spectrum.targets[:, None] * inverse) + spectrum.mean_target - labels[:, None]
                removed = np.minimum(weights, 1.0)[:, None]
                left = 1.0 - removed * leverages
                alone = left < ALONE
                residuals = residuals / np.where(alone, 1.0, left)
                parts.append(0.5 * np.where(alone, spectrum.mean_target - labels[:, None], residuals) ** 2)
        return np.concatenate(parts)


def _evaluated(square: float) -> Evaluated:
    return Evaluated(0.5 * square, math.sqrt(square))


@final
class _Spectrum:
    """Eigenvalues s and eigenvectors U of the products of scaled columns, and Uᵀb."""

    def __init__(
        self, values: Array, vectors: Array, targets: Array, energy: float, sums: Gram, fit_intercept: bool
    ) -> None:
        self.values, self.vectors, self.targets, self._energy = values, vectors, targets, energy
        self._weight, self._means, self._fit_intercept = sums.weight, sums.means, fit_intercept
        self.mean_target = float(sums.means[-1])
        #: Leverage of every row through the intercept.
        self.of_intercept = 1.0 / sums.weight if fit_intercept else 0.0

    def residual_sums(self, lams: Array) -> Array:
        """Σv(y − ŷ)² at each penalty."""
        # Unexplained squares plus those that the penalty leaves: not a difference of large numbers.
        squares = self.targets**2 / self.values
        unexplained = self._energy - squares.sum()
        unexplained = unexplained if unexplained > _ROUNDING * self._energy else 0.0
        shares = lams / (self.values[:, None] + lams)
        return np.asarray(unexplained + (squares[:, None] * shares**2).sum(axis=0))

    def generalised(self, lams: Array, rss: Array) -> Array:
        """Generalised cross-validation (Golub, Heath & Wahba 1979): half the mean squared error of new rows."""
        # Σv less the degrees of freedom at each penalty.
        left = (lams / (self.values[:, None] + lams)).sum(axis=0)
        whole = self._weight - float(self._fit_intercept) - self.values.size
        left = np.maximum(left + (whole if whole > _ROUNDING * self._weight else 0.0), np.finfo(np.float64).tiny)
        return np.asarray(0.5 * self._weight * rss / left**2)

    def is_constant(self, lams: Array) -> Array:
        """Whether all coefficients are below 0.01 standard errors."""
        shrunk = self.values[:, None] + lams
        variance = self.residual_sums(lams) / max(self._weight, 1.0)
        coefficients = np.abs(self.vectors @ (self.targets[:, None] / shrunk))
        errors = np.sqrt((self.vectors**2) @ (1.0 / shrunk) * variance)
        return np.asarray(np.all(coefficients <= NO_COEFFICIENT * errors, axis=0))

    def centre(self, scaling: Scaling) -> Array:
        """Means of the scaled columns."""
        origin = 0.0 if scaling.shift is None else scaling.shift
        return np.asarray((self._means[:-1] - origin) / scaling.scale if self._fit_intercept else 0.0 * scaling.scale)

    def model(self, lam: float, sums: Gram, scaling: Scaling) -> Array:
        """Coefficients in scaled units, and the intercept."""
        coef = self.vectors @ (self.targets / (self.values + lam))
        intercept = self.mean_target - float(self.centre(scaling) @ coef)
        return np.append(coef, intercept if self._fit_intercept else 0.0)[:, None]
