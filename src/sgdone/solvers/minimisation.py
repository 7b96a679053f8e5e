"""Newton's method on the objective at one penalty, stopping before each reading of the rows."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.solvers.newton_step import Factors, Penalised, conjugate_gradients
from sgdone.sums.pieces import Pieces
from sgdone.sums.second_order import Curvature, SecondOrder, curvature_products, second_order

Array = NDArray[np.float64]

#: Newton's decrement of an optimum: every coefficient is within 1e-4 standard errors of the exact one.
EXACT = 5e-9
#: Share of the objective that matters where all rows are predicted almost without loss.
_LITTLE = 0.1
#: Conjugate gradients with the factors of an earlier curvature: residual relative to the gradient, and products after
#: which the curvature is evaluated again.
_RESIDUAL, _MOST_PRODUCTS = 0.1, 12
#: Penalty per row from which single precision is enough for curvatures: their largest eigenvalue is at most about the
#: number of columns times as large as the number of rows.
_SINGLE = 1e-5
#: Share of the decrease that the gradient promises which a step must reach, and rounding of the objective.
_ENOUGH, _ROUNDING = 1e-4, 1e-13
#: Share of the gradient that is not explained by the curvature.
_NO_CURVATURE = 1e-3
#: Steps at one penalty, after which it is left as it is, and the shortest share of a step.
MOST_STEPS, _SHORTEST = 60, 1e-12


class Evaluated(NamedTuple):
    """What one reading of all rows found at a model: mean loss, and share of errors or mean squared error."""

    loss: float
    error: float


@final
class Minimisation:
    """Newton's method on Σvℓ + ½Σλw².

    Where the curvature is expensive, steps are found by conjugate gradients, preconditioned with the factors of the
    curvature at an earlier point. Rows that are elsewhere come with a function for their ``sums`` at a model; only
    cheap curvatures are then possible.
    """

    def __init__(
        self,
        objective: Objective,
        pieces: Pieces,
        penalties: Array,
        model: Array,
        factors: Factors | None,
        cheap: bool,
        sums: Callable[[Array, Curvature], SecondOrder] | None = None,
    ) -> None:
        self._objective, self._pieces, self._penalties, self._cheap = objective, pieces, penalties, cheap
        #: Expensive curvatures only precondition conjugate gradients: single precision is enough beside the penalty.
        self.single = not cheap and bool(penalties[:-1].min(initial=np.inf) >= _SINGLE * pieces.n_rows)
        self.model = np.where(np.isfinite(penalties)[:, None], model, 0.0)
        self.decrement = math.inf
        self.dispersion = 1.0
        self._factors = factors
        self._sums = sums or (lambda model, kind: second_order(objective, pieces, model, curvature=kind))
        #: Where the curvature was evaluated last, and the sums there.
        self.at = model
        self.sums: SecondOrder
        self.evaluated = Evaluated(math.nan, math.nan)

    def evaluations(
        self,
        tol: float,
        known: SecondOrder | None = None,
        most_steps: int = MOST_STEPS,
        factors: Factors | None = None,
    ) -> Iterator[None]:
        """Minimise until the decrement is at most ``tol``, then make one more step; stops before each evaluation.

        ``known`` are sums at the start, evaluated for another penalty; ``factors`` those of its curvature with this
        penalty, if they are known too.
        """
        if known is None:
            yield
            at, sums = self._evaluate(self.model, full=self._cheap or self._factors is None)
        else:
            at, sums = self._use(known, self.model, factors)
        if not np.isfinite(at.value):
            raise OverflowError("the loss of the start is too large")
        for _ in range(most_steps):
            direction = self._direction(at, sums)
            self.dispersion = dispersion(self._objective, sums)
            wanted = tol * min(1.0, sums.weight / self._pieces.n_rows) * self.dispersion
            if not self._objective.is_regression:
                # Where all rows are predicted almost without loss, little of it matters.
                wanted *= min(1.0, _LITTLE * at.value) ** 2
            if direction is None or (tol > EXACT and at.decrement(direction) <= wanted and not sums.curvature.size):
                yield
                at, sums = self._evaluate(self.model, full=True)
                direction = -self.factors.solve(at.gradient)
            self.decrement = at.decrement(direction)
            if sums.curvature.size and self.factors.cholesky is None and self._is_flat(at, sums, direction):
                self.decrement = math.inf
                return
            if self.decrement <= wanted and sums is not known:
                if tol > EXACT:
                    self.model = self.model + direction
                return
            share, value = 1.0, at.value
            while True:
                tried = self.model + share * direction
                yield
                at, sums = self._evaluate(tried, full=self._cheap)
                if at.value <= value - 2.0 * _ENOUGH * share * self.decrement + _ROUNDING * abs(value):
                    break
                share /= 2.0
                if share < _SHORTEST:
                    return
            self.model = tried

    @property
    def factors(self) -> Factors:
        """Those of the curvature that was evaluated last."""
        assert self._factors is not None
        return self._factors

    def first_evaluation(self) -> Iterator[None]:
        """Evaluate the objective and its curvature at the start."""
        yield
        at, _ = self._evaluate(self.model, full=True)
        if not np.isfinite(at.value):
            raise OverflowError("the loss of the start is too large")

    def _direction(self, at: Penalised, sums: SecondOrder) -> Array | None:
        """−H⁻¹g; None if the curvature must be evaluated for it."""
        if sums.curvature.size:
            return -self.factors.solve(at.gradient)
        product = curvature_products(self._objective, self._pieces, self.model)
        found, converged = conjugate_gradients(at, product, self.factors.solve, _RESIDUAL, _MOST_PRODUCTS)
        return found if converged else None

    def _is_flat(self, at: Penalised, sums: SecondOrder, direction: Array) -> bool:
        """Whether the gradient has a part along which the objective has no curvature: no step leads down it."""
        flat = direction.T.ravel()
        penalties = np.tile(np.where(np.isfinite(self._penalties), self._penalties, 0.0), direction.shape[1])
        left = sums.curvature @ flat + penalties * flat + at.gradient.T.ravel()
        left[self.factors.fixed] = 0.0
        return bool(np.linalg.norm(left) > _NO_CURVATURE * np.linalg.norm(at.gradient))

    def _evaluate(self, model: Array, *, full: bool) -> tuple[Penalised, SecondOrder]:
        kind: Curvature = "none" if not full else "single" if self.single else "full"
        sums = self._sums(model, kind)
        self.evaluated = Evaluated(sums.loss / sums.weight, sums.misses / self._pieces.n_rows)
        return self._use(sums, model)

    def _use(self, sums: SecondOrder, model: Array, factors: Factors | None = None) -> tuple[Penalised, SecondOrder]:
        at = Penalised.of(sums, model, self._penalties)
        if sums.curvature.size and np.isfinite(at.value):
            self.at, self.sums = model, sums
            self._factors = factors or Factors.of(sums.curvature, self._penalties, model.shape[1], single=self.single)
        return at, sums


def dispersion(objective: Objective, sums: SecondOrder) -> float:
    """The variance of the targets about a model, in units of which losses of a regression are measured; otherwise 1."""
    if not objective.is_regression:
        return 1.0
    return max(2.0 * sums.loss / sums.weight, float(np.finfo(np.float64).tiny))
