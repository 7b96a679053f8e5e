"""Optima along a path of penalties with folds: Newton's method by conjugate gradients for all folds at once."""

import math
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective, mean, standard_error
from sgdone.kernels.bank import NO_FOLD
from sgdone.kernels.conjugate_vectors import add_scaled, advance, turn
from sgdone.newton import EXACT
from sgdone.newton.counted_work import is_least_squares
from sgdone.newton.fold_search import FoldSearch, LeastSquaresSearch
from sgdone.newton.penalty_path import (
    FIRST_EXPONENT,
    NO_COEFFICIENT,
    NO_PENALTY,
    Evaluated,
    PenaltyGrid,
    PenaltyOptimum,
    PenaltyPath,
    Readings,
    cautious_loss,
    has_unit_norms,
    lam_at,
)
from sgdone.newton.search import MOST_STEPS, RESIDUAL_ROUNDING, ROUNDING, STEP_FRACTIONS, SUFFICIENT_DECREASE
from sgdone.rows.validation_rows import ValidationRows
from sgdone.sums.fold_rows import CurvatureWork, FoldOutputs, FoldProducts, fold_rows
from sgdone.sums.pieces import BlockPieces
from sgdone.sums.second_order import derivatives
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]

#: Largest number of products of a step.
_MOST_PRODUCTS = 200
#: Residual of conjugate gradients, relative to the gradient, in the norm of the preconditioner: at most the first
#: number, and the second times the root of the decrement, because the error of Newton's method is of that order. Nor is
#: it smaller than it takes for a decrement of this share of ``tol``.
_RESIDUAL, _ORDER, _SHARE = 0.3, 0.5, 0.1
_TINY = np.finfo(np.float64).tiny


class SavedModels(NamedTuple):
    """Copy of the models, with the scores of the rows."""

    coef: Array
    intercept: Array
    scores: Array


@final
class FoldNewton:
    """Models that minimise Σvℓ + ½λ‖w‖² for several sets of weights v (rows × models).

    ``means`` are those of the scaled columns.
    """

    def __init__(self, objective: Objective, rows: FoldProducts, labels: Array, weights: Array, means: Array) -> None:
        self.objective, self.rows, self.labels, self.weights = objective, rows, labels, weights
        self.n_models, self.n_outputs = weights.shape[1], objective.n_outputs
        self._outputs = FoldOutputs(self.n_outputs, objective.predicts == "softmax")
        self._means = means if objective.fit_intercept else np.zeros_like(means)
        self.n_columns = self.n_models * self.n_outputs
        self._width = rows.width(self.n_columns)
        shape, of_rows = (rows.n_features, self._width), (rows.n_rows, self._width)
        self.coef, self.intercept, self.scores = np.zeros(shape), np.zeros(self._width), np.zeros(of_rows)
        self._shares, self._slopes, self._changes = np.zeros(of_rows), np.zeros(of_rows), np.zeros(of_rows)
        self._step, self._step_intercept, self._score_step = np.zeros(shape), np.zeros(self._width), np.zeros(of_rows)
        self._direction, self._own, self._direction_scores = np.zeros(shape), np.zeros(shape), np.zeros(of_rows)
        self._product, self._residual, self._conditioned = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._pull, self._pull_intercept = np.zeros(shape), np.zeros(self._width)
        self.curvature, self._total = np.zeros((rows.n_features, self.n_outputs)), np.ones(self._width)
        #: Whether the gradient is that of an earlier point, and whether the curvature is known away from the start.
        self._stale, self._measured = True, False
        self.losses = np.zeros((rows.n_rows, self.n_models))
        self.decrements = np.full(self.n_models, math.inf)
        self._least_unit = max(RESIDUAL_ROUNDING**2 * float(labels.var()), _TINY)
        self.evaluated = Evaluated()

    def start(self, coef: Array, intercept: Array) -> None:
        """Begin at models: scaled coefficients, features × (models × outputs), and intercepts."""
        self.coef[:, : self.n_columns], self.intercept[: self.n_columns] = coef, intercept
        if coef.any():
            self.scores = self.rows.dots(self.coef * self.rows.inverse[:, None], self.intercept)
        else:
            self.scores[:] = self.intercept
        self._evaluate()
        self._stale = True

    def position(self) -> "SavedModels":
        """A copy of the models."""
        return SavedModels(self.coef.copy(), self.intercept.copy(), self.scores.copy())

    def return_to(self, position: "SavedModels") -> None:
        """Begin at a copy of models; no row is read."""
        self.coef[:], self.intercept[:], self.scores[:] = position
        self._evaluate()
        self._stale = True

    def extrapolate(self, earlier: "SavedModels", lam: float) -> None:
        """Move on as far again as from earlier models, where that lowers the objective; no row is read."""
        before = self._values(lam)
        np.subtract(self.coef, earlier.coef, out=self._step)
        np.subtract(self.scores, earlier.scores, out=self._score_step)
        np.subtract(self.intercept, earlier.intercept, out=self._step_intercept)
        self._move(np.ones(self.n_models))
        self._evaluate()
        worse = ~(self._values(lam) < before)
        if worse.any():
            self._move(np.where(worse, -1.0, 0.0))
            self._evaluate()

    def minimise(self, lam: float, tol: float, *, last_step: bool) -> Readings:
        """Minimise until the decrements are at most ``tol``; yields before each reading of the rows.

        ``last_step`` says whether to make the step whose decrement is small enough.
        """
        wanted = tol
        for step in range(MOST_STEPS):
            tol = wanted * self.unit
            if self._stale:
                yield None
                self._differentiate()
            if step == 0 or (step == 2 and not self._measured):
                yield None
                self._measure_curvature()
                self._measured = step == 2 or self._measured
            yield from self._solve(lam, tol)
            if np.all(self.decrements <= tol):
                if last_step:
                    self._move(np.ones(self.n_models))
                    self._evaluate()
                return
            if not self._search(lam):
                return

    @property
    def unit(self) -> float:
        """Variance of the targets about their predictions, the unit of decrements in a regression; otherwise 1."""
        return max(2.0 * self.evaluated.loss, self._least_unit) if self.objective.is_regression else 1.0

    def _of_models(self, values: Array) -> Array:
        """Sums over the outputs of each model."""
        return np.asarray(values[: self.n_columns].reshape(self.n_models, self.n_outputs).sum(axis=1))

    def _to_columns(self, values: Array) -> Array:
        """Repeat the value of each model for all of its columns."""
        found = np.zeros(self._width)
        found[: self.n_columns] = np.repeat(values, self.n_outputs)
        return found

    def _evaluate(self) -> None:
        """Losses and derivatives at the scores."""
        for m in range(self.n_models):
            here = slice(m * self.n_outputs, (m + 1) * self.n_outputs)
            found = derivatives(self.objective, self.scores[:, here], self.labels)
            self.losses[:, m] = found.losses
            np.multiply(self.weights[:, m, None], found.slopes, out=self._slopes[:, here])
            self._shares[:, here] = found.shares
        total = float(self.weights.sum())
        self.evaluated = Evaluated(float(np.vdot(self.weights, self.losses)) / total, self._error())

    def _error(self) -> float:
        """Share of errors of the first model, or the root of its mean squared error."""
        scores, labels = self.scores[:, : self.n_outputs], self.labels
        if self.objective.is_regression:
            return math.sqrt(float(np.square(scores[:, 0] - labels).mean()))
        if self.objective.predicts == "two_classes":
            return float(np.count_nonzero(scores[:, 0] * labels <= 0)) / labels.size
        return float(np.count_nonzero(scores.argmax(axis=1) != labels)) / labels.size

    def _differentiate(self) -> None:
        """The gradient of the loss: one reading."""
        self._pull[:] = 0.0
        self.rows.adds(self._slopes, self._pull)
        self._pull *= self.rows.inverse[:, None]
        self._pull_intercept = self._slopes.sum(axis=0)
        self._stale = False

    def _measure_curvature(self) -> None:
        """The diagonal of the curvature of centred columns, summed over models: two readings of few columns."""
        shares = self._shares[:, : self.n_columns]
        curvatures = shares * (1.0 - shares) if self._outputs.coupled else shares.copy()
        per_model = curvatures.reshape(-1, self.n_models, self.n_outputs)
        per_model *= self.weights[:, :, None]
        self._total = np.ones(self._width)
        self._total[: self.n_columns] = np.maximum(curvatures.sum(axis=0), _TINY)
        together = np.zeros((self.rows.n_rows, self.rows.width(self.n_outputs)))
        together[:, : self.n_outputs] = per_model.mean(axis=1)
        inverse, means = self.rows.inverse[:, None], self._means[:, None]
        shape = (self.rows.n_features, together.shape[1])
        squares, firsts = np.zeros(shape), np.zeros(shape)
        self.rows.adds(together, squares, squared=True)
        self.rows.adds(together, firsts)
        squares *= inverse**2
        squares -= 2.0 * means * inverse * firsts - means**2 * together.sum(axis=0)
        self.curvature = np.ascontiguousarray(np.maximum(squares[:, : self.n_outputs], 0.0))

    def _solve(self, lam: float, tol: float) -> Readings:
        """−H⁻¹g with its scores, and the decrements; yields before each product."""
        totals = np.zeros((2, self._width))
        inverse, fit_intercept = self.rows.inverse, self.objective.fit_intercept
        scale = 1.0 / np.maximum(self.curvature + lam, _TINY)
        of_intercept = float(fit_intercept) / self._total
        self._step[:], self._step_intercept[:], self._score_step[:], self._direction[:] = 0.0, 0.0, 0.0, 0.0
        self._product[:] = 0.0
        np.multiply(self.coef, -lam, out=self._residual)
        self._residual -= self._pull
        left = -float(fit_intercept) * self._pull_intercept
        reduced, moved, squares, steps, direction = (np.zeros(self._width) for _ in range(5))
        vectors = self._direction, self._product, self._step, self._residual, self._conditioned
        before, decrements = np.full(self.n_models, math.inf), np.zeros(self.n_models)
        first: Array | None = None
        for _ in range(_MOST_PRODUCTS):
            advance(steps, lam, inverse, self._means, left, scale, vectors, reduced, moved)
            towards = of_intercept * left - moved
            now = self._of_models(reduced + towards * left)
            first = now if first is None else first
            wanted = np.clip(_ORDER**2 * decrements, _SHARE * tol / np.maximum(decrements, _TINY), _RESIDUAL**2)
            active = (now > np.minimum(wanted, _RESIDUAL**2) * first) & (before > 0.0)
            if not active.any():
                break
            now = np.where(active, now, 0.0)
            shares = self._to_columns(now / np.maximum(before, _TINY))
            turn(shares, inverse, self._conditioned, self._direction, self._own, squares)
            direction = towards + shares * direction
            scores = self._direction_scores
            yield None
            arrays = self._shares, self.weights, self._outputs, scores, self._changes, totals, self._product
            self.rows.curved(CurvatureWork(self._own, direction, *arrays))
            bent = self._of_models(totals[0] + lam * squares)
            lengths = np.where(active & (bent > 0.0), now / np.maximum(bent, _TINY), 0.0)
            steps = self._to_columns(lengths)
            add_scaled(self._score_step, scores, steps)
            self._step_intercept += steps * direction
            decrements += 0.5 * lengths * now
            if fit_intercept:
                left = left - steps * totals[1]
            before = now
        self.decrements = decrements

    def _values(self, lam: float) -> Array:
        """The objectives."""
        squares = self._of_models(np.einsum("ij,ij->j", self.coef, self.coef))
        return np.asarray(np.einsum("ij,ij->j", self.weights, self.losses) + 0.5 * lam * squares)

    def _move(self, shares: Array) -> None:
        """Move models by shares of their steps."""
        if np.all(shares == 1.0):
            self.coef += self._step
            self.scores += self._score_step
        else:
            columns = self._to_columns(shares)
            self.coef += columns * self._step
            self.scores += columns * self._score_step
        self.intercept += self._to_columns(shares) * self._step_intercept
        self._stale = True

    def _search(self, lam: float) -> bool:
        """Make the steps, halved where the objective does not decrease enough; returns whether any model moved."""
        before, share = self._values(lam), np.ones(self.n_models)
        self._move(share)
        while True:
            self._evaluate()
            with np.errstate(invalid="ignore"):
                bound = before - 2.0 * SUFFICIENT_DECREASE * share * self.decrements + ROUNDING * np.abs(before)
                worse = ~(self._values(lam) <= bound) & (share > 0.0)
            if not worse.any():
                return bool(np.any(share > 0.0))
            shorter = np.where(worse, 0.5 * share, share)
            shorter[shorter < STEP_FRACTIONS[-1]] = 0.0
            self._move(shorter - share)
            share = shorter


#: Decrement of the fold models: it changes their losses by much less than their noise.
_NEAR = 2.0
#: The first penalty, relative to the mean squared norm of rows: above most of the best ones on texts, because small
#: steps from larger to smaller penalties take the fewest readings.
_FIRST_SHARE = 1.0
#: A penalty, in steps of the grid above the first, at which one step is made on the way from the constant model.
_ON_THE_WAY = 2
#: Times the readings after which no further penalty is tried, after which the optimum is given up.
_LAST_PATIENCE = 2.0
#: Standard errors of the difference at which units are given up.
_CLEARLY = 3.0


@final
class FoldPath(PenaltyPath):
    """Newton's method at one penalty after the other, for one model per fold; then for all rows at the best penalty.

    The model to start from predicts a constant. After ``most_readings`` of the rows no further penalty is tried.
    """

    def __init__(
        self,
        system: System,
        pieces: BlockPieces,
        start: Array,
        validation: ValidationRows,
        most_readings: float = math.inf,
    ) -> None:
        self.system, self.objective, self.pieces = system, system.objective, pieces
        self._best, self._most_readings, self._readings = PenaltyOptimum(start), most_readings, 0
        objective, block = system.objective, pieces.block
        basis = contrasts(objective)
        self._start = start[-1] if basis is None else basis @ start[-1]
        used = block.all_used()
        self._labels, self.weights = block.labels[used], block.weights_of(used) * pieces.frequency
        folds = _folds_with_all_classes(objective, validation.folds_of(block)[used], self._labels)
        self._held_out = folds[:, None] == np.unique(folds[folds != NO_FOLD])
        self._judged = np.flatnonzero(self._held_out.any(axis=1))
        self._chosen: FoldSearch | None = None
        self._ended_after, self._least = 0, math.inf

    @property
    def uses_given_units(self) -> bool:
        """Whether the search in the given units found a smaller loss."""
        return self._chosen is not None and self._chosen.in_given_units

    def evaluations(self) -> Readings:
        """Find the optima; yields before each reading of the rows."""
        given = self.objective.alpha
        if given is None and not self._judged.size:
            given = lam_at(FIRST_EXPONENT) / float(self.weights.sum())
        kind = LeastSquaresSearch if is_least_squares(self.objective) else _NewtonSearch
        own, other = kind(self, fold_rows(self.pieces)), None
        if given is None and has_unit_norms(self.pieces.block):
            unscaled = BlockPieces(self.pieces.block, self.pieces.scaling.as_given())
            other = kind(self, fold_rows(unscaled), in_given_units=True)
            yield from self._with_patience(other.evaluations())
        lam = None if given is None else given * float(self.weights.sum())
        yield from self._with_patience(own.evaluations(other, lam))
        if not self._ended_after or self._is_enclosed:
            yield from self._optimum()

    @property
    def _is_enclosed(self) -> bool:
        """Whether the best penalty was compared with a smaller and a larger one."""
        grid = self._chosen.grid if self._chosen is not None else PenaltyGrid()
        return bool(grid.losses) and {grid.best - 1, grid.best + 1} <= grid.losses.keys()

    @property
    def compared_by(self) -> str:
        """Cross-validation."""
        return "cross-validation"

    @property
    def remark(self) -> str:
        """Remark for the verdict, about units and about a search that was ended."""
        ended = f"no further alpha was tried after {self._ended_after:,} passes" if self._ended_after else ""
        return "; ".join(filter(None, (super().remark, ended)))

    def _with_patience(self, search: Readings) -> Readings:
        """Follow a search until it has made too many readings; one penalty at least is tried."""
        for request in search:
            if self._readings >= self._most_readings and self._chosen is not None:
                self._ended_after = self._readings
                return
            self._readings += 1
            yield request

    def offer(self, search: FoldSearch) -> None:
        """Use the best fold models of a search if they are the best so far."""
        if self._chosen is not None and not search.loss < self._least:
            return
        self._chosen, self._least, self.grid = search, search.loss, search.grid
        self._loss = mean(search.losses, self.weights[self._judged]) if search.losses.size else math.nan
        self._best = self._as_optimum(*search.mean_model(), math.nan)

    def _optimum(self) -> Readings:
        """The exact optimum of all rows, from the mean of the fold models."""
        chosen = self._chosen
        assert chosen is not None
        newton = FoldNewton(self.objective, chosen.rows, self._labels, self.weights[:, None], chosen.means)
        newton.start(*chosen.mean_model())
        wanted = EXACT * min(1.0, float(self.weights.sum()) / self.weights.size)
        outputs, decrement = newton.n_outputs, math.inf
        for _ in newton.minimise(chosen.lam, wanted, last_step=False):
            self._readings += 1
            if self._readings > _LAST_PATIENCE * self._most_readings:
                break
            yield None
            self.evaluated = newton.evaluated
        else:
            decrement = float(newton.decrements[0]) / newton.unit
        self._best = self._as_optimum(newton.coef[:, :outputs], newton.intercept[:outputs], decrement)

    def _as_optimum(self, coef: Array, intercept: Array, decrement: float) -> PenaltyOptimum:
        """A model in the units of the pieces, with the losses of the fold models."""
        chosen, basis = self._chosen, contrasts(self.objective)
        assert chosen is not None
        if chosen.in_given_units:
            scale = self.pieces.scaling.scale
            coef = coef * np.where(np.isfinite(scale), scale, 0.0)[:, None]
        model = np.vstack([coef, intercept])
        if basis is not None:
            model = model @ basis
        return PenaltyOptimum(model, chosen.lam, chosen.losses, decrement, self._judged if chosen.losses.size else None)

    def new_models(self, rows: FoldProducts, means: Array) -> FoldNewton:
        """Fold models that predict a constant."""
        weights = np.where(self._held_out, 0.0, self.weights[:, None]) if self._judged.size else self.weights[:, None]
        newton = FoldNewton(self.objective, rows, self._labels, np.ascontiguousarray(weights), means)
        newton.start(np.zeros((rows.n_features, newton.n_columns)), np.tile(self._start, newton.n_models))
        return newton

    @property
    def held_out(self) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """Whether each row is held out from each model, and the rows that are held out from one."""
        return self._held_out, self._judged

    @property
    def labels(self) -> Array:
        """Labels of the rows."""
        return self._labels

    def validation_losses(self, newton: FoldNewton) -> Array:
        """Losses of the rows of the folds, of the model that was not trained on them."""
        return newton.losses[self._held_out] if self._judged.size else np.empty(0)

    def loss_to_compare(self, losses: Array) -> float:
        """The loss by which penalties and units are compared; NaN without rows of folds."""
        if not losses.size:
            return math.nan
        columns_per_row = self.system.n_features / max(float(self.weights.sum()), self.weights.size)
        return cautious_loss(self.objective, losses, self.weights[self._judged], columns_per_row)

    def weigh(self, losses: Array) -> tuple[float, float]:
        """Mean of losses of the rows of the folds, and its standard error."""
        weights = self.weights[self._judged]
        return mean(losses, weights), standard_error(losses, weights)


@final
class _NewtonSearch(FoldSearch):
    """Fold models at one penalty after the other, by Newton's method."""

    def mean_model(self) -> tuple[Array, Array]:
        """Means of the coefficients and intercepts of the best fold models."""
        shape, used = (self.newton.n_models, self.newton.n_outputs), self.newton.n_columns
        coef = self.best.coef[:, :used].reshape(-1, *shape).mean(axis=1)
        return coef, self.best.intercept[:used].reshape(shape).mean(axis=0)

    def evaluations(self, rival: Any = None, given: float | None = None) -> Readings:
        """Fold models at the given penalty, or at those around the best.

        They are given up if they clearly lose against a rival in other units.
        """
        yield None
        self.means, norm = self.measure()
        self.newton = self.path.new_models(self.rows, self.means)
        if given is not None:
            yield from self._at(0, given)
            return
        first = round(2.0 * math.log10(max(_FIRST_SHARE * norm, np.finfo(np.float64).tiny)))
        if rival is not None:
            first = self._start_from(rival)
        else:
            yield from self.newton.minimise(lam_at(first + _ON_THE_WAY), math.inf, last_step=True)
        self.grid, begin = PenaltyGrid(), [first - 1, first] if rival is None else [first]
        known = dict[int, SavedModels]()
        while (k := begin.pop() if begin else self.grid.next()) is not None:
            nearest = min(known, key=lambda other: (abs(other - k), other), default=None)
            if nearest is not None:
                self.newton.return_to(known[nearest])
                if 2 * nearest - k in known:
                    self.newton.extrapolate(known[2 * nearest - k], lam_at(k))
            for _ in self._at(k, lam_at(k)):
                yield None
                if rival is not None and self._clearly_loses(rival):
                    return
            known = {other: known[other] for other in known if other == self.grid.best or abs(other - k) == 1}
            known[k] = self.newton.position() if k != self.grid.best else self.best

    def _at(self, k: int, lam: float) -> Readings:
        """The fold models at a penalty, and their losses."""
        for _ in self.newton.minimise(lam, _NEAR, last_step=True):
            yield None
            self.path.evaluated = self.newton.evaluated
        if not np.isfinite(self.newton.evaluated.loss):
            raise OverflowError("the loss of the start is too large")
        losses = self.path.validation_losses(self.newton)
        loss = self.path.loss_to_compare(losses)
        self.grid.record(k, loss)
        if self.grid.best == k:
            self.losses, self.loss, self.lam, self.best = losses, loss, lam, self.newton.position()
            self.path.offer(self)
        self._set_ends(k, lam)

    def _set_ends(self, k: int, lam: float) -> None:
        """Set the ends of the grid: neither larger penalties nor tiny ones make a difference to the model."""
        newton = self.newton
        curvature = newton.curvature.max(axis=1)
        largest = max(float(curvature.max(initial=0.0)), np.finfo(np.float64).tiny)
        self.grid.lowest = 2.0 * math.log10(NO_PENALTY * largest)
        if np.all(np.abs(newton.coef) <= NO_COEFFICIENT / np.sqrt(np.maximum(curvature + lam, _TINY))[:, None]):
            self.grid.highest = min(self.grid.highest, k)

    def _clearly_loses(self, rival: FoldSearch) -> bool:
        losses = self.path.validation_losses(self.newton) if not self.losses.size else self.losses
        difference, error = self.path.weigh(losses - rival.losses)
        return difference > _CLEARLY * error

    def _start_from(self, rival: "_NewtonSearch") -> int:
        """Begin at the rival's models, and at the penalty that weighs as much as theirs."""
        ratio = np.divide(
            rival.rows.inverse, self.rows.inverse, out=np.zeros(self.rows.n_features), where=self.rows.inverse > 0
        )
        coef = rival.best.coef * ratio[:, None]
        self.newton.return_to(SavedModels(coef, rival.best.intercept, rival.best.scores))
        theirs, ours = float(np.vdot(rival.best.coef, rival.best.coef)), float(np.vdot(coef, coef))
        return round(2.0 * math.log10(rival.lam * max(theirs, 1e-300) / max(ours, 1e-300)))


def _folds_with_all_classes(objective: Objective, folds: NDArray[np.uint8], labels: Array) -> NDArray[np.uint8]:
    """Folds without rows of classes that occur in one fold only: its model does not know them."""
    if objective.is_regression:
        return folds
    found = folds.copy()
    for label in np.unique(labels):
        here = labels == label
        own = np.unique(folds[here])
        if own.size == 1:
            found[here] = NO_FOLD
    return found
