"""Optimum without a penalty, by Newton's method: with factorised curvatures, or by conjugate gradients."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sgdone.inference.identification import DOUBTFUL, Identification, identification, repeated_columns
from sgdone.inference.sample import Sample
from sgdone.inference.sample_rows import SampleRows
from sgdone.inference.sums_at_model import LargestChange
from sgdone.losses import Squared
from sgdone.newton import Problem, SearchResult, minimise, run_search
from sgdone.newton.search import (
    RESIDUAL_ROUNDING,
    CholeskyDirection,
    Directions,
    DirectionSearch,
    Factors,
    Point,
    conjugate_gradients,
)
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import rows_in_units
from sgdone.sums.row_sum import ArraySum, RowSum, message
from sgdone.sums.second_order import (
    CurvatureProduct,
    LossesAt,
    SecondOrder,
    SecondOrderAt,
    derivatives,
    own_curvatures,
    scores,
)
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]

#: Largest step at an optimum, in standard errors of any combination of coefficients, and the most steps to it.
_STEP, _MOST_STEPS = 1e-8, 50
#: Largest change of a row's score by the last step: along a direction without an optimum each step changes some by
#: about 1, however little loss is left.
_SCORE_CHANGE = 1e-3


class NoOptimumError(Exception):
    """Newton's method did not converge; the message says how far it came, ``model`` where it ended, if it went far."""

    def __init__(self, message: str, model: Array | None = None) -> None:
        super().__init__(message)
        self.model = model


@final
@dataclass(frozen=True)
class FactorisedOptimum:
    """The optimum of Σvℓ, with the sums and the factors of the curvature there.

    ``model`` is (features + 1) × free outputs, in the units of the sample's pieces. ``estimated`` says whether the
    coefficients of each feature, and the intercepts, were estimated; others have a row and a column of 0 in the inverse
    of ``factors``. ``identification`` has the directions that the rows do not determine.
    """

    model: Array
    sums: SecondOrder
    factors: Factors
    estimated: NDArray[np.bool_]
    identification: Identification | None


def find_optimum(sample: Sample, start: Array) -> FactorisedOptimum:
    """Minimise the loss from a model, until a step is below 1e-8 standard errors of every combination.

    Raises `NoOptimumError` after 50 steps, or if steps still change scores although hardly any loss is left.
    """
    objective, system = sample.objective, sample.system
    penalties = system.penalties(0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        start = np.where(np.isfinite(penalties)[:, None], start, 0.0)
        known: SecondOrder = sample.sum(SecondOrderAt(system, start))
        constant = sample.constant_model()
        if not np.isfinite(known.loss) or known.loss > sample.sum(SecondOrderAt(system, constant, "none")).loss:
            start, known = constant, sample.sum(SecondOrderAt(system, constant))
        if not np.all(np.isfinite(known.curvature)):
            raise NoOptimumError("the loss of the start is too large")
        pivot = Factors.of(known.curvature, penalties, start.shape[1]).smallest_pivot(known.curvature)
        found = identification(np.isfinite(penalties), sample.column_products) if pivot <= DOUBTFUL else None
        if found is not None:
            penalties[found.dropped] = np.inf
            start = np.where(np.isfinite(penalties)[:, None], start, 0.0)
            known = sample.sum(SecondOrderAt(system, start))
        directions = CholeskyDirection(system, cheap=sample.has_cheap_curvature, constant=objective.loss.quadratic)
        problem = Problem(system, penalties, sample.n_used, _rounding(sample, known.weight))
        search = minimise(problem, start, 0.5 * _STEP**2, directions, known=known, most_steps=_MOST_STEPS)
        ended: SearchResult = run_search(sample, search)
        model, sums = ended.model, ended.at.sums
        if objective.loss.quadratic:
            # The curvature is the same everywhere.
            sums = replace(sums, curvature=known.curvature)
        elif not sums.curvature.size:
            sums = sample.sum(SecondOrderAt(system, model))
        factors = directions.factors
        if not objective.loss.quadratic and directions.curvature_at is not ended.at:
            factors = Factors.of(sums.curvature, penalties, start.shape[1])
        if factors.cholesky is None:
            raise NoOptimumError(f"after {ended.steps} steps of Newton's method the curvature is singular", model)
        gradient = Point.of(sums, model, penalties).gradient
        errors, change, is_optimum = _next_step(sample, sums, gradient, factors.solve(-gradient))
        if is_optimum:
            return FactorisedOptimum(model, sums, factors, np.isfinite(penalties), found)
    raise NoOptimumError(
        f"after {ended.steps} steps of Newton's method the next one is {errors:.2g} standard errors long and "
        f"changes the score of a row by {change:.2g}",
        model,
    )


def _rounding(sample: Sample, weight: float) -> float:
    """The variance of the targets of a regression about their predictions that is rounding."""
    if not sample.objective.is_regression:
        return 0.0
    return RESIDUAL_ROUNDING**2 * max(sample.target_squares / weight, sample.target_spread)


def _next_step(sample: Sample, sums: SecondOrder, gradient: Array, step: Array) -> tuple[float, float, bool]:
    """The next step of Newton's method in standard errors, and as a change of scores; whether both are small."""
    objective = sample.objective
    errors = float(np.sqrt(max(0.0, -float(np.vdot(gradient, step))) / sums.dispersion(objective)))
    change = sample.sum(LargestChange(sample.system, step)).value
    is_exact = False
    if objective.is_regression:
        change = change / float(np.sqrt(max(sample.target_spread, float(np.finfo(np.float64).tiny))))
        is_exact = sums.dispersion(objective) <= _rounding(sample, sums.weight)
    return errors, change, is_exact or (errors <= _STEP and change <= _SCORE_CHANGE)


#: Several vectors: (features + 1) × free outputs × vectors.
Product = Callable[[Array], Array]

#: Longest step at the optimum, in standard errors of any combination of coefficients.
_LARGE_STEP = 0.01
#: Products of a step of Newton's method, and their residual relative to the gradient.
MOST_PRODUCTS, _RESIDUAL = 500, 0.03
#: Residual of the solutions for columns relative to their right sides: classical variances are right to its square,
#: sandwiches to itself.
_SOLVED = 1e-3
#: Least curvature along a direction, in units of the preconditioner, that is not rounding.
_FLAT = 1e-13


@final
@dataclass(frozen=True)
class LargeOptimum:
    """The optimum of Σvℓ, with loss, gradient and the diagonal of the curvature, and products there.

    ``model`` is (features + 1) × free outputs, in the units of the sample's pieces; ``penalties`` are infinite for
    coefficients that are not estimated. ``product`` and ``precondition`` multiply several vectors by the curvature of
    ``system``, and by an approximation of its inverse. ``identification`` has columns that are equal; other
    dependencies show as systems that cannot be solved.
    """

    system: System
    model: Array
    sums: SecondOrder
    penalties: Array
    product: Product
    precondition: Product
    identification: Identification | None

    @property
    def estimated(self) -> NDArray[np.bool_]:
        """Whether the coefficients of each feature, and the intercepts, were estimated."""
        return np.isfinite(self.penalties)


Optimum = FactorisedOptimum | LargeOptimum


def find_large_optimum(sample: Sample, start: Array) -> LargeOptimum:
    """Minimise the loss until a step is below 0.01 standard errors of every combination of coefficients."""
    objective, system = sample.objective, sample.system
    penalties = system.penalties(0.0)
    repeated = repeated_columns(sample.repeated_columns(), system.shape[0])
    if repeated is not None:
        penalties[repeated.dropped] = np.inf
    model, constant = np.where(np.isfinite(penalties)[:, None], start, 0.0), sample.constant_model()
    losses = sample.sum(LossesAt(system, np.array([model, constant]))).values
    directions = _ByFrequentColumns(sample, system)
    search = minimise(
        Problem(system, penalties, sample.n_used),
        model if losses[0] <= losses[1] else constant,
        0.5 * _LARGE_STEP**2,
        directions,
        most_steps=_MOST_STEPS,
    )
    ended: SearchResult = run_search(sample, search)
    if ended.stalled:
        left = float(np.sqrt(2.0 * ended.decrement))
        raise NoOptimumError(
            f"after {ended.steps} steps of Newton's method the next is {left:.2g} standard errors long",
            ended.model,
        )
    change = sample.sum(LargestChange(system, ended.model - ended.at.model)).value
    if not objective.is_regression and change > 0.5:
        raise NoOptimumError(
            f"steps of less than {_LARGE_STEP:.2g} standard errors still change scores by {change:.2g}", ended.model
        )
    return _at_optimum(sample, system, ended.model, penalties, repeated)


def _at_optimum(
    sample: Sample, system: System, model: Array, penalties: Array, repeated: Identification | None
) -> LargeOptimum:
    """The products at an optimum, and its sums."""
    sums: SecondOrder = sample.sum(SecondOrderAt(system, model, "diagonal"))

    def product(vectors: Array) -> Array:
        found: ArraySum = sample.sum(CurvatureProduct(system, model, vectors))
        return found.values

    columns = sample.frequent_columns(np.isfinite(penalties))
    blocks: ArraySum = sample.sum(FrequentCurvature(system, model, columns))
    precondition = _preconditioner(blocks.values, columns, sums, penalties)
    return LargeOptimum(system, model, sums, penalties, product, precondition, repeated)


@final
class _ByFrequentColumns(Directions):
    """Directions by conjugate gradients, preconditioned by the diagonal and a block of the most frequent columns."""

    curvature = "diagonal"

    def __init__(self, sample: Sample, system: System) -> None:
        self._sample, self.system, self._steps = sample, system, 0

    def at(self, at: Point) -> DirectionSearch:
        """Direction by products with the curvature at the point; raise if they do not lead to a direction."""
        self._steps += 1
        columns = self._sample.frequent_columns(np.isfinite(at.penalties))
        blocks: ArraySum = yield FrequentCurvature(self.system, at.model, columns)
        times = _preconditioner(blocks.values, columns, at.sums, at.penalties)

        def precondition(one: Array) -> Array:
            return times(one[:, :, None])[:, :, 0]

        direction, solved = yield from conjugate_gradients(self.system, at, precondition, _RESIDUAL, MOST_PRODUCTS)
        if not solved:
            raise NoOptimumError(
                f"conjugate gradients did not converge in {MOST_PRODUCTS} products at step {self._steps} of Newton's "
                "method",
                at.model,
            )
        return at, direction


def with_products_of_columns(sample: Sample, optimum: LargeOptimum) -> LargeOptimum:
    """The optimum with products of XᵀX, the curvature of the squared loss, in place of its own curvature."""
    squared = System(replace(sample.objective, loss=Squared()), sample.scaling)
    found = _at_optimum(sample, squared, optimum.model, optimum.penalties, optimum.identification)
    return replace(found, sums=optimum.sums)


def solve(optimum: LargeOptimum, right: Array) -> tuple[Array, NDArray[np.bool_]]:
    """H⁻¹ times several vectors, by conjugate gradients that share their products; and whether each has converged.

    ``right`` is (features + 1) × free outputs × vectors.
    """
    free = np.isfinite(optimum.penalties)[:, None, None]
    residual = np.where(free, right, 0.0)
    solution, towards = np.zeros_like(residual), optimum.precondition(residual)
    reduced = np.einsum("abm,abm->m", residual, towards)
    wanted, length_squared = _SOLVED**2 * reduced, reduced.copy()
    for _ in range(MOST_PRODUCTS):
        open_ = np.flatnonzero((reduced > wanted) & np.isfinite(reduced))
        if not open_.size:
            break
        direction = towards[:, :, open_]
        curved = np.where(free, optimum.product(direction), 0.0)
        bent = np.einsum("abm,abm->m", direction, curved)
        curves = bent > _FLAT * length_squared[open_]
        length = np.divide(reduced[open_], bent, out=np.zeros_like(bent), where=curves)
        solution[:, :, open_] += length * direction
        left = residual[:, :, open_] - length * curved
        residual[:, :, open_] = left
        conditioned = optimum.precondition(left)
        after = np.einsum("abm,abm->m", left, conditioned)
        kept = after / reduced[open_]
        towards[:, :, open_] = conditioned + kept * direction
        # The residual is orthogonal to the direction before it.
        length_squared[open_] = after + kept**2 * length_squared[open_]
        # Where there is no curvature no solution exists: such a vector stays as it is, and counts as not solved.
        reduced[open_] = np.where(curves, after, np.inf)
    return solution, reduced <= wanted


@final
@message
@dataclass(frozen=True)
class FrequentCurvature(RowSum):
    """The block of the curvature of some columns and the intercept, of each output: outputs × columns × columns."""

    is_pass: ClassVar[bool] = False

    system: System
    model: Array
    columns: NDArray[np.intp]

    def of(self, rows: SampleRows) -> ArraySum | None:
        """The sum over these rows."""
        objective, basis = self.system.objective, contrasts(self.system.objective)
        if not rows.n_rows:
            return None
        matrix, scaling = rows.block.rows.whole()[:, self.columns], self.system.scaling
        used = rows.used
        own_scaling = Scaling(
            scaling.scale[self.columns], None if scaling.shift is None else scaling.shift[self.columns]
        )
        size = self.columns.size + 1
        blocks = np.zeros((self.model.shape[1], size, size))
        for places, piece in rows.numbered_pieces(self.system):
            found = derivatives(objective, scores(piece.rows, self.model, basis), piece.labels)
            part = rows_in_units(matrix[used[places]], own_scaling)
            blocks += part.products(piece.weights[:, None] * own_curvatures(objective, found))
        return ArraySum(blocks)


def _preconditioner(blocks: Array, columns: NDArray[np.intp], sums: SecondOrder, penalties: Array) -> Product:
    """Inverse of the curvature's diagonal; for the intercept and the columns with most entries, of their block."""
    free = np.isfinite(penalties)
    inverse = np.divide(1.0, sums.diagonal, out=np.zeros_like(sums.diagonal), where=free[:, None] & (sums.diagonal > 0))
    chosen = np.append(columns, penalties.size - 1) if free[-1] else columns
    factors = [_factor(block) for block in blocks[:, : chosen.size, : chosen.size]]

    def precondition(vectors: Array) -> Array:
        found = inverse[:, :, None] * vectors
        for a, factor in enumerate(factors):
            if factor is not None:
                found[chosen, a, :] = linalg.cho_solve(factor, vectors[chosen, a, :], check_finite=False)
        return found

    return precondition


def _factor(block: Array) -> tuple[Array, bool] | None:
    """The Cholesky factor of a block; None if it is singular."""
    scaled = block.copy()
    scaled.flat[:: len(block) + 1] *= 1.0 + 1e-10
    try:
        factor, lower = linalg.cho_factor(scaled, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    return factor, lower
