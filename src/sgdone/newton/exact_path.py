"""The path of penalties for rows in memory: which one is followed, and Newton's method along it."""

import math
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sgdone.interfaces.objective import Model, Objective, mean
from sgdone.matrices.row_hash import row_hashes
from sgdone.newton import EXACT, Problem, SearchProgress, SearchResult, minimise
from sgdone.newton.counted_work import (
    curvature_is_cheap,
    fold_readings,
    has_cheap_curvature,
    is_least_squares,
    rows_left_out,
    uses_folds,
    uses_sample,
)
from sgdone.newton.fold_path import FoldPath
from sgdone.newton.penalty_path import (
    FIRST_EXPONENT,
    NO_COEFFICIENT,
    PenaltyGrid,
    PenaltyOptimum,
    PenaltyPath,
    Readings,
    ScaledAndGivenPath,
    cautious_loss,
    frequency_error,
    has_unit_norms,
    lam_at,
    leave_one_out,
    losses_of_constant,
    share_of_errors,
)
from sgdone.newton.ridge_path import Gram, RidgePath, gram
from sgdone.newton.search import RESIDUAL_ROUNDING, CholeskyDirection, Factors, Point, Search
from sgdone.rows.rows import Block
from sgdone.rows.validation_rows import ValidationRows
from sgdone.sums.pieces import BlockPieces, is_extreme
from sgdone.sums.row_sum import MemoryRows, run_search
from sgdone.sums.second_order import SecondOrder, SecondOrderAt
from sgdone.sums.system import RowSpan, System, constant_model, is_smaller
from sgdone.sums.units import Units

Array = NDArray[np.float64]


def path_in_memory(
    objective: Objective, rows: MemoryRows, start: Model | None, *, one_pass: bool
) -> tuple[PenaltyPath, Units]:
    """Measure the columns, and choose the path; returns the units of the columns too.

    The path, and with it the optimum and the penalty, depends on the rows alone. ``one_pass`` says that the rows cannot
    be read again.
    """
    block, frequency = rows.block, rows.frequency
    block.rows.check_indices()
    if uses_folds(objective, block):
        return _folds(objective, rows)
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
    given = None if start is None or system.span is not None else system.from_user(start.coef, start.intercept)
    constant = constant_model(system, block)
    if uses_sample(objective, block) and given is None and SampledPath.is_possible(objective, rows):
        return SampledPath(system, rows, constant)
    return ExactPath(system, rows.pieces(system), constant if given is None else given)


def _folds(objective: Objective, rows: MemoryRows) -> tuple[PenaltyPath, Units]:
    block = rows.block
    units = Units.of_all_rows(block, centred=objective.fit_intercept, frequency=rows.frequency)
    scaled = replace(block, rows=block.rows.in_units(units.scaling))
    folds = replace(ValidationRows.by_rows(scaled), block=block)
    system, pieces = System(objective, units.scaling), BlockPieces(block, units.scaling, rows.frequency, rows.threads)
    most = _PATIENCE * fold_readings(objective)
    return FoldPath(system, pieces, constant_model(system, block), folds, most), units


#: Times the readings that are expected after which no further penalty is tried.
_PATIENCE = 2


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


#: Decrement at which the leave-one-out loss is that of the optimum.
_NEAR = 1e-6
#: Columns up to which eigenvectors of the curvature at a constant prediction give the first penalty.
_MOST_COLUMNS = 1000
#: Penalty per row from which single precision is enough for curvatures: their largest eigenvalue is at most about the
#: number of columns times as large as the number of rows.
_SINGLE = 1e-5
#: Share of what leaving rows out adds to the loss, twice the error of estimated coefficients, that is too little a gain
#: to go on to further penalties for.
_LITTLE = 0.005
#: See `ExactPath.has_finite_optimum`.
_FINITE = 0.5
#: Share of the loss of a constant prediction that a model has at least that is as good as constant.
_AS_GOOD = 0.9
#: Where rows are separated: summed leave-one-out loss, in rows, below which a smaller penalty hardly changes anything;
#: and paired standard errors that a penalty must gain over the next larger one for a smaller one to be tried. A single
#: row gains one of them, whatever it gains.
_HARDLY_ANY, _CLEAR_GAIN = 0.01, 1.5
#: Leave-one-out loss below which a row is predicted without an error, at equal chances; powers of ten by which a
#: penalty is divided at most at once while there are no such errors; share of rows on the wrong side up to which it is
#: divided by ten, and the paired standard errors that this must gain.
_NO_ERROR, _MOST_AT_ONCE, _FEW_MISSES, _SURE_GAIN = math.log(2.0), 4.0, 0.02, 5.0


class _Reached(NamedTuple):
    """A model near an optimum, with the optimum's derivative in log λ; or the start, with the sums there."""

    model: Array
    sums: SecondOrder | None
    derivative: Array | None = None


#: Key of the hash that chooses the rows that are left out, and share of these that must be different.
_SAMPLE_KEY, _DIFFERENT = 1, 0.5
#: Rows of the rarest class that a sample has, which stands for all rows.
_LEAST_OF_CLASS = 50


class LeftOut(NamedTuple):
    """Losses of rows at an optimum as if each had been left out, and means over all rows.

    These are the mean loss, the one by which penalties are compared, and the training loss.
    """

    losses: Array
    mean: float
    compared: float
    training: float


@final
class LeftOutRows:
    """Estimate of the loss of new rows at an optimum: each row is left out, or each of a sample of many.

    The mean of a sample is corrected by training losses, whose mean over all rows is known. Rows are chosen by a hash
    of their features or, if there are few different rows, by their numbers; they are the same for all penalties. All
    rows are left out where a class is rare.
    """

    def __init__(self, system: System, pieces: BlockPieces) -> None:
        self._system, self._pieces = system, pieces
        #: Numbers of the rows that are left out, among those of positive weight; None for all.
        self.sample: NDArray[np.intp] | None = None
        block, count = pieces.block, rows_left_out(pieces.n_rows, system.n_coefficients)
        if count < pieces.n_rows:
            hashes = row_hashes(block.rows.whole(), _SAMPLE_KEY)[block.all_used().astype(np.intp)]
            first = np.argsort(hashes, kind="stable")[:count]
            if np.unique(hashes[first]).size < _DIFFERENT * count:
                # Copies of few rows would stand for all.
                first = np.random.default_rng(_SAMPLE_KEY).choice(pieces.n_rows, count, replace=False)
            self.sample = np.sort(first)
        if self.sample is not None and system.objective.loss.probabilistic:
            labels = block.labels[block.all_used().astype(np.intp)]
            counts = np.unique(labels[self.sample], return_counts=True)[1]
            if counts.min() < _LEAST_OF_CLASS or counts.size < np.unique(labels).size:
                self.sample = None
        self._judged = pieces if self.sample is None else pieces.sample(self.sample)

    @cached_property
    def _weights(self) -> Array:
        return np.concatenate([piece.weights for piece in self._judged])

    def error(self, values: Array) -> float:
        """Standard error of the mean over all rows, from values of the rows that are left out."""
        return frequency_error(values, self._weights) * math.sqrt(values.size / self._pieces.n_rows)

    @property
    def reads_all(self) -> bool:
        """Whether all rows are read."""
        return self.sample is None

    def at(self, model: Array, total: float, inverse: Array, *, single: bool = False) -> LeftOut:
        """Losses at a model with the inverse H⁻¹ of the curvature; ``total`` is the training loss, summed over rows."""
        left = leave_one_out(self._system.objective, self._judged, model, inverse, single=single)
        weight = self._pieces.frequency * self._pieces.block.total_weight
        training = total / weight
        if self.sample is not None:
            loss = training + mean(left.losses - left.training, self._weights)
            return LeftOut(left.losses, loss, loss, training)
        columns_per_row = self._system.n_features / max(weight, self._pieces.n_rows)
        compared = cautious_loss(self._system.objective, left.losses, self._weights, columns_per_row)
        return LeftOut(left.losses, mean(left.losses, self._weights), compared, training)


@final
class ExactPath(PenaltyPath):
    """Newton's method at one penalty after the other, each from the nearest optimum, on rows in the system's units."""

    def __init__(self, system: System, pieces: BlockPieces, start: Array) -> None:
        self.system, self.objective, self.pieces = system, system.objective, pieces
        self._cheap = has_cheap_curvature(pieces.n_rows, pieces.width, self.objective.n_free_outputs)
        self.grid: PenaltyGrid = PenaltyGrid()
        self.optima = dict[int, PenaltyOptimum]()
        self._start = start
        self._left_out, self._left = LeftOutRows(system, pieces), dict[int, LeftOut]()
        self._total_weight = pieces.frequency * pieces.block.total_weight
        self._factors: Factors | None = None
        self._least: tuple[Array, Array] | None = None
        self._known = dict[int, _Reached]()
        #: Rows on the wrong side at the last penalty.
        self._misses = math.inf
        self._progress, self._lam = SearchProgress(), math.nan

    @property
    def loss(self) -> float:
        """The estimated loss of new rows at the best penalty."""
        return self._left[self.grid.best].mean

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
            k = self.grid.next()
            while k is not None:
                yield from self._near_optimum(k, lam_at(k))
                k = self._next(k)
            best = self.optima[self.grid.best]
            yield from self._optimum(self.grid.best, best)
        else:
            yield from self._near_optimum(0, given * self._total_weight)
            best = self.optima[0]
            yield from self._optimum(0, best)

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
        if self._start[:-1].any() or not self.objective.loss.probabilistic or self.pieces.n_features > _MOST_COLUMNS:
            return
        kind = self._directions_at(lam_at(self.grid.first)).first_curvature
        sums: SecondOrder = yield SecondOrderAt(self.system, self._start, kind)
        if not np.isfinite(sums.loss):
            raise OverflowError("the loss of the start is too large")
        self.grid.first = best_of_least_squares(sums, self._start.shape)
        self._known[self.grid.first] = _Reached(self._start, sums)

    def _near_optimum(self, k: int, lam: float) -> Readings:
        """Come close to the optimum, and estimate the loss of new rows there."""
        nearest = min(self._known, key=lambda other: (abs(other - k), other), default=None)
        start, known = self._start_for(k, nearest)
        directions, problem, at = self._directions_at(lam), self._problem(lam), self._progress
        found: SearchResult = yield from minimise(problem, start, _NEAR, directions, known=known, progress=at)
        self._factors, curved = directions.factors, directions.curvature_at
        # At the optimum g + λw = 0, so that dw/d log λ = −H⁻¹λw.
        derivative = -directions.factors.solve(curved.gradient - curved.sums.gradient)
        self._known[k] = _Reached(found.model, None, derivative)
        if self._left_out.reads_all:
            yield None
        inverse = directions.factors.inverse()
        left = self._left_out.at(curved.model, curved.sums.loss, inverse, single=directions.single)
        self.optima[k] = PenaltyOptimum(found.model, lam, left.losses, math.nan, self._left_out.sample, is_sample=True)
        self._left[k] = left
        self.grid.record(k, left.compared, least_gain=_LITTLE * max(left.mean - left.training, 0.0))
        if k == min(self.optima):
            self._least = curved.sums.curvature, curved.sums.gradient
        self._set_ends(k, found.model, curved.sums, problem.dispersion(found.at.sums))
        self._recognise_separation(k, curved.sums.misses)

    def _start_for(self, k: int, nearest: int | None) -> tuple[Array, SecondOrder | None]:
        """The model to start from, and its sums if they are known."""
        if nearest is None:
            return self._start, None
        near, behind = self._known[nearest], self._known.get(2 * nearest - k)
        if near.derivative is None:
            return near.model, near.sums
        ahead = math.log(lam_at(k) / lam_at(nearest))
        found = near.model + ahead * near.derivative
        if behind is not None and behind.derivative is not None:
            found += behind.model - (near.model - ahead * near.derivative)
        return found, None

    def _next(self, k: int) -> int | None:
        """The next penalty to try after k; None if the best is known."""
        if k == self.grid.best and self._misses <= _FEW_MISSES * self.pieces.n_rows:
            far = max(k - self._stride(k), math.ceil(max(self.grid.lowest, self.grid.least_tried)))
            if far < k - 1:
                return far
        return self.grid.next()

    def _stride(self, k: int) -> int:
        """Half powers of ten to the next penalty, where few rows are on the wrong side.

        Without leave-one-out errors the loss is about proportional to the penalty, and the next one leaves hardly any
        of it. Otherwise a power of ten is divided at once as long as that is clearly a gain.
        """
        left = self._left[k]
        if left.losses.max() < _NO_ERROR:
            total = max(left.mean * self._total_weight, np.finfo(np.float64).tiny)
            decades = max(math.log10(total / self._hardly_any), 0.0)
            return math.ceil(2.0 * min(decades, _MOST_AT_ONCE))
        larger = min((other for other in self.optima if other > k), default=None)
        return 2 if larger is not None and self._gains(k, larger, _SURE_GAIN) else 1

    @property
    def _hardly_any(self) -> float:
        """Summed leave-one-out loss, in rows, below which a smaller penalty hardly lowers the loss that is compared."""
        n_rows = max(self._total_weight, self.pieces.n_rows)
        return max(_HARDLY_ANY, n_rows * share_of_errors(n_rows, self.system.n_features / n_rows))

    def _gains(self, k: int, larger: int, errors: float) -> bool:
        """Whether the loss at k is smaller than at a larger penalty, by this number of paired standard errors."""
        gain = self._left[larger].mean - self._left[k].mean
        return gain > errors * self._left_out.error(self._left[larger].losses - self._left[k].losses)

    def _recognise_separation(self, k: int, misses: float) -> None:
        """End the search where rows are separated and smaller penalties do not clearly predict new ones better."""
        self._misses = misses if self.objective.loss.fades else math.inf
        if self._misses > 0:
            return
        if self._left[k].mean * self._total_weight <= self._hardly_any or (
            k + 1 in self.optima and not self._gains(k, k + 1, _CLEAR_GAIN)
        ):
            self.grid.least_tried = k

    def _optimum(self, k: int, near: PenaltyOptimum) -> Readings:
        """The exact optimum."""
        lam, directions = near.lam, self._directions_at(near.lam)
        search = minimise(self._problem(lam), near.model, EXACT, directions, progress=self._progress)
        found: SearchResult = yield from search
        self.optima[k] = replace(near, model=found.model, decrement=found.decrement)

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
            self.grid.set_lowest(sums.curvature)
        coef = model.copy()
        coef[-1] = 0.0
        flat = coef.T.ravel()
        vanished = flat @ (sums.curvature @ flat) <= NO_COEFFICIENT**2 * unit
        # Where rows are separated there is no curvature either.
        if vanished and sums.loss >= _AS_GOOD * self._constant_loss:
            self.grid.highest = min(self.grid.highest, k)


#: Rows for each coefficient in a tenth of the rows that is used for all of them.
_ENOUGH_FOR_TENTH = 5
#: Key of the hash by which a tenth of the rows is chosen, and decrement up to which optima are found from which others
#: are one Newton step away.
_TENTH_KEY, _ROUGH = 0, 0.1
#: Times that the penalty is chosen, as long as it moves by more half powers of ten than second order is trusted for.
_MOST_CHOICES, _TRUSTED = 3, 2


@final
class SampledPath(PenaltyPath):
    """Newton's method where there are many rows for each coefficient, and sums over all rows are expensive.

    A tenth of the rows, chosen by a hash of their features, gives a model and a penalty to start from. At an optimum of
    all rows those of other penalties are one Newton step away, and are compared by their leave-one-out losses.
    """

    def __init__(self, system: System, rows: MemoryRows, constant: Array) -> None:
        self.system, self._rows, self._pieces = system, rows, rows.pieces(system)
        self._tenth = rows.subset("validation", _TENTH_KEY)
        self._left_out = LeftOutRows(system, self._pieces)
        self.grid = PenaltyGrid()
        self._best, self._lam, self._progress = PenaltyOptimum(constant), math.nan, SearchProgress()
        self._instead: ExactPath | None = None
        self._compared = math.nan
        self._directions = CholeskyDirection(system, cheap=curvature_is_cheap(system.objective, rows.block))

    @staticmethod
    def is_possible(objective: Objective, rows: MemoryRows) -> bool:
        """Whether a tenth of the rows has enough of them for each coefficient, and of each class."""
        block = rows.block
        enough = _ENOUGH_FOR_TENTH * (block.rows.n_features + 1) * objective.n_free_outputs
        if block.n_used < 10 * enough:
            return False
        tenth = rows.subset("validation", _TENTH_KEY).block
        labels = tenth.labels[tenth.all_used()]
        if labels.size < enough:
            return False
        counts = np.unique(labels, return_counts=True)[1]
        return bool(counts.size == np.unique(block.labels).size and counts.min() >= _LEAST_OF_CLASS)

    @property
    def compared_loss(self) -> float:
        """The loss at the best penalty by which penalties are compared."""
        return self._compared

    @property
    def best(self) -> PenaltyOptimum:
        """The optimum; before it is known, the current model of the search."""
        if self._instead is not None:
            return self._instead.best
        found = self._progress.model
        return self._best if found is None or self._best.losses.size else PenaltyOptimum(found, self._lam)

    def evaluations(self) -> Readings:
        """Find the optimum; yields before each reading of all rows."""
        yield None
        k, model, misses = self._first()
        if misses <= _FEW_MISSES * self._tenth.n_rows and self.system.objective.loss.fades:
            # Nearly separated: optima of other penalties are far from this one.
            self._instead = ExactPath(self.system, self._pieces, model)
            yield from self._instead.evaluations()
            self._best, self._loss, self.grid = self._instead.best, self._instead.loss, self._instead.grid
            self._compared = self._instead.compared_loss
            return
        for _ in range(_MOST_CHOICES if self.system.objective.alpha is None else 0):
            yield from self._minimise(lam_at(k), model, _ROUGH)
            before = k
            if self._left_out.reads_all:
                yield None
            k, model = self._choose(k)
            if abs(k - before) <= _TRUSTED:
                break
        lam = lam_at(k) if self.system.objective.alpha is None else self._given
        found = yield from self._minimise(lam, model, EXACT)
        if self._left_out.reads_all:
            yield None
        # The curvature may be that of a search at another penalty.
        curved, penalties = self._directions.curvature_at.sums, self.system.penalties(lam)
        inverse = Factors.of(curved.curvature, penalties, found.model.shape[1]).inverse()
        left = self._left_out.at(found.model, found.at.sums.loss, inverse)
        self._loss, self._compared, sample = left.mean, left.compared, self._left_out.sample
        self._best = PenaltyOptimum(found.model, self._lam, left.losses, found.decrement, sample, is_sample=True)

    def has_finite_optimum(self) -> bool:
        """Whether a finite optimum without a penalty was proved to exist."""
        return self._instead is not None and self._instead.has_finite_optimum()

    @property
    def _given(self) -> float:
        """The given penalty."""
        return self.system.objective.known_alpha * self._rows.frequency * self._rows.block.total_weight

    def _first(self) -> tuple[int, Array, float]:
        """A first penalty, that of least squares at a constant prediction of the tenth, its optimum, and its errors."""
        constant = self._best.model
        sums: SecondOrder = self._tenth.sum(SecondOrderAt(self.system, constant))
        if not np.isfinite(sums.loss):
            raise OverflowError("the loss of the start is too large")
        k = best_of_least_squares(sums, constant.shape)
        lam = lam_at(k) if self.system.objective.alpha is None else self._given
        # The same penalty for fewer rows keeps coefficients of rare columns small: steps from there are not too long.
        problem = Problem(self.system, self.system.penalties(lam), self._tenth.n_rows)
        search = minimise(problem, constant, _ROUGH, CholeskyDirection(self.system))
        found: SearchResult = run_search(self._tenth, search)
        return k, found.model, found.at.sums.misses

    def _minimise(self, lam: float, start: Array, tol: float) -> Search:
        self._lam = lam
        problem = Problem(self.system, self.system.penalties(lam), self._pieces.n_rows)
        return (yield from minimise(problem, start, tol, self._directions, progress=self._progress))

    def _choose(self, first: int) -> tuple[int, Array]:
        """The penalty with the least leave-one-out loss, and its optimum to second order."""
        curved, models = self._directions.curvature_at, dict[int, Array]()
        sums, at = curved.sums, curved.model
        self.grid = PenaltyGrid(first)
        self.grid.set_lowest(sums.curvature)
        while (k := self.grid.next()) is not None:
            penalties = self.system.penalties(lam_at(k))
            factors = Factors.of(sums.curvature, penalties, at.shape[1])
            step = -factors.solve(Point.of(sums, at, penalties).gradient)
            models[k], flat = at + step, step.T.ravel()
            total = sums.loss + float(np.vdot(sums.gradient, step)) + 0.5 * float(flat @ (sums.curvature @ flat))
            left = self._left_out.at(models[k], total, factors.inverse())
            self.grid.record(k, left.compared, least_gain=_LITTLE * max(left.mean - left.training, 0.0))
        return self.grid.best, models[self.grid.best]
