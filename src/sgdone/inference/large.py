"""The optimum and standard errors of many coefficients: conjugate gradients instead of factors."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sgdone.data.mixed_matrix import in_one_storage
from sgdone.data.rows import Scaling
from sgdone.diagnose.data_summary.column_summary import summarise_columns
from sgdone.inference.identification import Identification, repeated_columns
from sgdone.inference.optimum import NoOptimumError
from sgdone.inference.sample import Sample
from sgdone.losses import Squared
from sgdone.run.constant_prediction import constant_model
from sgdone.solvers.minimisation import dispersion
from sgdone.solvers.newton_step import Penalised, conjugate_gradients
from sgdone.sums.derivatives import derivatives
from sgdone.sums.mixed_rows import rows_in_units
from sgdone.sums.second_order import SecondOrder, contrasts, curvature_products, own_curvatures, scores, second_order

Array = NDArray[np.float64]
#: Several vectors: (features + 1) × free outputs × vectors.
Product = Callable[[Array], Array]

#: Longest step at the optimum, in standard errors of any combination of coefficients.
_STEP = 0.01
#: Steps of Newton's method, products of a step, and their residual relative to the gradient.
_MOST_STEPS, MOST_PRODUCTS, _RESIDUAL = 50, 500, 0.03
#: Share of the decrease that the gradient promises which a step must reach; rounding of the loss; shortest step.
_ENOUGH, _ROUNDING, _SHORTEST = 1e-4, 1e-13, 1e-6
#: Columns with most entries, whose curvature is factorised to precondition.
_FREQUENT = 512
#: Residual of the solutions for columns relative to their right sides: classical variances are right to its square,
#: sandwiches to itself.
_SOLVED = 1e-3
#: Least curvature along a direction, in units of the preconditioner, that is not rounding.
_FLAT = 1e-13


@final
@dataclass(frozen=True)
class LargeOptimum:
    """The optimum of Σvℓ, and products there.

    Attributes
    ----------
    model : ndarray
        (features + 1) × free outputs, in the units of the sample's pieces.
    sums : SecondOrder
        Loss, gradient and the diagonal of the curvature.
    penalties : ndarray
        0, or infinite for coefficients that are not estimated.
    product, precondition : callable
        Multiply several vectors by the curvature, and by an approximation of its inverse.
    identification : Identification or None
        Columns that are equal; other dependencies show as systems that cannot be solved.
    """

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


def find_large_optimum(sample: Sample, start: Array) -> LargeOptimum:
    """Minimise the loss until a step is below 0.01 standard errors of every combination of coefficients."""
    objective, pieces = sample.objective, sample.pieces
    penalties = np.where(np.append(sample.varies, objective.fit_intercept), 0.0, np.inf)
    repeated = repeated_columns(_duplicates(sample), pieces.width)
    if repeated is not None:
        penalties[repeated.dropped] = np.inf
    free = np.isfinite(penalties)[:, None]
    model = np.where(free, start, 0.0)
    sums = second_order(objective, pieces, model, curvature="diagonal")
    constant = constant_model(objective, sample.block, pieces.width)
    if not sums.loss <= second_order(objective, pieces, constant, curvature="none").loss:
        model, sums = constant, second_order(objective, pieces, constant, curvature="diagonal")
    for step in range(1, _MOST_STEPS + 1):
        at = Penalised.of(sums, model, penalties)
        product = _several(curvature_products(objective, pieces, model), model.shape[1])
        precondition = _preconditioner(sample, model, sums, penalties)
        direction, solved = conjugate_gradients(
            at,
            lambda one, times=product: times(one[:, :, None])[:, :, 0],  # type: ignore[misc]  # a default has no type
            lambda one, times=precondition: times(one[:, :, None])[:, :, 0],  # type: ignore[misc]
            _RESIDUAL,
            MOST_PRODUCTS,
        )
        if not solved:
            raise NoOptimumError(
                f"conjugate gradients did not converge in {MOST_PRODUCTS} products at step {step} of Newton's method"
            )
        left = float(np.sqrt(2.0 * at.decrement(direction) / dispersion(objective, sums)))
        share = 1.0
        while True:
            tried = model + share * direction
            after = second_order(objective, pieces, tried, curvature="diagonal")
            bound = at.value - 2.0 * _ENOUGH * share * at.decrement(direction) + _ROUNDING * abs(at.value)
            if after.loss <= bound or left <= _STEP:
                break
            share /= 2.0
            if share < _SHORTEST:
                raise NoOptimumError(f"no step of Newton's method lowers the loss after {step} of them")
        model, sums = tried, after
        if left <= _STEP:
            basis = contrasts(objective)
            change = max(float(np.abs(scores(piece.rows, direction, basis)).max()) for piece in pieces)
            if not objective.is_regression and change > 0.5:
                raise NoOptimumError(f"steps of {left:.2g} standard errors still change scores by {change:.2g}")
            product = _several(curvature_products(objective, pieces, model), model.shape[1])
            precondition = _preconditioner(sample, model, sums, penalties)
            return LargeOptimum(model, sums, penalties, product, precondition, repeated)
    raise NoOptimumError(f"after {_MOST_STEPS} steps of Newton's method the next is {left:.2g} standard errors long")


def with_products_of_columns(sample: Sample, optimum: LargeOptimum) -> tuple[Sample, LargeOptimum]:
    """The same optimum with products of XᵀX, the curvature of the squared loss, in place of its own curvature."""
    squared = replace(sample, objective=replace(sample.objective, loss=Squared()))
    model, pieces = optimum.model, squared.pieces
    sums = second_order(squared.objective, pieces, model, curvature="diagonal")
    product = _several(curvature_products(squared.objective, pieces, model), model.shape[1])
    precondition = _preconditioner(squared, model, sums, optimum.penalties)
    return squared, replace(optimum, product=product, precondition=precondition)


def solve(optimum: LargeOptimum, right: Array) -> tuple[Array, NDArray[np.bool_]]:
    """H⁻¹ times several vectors, by conjugate gradients that share their products; and whether each has converged.

    Parameters
    ----------
    optimum : LargeOptimum
        Where H is the curvature.
    right : ndarray
        (features + 1) × free outputs × vectors; 0 for coefficients that are not estimated.
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


def _duplicates(sample: Sample) -> list[tuple[int, ...]]:
    """Columns that are equal in all rows used, and not constant."""
    used = sample.block.all_used().astype(np.intp)
    matrix = in_one_storage(sample.block.rows.whole())
    found = summarise_columns(matrix if used.size == matrix.shape[0] else matrix[used]).duplicates
    return [group for group in found if sample.varies[list(group)].all()]


def _several(product: Callable[[Array], Array], outputs: int) -> Product:
    """Products of several vectors: at once if there is one output."""
    if outputs == 1:
        return lambda vectors: product(vectors[:, 0, :])[:, None, :]
    return lambda vectors: np.stack([product(vectors[:, :, k]) for k in range(vectors.shape[2])], axis=2)


def _preconditioner(sample: Sample, model: Array, sums: SecondOrder, penalties: Array) -> Product:
    """The inverse of the curvature's diagonal; of the intercept and the columns with most entries, of their block."""
    free, pieces = np.isfinite(penalties), sample.pieces
    inverse = np.divide(1.0, sums.diagonal, out=np.zeros_like(sums.diagonal), where=free[:, None] & (sums.diagonal > 0))
    columns = np.flatnonzero(free[:-1])
    columns = np.sort(columns[np.argsort(-sample.entries[columns], kind="stable")[:_FREQUENT]])
    matrix = sample.block.rows.whole()[:, columns]
    shift = sample.scaling.shift
    scaling = Scaling(sample.scaling.scale[columns], None if shift is None else shift[columns])
    blocks, first = np.zeros((model.shape[1], columns.size + 1, columns.size + 1)), 0
    basis, used = contrasts(sample.objective), sample.block.all_used().astype(np.intp)
    for rows, labels, weights in pieces:
        found = derivatives(sample.objective, scores(rows, model, basis), labels)
        pairs, values = own_curvatures(sample.objective, found)
        own = [k for k, (a, b) in enumerate(pairs) if a == b]
        part = rows_in_units(matrix[used[first : first + labels.size]], scaling)
        blocks += part.products(weights[:, None] * values[:, own])
        first += labels.size
    chosen = np.append(columns, model.shape[0] - 1) if free[-1] else columns
    blocks = blocks[:, : chosen.size, : chosen.size]
    factors = [_factor(block) for block in blocks]

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
