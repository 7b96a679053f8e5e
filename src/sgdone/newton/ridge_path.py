"""Least squares with every penalty at once, from products of columns that one pass adds up.

With the eigenvectors U and eigenvalues s of the products of scaled columns and c = Uᵀb, b their products with the
target, the coefficients at a penalty λ are U(c/(s + λ)).
"""

import math
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sgdone.interfaces.objective import means
from sgdone.newton.leave_one_out import ALONE
from sgdone.newton.penalty_path import (
    FIRST,
    LARGEST,
    NO_COEFFICIENT,
    NO_PENALTY,
    Evaluated,
    Optimum,
    PenaltyGrid,
    PenaltyPath,
    Readings,
    penalty,
)
from sgdone.rows.rows import Scaling
from sgdone.sums.gram import Gram, gram, in_units
from sgdone.sums.pieces import PIECE, BlockPieces
from sgdone.sums.system import System

Array = NDArray[np.float64]

#: With more rows than one piece has, and as many for each column, generalised cross-validation chooses the same penalty
#: as leaving out rows does, and needs no second pass.
_ROWS_PER_COLUMN = 50
#: Eigenvalues below this share of the largest are rounding errors; so are residual sums below that of the target's.
_FLAT, _ROUNDING = 1e-14, 1e-12


@final
class RidgePath(PenaltyPath):
    """The optimum of the squared loss for all penalties, and the best of them.

    Parameters
    ----------
    system : System
        The squared loss, the penalty if it is given, and the units in which it acts.
    pieces : BlockPieces
        Rows in these units.
    sums : Gram, optional
        Their sums in the user's units, if they are known.
    one_pass : bool
        Whether the rows cannot be read again.
    """

    def __init__(
        self, system: System, pieces: BlockPieces, sums: Gram | None = None, *, one_pass: bool = False
    ) -> None:
        self.system, self.objective, self.pieces = system, system.objective, pieces
        self._sums, self._one_pass = sums, one_pass
        self.grid: PenaltyGrid = PenaltyGrid()

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
        self.grid.lowest = 2.0 * math.log10(NO_PENALTY * largest) if known.any() else FIRST
        given = None if objective.alpha is None else objective.alpha * found.weight
        strengths = self._strengths(spectrum) if given is None else np.array([given])
        rss = spectrum.residual_sums(strengths)
        losses = None
        if not self._one_pass and (rows.n_rows <= PIECE or rows.n_rows < _ROWS_PER_COLUMN * rows.n_features):
            self._choose(spectrum, found, strengths, spectrum.generalised(strengths, rss), None)
            self.evaluated = _evaluated(float(rss.min()) / found.weight)
            yield None
            losses = self._leave_one_out(spectrum, strengths)
        scores = spectrum.generalised(strengths, rss) if losses is None else self._means(losses)
        place = self._choose(spectrum, found, strengths, scores, losses)
        self.evaluated = _evaluated(float(rss[place]) / found.weight)

    def _choose(self, spectrum: "_Spectrum", sums: Gram, strengths: Array, scores: Array, losses: Array | None) -> int:
        """The place of the penalty with the least score."""
        for strength, score in zip(strengths.tolist(), scores.tolist(), strict=True):
            self.grid.record(round(2.0 * math.log10(strength)) if self.objective.alpha is None else 0, score)
        place = int(np.lexsort((-strengths, np.where(np.isnan(scores), np.inf, scores)))[0])
        strength, own = float(strengths[place]), np.empty(0) if losses is None else losses[:, place]
        self._best = Optimum(spectrum.model(strength, sums, self.pieces.scaling), strength, own, 0.0)
        self._loss = float(scores[place])
        return place

    def has_finite_optimum(self) -> bool:
        """Always true: least squares has a finite optimum."""
        return True

    def _strengths(self, spectrum: "_Spectrum") -> Array:
        """All penalties between the ends: evaluating one costs little."""
        strengths = [penalty(k) for k in range(math.ceil(self.grid.lowest), LARGEST)]
        found = np.array(strengths)
        varying = np.flatnonzero(np.logical_not(spectrum.is_constant(found)))
        # One penalty at least, and one at which nothing is left of the coefficients.
        last = int(varying[-1]) + 2 if varying.size else max(1, round(FIRST - math.ceil(self.grid.lowest)) + 1)
        self.grid.highest = math.ceil(self.grid.lowest) + min(last, len(found)) - 1
        return found[:last]

    def _leave_one_out(self, spectrum: "_Spectrum", strengths: Array) -> Array:
        """Losses of rows (rows) left out, at penalties (columns): exact."""
        parts = []
        inverse = 1.0 / (spectrum.values[:, None] + strengths)
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

    def _means(self, losses: Array) -> Array:
        weights = np.concatenate([piece.weights for piece in self.pieces])
        return means(losses, weights)


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

    def residual_sums(self, strengths: Array) -> Array:
        """Σv(y − ŷ)² at each penalty."""
        # Unexplained squares plus those that the penalty leaves: not a difference of large numbers.
        squares = self.targets**2 / self.values
        unexplained = self._energy - squares.sum()
        unexplained = unexplained if unexplained > _ROUNDING * self._energy else 0.0
        shares = strengths / (self.values[:, None] + strengths)
        return np.asarray(unexplained + (squares[:, None] * shares**2).sum(axis=0))

    def freedom_left(self, strengths: Array) -> Array:
        """Σv less the degrees of freedom at each penalty."""
        left = (strengths / (self.values[:, None] + strengths)).sum(axis=0)
        whole = self._weight - float(self._fit_intercept) - self.values.size
        return np.asarray(left + (whole if whole > _ROUNDING * self._weight else 0.0))

    def generalised(self, strengths: Array, rss: Array) -> Array:
        """Generalised cross-validation (Golub, Heath & Wahba 1979): half the mean squared error of new rows."""
        left = np.maximum(self.freedom_left(strengths), np.finfo(np.float64).tiny)
        return np.asarray(0.5 * self._weight * rss / left**2)

    def is_constant(self, strengths: Array) -> Array:
        """Whether all coefficients are below 0.01 standard errors."""
        shrunk = self.values[:, None] + strengths
        variance = self.residual_sums(strengths) / max(self._weight, 1.0)
        coefficients = np.abs(self.vectors @ (self.targets[:, None] / shrunk))
        errors = np.sqrt((self.vectors**2) @ (1.0 / shrunk) * variance)
        return np.asarray(np.all(coefficients <= NO_COEFFICIENT * errors, axis=0))

    def centre(self, scaling: Scaling) -> Array:
        """Means of the scaled columns."""
        origin = 0.0 if scaling.shift is None else scaling.shift
        return np.asarray((self._means[:-1] - origin) / scaling.scale if self._fit_intercept else 0.0 * scaling.scale)

    def model(self, strength: float, sums: Gram, scaling: Scaling) -> Array:
        """Coefficients in scaled units, and the intercept."""
        coef = self.vectors @ (self.targets / (self.values + strength))
        intercept = self.mean_target - float(self.centre(scaling) @ coef)
        return np.append(coef, intercept if self._fit_intercept else 0.0)[:, None]
