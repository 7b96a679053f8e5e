"""Newton's method for several models at once, one for each set of weights of the rows, by conjugate gradients.

The rows are read once for all models. Scores of the directions are kept, so that a line search reads no row.
"""

import math
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.kernels.conjugate_vectors import make_add_scaled, make_advance, make_turn
from sgdone.newton.penalty_path import Evaluated, Readings
from sgdone.newton.search import ENOUGH, MOST_STEPS, ROUNDING, SHARES
from sgdone.sums.derivatives import derivatives
from sgdone.sums.fold_rows import Curved, FoldRows, Outputs

Array = NDArray[np.float64]

#: Largest number of products of a step.
_MOST_PRODUCTS = 200
#: Residual of conjugate gradients, relative to the gradient, in the norm of the preconditioner: at most the first
#: number, and the second times the root of the decrement, because the error of Newton's method is of that order. Nor is
#: it smaller than it takes for a decrement of this share of ``tol``.
_RESIDUAL, _ORDER, _SHARE = 0.3, 0.5, 0.1
_TINY = np.finfo(np.float64).tiny


class Position(NamedTuple):
    """Copy of the models, with the scores of the rows."""

    coef: Array
    intercept: Array
    scores: Array


@final
class FoldNewton:
    """Models that minimise Σvℓ + ½λ‖w‖² for several sets of weights v.

    Parameters
    ----------
    objective : Objective
        The loss.
    rows : FoldRows
        Rows of positive weight.
    labels : ndarray
        Their labels.
    weights : ndarray
        Frequencies, rows × models.
    means : ndarray
        Means of the scaled columns.
    """

    def __init__(self, objective: Objective, rows: FoldRows, labels: Array, weights: Array, means: Array) -> None:
        self.objective, self.rows, self.labels, self.weights = objective, rows, labels, weights
        self.n_models, self.n_outputs = weights.shape[1], objective.n_outputs
        self._outputs = Outputs(self.n_outputs, objective.predicts == "softmax")
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

    def position(self) -> "Position":
        """A copy of the models."""
        return Position(self.coef.copy(), self.intercept.copy(), self.scores.copy())

    def return_to(self, position: "Position") -> None:
        """Begin at a copy of models; no row is read."""
        self.coef[:], self.intercept[:], self.scores[:] = position
        self._evaluate()
        self._stale = True

    def extrapolate(self, earlier: "Position", penalty: float) -> None:
        """Move on as far again as from earlier models, where that lowers the objective; no row is read."""
        before = self._values(penalty)
        np.subtract(self.coef, earlier.coef, out=self._step)
        np.subtract(self.scores, earlier.scores, out=self._score_step)
        np.subtract(self.intercept, earlier.intercept, out=self._step_intercept)
        self._move(np.ones(self.n_models))
        self._evaluate()
        worse = ~(self._values(penalty) < before)
        if worse.any():
            self._move(np.where(worse, -1.0, 0.0))
            self._evaluate()

    def minimise(self, penalty: float, tol: float, *, last_step: bool) -> Readings:
        """Minimise until the decrements are at most ``tol``; yields before each reading of the rows.

        Parameters
        ----------
        penalty : float
            λ.
        tol : float
            Largest decrement.
        last_step : bool
            Whether to make the step whose decrement is small enough.
        """
        for step in range(MOST_STEPS):
            if self._stale:
                yield None
                self._differentiate()
            if step == 0 or (step == 2 and not self._measured):
                yield None
                self._measure_curvature()
                self._measured = step == 2 or self._measured
            yield from self._solve(penalty, tol)
            if np.all(self.decrements <= tol):
                if last_step:
                    self._move(np.ones(self.n_models))
                    self._evaluate()
                return
            if not self._search(penalty):
                return

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

    def _solve(self, penalty: float, tol: float) -> Readings:
        """−H⁻¹g with its scores, and the decrements; yields before each product."""
        turn, add_scaled, totals = make_turn(), make_add_scaled(), np.zeros((2, self._width))
        inverse, fit_intercept = self.rows.inverse, self.objective.fit_intercept
        scale = 1.0 / np.maximum(self.curvature + penalty, _TINY)
        of_intercept = float(fit_intercept) / self._total
        self._step[:], self._step_intercept[:], self._score_step[:], self._direction[:] = 0.0, 0.0, 0.0, 0.0
        self._product[:] = 0.0
        np.multiply(self.coef, -penalty, out=self._residual)
        self._residual -= self._pull
        left = -float(fit_intercept) * self._pull_intercept
        reduced, moved, squares, steps, direction = (np.zeros(self._width) for _ in range(5))
        advance, vectors = make_advance(), (self._direction, self._product, self._step, self._residual)
        before, decrements = np.full(self.n_models, math.inf), np.zeros(self.n_models)
        first: Array | None = None
        for _ in range(_MOST_PRODUCTS):
            advance(steps, penalty, inverse, self._means, left, scale, *vectors, self._conditioned, reduced, moved)
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
            self.rows.curved(Curved(self._own, direction, *arrays))
            bent = self._of_models(totals[0] + penalty * squares)
            lengths = np.where(active & (bent > 0.0), now / np.maximum(bent, _TINY), 0.0)
            steps = self._to_columns(lengths)
            add_scaled(self._score_step, scores, steps)
            self._step_intercept += steps * direction
            decrements += 0.5 * lengths * now
            if fit_intercept:
                left = left - steps * totals[1]
            before = now
        self.decrements = decrements

    def _values(self, penalty: float) -> Array:
        """The objectives."""
        squares = self._of_models(np.einsum("ij,ij->j", self.coef, self.coef))
        return np.asarray(np.einsum("ij,ij->j", self.weights, self.losses) + 0.5 * penalty * squares)

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

    def _search(self, penalty: float) -> bool:
        """Make the steps, halved where the objective does not decrease enough; returns whether any model moved."""
        before, share = self._values(penalty), np.ones(self.n_models)
        self._move(share)
        while True:
            self._evaluate()
            with np.errstate(invalid="ignore"):
                bound = before - 2.0 * ENOUGH * share * self.decrements + ROUNDING * np.abs(before)
                worse = ~(self._values(penalty) <= bound) & (share > 0.0)
            if not worse.any():
                return bool(np.any(share > 0.0))
            shorter = np.where(worse, 0.5 * share, share)
            shorter[shorter < SHARES[-1]] = 0.0
            self._move(shorter - share)
            share = shorter
