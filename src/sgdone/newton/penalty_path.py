"""The path of penalties: the optimum at one penalty after the other, and leave-one-out losses to compare them by.

The grid of penalties, paths in two units, and approximate leave-one-out losses (Rad & Maleki 2020): one Newton step
away from the optimum, without refitting. At the optimum of Σvℓ + ½λ‖w‖² with curvature H, removing u = min(v, 1) of a
row changes its own scores by uA(I − uLA)⁻¹s, where A = x̃ᵀH⁻¹x̃, s and L are the first and second derivatives of its
loss in the scores, and A and L are square if there are several scores. For the squared loss this is exact.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective, mean
from sgdone.newton.search import Factors
from sgdone.rows.rows import Block, Rows, Scaling
from sgdone.sums.pieces import BlockPieces, Piece, Pieces, ScaledRows
from sgdone.sums.row_sum import RowSum
from sgdone.sums.second_order import SecondOrder, derivatives, pairs_of_classes, scores, second_order
from sgdone.sums.system import System, best_constant, contrasts
from sgdone.sums.units import Units

#: The first k, the default of many libraries, and the largest: of targets that depend on nothing, every larger penalty
#: is a little better for ever.
FIRST_EXPONENT, LARGEST = 0, 80
#: Coefficients of a model that is as good as constant: √(wᵀCw) for the curvature C of the loss, so that each of them is
#: below as many standard errors; and smallest penalty, as a share of the largest eigenvalue of C, that makes a
#: difference.
NO_COEFFICIENT, NO_PENALTY = 0.01, 1e-10


def lam_at(k: int) -> float:
    """λ = 10^(k/2).

    Examples
    --------
    >>> lam_at(0), lam_at(2), lam_at(-4)
    (1.0, 10.0, 0.01)
    """
    return float(10.0 ** (k / 2))


@final
@dataclass
class PenaltyGrid:
    """Penalties that were tried, and the next one: the neighbours of the best, until both are worse.

    Examples
    --------
    >>> grid = PenaltyGrid()
    >>> while (k := grid.next()) is not None:
    ...     grid.record(k, loss=(k - 3) ** 2)
    >>> sorted(grid.losses), grid.best, grid.end
    ([-1, 0, 1, 2, 3, 4], 3, '')
    """

    #: The first number k.
    first: int = FIRST_EXPONENT
    losses: dict[int, float] = field(default_factory=dict)
    #: Smallest and largest k that may be tried.
    lowest: float = -math.inf
    highest: float = LARGEST
    #: k below which none is tried, because rows are separated: smaller ones make a difference, but none that matters.
    least_tried: float = -math.inf
    #: Gain of the last step towards a neighbour below which further penalties are not tried.
    least_gain: float = 0.0

    @property
    def best(self) -> int:
        """The penalty with the least loss; of several, the largest."""
        return min(self.losses, key=lambda k: (self.losses[k], -k))

    def record(self, k: int, loss: float, least_gain: float = 0.0) -> None:
        """Record the loss at a penalty, infinite if it is not a number, and the gain that is little beside it."""
        self.losses[k] = loss if loss == loss else math.inf
        if k == self.best:
            self.least_gain = least_gain

    def set_lowest(self, curvature: "Array") -> None:
        """Set the smallest penalty that makes a difference, by the curvature of the loss."""
        largest = max(_largest_eigenvalue(curvature), np.finfo(np.float64).tiny)
        self.lowest = 2.0 * math.log10(NO_PENALTY * largest)

    def next(self) -> int | None:
        """The next penalty to try; None if the best is known."""
        if not self.losses:
            return self.first
        for k in (self.best - 1, self.best + 1):
            if k not in self.losses and k >= self.least_tried and self._allowed(k) and not self.levels_off(k):
                return k
        return None

    @property
    def end(self) -> Literal["", "smallest", "largest"]:
        """Whether the best penalty is the smallest or the largest that makes a difference; empty if it is inside."""
        if self.best + 1 not in self.losses and not self._allowed(self.best + 1):
            return "largest"
        return "smallest" if self.best - 1 not in self.losses and not self._allowed(self.best - 1) else ""

    def levels_off(self, k: int) -> bool:
        """Whether the last step towards k, a neighbour of the best, gained little, and less than the one before it.

        Where penalties are far too large or too small, gains are small but grow.
        """
        back = self.best - k
        before, first = self.losses.get(self.best + back), self.losses.get(self.best + 2 * back)
        if before is None or first is None:
            return False
        gain = before - self.losses[self.best]
        return gain < min(self.least_gain, first - before)

    def _allowed(self, k: int) -> bool:
        return self.lowest <= k <= self.highest


def _largest_eigenvalue(matrix: "Array") -> float:
    """Largest eigenvalue, to a few per cent, by ten products."""
    vector = np.sqrt(np.maximum(np.diagonal(matrix), 0.0)) + np.finfo(np.float64).tiny
    for _ in range(10):
        vector = matrix @ (vector / max(float(np.linalg.norm(vector)), np.finfo(np.float64).tiny))
    return float(np.linalg.norm(vector))


Array = NDArray[np.float64]
#: Errors that are added to those of the rows, and as many correct predictions (Agresti & Coull 1998).
_ERRORS_ADDED = 2.0


def cautious_loss(objective: Objective, losses: Array, weights: Array, columns_per_row: float) -> float:
    """Mean loss by which penalties are compared: that of the rows, and of errors that further rows may have.

    Where all rows are predicted correctly the loss falls with the penalty for ever, because scores grow. Yet n correct
    predictions only show that errors are rare: their probability is estimated as 2/(n + 4). With fewer columns than
    rows it is smaller by their ratio: the less of the agreement is chance. The true class is then one of the others,
    which share the probability that is left.

    Examples
    --------
    >>> from sgdone.losses import Logistic
    >>> objective = Objective(Logistic(), predicts="two_classes")
    >>> [round(cautious_loss(objective, np.full(26, loss), np.ones(26), 77.0), 2) for loss in (0.3, 0.1, 0.01)]
    [0.37, 0.25, 0.32]
    """
    found = mean(losses, weights)
    if not objective.loss.probabilistic or objective.predicts not in ("two_classes", "softmax"):
        return found
    left = -np.expm1(-np.maximum(losses, np.finfo(np.float64).tiny))
    of_others = mean(math.log(max(objective.n_outputs, 2) - 1) - np.log(left), weights)
    share = share_of_errors(max(float(weights.sum()), losses.size), columns_per_row)
    return found + share * (of_others - found)


def frequency_error(losses: Array, weights: Array) -> float:
    """Standard error of a mean loss of rows with frequencies: a row of weight 2 counts as two."""
    apart = losses - mean(losses, weights)
    unit = float(np.abs(apart).max(initial=0.0)) or 1.0
    return unit * float(np.sqrt((weights * (apart / unit) ** 2).sum()) / weights.sum())


def share_of_errors(n_rows: float, columns_per_row: float) -> float:
    """Probability of an error where none of the rows is predicted wrongly."""
    return min(1.0, columns_per_row) * _ERRORS_ADDED / (n_rows + 2.0 * _ERRORS_ADDED)


#: Sums that a path requests, or None for a reading that the path makes itself.
Readings = Generator[RowSum | None, Any, None]


class Evaluated(NamedTuple):
    """Mean loss at a model, and its share of errors or root mean squared error."""

    loss: float = float("nan")
    error: float = float("nan")

    @classmethod
    def of(cls, sums: SecondOrder, n_rows: int, objective: Objective) -> "Evaluated":
        """Loss and error from sums at a model."""
        error = sums.misses / n_rows
        return cls(sums.loss / sums.weight, float(np.sqrt(error)) if objective.is_regression else error)


@final
@dataclass(frozen=True)
class PenaltyOptimum:
    """The optimum at a penalty."""

    #: (features + 1) × free outputs, in the units of the pieces.
    model: Array
    #: λ = α·Σv.
    lam: float = 0.0
    #: Estimated losses of the rows, had they not been used; empty before they are known.
    losses: Array = field(default_factory=lambda: np.empty(0))
    #: By how much Σvℓ + ½λ‖w‖² exceeds its minimum, to second order; in regression, over the variance of residuals. NaN
    #: if it is not known.
    decrement: float = math.nan
    #: Numbers, among the rows of positive weight, of those that ``losses`` are of; None for all.
    rows: NDArray[np.intp] | None = None
    #: Whether these rows are a sample that stands for all; otherwise they are those of folds.
    is_sample: bool = False

    @property
    def by_folds(self) -> bool:
        """Whether the losses are those of folds."""
        return self.rows is not None and not self.is_sample


#: Remark for the verdict.
_GIVEN_UNITS = "all rows have norm 1: their own units were better than scaled ones, and alpha refers to them"


class PenaltyPath(ABC):
    """The optima along a path of penalties."""

    #: The loss, the penalty if it is given, and the units in which it acts: those of the models.
    system: System
    #: Loss and error at the last reading of the rows.
    evaluated: Evaluated = Evaluated()
    #: Penalties that were tried; None if only one is.
    grid: PenaltyGrid | None = None
    _best: PenaltyOptimum
    _loss: float = float("nan")

    @property
    def best(self) -> PenaltyOptimum:
        """The optimum of the best penalty so far; at first the model that the path starts from."""
        return self._best

    @property
    def loss(self) -> float:
        """The estimated loss of new rows at the best penalty; NaN if it is not known."""
        return self._loss

    @property
    def losses(self) -> dict[float, float]:
        """Loss by which penalties are compared at each λ that was tried."""
        return {} if self.grid is None else {lam_at(k): loss for k, loss in sorted(self.grid.losses.items())}

    @property
    def compared_by(self) -> str:
        """Estimate of the loss of new rows by which penalties are compared."""
        return "leave-one-out"

    @property
    def compared_loss(self) -> float:
        """The loss at the best penalty by which penalties, and paths in several units, are compared."""
        return self.loss

    @abstractmethod
    def evaluations(self) -> Readings:
        """Find the optima; yields before each reading of the rows."""

    @property
    def end(self) -> Literal["", "smallest", "largest"]:
        """Whether the best penalty is the smallest or the largest that makes a difference; empty if it is inside."""
        return "" if self.grid is None else self.grid.end

    def has_finite_optimum(self) -> bool:
        """Whether a finite optimum without a penalty was proved to exist."""
        return False

    @property
    def uses_given_units(self) -> bool:
        """Whether the penalty acts on coefficients in the user's units, these being better than scaled ones."""
        return False

    def units(self, units: Units) -> Units:
        """Units to continue in."""
        if not self.uses_given_units:
            return units
        given = units.copy()
        given.scale = np.where(units.scale > 0.0, 1.0, 0.0)
        return given

    @property
    def remark(self) -> str:
        """Remark for the verdict; empty for most."""
        return _GIVEN_UNITS if self.uses_given_units else ""


#: By how much squared norms of rows may differ from 1 for these to have norm 1.
_NORM_ROUNDING = 1e-5


@final
class ScaledAndGivenPath(PenaltyPath):
    """Paths in scaled units and in the given ones, for sparse rows that all have norm 1: these were scaled on purpose.

    ``to_scaled`` has, for each path, the conversion of its models to models of the features in scaled units.
    """

    def __init__(
        self,
        scaled: PenaltyPath,
        given: PenaltyPath,
        to_scaled: tuple[Callable[[Array], Array], Callable[[Array], Array]],
    ) -> None:
        self.system = replace(scaled.system, span=None)
        self._scaled, self._given, self._to_scaled = scaled, given, to_scaled
        self._chosen = self._running = scaled

    @property
    def end(self) -> Literal["", "smallest", "largest"]:
        """Whether the best penalty is at an end of those that make a difference."""
        return self._chosen.end

    @property
    def losses(self) -> dict[float, float]:
        """Estimated losses of the better path."""
        return self._chosen.losses

    @property
    def compared_by(self) -> str:
        """Estimate by which penalties of the better path are compared."""
        return self._chosen.compared_by

    @property
    def best(self) -> PenaltyOptimum:
        """The optimum of the better path, in scaled units."""
        found = self._chosen.best
        return replace(found, model=self._to_scaled[self.uses_given_units](found.model))

    @property
    def loss(self) -> float:
        """The estimated loss of new rows of the better path."""
        return self._chosen.loss

    def evaluations(self) -> Readings:
        """Follow one path, then the other."""
        for path in (self._scaled, self._given):
            self._running = path
            yield from path.evaluations()
        if self._given.compared_loss < self._scaled.compared_loss:
            self._chosen = self._given

    @property
    def evaluated(self) -> Evaluated:
        """Loss and error at the last reading of the rows."""
        return self._running.evaluated

    @evaluated.setter
    def evaluated(self, found: Evaluated) -> None:
        self._running.evaluated = found

    def has_finite_optimum(self) -> bool:
        """Whether a finite optimum without a penalty was proved to exist, in scaled units."""
        return self._scaled.has_finite_optimum()

    @property
    def uses_given_units(self) -> bool:
        """Whether the path in the given units is better."""
        return self._chosen is self._given


def has_unit_norms(block: Block) -> bool:
    """Whether the rows are sparse and all have norm 1, except empty ones."""
    if not block.rows.is_sparse:
        return False
    matrix = block.rows.whole()
    values = np.append(matrix.data.astype(np.float64) ** 2, 0.0)
    lengths = np.diff(matrix.indptr)
    norms = np.add.reduceat(values, matrix.indptr[:-1])[lengths > 0]
    return bool(norms.size and np.all(np.abs(norms - 1.0) <= _NORM_ROUNDING))


#: Rows whose equations between classes are solved at once: they stay in the caches, and take little memory.
_ROWS_AT_ONCE = 256
#: 1 − uLA below which the other rows do not determine the prediction of a row; it is then that of the intercept alone.
ALONE = 1e-13


class LeftOutLosses(NamedTuple):
    """Losses of rows at a model, and as if each had been left out."""

    training: Array
    losses: Array


def leave_one_out(
    objective: Objective, pieces: Pieces, model: Array, inverse: Array, *, single: bool = False
) -> LeftOutLosses:
    """The loss of each row of positive weight, and the one had u = min(v, 1) of it been left out.

    ``model`` is the optimum with all rows, and ``inverse`` H⁻¹ there, of the penalised objective. Leverages in single
    precision are enough if ``single``.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = pieces.map(lambda piece: left_out_of_piece(objective, piece, model, inverse, single))
        training, losses = zip(*found, strict=True)
        return LeftOutLosses(np.concatenate(training), np.concatenate(losses))


def losses_of_constant(objective: Objective, labels: Array, weights: Array, *, left_out: bool) -> Array:
    """Losses of rows under the best constant prediction, as if each had been left out of it if ``left_out``."""
    constant, basis = best_constant(objective, labels, weights), contrasts(objective)
    model = np.asarray(constant if basis is None else constant @ basis)[None, :]
    if not left_out or not objective.fit_intercept:
        return derivatives(objective, np.tile(constant, (labels.size, 1)), labels).losses
    if objective.loss.probabilistic and objective.predicts != "one_vs_rest":
        # Its probabilities are the frequencies of the classes; those of a class with one row are not 0.
        classes = (labels > 0).astype(np.intp) if basis is None else labels.astype(np.intp)
        removed = np.minimum(weights, 1.0)
        left = np.maximum(np.bincount(classes, weights)[classes] - removed, 0.5 * removed)
        return np.asarray(np.log(weights.sum() - removed) - np.log(left))
    block = Block.of(Rows.of(np.empty((labels.size, 0))), labels, weights)
    pieces = BlockPieces(block, Scaling(np.empty(0)))
    curvature = second_order(objective, pieces, model).curvature
    return leave_one_out(objective, pieces, model, Factors.of(curvature, np.zeros(1), model.shape[1]).inverse()).losses


def left_out_of_piece(objective: Objective, piece: Piece, model: Array, inverse: Array, single: bool) -> LeftOutLosses:
    """The losses of the rows of a piece, as in `leave_one_out`."""
    rows, labels, weights = piece
    basis, (width, columns) = contrasts(objective), model.shape
    of_rows = scores(rows, model, basis)
    found = derivatives(objective, of_rows, labels)
    removed, blocks = np.minimum(weights, 1.0), inverse.reshape(columns, width, columns, width)
    if basis is None:
        own = np.ascontiguousarray(np.moveaxis(np.diagonal(blocks, axis1=0, axis2=2), 2, 0))
        leverages = rows.quadratic_forms(own, single=single)
        left = 1.0 - removed[:, None] * found.shares * leverages
        alone = left < ALONE
        change = removed[:, None] * leverages * found.slopes / np.where(alone, 1.0, left)
        without = np.where(alone, model[-1], of_rows + change)
        return LeftOutLosses(found.losses, derivatives(objective, without, labels).losses)
    leverages = _leverages_of_pairs(rows, blocks, basis, single=single)
    change = np.empty_like(found.shares)
    for some in (slice(first, first + _ROWS_AT_ONCE) for first in range(0, len(change), _ROWS_AT_ONCE)):
        change[some] = _change_of_classes(leverages[some], found.shares[some], found.slopes[some], removed[some])
    return LeftOutLosses(found.losses, derivatives(objective, of_rows + change, labels).losses)


def _change_of_classes(leverages: Array, shares: Array, slopes: Array, removed: Array) -> Array:
    """uA(I − uLA)⁻¹s of each row with L = diag p − ppᵀ, from the leverages A of pairs of classes."""
    count = shares.shape[1]
    first, second = pairs_of_classes(count)
    places = np.zeros((count, count), np.intp)
    places[first, second] = places[second, first] = np.arange(first.size)
    influence = leverages.take(places.ravel(), axis=1).reshape(-1, count, count)
    diagonal = influence.reshape(len(influence), -1)[:, :: count + 1]
    # Scores sum to 0, and so do the rows and columns of each matrix.
    diagonal[:] = 0.0
    diagonal[:] = -influence.sum(axis=2)
    system = influence - np.matmul(shares[:, None, :], influence)
    system *= (-removed[:, None] * shares)[:, :, None]
    system.reshape(len(system), -1)[:, :: count + 1] += 1.0
    return np.asarray(removed[:, None] * np.matmul(influence, np.linalg.solve(system, slopes[:, :, None]))[:, :, 0])


def _leverages_of_pairs(rows: ScaledRows, blocks: Array, basis: Array, *, single: bool) -> Array:
    """x̃ᵀH⁻¹x̃ of each row between the scores of each pair of classes: rows × pairs."""
    (columns, width), count = blocks.shape[:2], len(basis)
    turned = (basis @ blocks.reshape(columns, -1)).reshape(-1, columns, width)
    first, second = pairs_of_classes(count)
    between = np.matmul(basis, turned).reshape(count, width, count, width)[first, :, second]
    return rows.quadratic_forms(0.5 * (between + between.transpose(0, 2, 1)), single=single)
