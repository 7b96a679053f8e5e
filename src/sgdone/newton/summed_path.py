"""The optimum at a penalty that is given, or chosen by sums over all rows, wherever they are.

The penalty is chosen by effective degrees of freedom, or by the losses of validation rows.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone import newton
from sgdone.interfaces.objective import Objective
from sgdone.newton import EXACT, Problem, SearchProgress, SearchResult, together
from sgdone.newton.counted_work import ROWS_PER_COEFFICIENT
from sgdone.newton.penalty_path import PenaltyOptimum, PenaltyPath, Readings, left_out_of_piece
from sgdone.newton.search import MOST_SUMMED, CholeskyDirection, ConjugateGradients, Directions, Factors, Point, Search
from sgdone.sums.pieces import Piece
from sgdone.sums.row_sum import SHARED, ArraySum, ReadableRows, RowSum, SubsetSum, merged, message
from sgdone.sums.second_order import LossesAt, SecondOrder, SecondOrderAt
from sgdone.sums.system import System

Array = NDArray[np.float64]
Choice = Generator[RowSum, Any, "ChosenPenalty"]

#: Penalties that are compared, in rows: features have the variance 1.
LAMS = 10.0 ** (np.arange(-6, 9) / 2.0)
#: Conjugate gradients: residual relative to the gradient, that of rough searches, and products after which a direction
#: is used as it is.
_RESIDUAL, _ROUGH_RESIDUAL, _MOST_PRODUCTS = 0.1, 0.3, 50
#: Test for separated classes: shares of the penalty, and of rows that the minimum may be wrong about.
_SMALLER_PENALTIES, _FEW_MISSES = (1e-3, 1e-6), 0.02
#: Where few rows are on the wrong side: decrement at which rows are left out, relative to the loss before; shares
#: of a penalty that may be tried after it, and the least one; the loss, in rows, that is not worth a smaller one; and
#: the loss of a row that is predicted without an error, at equal chances.
_NEAR = 1e-3
_SMALLER, _LEAST_SHARE, _HARDLY_ANY, _NO_ERROR = 10.0 ** -(np.arange(5) / 2.0), 1e-4, 0.01, np.log(2.0)
#: Decrement up to which optima are found before the penalty is chosen: far below what penalties differ by. Validation
#: losses are compared up to this share of the root of the number of rows, a hundredth of the noise of their sum.
_ROUGH, _ROUGH_VALIDATION = 0.1, 0.01
#: Such a decrement for few coefficients, where a search takes a round or two to get there.
_FINE = 1e-5
#: Times that the penalty is chosen again at the optimum of the last one: it is chosen to second order.
_MOST_CHOICES = 4
#: Share of a validation loss by which that of a larger penalty may exceed it: small penalties hardly differ.
_PLATEAU = 1e-3
#: Share of a validation loss that a smaller penalty must gain for the next one to be tried.
_WORTH = 1e-4
#: Steps of the lowest point between two half powers of ten: losses that differ by rounding choose the same penalty.
_STEPS = 8
#: Powers of ten from the first guess that are tried at first.
_FIRST = (0, 1, 2)
#: Smallest and largest penalty, in rows, as powers of ten.
_LEAST, _MOST = -3, 5


@final
@dataclass
class ChosenPenalty:
    """A penalty, and a model near its optimum; while the penalty is chosen, the best so far."""

    #: λ of Σvℓ + ½λ‖w‖².
    lam: float
    #: The model that a search at this penalty starts from.
    start: Array
    #: Progress of that search, over all rows or those without the validation rows.
    progress: SearchProgress = field(default_factory=SearchProgress)

    @property
    def model(self) -> Array:
        """The last model of the search, or the start."""
        found = self.progress.model
        return self.start if found is None else found

    def move(self, lam: float, start: Array, progress: SearchProgress | None = None) -> None:
        """Continue with another penalty."""
        self.lam, self.start, self.progress = lam, start, progress or SearchProgress()


@final
@message
@dataclass(frozen=True)
class LeaveOneOutSums(RowSum):
    """Sums of the losses of rows as if each had been left out, and of their squares; weight; and number of errors."""

    system: System = field(metadata=SHARED)
    model: Array = field(metadata=SHARED)
    inverse: Array

    def of(self, rows: ReadableRows) -> ArraySum | None:
        """The sums over these rows."""
        pieces = rows.pieces(self.system)
        if not pieces.n_rows:
            return None
        return merged(pieces.map(self._of_piece))

    def _of_piece(self, piece: Piece) -> ArraySum:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            losses = left_out_of_piece(self.system.objective, piece, self.model, self.inverse, single=False).losses
        weights, errors = piece.weights, np.count_nonzero(losses >= _NO_ERROR)
        return ArraySum(np.array([weights @ losses, weights @ losses**2, weights.sum(), errors]))


@final
class SummedPath(PenaltyPath):
    """The optimum at a penalty that is given, or chosen by sums over all rows, wherever they are.

    ``chosen`` is the penalty or a first guess, with a model to start from; ``unit`` is the variance of the targets, 1
    in classification, and ``key`` draws validation rows. Where the start is near the optima, the
    penalty is chosen by its first sums or, if these have few errors, by leave-one-out losses; whether classes are
    separated is not asked.
    """

    def __init__(
        self,
        problem: Problem,
        chosen: ChosenPenalty,
        unit: float = 1.0,
        key: int = 0,
        *,
        chooses: bool,
        is_near: bool = False,
    ) -> None:
        self.system = problem.system
        self._problem, self._chosen, self._unit, self._key = problem, chosen, unit, key
        self._chooses, self._is_near = chooses, is_near
        #: The optimum, once it is known.
        self.found: SearchResult | None = None
        #: Whether some direction classifies all rows without error.
        self.is_separated = False
        self._loss_error = float("nan")
        #: Progress of the search at the penalty.
        self.progress = SearchProgress()

    def evaluations(self) -> Readings:
        """Choose the penalty, find its optimum, and whether the classes are separated."""
        chosen, known = self._chosen, None
        if self._is_near:
            sums: SecondOrder = yield SecondOrderAt(self._problem.system, chosen.start)
            known = sums
            if self._chooses:
                chosen.lam = best_lam(self._problem.system, sums, chosen.start)
                if sums.misses <= _FEW_MISSES * self._problem.n_rows and self.system.objective.loss.fades:
                    known = yield from self._follow_separation(sums)
        elif self._chooses:
            yield from choose(self._problem, chosen, self._unit, self._key)
        problem = self._problem.penalised(chosen.lam)
        self.found = yield from minimise(problem, chosen.model, EXACT, self.progress, known)
        if not self._is_near:
            self.is_separated = yield from separates(problem, self.found, chosen.lam)

    def _follow_separation(self, sums: SecondOrder) -> Generator[RowSum, Any, SecondOrder]:
        """Make the penalty smaller as long as rows that are left out are clearly predicted better.

        Where classes are nearly separated the optimum of a penalty is far from that of another one: each is tried near
        the optimum of the one before. Returns the sums at the model chosen.
        """
        chosen, system, there = self._chosen, self.system, sums
        known: SecondOrder | None = sums
        best = ChosenPenalty(chosen.lam, chosen.start)
        while True:
            problem, near = self._problem.penalised(chosen.lam), _NEAR * max(1.0, sums.loss)
            found: SearchResult = yield from minimise(problem, chosen.start, near, chosen.progress, known)
            at, sums, known = found.at, found.at.sums, None
            factors = Factors.of(sums.curvature, problem.penalties, at.model.shape[1])
            left: ArraySum = yield LeaveOneOutSums(system, at.model, factors.inverse())
            total, squares, weight, errors = left.values.tolist()
            mean = total / weight
            error = float(np.sqrt(max(squares / weight - mean**2, 0.0) / weight))
            if not np.isfinite(mean) or self._loss - mean < max(error, _HARDLY_ANY / weight):
                break
            self._loss, self._loss_error = mean, error
            best.move(chosen.lam, at.model)
            there = sums
            if total <= _HARDLY_ANY or sums.misses > _FEW_MISSES * problem.n_rows:
                break
            smaller = best_lam(system, sums, at.model, chosen.lam * _SMALLER)
            if not errors:
                # The loss is about proportional to the penalty.
                smaller = chosen.lam * float(np.clip(_HARDLY_ANY / total, _LEAST_SHARE, _SMALLER[-1]))
            if smaller >= chosen.lam:
                break
            # At the optimum g + λw = 0, so that dw/d log λ = −H⁻¹λw.
            ahead = np.log(chosen.lam / smaller) * factors.solve(at.gradient - sums.gradient)
            chosen.move(smaller, found.model + ahead)
        chosen.move(best.lam, best.start)
        return there

    @property
    def best(self) -> PenaltyOptimum:
        """The model so far."""
        found, model, lam = self.found, self.progress.model, self._chosen.lam
        if found is not None:
            return PenaltyOptimum(found.model, lam, decrement=found.decrement)
        return PenaltyOptimum(self._chosen.model if model is None else model, lam)

    @property
    def loss_error(self) -> float:
        """The standard error of the estimated loss of new rows; NaN if it is not known."""
        return self._loss_error

    @property
    def training_loss(self) -> float:
        """The mean loss of the model so far, perhaps without the validation rows; NaN before its first sum."""
        at = self.progress.at or self._chosen.progress.at
        return float("nan") if at is None else at.sums.loss / at.sums.weight

    @property
    def unit(self) -> float:
        """Variance of the targets about the model so far; 1 in classification."""
        at = self.progress.at
        return self._unit if at is None else self._problem.dispersion(at.sums)


def has_likelihood(objective: Objective) -> bool:
    """Whether the loss is a negative log-likelihood, up to a factor."""
    return objective.loss.probabilistic or (objective.is_regression and objective.loss.quadratic)


def best_lam(system: System, sums: SecondOrder, model: Array, lams: Array = LAMS) -> float:
    """The penalty with the least expected loss of new rows, from the sums at a model near the optima.

    To second order the loss at the optimum of a penalty λ is L + gᵀd + dᵀHd/2 with d = −(H + Λ)⁻¹(g + Λw), and new rows
    have a loss that is larger by its effective degrees of freedom tr (H + Λ)⁻¹H, times the variance of the residuals in
    a regression (Akaike 1974; Hastie, Tibshirani & Friedman 2009, section 7.6).
    """
    unit = sums.dispersion(system.objective)
    best, least = 0.0, np.inf
    for lam in unit * lams:
        own = system.penalties(float(lam))
        factors = Factors.of(sums.curvature, own, model.shape[1])
        step = factors.solve(-Point.of(sums, model, own).gradient)
        flat = step.T.ravel()
        change = float(np.vdot(sums.gradient, step)) + 0.5 * float(flat @ (sums.curvature @ flat))
        inverse = factors.inverse()
        inverse[factors.fixed, :] = inverse[:, factors.fixed] = 0.0
        expected = change + unit * float(np.vdot(inverse, sums.curvature))
        if expected < least:
            best, least = float(lam), expected
    return best


def minimise(
    problem: Problem, start: Array, tol: float, progress: SearchProgress | None = None, known: SecondOrder | None = None
) -> Search:
    """Minimise until the decrement is at most ``tol``, with directions that take few rounds."""
    system = problem.system
    if system.n_coefficients <= MOST_SUMMED:
        directions: Directions = CholeskyDirection(system)
    else:
        directions = ConjugateGradients(system, _RESIDUAL if tol <= EXACT else _ROUGH_RESIDUAL, _MOST_PRODUCTS)
    return newton.minimise(problem, start, tol, directions, known=known, progress=progress)


def separates(problem: Problem, found: SearchResult, lam: float) -> Generator[RowSum, Any, bool]:
    """Whether a model with a smaller penalty is found that classifies all rows without error.

    Tested only for two classes, few coefficients, and a minimum that is wrong about few rows: it takes some rounds.
    """
    system, objective = problem.system, problem.system.objective
    possible = objective.loss.fades and objective.predicts == "two_classes"
    if not possible or system.n_coefficients > MOST_SUMMED:
        return False
    misses, model = found.at.sums.misses, found.model
    for share in _SMALLER_PENALTIES:
        if misses == 0 or not misses <= _FEW_MISSES * problem.n_rows or lam == 0:
            break
        nearer: SearchResult = yield from minimise(problem.penalised(share * lam), model, _ROUGH)
        misses, model = nearer.at.sums.misses, nearer.model
    return bool(misses == 0)


def choose(problem: Problem, chosen: ChosenPenalty, unit: float, key: int) -> Choice:
    """Choose the penalty of Σvℓ + ½λ‖w‖²; ``chosen`` is updated with the choice so far, and returned.

    The other parameters are those of `SummedPath`.
    """
    count = problem.system.n_coefficients
    known = count <= MOST_SUMMED and problem.n_rows >= ROWS_PER_COEFFICIENT * count
    if known and has_likelihood(problem.system.objective):
        return _by_degrees_of_freedom(problem, chosen)
    return _by_validation(problem, chosen, unit, key)


def _by_degrees_of_freedom(problem: Problem, chosen: ChosenPenalty) -> Choice:
    """The penalty that `best_lam` finds at its own optimum."""
    for _ in range(_MOST_CHOICES):
        before = chosen.lam
        found: SearchResult = yield from minimise(problem.penalised(before), chosen.start, _ROUGH, chosen.progress)
        chosen.move(best_lam(problem.system, found.at.sums, found.at.model), found.model)
        if chosen.lam == before:
            break
    return chosen


def _by_validation(problem: Problem, chosen: ChosenPenalty, unit: float, key: int) -> Choice:
    """The penalty whose optimum on the other rows has the least validation loss.

    Powers of ten first, then half powers next to the best, and the lowest point of a parabola through these. Penalties
    that are compared with each other are tried in the same rounds.
    """
    first, start = chosen.lam, chosen.start
    tried = _Tried(problem, chosen, unit, key)
    middle = 2 * int(np.clip(round(np.log10(first / unit)), _LEAST, _MOST))
    if not (yield from tried.add([middle + 2 * step for step in _FIRST])):
        chosen.move(first, start)
        return chosen
    losses = tried.losses
    while True:
        lowest, highest, least = min(losses), max(losses), min(losses.values())
        of_others = min((loss for half, loss in losses.items() if half > lowest), default=np.inf)
        if losses[highest] <= (1.0 + _PLATEAU) * least and highest < 2 * _MOST:
            yield from tried.add([highest + 2])
        elif losses[lowest] < (1.0 - _WORTH) * of_others and lowest > 2 * _LEAST:
            yield from tried.add([lowest - 2])
        else:
            break
    yield from tried.add([tried.best - 1, tried.best + 1])
    chosen.move(tried.lam(tried.best + _vertex(losses, tried.best)), tried.optima[tried.best])
    return chosen


@final
class _Tried:
    """Validation losses of penalties, and the optima of the other rows, by twice the power of ten."""

    def __init__(self, problem: Problem, chosen: ChosenPenalty, unit: float, key: int) -> None:
        self._problem, self._chosen, self._start, self._unit, self._key = problem, chosen, chosen.start, unit, key
        few = problem.system.n_coefficients <= MOST_SUMMED
        self._tol = _FINE if few else max(_ROUGH, _ROUGH_VALIDATION * float(np.sqrt(problem.n_rows)))
        self.losses: dict[int, float] = {}
        self.optima: dict[int, Array] = {}

    @property
    def best(self) -> int:
        """The penalty with the least loss."""
        return min(self.losses, key=self.losses.__getitem__)

    def lam(self, half: float) -> float:
        """λ of a penalty."""
        return float(self._unit * 10.0 ** (half / 2))

    def add(self, halves: Sequence[int]) -> Generator[RowSum, Any, bool]:
        """Try penalties at the same time; returns whether there are both validation rows and others."""
        halves = [half for half in halves if 2 * _LEAST <= half <= 2 * _MOST and half not in self.losses]
        searches = [SearchProgress() for _ in halves]
        if not self.optima:
            self._chosen.move(self.lam(halves[0]), self._start, searches[0])
        models = yield from together(list(map(self._optimum, halves, searches)))
        if models[0] is None:
            return False
        request = LossesAt(self._problem.system, np.array(models))
        found: ArraySum | None = yield SubsetSum(request, "validation", self._key)
        if found is None:
            return False
        self.losses |= dict(zip(halves, found.values[:-1].tolist(), strict=True))
        self.optima |= dict(zip(halves, models, strict=True))
        self._chosen.move(self.lam(self.best), self.optima[self.best])
        return True

    def _optimum(self, half: int, progress: SearchProgress) -> Generator[RowSum, Any, Array | None]:
        """The optimum of the rows without the validation rows; None if there are no such rows."""
        nearest = min(self.optima, key=lambda other: abs(other - half), default=None)
        start = self._start if nearest is None else self.optima[nearest]
        search = minimise(self._problem.penalised(self.lam(half)), start, self._tol, progress)
        value = None
        while True:
            try:
                request = search.send(value)
            except StopIteration as done:
                found: SearchResult = done.value
                return found.model
            value = yield SubsetSum(request, "training", self._key)
            if value is None:
                return None


def _vertex(losses: dict[int, float], best: int) -> float:
    """The lowest point of the parabola through the losses of three neighbours, from the middle one."""
    if best - 1 not in losses or best + 1 not in losses:
        return 0.0
    below, here, above = losses[best - 1], losses[best], losses[best + 1]
    bend = below - 2.0 * here + above
    found = float(np.clip(0.5 * (below - above) / bend, -0.5, 0.5)) if bend > 0 else 0.0
    return round(_STEPS * found) / _STEPS
