"""Newton's method on Σvℓ + ½Σλw²: a search that yields the sum it needs and is sent its value, and its directions.

Directions come from factors of the curvature, or from conjugate gradients. The caller answers from memory, from files
or from the partitions of a cluster: see `sgdone.sums.row_sum.together` for several searches on the same readings.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import get_lapack_funcs

from sgdone.sums.row_sum import ArraySum, RowSum
from sgdone.sums.second_order import Curvature, CurvatureProduct, SecondOrder, SecondOrderAt
from sgdone.sums.system import System

Array = NDArray[np.float64]
#: Generator that yields sums, is sent their values, and returns the minimum.
Search = Generator[RowSum, Any, "SearchResult"]

#: Newton's decrement of an optimum: every coefficient is within 1e-4 standard errors of the exact one.
EXACT = 5e-9
#: Largest number of steps of a search, and of consecutive steps that do not lower the objective.
MOST_STEPS, _MOST_IDLE = 60, 6
#: Fractions of a step that are tried, until the objective decreases enough.
STEP_FRACTIONS = tuple(0.5**k for k in range(40))
#: Fraction of the decrease predicted by the gradient that a step must reach, and rounding of the objective.
SUFFICIENT_DECREASE, ROUNDING = 1e-4, 1e-13
#: Factor of the objective at a step from which changes are damped; first and last damping, its factor from one step to
#: the next, and share of the predicted decrease that a step must reach before there is less of it.
_MUCH_LARGER = 3.0
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING, _DAMPING_FACTOR, _AS_PREDICTED = 0.1, 1e-5, 1.0, 5.0, 0.75
#: Residuals below this share of the targets are rounding errors.
RESIDUAL_ROUNDING = 1e-11
#: Share of the objective that matters where all rows are predicted almost without loss, and the least share of the
#: tolerance then; and tolerance above which a search is rough, because its optima are only compared on other rows.
_LITTLE, _LEAST, _ROUGH = 0.1, 1e-3, 1e-3


@final
@dataclass(frozen=True)
class Point:
    """The objective Σvℓ + ½Σλw² at a model."""

    #: (features + 1) × free outputs.
    model: Array
    #: Loss, gradient and curvature of Σvℓ there.
    sums: SecondOrder
    #: The objective.
    value: float
    #: Its gradient.
    gradient: Array
    #: λ of each row of the model; 0 for that of the intercepts, infinite for one that stays 0.
    penalties: Array

    @classmethod
    def of(cls, sums: SecondOrder, model: Array, penalties: Array) -> "Point":
        """Add the penalty to sums over rows."""
        free = np.isfinite(penalties)
        if free.all():
            penalty_gradient = penalties[:, None] * model
            gradient = sums.gradient + penalty_gradient
        else:
            penalty_gradient = np.where(free, penalties, 0.0)[:, None] * model
            gradient = np.where(free[:, None], sums.gradient + penalty_gradient, 0.0)
        return cls(model, sums, sums.loss + 0.5 * float(np.vdot(penalty_gradient, model)), gradient, penalties)

    def decrement(self, direction: Array) -> float:
        """gᵀH⁻¹g/2: to second order, by how much the objective exceeds its minimum."""
        return max(0.0, -0.5 * float(np.vdot(self.gradient, direction)))


@final
@dataclass(frozen=True)
class Problem:
    """The objective Σvℓ + ½Σλw² over rows."""

    #: The loss, and the units of the rows.
    system: System
    #: λ of each row of a model: see `sgdone.sums.system.System.penalties`.
    penalties: Array
    #: Number of rows of positive weight.
    n_rows: int
    #: Variance of targets about their predictions below which it is rounding.
    least_dispersion: float = 0.0

    def penalised(self, lam: float) -> "Problem":
        """The problem with another penalty."""
        return replace(self, penalties=self.system.penalties(lam))

    def second_order(self, model: Array, curvature: Curvature) -> SecondOrderAt:
        """The sum to request at a model."""
        return SecondOrderAt(self.system, model, curvature)

    def at(self, model: Array, sums: SecondOrder) -> Point:
        """A model with its sums."""
        return Point.of(sums, model, self.penalties)

    def dispersion(self, sums: SecondOrder) -> float:
        """`SecondOrder.dispersion`, at least ``least_dispersion``."""
        return max(sums.dispersion(self.system.objective), self.least_dispersion)

    def enough(self, tol: float, at: Point) -> float:
        """Decrement at which a search ends: any, where the residuals of a regression are rounding errors."""
        if 0.0 < at.sums.dispersion(self.system.objective) <= self.least_dispersion:
            return np.inf
        wanted = tol * min(1.0, at.sums.weight / self.n_rows) * self.dispersion(at.sums)
        if self.system.objective.is_regression or tol > _ROUGH:
            return wanted
        # Where all rows are predicted almost without loss, little of it matters.
        return wanted * min(1.0, max(_LITTLE * at.value, _LEAST))


@final
@dataclass(frozen=True)
class SearchResult:
    """Result of a search."""

    #: In the units of the system. A search with a ``tol`` above `EXACT` makes one more step at the end.
    model: Array
    #: The model that was evaluated last, with its sums.
    at: Point
    #: To second order, by how much the objective exceeds its minimum there, over the dispersion of a regression.
    decrement: float
    #: Steps made.
    steps: int
    #: Whether no step lowered the objective, or too many were made.
    stalled: bool = False


@dataclass
class SearchProgress:
    """Progress of a search: the last accepted point, and the last decrement."""

    at: Point | None = None
    decrement: float = np.inf

    @property
    def model(self) -> Array | None:
        """The model; None before the first sum."""
        return None if self.at is None else self.at.model

    @property
    def value(self) -> float:
        """The objective there; NaN before the first sum."""
        return np.nan if self.at is None else self.at.value


def minimise(
    problem: Problem,
    start: Array,
    tol: float,
    directions: "Directions",
    *,
    known: SecondOrder | None = None,
    most_steps: int = MOST_STEPS,
    progress: SearchProgress | None = None,
) -> Search:
    """Minimise until the decrement is at most ``tol``.

    Parameters
    ----------
    problem : Problem
        The objective to minimise.
    start : ndarray
        The model to start from.
    tol : float
        Decrement that is small enough.
    directions : Directions
        How directions are found.
    known : SecondOrder, optional
        The sums at the start, if they were evaluated for another penalty: then one step at least is made.
    most_steps : int
        Steps after which the search has stalled.
    progress : SearchProgress, optional
        Updated with the progress of the search.
    """
    progress = progress or SearchProgress()
    model = np.where(np.isfinite(problem.penalties)[:, None], start, 0.0)
    first = known if known is not None else (yield problem.second_order(model, directions.first_curvature))
    at, idle, decrement, damping = problem.at(model, first), 0, np.inf, 0.0
    if not (np.isfinite(at.value) and np.all(np.isfinite(at.gradient))):
        raise OverflowError("the loss of the start is too large")
    for step in range(most_steps):
        progress.at = at
        at, direction = yield from directions.damped(at, damping)
        if damping and direction is not None and at.decrement(direction) <= problem.enough(tol, at):
            damping = 0.0
            at, direction = yield from directions.at(at)
        if direction is not None and not damping and tol > EXACT and at.decrement(direction) <= problem.enough(tol, at):
            # With a tolerance above the exact one, callers use the curvature there.
            at, direction = yield from directions.with_curvature(at, direction)
        if direction is None:
            progress.decrement = np.inf
            return SearchResult(at.model, at, np.inf, step, stalled=True)
        decrement, unit, enough = at.decrement(direction), problem.dispersion(at.sums), problem.enough(tol, at)
        progress.decrement = decrement
        if decrement <= enough and at.sums is not known:
            last = direction if tol > EXACT and directions.are_exact else 0.0
            return SearchResult(at.model + last, at, 0.0 if np.isinf(enough) else decrement / unit, step)
        tried, damping = yield from _step(problem, directions, at, direction, damping)
        if tried is None:
            return SearchResult(at.model, at, decrement / unit, step, stalled=True)
        idle = 0 if tried.value < at.value - ROUNDING * abs(at.value) else idle + 1
        at = tried
        if idle == _MOST_IDLE:
            break
    return SearchResult(at.model, at, decrement / problem.dispersion(at.sums), step + 1, stalled=True)


def _step(
    problem: Problem, directions: "Directions", at: Point, direction: Array, damping: float
) -> Generator[RowSum, Any, tuple[Point | None, float]]:
    """A point with a smaller objective, None if there is none, and the damping of the next step.

    A step that is too long is made shorter. Where the objective becomes several times as large, because the curvature
    grows along a few coefficients, as of rare levels in rare classes, shorter steps in the same direction would hardly
    change the others: coefficients are damped instead, until steps are as good as predicted (Levenberg 1944; Marquardt
    1963).
    """
    while True:
        decrement = at.decrement(direction)
        for share in STEP_FRACTIONS:
            model = at.model + share * direction
            tried = problem.at(model, (yield problem.second_order(model, directions.curvature)))
            decrease, rounding = at.value - tried.value, ROUNDING * abs(at.value)
            if decrease >= 2.0 * SUFFICIENT_DECREASE * share * decrement - rounding:
                if decrease >= _AS_PREDICTED * decrement:
                    damping = damping / _DAMPING_FACTOR if damping > _LEAST_DAMPING else 0.0
                return tried, damping
            if damping < _MOST_DAMPING and (damping or not tried.value <= _MUCH_LARGER * abs(at.value)):
                break
        else:
            return None, damping
        damping = damping * _DAMPING_FACTOR or _FIRST_DAMPING
        at, damped = yield from directions.damped(at, damping)
        if damped is None:
            return None, damping
        direction = damped


#: Generator that yields the sums it needs, and returns a point and the direction there.
DirectionSearch = Generator[RowSum, Any, tuple[Point, Array | None]]

#: Largest number of coefficients whose curvature is factorised: beyond, its memory and its time grow too large.
MOST_FACTORISED = 4096
#: Largest number of coefficients whose curvature is summed over files or partitions: beyond, its products take longer
#: than reading, and it takes too many bytes.
MOST_SUMMED = 1024
#: Eigenvalues below this share of the largest are taken for 0: along such directions the loss does not change.
_FLAT = 1e-12
#: Such a share in single precision, as a ratio of the diagonals of a Cholesky factor.
_FLAT_SINGLE = 1e-3
#: Rows of a matrix whose triangle is copied at once.
_STRIP = 256
#: Conjugate gradients with the factors of an earlier curvature: residual relative to the gradient, and products after
#: which the curvature is evaluated again.
_EARLIER_RESIDUAL, _MOST_WITH_EARLIER = 0.1, 12
#: Share of the gradient that is not explained by the curvature; and, in squares of standard errors, a gradient that is
#: rounding.
_NO_CURVATURE, _NO_GRADIENT = 1e-3, 1e-12


@final
@dataclass(frozen=True)
class Factors:
    """H = XᵀDX + λ by its Cholesky factor or, where H is singular, by its eigenvectors."""

    shape: tuple[int, int]
    fixed: NDArray[np.intp]
    cholesky: NDArray[np.floating] | None
    pseudo_inverse: Array

    @classmethod
    def of(cls, curvature: Array, penalties: Array, columns: int, *, single: bool = False) -> "Factors":
        """Factorise; coefficients with an infinite penalty have a row and a column of 0 in the inverse.

        In single precision if ``single``, for preconditioning.
        """
        matrix, free = curvature.copy(), np.isfinite(penalties)
        known = penalties if free.all() else np.where(free, penalties, 0.0)
        matrix.flat[:: len(matrix) + 1] += known if columns == 1 else np.tile(known, columns)
        fixed = np.empty(0, np.intp) if free.all() else np.flatnonzero(np.tile(~free, columns))
        if fixed.size:
            matrix[fixed, :] = matrix[:, fixed] = 0.0
            matrix[fixed, fixed] = 1.0
        shape, nothing = (len(penalties), columns), np.empty(0)
        for dtype in (np.float32, np.float64) if single else (np.float64,):
            # Symmetric: the transpose is the same matrix, in the order that LAPACK wants.
            factor, failed = _lapack("potrf", dtype)(matrix.T.astype(dtype, copy=True), lower=1, clean=0, overwrite_a=1)
            diagonal = np.diagonal(factor)
            flat = np.sqrt(_FLAT) if dtype is np.float64 else _FLAT_SINGLE
            if not failed and diagonal.min() > flat * diagonal.max():
                return cls(shape, fixed, factor, nothing)
        # Units of the columns may differ by any factor: a direction is flat relative to its own columns.
        size = np.sqrt(np.maximum(np.diagonal(matrix), np.finfo(np.float64).tiny))
        values, vectors = eigh(matrix / size[:, None] / size, check_finite=False)
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > _FLAT * values.max())
        pseudo_inverse = (vectors * inverse) @ vectors.T / size[:, None] / size
        pseudo_inverse[fixed, fixed] = 0.0
        return cls(shape, fixed, None, pseudo_inverse)

    def smallest_pivot(self, curvature: Array) -> float:
        """The least share of a column's curvature that the columns before it leave unexplained; 0 if H is singular."""
        if self.cholesky is None:
            return 0.0
        pivots = np.diagonal(self.cholesky).astype(np.float64) ** 2
        shares = pivots / np.maximum(np.diagonal(curvature), np.finfo(np.float64).tiny)
        shares[self.fixed] = 1.0
        return float(shares.min())

    def solve(self, right: Array) -> Array:
        """H⁻¹ times an array that is shaped like the model."""
        flat = right.T.ravel()
        if self.cholesky is None:
            found = self.pseudo_inverse @ flat
        else:
            found = _lapack("potrs", self.cholesky.dtype)(self.cholesky, flat, lower=1)[0]
        return np.asarray(found, dtype=np.float64).reshape(self.shape[::-1]).T

    def inverse(self) -> Array:
        """H⁻¹."""
        if self.cholesky is None:
            return self.pseudo_inverse
        lower = _lapack("potri", self.cholesky.dtype)(self.cholesky, lower=1)[0]
        found = np.array(lower.T, order="C")
        for first in range(0, len(found), _STRIP):
            # LAPACK has written above the diagonal only.
            strip = slice(first, first + _STRIP)
            found[strip, :first] = found[:first, strip].T
            found[strip, strip] = np.triu(found[strip, strip]) + np.triu(found[strip, strip], 1).T
        found[self.fixed, self.fixed] = 0.0
        return np.asarray(found, dtype=np.float64)


@lru_cache(maxsize=8)
def _lapack(name: str, dtype: Any) -> Any:
    return get_lapack_funcs(name, dtype=dtype)


class Directions(ABC):
    """A way to find the directions −H⁻¹g of Newton's method, for one search."""

    #: Units of the sums.
    system: System
    #: Curvature that is requested at each model that is tried.
    curvature: Curvature
    #: Whether directions are exact, so that a last step can be made without evaluating the objective after it.
    are_exact: ClassVar[bool] = True

    @property
    def first_curvature(self) -> Curvature:
        """Curvature that is requested at the start."""
        return self.curvature

    @abstractmethod
    def at(self, at: Point) -> DirectionSearch:
        """Direction at a point, and the point with its curvature if that was evaluated.

        The direction is None if the gradient has a part along which the objective has no curvature.
        """

    def damped(self, at: Point, damping: float) -> DirectionSearch:
        """Direction at a point, of the objective with ½·damping·Σv times the squared changes of the coefficients."""
        if not damping:
            return (yield from self.at(at))
        found, direction = yield from self.at(replace(at, penalties=at.penalties + damping * at.sums.weight))
        return replace(found, penalties=at.penalties), direction

    def with_curvature(self, at: Point, direction: Array) -> DirectionSearch:
        """Compute the direction again with the curvature at the point, if directions depend on it."""
        return at, direction
        yield


@final
class CholeskyDirection(Directions):
    """Directions from factors of the curvature.

    Where the curvature is expensive it is evaluated at some points only: at others, directions are found by
    conjugate gradients, preconditioned with the factors of an earlier curvature.

    Parameters
    ----------
    system : System
        Units of the sums.
    cheap : bool
        Whether the curvature is evaluated at each point.
    factors : Factors, optional
        Factors of an earlier curvature.
    single : bool
        Whether single precision is enough, because an expensive curvature only preconditions.
    constant : bool
        Whether the curvature is the same everywhere: it is evaluated once.
    """

    #: Where the curvature was evaluated last.
    curvature_at: Point

    def __init__(
        self,
        system: System,
        *,
        cheap: bool = True,
        factors: Factors | None = None,
        single: bool = False,
        constant: bool = False,
    ) -> None:
        self.system, self._factors, self.single, self._constant = system, factors, single, constant
        #: The curvature and the penalties that were factorised; None for factors that were given.
        self._factorised: Point | None = None
        self._full: Curvature = "single" if single else "full"
        self.curvature = self._full if cheap and not constant else "none"

    @property
    def first_curvature(self) -> Curvature:
        """Curvature that is requested at the start: it is needed unless factors are given."""
        return self._full if self._factors is None else self.curvature

    @property
    def factors(self) -> Factors:
        """Factors of the curvature that was evaluated last."""
        assert self._factors is not None
        return self._factors

    def at(self, at: Point) -> DirectionSearch:
        """Direction from factors, or by conjugate gradients if the curvature was evaluated elsewhere."""
        if at.sums.curvature.size:
            return self._by_curvature(at)
        if self._constant:
            return at, -self.factors.solve(at.gradient)
        if self._factorised is not None and not np.array_equal(self._factorised.penalties, at.penalties):
            self._factorise(replace(self._factorised, penalties=at.penalties))
        products = conjugate_gradients(self.system, at, self.factors.solve, _EARLIER_RESIDUAL, _MOST_WITH_EARLIER)
        direction, converged = yield from products
        return (at, direction) if converged else (yield from self.with_curvature(at, direction))

    def with_curvature(self, at: Point, direction: Array) -> DirectionSearch:
        """Compute the direction again from factors of the curvature at the point."""
        if at.sums.curvature.size or self._constant:
            return at, direction
        sums: SecondOrder = yield SecondOrderAt(self.system, at.model, self._full)
        return self._by_curvature(replace(at, sums=sums))

    def _by_curvature(self, at: Point) -> tuple[Point, Array | None]:
        self._factorise(at)
        self.curvature_at = at
        direction = -self.factors.solve(at.gradient)
        return at, None if self.factors.cholesky is None and self._is_flat(at, direction) else direction

    def _factorise(self, at: Point) -> None:
        self._factors = Factors.of(at.sums.curvature, at.penalties, at.model.shape[1], single=self.single)
        self._factorised = at

    def _is_flat(self, at: Point, direction: Array) -> bool:
        """Whether the gradient has a part along which the objective has no curvature: no step leads down it."""
        flat = direction.T.ravel()
        penalties = np.tile(np.where(np.isfinite(at.penalties), at.penalties, 0.0), direction.shape[1])
        left = at.sums.curvature @ flat + penalties * flat + at.gradient.T.ravel()
        left[self.factors.fixed] = 0.0
        if np.linalg.norm(left) <= _NO_CURVATURE * np.linalg.norm(at.gradient):
            return False
        # At an optimum the gradient is rounding, and no step explains it.
        sizes = np.maximum(np.diagonal(at.sums.curvature) + penalties, np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            squares = 0.5 * float((left * left / sizes).sum())
        return squares > _NO_GRADIENT * at.sums.dispersion(self.system.objective)


@final
class ConjugateGradients(Directions):
    """Directions by conjugate gradients, preconditioned by the diagonal of the curvature.

    They end at a ``residual`` relative to the gradient, or after ``most_products``.
    """

    curvature = "diagonal"
    are_exact = False

    def __init__(self, system: System, residual: float = 1e-6, most_products: int = 500) -> None:
        self.system, self._residual, self._most_products = system, residual, most_products

    def at(self, at: Point) -> DirectionSearch:
        """Direction by products with the curvature at the point."""
        free = np.isfinite(at.penalties)[:, None]
        scale = at.sums.diagonal + np.where(free, at.penalties[:, None], 0.0)
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=free & (scale > 0))
        precondition = partial(np.multiply, inverse)
        search = conjugate_gradients(self.system, at, precondition, self._residual, self._most_products)
        direction, _ = yield from search
        # No direction although there is a gradient: the objective has no curvature along it.
        return at, None if at.gradient.any() and not direction.any() else direction


def conjugate_gradients(
    system: System, at: Point, precondition: Callable[[Array], Array], residual_wanted: float, most_products: int
) -> Generator[RowSum, Any, tuple[Array, bool]]:
    """−H⁻¹g by products of the curvature without the penalty, and whether the residual became small enough.

    It ends where there is no curvature; if there was none from the start, the direction is 0, and not good enough.

    ``precondition`` multiplies by an approximate H⁻¹.
    """
    free = np.isfinite(at.penalties)[:, None]
    penalties = np.where(free, at.penalties[:, None], 0.0)
    solution, residual = np.zeros_like(at.gradient), -at.gradient
    direction = precondition(residual)
    first = reduced = float(np.vdot(residual, direction))
    if first <= 0.0:
        return solution, not residual.any()
    for _ in range(most_products):
        if reduced <= residual_wanted**2 * first:
            return solution, True
        sums: ArraySum = yield CurvatureProduct(system, at.model, direction)
        product = np.where(free, sums.values, 0.0) + penalties * direction
        curvature_along = float(np.vdot(direction, product))
        if curvature_along <= 0.0:
            return solution, bool(solution.any())
        step = reduced / curvature_along
        solution = solution + step * direction
        residual = residual - step * product
        conditioned = precondition(residual)
        before, reduced = reduced, float(np.vdot(residual, conditioned))
        direction = conditioned + (reduced / before) * direction
    return solution, reduced <= residual_wanted**2 * first
