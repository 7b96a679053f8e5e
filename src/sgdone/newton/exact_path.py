"""The path of penalties for rows in memory: which one is followed, and Newton's method along it."""

import math
from dataclasses import replace
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sgdone.interfaces.objective import Model, Objective, mean
from sgdone.newton import EXACT, Problem, SearchProgress, SearchResult, minimise
from sgdone.newton.counted_work import factorises, is_least_squares
from sgdone.newton.fold_path import FoldPath
from sgdone.newton.penalty_path import (
    FIRST_EXPONENT,
    NO_COEFFICIENT,
    NO_PENALTY,
    LeaveOneOut,
    PenaltyGrid,
    PenaltyOptimum,
    PenaltyPath,
    Readings,
    RowLosses,
    ScaledAndGivenPath,
    cautious_loss,
    has_unit_norms,
    lam_at,
    losses_of_constant,
)
from sgdone.newton.ridge_path import Gram, RidgePath, gram
from sgdone.newton.search import RESIDUAL_ROUNDING, CholeskyDirection, Factors
from sgdone.rows.rows import Block
from sgdone.rows.validation_rows import ValidationRows
from sgdone.sums.pieces import BlockPieces, is_extreme
from sgdone.sums.row_sum import MemoryRows
from sgdone.sums.second_order import SecondOrder, SecondOrderAt
from sgdone.sums.system import RowSpan, System, constant_model, is_smaller
from sgdone.sums.units import Units

Array = NDArray[np.float64]


def path_in_memory(
    objective: Objective, rows: MemoryRows, start: Model | None, draws: np.random.Generator, *, one_pass: bool
) -> tuple[PenaltyPath, Units]:
    """Measure the columns, and choose the path; returns the units of the columns too.

    ``draws`` draws folds; ``one_pass`` says that the rows cannot be read again.
    """
    block, frequency = rows.block, rows.frequency
    block.rows.check_indices()
    if not factorises(objective, block):
        return _folds(objective, rows, draws)
    sums = None
    if is_least_squares(objective) and not is_smaller(block.n_used, block.rows.n_features):
        units, sums = _units_and_sums(objective, block, frequency, rows.threads)
    else:
        units = Units.of_all_rows(block, centred=objective.fit_intercept, frequency=frequency)
    block.rows.in_units(units.scaling)  # raises for columns too small for their coefficients
    system = System(objective, units.scaling)
    path = _path(system, rows, None if is_extreme(units.scaling) else sums, start, one_pass)
    if objective.alpha is not None or not has_unit_norms(rows.block):
        return path, units
    other = _path(System(objective, units.scaling.as_given()), rows, None, None, one_pass)
    scale = np.append(np.where(np.isfinite(units.scaling.scale), units.scaling.scale, 0.0), 1.0)[:, None]
    to_scaled = path.system.of_features, lambda model: scale * other.system.of_features(model)
    return ScaledAndGivenPath(path, other, to_scaled), units


def _path(system: System, rows: MemoryRows, sums: Gram | None, start: Model | None, one_pass: bool) -> PenaltyPath:
    """The path for rows in some units; it is followed in the span of the rows if that is small."""
    objective, block = system.objective, rows.block
    if is_smaller(block.n_used, block.rows.n_features):
        system = replace(system, span=RowSpan.of(rows.pieces(system)))
    if is_least_squares(objective):
        return RidgePath(system, rows.pieces(system), sums, one_pass=one_pass)
    if start is not None and system.span is None:
        return ExactPath(system, rows.pieces(system), system.from_user(start.coef, start.intercept))
    return ExactPath(system, rows.pieces(system), constant_model(system, block))


def _folds(objective: Objective, rows: MemoryRows, draws: np.random.Generator) -> tuple[PenaltyPath, Units]:
    block = rows.block
    units = Units.of_all_rows(block, centred=objective.fit_intercept, frequency=rows.frequency)
    scaled = replace(block, rows=block.rows.in_units(units.scaling))
    folds = replace(ValidationRows.drawn(scaled, block.all_used(), draws), block=block)
    system, pieces = System(objective, units.scaling), BlockPieces(block, units.scaling, rows.frequency, rows.threads)
    return FoldPath(system, pieces, constant_model(system, block), folds), units


def _units_and_sums(objective: Objective, block: Block, frequency: float, threads: int) -> tuple[Units, Gram | None]:
    """Units of the columns, and the sums for least squares that give the units of dense columns."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = gram(block, centred=objective.fit_intercept, frequency=frequency, threads=threads)
        n_dense = block.rows.n_dense
        squares = np.diagonal(sums.products)[:n_dense] / frequency
    units = Units.of_all_rows(
        block, centred=objective.fit_intercept, frequency=frequency, means=sums.means[:n_dense], squares=squares
    )
    return units, sums if np.all(np.isfinite(sums.products)) else None


#: The search begins between these k.
_FIRST_LOWEST, _FIRST_HIGHEST = -2, 10
#: Eigenvalues below this share of the largest are rounding errors.
_FLAT = 1e-12
#: Relative difference of scores that does not matter if the degrees of freedom left are below a share of the rows.
_TIED, _FEW_ROWS = 0.003, 0.3


def best_of_least_squares(sums: SecondOrder, shape: tuple[int, ...]) -> int:
    """The k with the least generalised cross-validation score of least squares with the working responses."""
    width, columns = shape
    blocks = sums.curvature.reshape(columns, width, columns, width)[:, :-1, :, :-1]
    own = blocks[0, :, 0]
    size = max(float(np.trace(own)), np.finfo(np.float64).tiny)
    values, vectors = eigh(own, check_finite=False)
    of_scores, turn = eigh(np.einsum("ajbj->ab", blocks) / size, check_finite=False)
    spectrum = np.maximum(values[:, None] * of_scores, 0.0)
    targets = vectors.T @ sums.gradient[:-1] @ turn
    known = spectrum > _FLAT * spectrum.max(initial=0.0)
    energy, ks = sums.weight * columns, np.arange(_FIRST_LOWEST, _FIRST_HIGHEST + 1)
    # Differences of large numbers would be rounding errors where there are fewer rows than columns.
    spectrum, targets = spectrum[known], targets[known]
    squares = targets**2 / spectrum
    unexplained = max(energy - float(squares.sum()), 0.0)
    freedom = max(energy - columns - spectrum.size, 0.0)
    lams = np.array([lam_at(k) for k in ks.tolist()])
    shares = lams / (spectrum[:, None] + lams)
    left = np.maximum(freedom + shares.sum(axis=0), np.finfo(np.float64).tiny)
    found = (unexplained + squares @ shares**2) / left**2
    # With few rows for each column scores hardly differ: it is easier to leave penalties that are too large.
    tied = _TIED if freedom < _FEW_ROWS * energy else 0.0
    return int(ks[found <= (1.0 + tied) * found.min()].max(initial=_FIRST_LOWEST)) if spectrum.size else FIRST_EXPONENT


#: Decrement at which one more step is so close to the optimum that the leave-one-out loss there is that of the optimum.
_NEAR = 1e-4
#: Coefficients up to which the curvatures of all penalties are kept, to start from: beyond, only the last one.
_MOST_KEPT = 1000
#: Products of a curvature that cost no more than calling NumPy does: it is then evaluated at each point.
_CHEAP = 4e7
#: Penalty per row from which single precision is enough for curvatures: their largest eigenvalue is at most about the
#: number of columns times as large as the number of rows.
_SINGLE = 1e-5
#: See `ExactPath.has_finite_optimum`.
_FINITE = 0.5
#: Share of the loss of a constant prediction that a model has at least that is as good as constant.
_AS_GOOD = 0.9


@final
class ExactPath(PenaltyPath):
    """Newton's method at one penalty after the other, each from the nearest optimum, on rows in the system's units."""

    def __init__(self, system: System, pieces: BlockPieces, start: Array) -> None:
        self.system, self.objective, self.pieces = system, system.objective, pieces
        pairs = self.objective.n_free_outputs * (self.objective.n_free_outputs + 1) // 2
        self._cheap = pieces.n_rows * pieces.width**2 * pairs <= _CHEAP
        self.grid: PenaltyGrid = PenaltyGrid()
        self.optima = dict[int, PenaltyOptimum]()
        self._start = start
        self._factors: Factors | None = None
        self._least: tuple[Array, Array] | None = None
        self._known = dict[int, tuple[Array, SecondOrder]]()
        self._progress, self._lam = SearchProgress(), math.nan

    @property
    def loss(self) -> float:
        """The estimated loss of new rows at the best penalty."""
        return mean(self.best.losses, self._weights)

    @property
    def compared_loss(self) -> float:
        """The loss at the best penalty by which penalties are compared."""
        return self.grid.losses[self.grid.best]

    @property
    def best(self) -> PenaltyOptimum:
        """The optimum of the best penalty so far; before the first one, the current model of the search."""
        if self.grid.losses:
            return self.optima[self.grid.best]
        found = self._progress.model
        return PenaltyOptimum(self._start) if found is None else PenaltyOptimum(found, self._lam)

    def evaluations(self) -> Readings:
        """Find the optima; yields before each reading of the rows."""
        given = self.objective.alpha
        if given is None:
            yield from self._choose_first()
            while (k := self.grid.next()) is not None:
                yield from self._near_optimum(k, lam_at(k))
            best = self.optima[self.grid.best]
            yield from self._optimum(self.grid.best, best.lam, best.model, best.losses)
        else:
            yield from self._near_optimum(0, given * self.pieces.frequency * self.pieces.block.total_weight)
            best = self.optima[0]
            yield from self._optimum(0, best.lam, best.model, best.losses)

    def has_finite_optimum(self) -> bool:
        """Whether a finite optimum without a penalty was proved to exist.

        With H the curvature of the loss alone and g its gradient at a model, it does if √(gᵀH⁻¹g)·√(x̃ᵀH⁻¹x̃) ≤ ½ for
        all rows x̃ (Bach 2010, section 2). The optimum of the smallest penalty is used, the closest to it.
        """
        if self._least is None or not self._cheap or self.objective.predicts != "two_classes":
            return False
        curvature, gradient = self._least
        factors = Factors.of(curvature, self.system.penalties(0.0), gradient.shape[1])
        if factors.cholesky is None:
            return False
        inverse = factors.inverse()
        largest = max(float(piece.rows.quadratic_forms(inverse[None]).max()) for piece in self.pieces)
        return float(np.vdot(gradient, factors.solve(gradient))) * largest <= _FINITE**2

    def _choose_first(self) -> Readings:
        """Begin the search at the penalty that is best for least squares, if the start is a constant prediction.

        There the working responses of a logistic loss have the variance 1 and the curvature M ⊗ G, M that of the
        scores and G of the columns: their eigenvalues give generalised cross-validation for all penalties.
        """
        if self._start[:-1].any() or not self.objective.loss.probabilistic or self.pieces.n_features > _MOST_KEPT:
            return
        kind = self._directions_at(lam_at(self.grid.first)).first_curvature
        sums: SecondOrder = yield SecondOrderAt(self.system, self._start, kind)
        if not np.isfinite(sums.loss):
            raise OverflowError("the loss of the start is too large")
        self.grid.first = best_of_least_squares(sums, self._start.shape)
        self._known[self.grid.first] = self._start, sums

    def _near_optimum(self, k: int, lam: float) -> Readings:
        """Come close to the optimum, and estimate the loss of new rows there."""
        nearest = min(self._known, key=lambda other: (abs(other - k), other), default=None)
        start, known = (self._start, None) if nearest is None else self._known[nearest]
        directions, problem, at = self._directions_at(lam), self._problem(lam), self._progress
        found: SearchResult = yield from minimise(problem, start, _NEAR, directions, known=known, progress=at)
        self._factors, curved = directions.factors, directions.curvature_at
        if found.model.size > _MOST_KEPT:
            self._known.clear()
        self._known[k] = curved.model, curved.sums
        inverse = directions.factors.inverse()
        left: RowLosses = yield LeaveOneOut(self.system, found.model, inverse, directions.single)
        self.optima[k] = PenaltyOptimum(found.model, lam, left.losses, math.nan)
        columns_per_row = self.system.n_features / max(float(self._weights.sum()), self._weights.size)
        self.grid.record(k, cautious_loss(self.objective, left.losses, self._weights, columns_per_row))
        if k == min(self.optima):
            self._least = curved.sums.curvature, curved.sums.gradient
        self._set_ends(k, found.model, curved.sums, problem.dispersion(found.at.sums))

    def _optimum(self, k: int, lam: float, model: Array, losses: Array) -> Readings:
        """The exact optimum."""
        directions = self._directions_at(lam)
        found: SearchResult = yield from minimise(self._problem(lam), model, EXACT, directions, progress=self._progress)
        self.optima[k] = PenaltyOptimum(found.model, lam, losses, found.decrement)

    def _problem(self, lam: float) -> Problem:
        return Problem(self.system, self.system.penalties(lam), self.pieces.n_rows, self._least_dispersion)

    def _directions_at(self, lam: float) -> CholeskyDirection:
        """Directions by factors. Expensive curvatures only precondition: single precision is enough with a penalty."""
        single = not self._cheap and lam >= _SINGLE * self.pieces.n_rows
        made = CholeskyDirection(self.system, cheap=self._cheap, factors=self._factors, single=single)
        self._progress, self._lam = SearchProgress(), lam
        return made

    @cached_property
    def _least_dispersion(self) -> float:
        """Variance of targets about their predictions that is rounding; 0 in classification."""
        if not self.objective.is_regression:
            return 0.0
        labels = np.concatenate([piece.labels for piece in self.pieces])
        centre = mean(labels, self._weights)
        return RESIDUAL_ROUNDING**2 * mean((labels - centre) ** 2, self._weights)

    @cached_property
    def _weights(self) -> Array:
        return np.concatenate([piece.weights for piece in self.pieces])

    @cached_property
    def _constant_loss(self) -> float:
        """The loss of a constant prediction, summed over the rows."""
        labels = np.concatenate([piece.labels for piece in self.pieces])
        losses = losses_of_constant(self.objective, labels, self._weights, left_out=False)
        return float(losses @ self._weights)

    def _set_ends(self, k: int, model: Array, sums: SecondOrder, unit: float) -> None:
        """Set the ends of the grid: neither larger penalties nor tiny ones make a difference to the model."""
        if self.grid.lowest == -math.inf:
            largest = max(_largest_eigenvalue(sums.curvature), np.finfo(np.float64).tiny)
            self.grid.lowest = 2.0 * math.log10(NO_PENALTY * largest)
        coef = model.copy()
        coef[-1] = 0.0
        flat = coef.T.ravel()
        vanished = flat @ (sums.curvature @ flat) <= NO_COEFFICIENT**2 * unit
        # Where rows are separated there is no curvature either.
        if vanished and sums.loss >= _AS_GOOD * self._constant_loss:
            self.grid.highest = min(self.grid.highest, k)


def _largest_eigenvalue(matrix: Array) -> float:
    """Largest eigenvalue, to a few per cent, by ten products."""
    vector = np.sqrt(np.maximum(np.diagonal(matrix), 0.0)) + np.finfo(np.float64).tiny
    for _ in range(10):
        vector = matrix @ (vector / max(float(np.linalg.norm(vector)), np.finfo(np.float64).tiny))
    return float(np.linalg.norm(vector))
