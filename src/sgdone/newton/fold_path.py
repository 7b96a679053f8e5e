"""Optima along a path of penalties by conjugate gradients, and the penalty by models that leave out a fold each.

For problems whose curvature is too large to be factorised. Sparse rows that all have norm 1 were scaled on purpose:
there the given units compete with those of the default fit.
"""

import math
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.measured import mean, standard_error
from sgdone.interfaces.objective import Objective
from sgdone.kernels.bank import NO_FOLD
from sgdone.newton import EXACT
from sgdone.newton.both_units import GIVEN_UNITS, as_given
from sgdone.newton.fold_newton import FoldNewton, Position
from sgdone.newton.penalty_grid import FIRST, NO_COEFFICIENT, NO_PENALTY, PenaltyGrid, penalty
from sgdone.newton.penalty_path import Optimum, PenaltyPath, Readings
from sgdone.rows.source import Block
from sgdone.rows.validation_rows import ValidationRows
from sgdone.sums.fold_rows import FoldRows, fold_rows
from sgdone.sums.pieces import BlockPieces
from sgdone.sums.system import contrasts
from sgdone.sums.units import Units

Array = NDArray[np.float64]

#: Decrement of the fold models: it changes their losses by much less than their noise.
_NEAR = 2.0
#: The first penalty, relative to the mean squared norm of rows: above most of the best ones on texts, because small
#: steps from larger to smaller penalties take the fewest readings.
_FIRST_SHARE = 1.0
#: A penalty, in steps of the grid above the first, at which one step is made on the way from the constant model.
_ON_THE_WAY = 2
#: Standard errors of the difference at which units are given up.
_CLEARLY = 3.0
#: By how much squared norms of rows may differ from 1 for these to have norm 1.
_ROUNDING = 1e-5


@final
class FoldPath(PenaltyPath):
    """Newton's method at one penalty after the other, for one model per fold; then for all rows at the best penalty.

    Parameters
    ----------
    objective : Objective
        The loss, and the penalty if it is given.
    pieces : BlockPieces
        Rows in the units in which the penalty acts.
    start : ndarray
        The model to start from: that of a constant prediction.
    validation : ValidationRows
        The folds.
    """

    def __init__(self, objective: Objective, pieces: BlockPieces, start: Array, validation: ValidationRows) -> None:
        self.objective, self.pieces = objective, pieces
        basis, block = contrasts(objective), pieces.block
        self._start = start[-1] if basis is None else basis @ start[-1]
        used = block.all_used()
        self._labels, self._weights = block.labels[used], block.weights_of(used) * pieces.frequency
        folds = _folds_with_all_classes(objective, validation.folds_of(block)[used], self._labels)
        self._held_out = folds[:, None] == np.unique(folds[folds != NO_FOLD])
        self._judged = np.flatnonzero(self._held_out.any(axis=1))
        self._chosen: _Search | None = None

    @property
    def remark(self) -> str:
        """Remark for the verdict, if the given units were better."""
        return GIVEN_UNITS if self.uses_given_units else ""

    @property
    def uses_given_units(self) -> bool:
        """Whether the penalty acts on coefficients in the given units, these being better."""
        return self._chosen is not None and self._chosen.in_given_units

    def evaluations(self) -> Readings:
        """Find the optima; yields before each reading of the rows."""
        given = self.objective.alpha
        if given is None and not self._judged.size:
            given = penalty(FIRST) / float(self._weights.sum())
        own, other = _Search(self, fold_rows(self.pieces)), None
        if given is None and has_unit_norms(self.pieces.block):
            unscaled = BlockPieces(self.pieces.block, self.pieces.scaling.as_given())
            other = _Search(self, fold_rows(unscaled), in_given_units=True)
            yield from other.evaluations()
        yield from own.evaluations(other, None if given is None else given * float(self._weights.sum()))
        yield from self._optimum()

    def offer(self, search: "_Search") -> None:
        """Use the best fold models of a search if they are the best so far."""
        if self._chosen is not None and not search.loss < self.loss:
            return
        self._chosen, self._loss, self.grid = search, search.loss, search.grid
        self._best = self._as_optimum(*search.mean_model(), math.nan)

    def units(self, units: Units) -> Units:
        """Units to continue in: the given ones if these were better."""
        return as_given(units) if self.uses_given_units else units

    def _optimum(self) -> Readings:
        """The exact optimum of all rows, from the mean of the fold models."""
        chosen = self._chosen
        assert chosen is not None
        newton = FoldNewton(self.objective, chosen.rows, self._labels, self._weights[:, None], chosen.means)
        newton.start(*chosen.mean_model())
        wanted = EXACT * min(1.0, float(self._weights.sum()) / self._weights.size)
        for _ in newton.minimise(chosen.strength, wanted, last_step=False):
            yield None
            self.evaluated = newton.evaluated
        outputs = newton.n_outputs
        decrement = float(newton.decrements[0])
        self._best = self._as_optimum(newton.coef[:, :outputs], newton.intercept[:outputs], decrement)

    def _as_optimum(self, coef: Array, intercept: Array, decrement: float) -> Optimum:
        """A model in the units of the pieces, with the losses of the fold models."""
        chosen, basis = self._chosen, contrasts(self.objective)
        assert chosen is not None
        if chosen.in_given_units:
            scale = self.pieces.scaling.scale
            coef = coef * np.where(np.isfinite(scale), scale, 0.0)[:, None]
        model = np.vstack([coef, intercept])
        if basis is not None:
            model = model @ basis
        return Optimum(model, chosen.strength, chosen.losses, decrement, self._judged if chosen.losses.size else None)

    def new_models(self, rows: FoldRows, means: Array) -> FoldNewton:
        """Fold models that predict a constant."""
        weights = np.where(self._held_out, 0.0, self._weights[:, None]) if self._judged.size else self._weights[:, None]
        newton = FoldNewton(self.objective, rows, self._labels, np.ascontiguousarray(weights), means)
        newton.start(np.zeros((rows.n_features, newton.n_columns)), np.tile(self._start, newton.n_models))
        return newton

    def validation_losses(self, newton: FoldNewton) -> Array:
        """Losses of the rows of the folds, of the model that was not trained on them."""
        return newton.losses[self._held_out] if self._judged.size else np.empty(0)

    def weigh(self, losses: Array) -> tuple[float, float]:
        """Mean of losses of the rows of the folds, and its standard error."""
        weights = self._weights[self._judged]
        return mean(losses, weights), standard_error(losses, weights)

    @property
    def weights(self) -> Array:
        """Frequencies of the rows."""
        return self._weights


@final
class _Search:
    """Search for the best penalty in one set of units."""

    def __init__(self, path: FoldPath, rows: FoldRows, *, in_given_units: bool = False) -> None:
        self.path, self.rows, self.in_given_units = path, rows, in_given_units
        self.grid, self.losses, self.loss, self.strength = PenaltyGrid(), np.empty(0), math.inf, math.nan

    def mean_model(self) -> tuple[Array, Array]:
        """Means of the coefficients and intercepts of the best fold models."""
        shape, used = (self.newton.n_models, self.newton.n_outputs), self.newton.n_columns
        coef = self.best.coef[:, :used].reshape(-1, *shape).mean(axis=1)
        return coef, self.best.intercept[:used].reshape(shape).mean(axis=0)

    def evaluations(self, rival: "_Search | None" = None, given: float | None = None) -> Readings:
        """Fold models at the given penalty, or at those around the best.

        They are given up if they clearly lose against a rival in other units.
        """
        yield None
        self.means, norm = self._measure()
        self.newton = self.path.new_models(self.rows, self.means)
        if given is not None:
            yield from self._at(0, given)
            return
        first = round(2.0 * math.log10(max(_FIRST_SHARE * norm, np.finfo(np.float64).tiny)))
        if rival is not None:
            first = self._start_from(rival)
        else:
            yield from self.newton.minimise(penalty(first + _ON_THE_WAY), math.inf, last_step=True)
        self.grid, begin = PenaltyGrid(), [first - 1, first] if rival is None else [first]
        known = dict[int, Position]()
        while (k := begin.pop() if begin else self.grid.next()) is not None:
            nearest = min(known, key=lambda other: (abs(other - k), other), default=None)
            if nearest is not None:
                self.newton.return_to(known[nearest])
                if 2 * nearest - k in known:
                    self.newton.extrapolate(known[2 * nearest - k], penalty(k))
            for _ in self._at(k, penalty(k)):
                yield None
                if rival is not None and self._clearly_loses(rival):
                    return
            known = {other: known[other] for other in known if other == self.grid.best or abs(other - k) == 1}
            known[k] = self.newton.position() if k != self.grid.best else self.best

    def _at(self, k: int, strength: float) -> Readings:
        """The fold models at a penalty, and their losses."""
        for _ in self.newton.minimise(strength, _NEAR, last_step=True):
            yield None
            self.path.evaluated = self.newton.evaluated
        if not np.isfinite(self.newton.evaluated.loss):
            raise OverflowError("the loss of the start is too large")
        losses = self.path.validation_losses(self.newton)
        loss = self.path.weigh(losses)[0] if losses.size else math.nan
        self.grid.record(k, loss)
        if self.grid.best == k:
            self.losses, self.loss, self.strength, self.best = losses, loss, strength, self.newton.position()
            self.path.offer(self)
        self._set_ends(k, strength)

    def _set_ends(self, k: int, strength: float) -> None:
        """Set the ends of the grid: neither larger penalties nor tiny ones make a difference to the model."""
        newton = self.newton
        curvature = newton.curvature.max(axis=1)
        largest = max(float(curvature.max(initial=0.0)), np.finfo(np.float64).tiny)
        self.grid.lowest = 2.0 * math.log10(NO_PENALTY * largest)
        if np.all(np.abs(newton.coef) <= NO_COEFFICIENT / np.sqrt(curvature + strength)[:, None]):
            self.grid.highest = min(self.grid.highest, k)

    def _clearly_loses(self, rival: "_Search") -> bool:
        losses = self.path.validation_losses(self.newton) if not self.losses.size else self.losses
        difference, error = self.path.weigh(losses - rival.losses)
        return difference > _CLEARLY * error

    def _start_from(self, rival: "_Search") -> int:
        """Begin at the rival's models, and at the penalty that weighs as much as theirs."""
        ratio = np.divide(
            rival.rows.inverse, self.rows.inverse, out=np.zeros(self.rows.n_features), where=self.rows.inverse > 0
        )
        coef = rival.best.coef * ratio[:, None]
        self.newton.return_to(Position(coef, rival.best.intercept, rival.best.scores))
        theirs, ours = float(np.vdot(rival.best.coef, rival.best.coef)), float(np.vdot(coef, coef))
        return round(2.0 * math.log10(rival.strength * max(theirs, 1e-300) / max(ours, 1e-300)))

    def _measure(self) -> tuple[Array, float]:
        """Means of the scaled columns, and the mean squared norm of rows."""
        weights = self.path.weights
        total = float(weights.sum())
        found = np.zeros((2, self.rows.n_features, 1))
        self.rows.adds(weights[:, None], found[0])
        self.rows.adds(weights[:, None], found[1], squared=True)
        inverse = self.rows.inverse
        return found[0, :, 0] * inverse / total, float((found[1, :, 0] * inverse**2).sum()) / total


def has_unit_norms(block: Block) -> bool:
    """Whether the rows are sparse and all have norm 1, except empty ones."""
    if not block.rows.is_sparse:
        return False
    matrix = block.rows.whole()
    values = np.append(matrix.data.astype(np.float64) ** 2, 0.0)
    lengths = np.diff(matrix.indptr)
    norms = np.add.reduceat(values, matrix.indptr[:-1])[lengths > 0]
    return bool(norms.size and np.all(np.abs(norms - 1.0) <= _ROUNDING))


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
