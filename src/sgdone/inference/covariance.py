"""Covariances of coefficients: the inverse of the information, or a sandwich.

Up to some thousand coefficients they are matrices. For more, that of a few coefficients is found by solving a system
for each, and that of all coefficients is simulated.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.inference.optimum import FactorisedOptimum, LargeOptimum, solve
from sgdone.inference.sample import Sample
from sgdone.inference.sample_rows import SampleRows
from sgdone.inference.sums_at_model import (
    GroupProducts,
    GroupScoresAlong,
    GroupScoresAt,
    ScoreProductsAt,
    ScoresAlong,
    SlopeSums,
    SumAt,
    forms_of_outputs,
    slopes_of,
    weighing,
)
from sgdone.machine.threads import blas_threads, mapped, single_thread
from sgdone.newton.search import Factors
from sgdone.sums.pieces import Piece, ScaledRows
from sgdone.sums.row_sum import ArraySum, RowSum, message
from sgdone.sums.second_order import derivatives, scores
from sgdone.sums.system import System, contrasts

Array = NDArray[np.float64]

#: Rows of a product that is computed at once.
_PANEL = 512


class Covariance(ABC):
    """The covariance V of the coefficients of a summary."""

    @abstractmethod
    def standard_errors(self) -> Array:
        """Standard errors, one per coefficient."""

    @abstractmethod
    def between(self, combinations: Array) -> Array:
        """Covariance matrix of linear combinations of the coefficients, one per row."""

    @abstractmethod
    def of_scores(self, rows: ScaledRows) -> Array:
        """Covariances of the free scores of rows in the units of the sums: rows × outputs × outputs."""


@final
@dataclass(frozen=True, eq=False)
class SandwichCovariance(Covariance):
    """V = C(H⁻¹MH⁻¹)Cᵀ times a factor, for some free outputs.

    C (``combinations``) has each coefficient of the summary in terms of those in the units of the sums. ``middle`` is
    M; None for H, as in the classical covariance.
    """

    combinations: sparse.csr_array
    inverse: Array
    middle: Array | None
    factor: float
    outputs: int

    def standard_errors(self) -> Array:
        """Roots of diag(CH⁻¹MH⁻¹Cᵀ), without the matrix itself."""
        return self._standard_errors

    @cached_property
    def _standard_errors(self) -> Array:
        # Rows of C of size 1: variances in units of 1e-200 would overflow.
        size = np.asarray(abs(self.combinations).max(axis=1).toarray()).ravel()
        size = np.where(size > 0, size, 1.0)
        rows = sparse.diags_array(1.0 / size).tocsr() @ self.combinations
        return size * np.sqrt(self.factor * self._variances_of(rows))

    def _variances_of(self, rows: sparse.csr_array) -> Array:
        with single_thread():
            left = np.asarray(rows @ self.inverse)
            if self.middle is None:
                return np.asarray(rows.multiply(left).sum(axis=1)).ravel()
            middle = self.middle

            def panel(first: int) -> Array:
                part = left[first : first + _PANEL]
                return np.asarray(np.einsum("ij,ij->i", part @ middle, part))

            panels = mapped(panel, range(0, len(left), _PANEL), blas_threads())
            return np.concatenate(list(panels))

    def between(self, combinations: Array) -> Array:
        """Covariance matrix of linear combinations, by a product with few rows."""
        with single_thread():
            own = np.asarray((self.combinations.T @ combinations.T).T)
            left = own @ self.inverse
            return self.factor * (left @ own.T if self.middle is None else left @ self.middle @ left.T)

    def of_scores(self, rows: ScaledRows) -> Array:
        """(x̃, 1)ᵀV(x̃, 1) for each pair of outputs."""
        return forms_of_outputs(rows, self._matrix, self.outputs)

    @cached_property
    def _matrix(self) -> Array:
        if self.middle is None:
            return self.factor * self.inverse
        return self.factor * (self.inverse @ self.middle @ self.inverse)


Cov = Literal["classical", "robust", "cluster"]


def dense_covariance(
    sample: Sample, optimum: FactorisedOptimum, combinations: Any, cov: Cov, coefficients: int
) -> SandwichCovariance:
    """The covariance of combinations of coefficients at an optimum."""
    objective, outputs = sample.objective, optimum.model.shape[1]
    inverse = optimum.factors.inverse()
    inverse[optimum.factors.fixed, :] = inverse[:, optimum.factors.fixed] = 0.0
    factor = factor_of(sample, cov, coefficients, optimum.sums.loss)
    if cov == "classical":
        if objective.is_regression and not objective.loss.quadratic:
            factor = huber_factor(sample, optimum.model, coefficients)
            penalties = np.where(optimum.estimated, 0.0, np.inf)
            inverse = Factors.of(sample.column_products, penalties, 1).inverse()
        return SandwichCovariance(combinations, inverse, None, factor, outputs)
    if cov == "cluster":
        middle = sample.sum(GroupScoresAt(sample.system, optimum.model, sample.facts.divided_groups)).matrix
    else:
        middle = sample.sum(ScoreProductsAt(sample.system, optimum.model, sample.weight_power)).values
    return SandwichCovariance(combinations, inverse, middle, factor, outputs)


def factor_of(sample: Sample, cov: Cov, coefficients: int, loss: float) -> float:
    """n/(n − k), or G/(G − 1)·(n − 1)/(n − k) for G groups; for H⁻¹, RSS/(n − k) for least squares and 1 otherwise."""
    rows = sample.n_rows
    if cov == "classical":
        return 2.0 * loss / (rows - coefficients) if sample.objective.is_regression else 1.0
    if sample.objective.predicts == "one_vs_rest":
        coefficients //= sample.objective.n_outputs
    groups = sample.n_groups
    if cov == "robust" or not groups:
        return rows / (rows - coefficients)
    return groups / (groups - 1) * (rows - 1) / (rows - coefficients)


def huber_factor(sample: Sample, model: Array, coefficients: int) -> float:
    """Huber (1981), eq. (7.6.2): K²·[Σψ²/(n − k)]/[Σψ′/n]², K = 1 + (k/n)·var(ψ′)/(Σψ′/n)², a factor of (XᵀX)⁻¹."""
    rows = sample.n_rows
    squares, bent = map(float, sample.sum(SlopeSums(sample.system, model)).values)
    share = bent / rows
    correction = 1.0 + coefficients / rows * (1.0 - share) / share
    return correction**2 * squares / (rows - coefficients) / share**2


#: Draws of the simulation. Without control variates the relative error of a standard error is 1/√(2·draws) = 5 %.
DRAWS: Final = 200
#: Vectors whose systems are solved together.
_TOGETHER = 50
#: Seed of the draws: a summary is the same each time.
_SEED = 20_150_214


@final
@dataclass(frozen=True, eq=False)
class ChosenCovariance(Covariance):
    """The covariance of a few coefficients, as a matrix."""

    matrix: Array

    def standard_errors(self) -> Array:
        """Standard errors: roots of the diagonal."""
        return np.sqrt(np.diagonal(self.matrix))

    def between(self, combinations: Array) -> Array:
        """Covariance matrix of linear combinations, by one product."""
        return np.asarray(combinations @ self.matrix @ combinations.T)

    def of_scores(self, rows: ScaledRows) -> Array:
        """Not supported: predictions depend on all coefficients."""
        raise NotImplementedError


@final
@dataclass(frozen=True, eq=False)
class SimulatedCovariance(Covariance):
    """The covariance of all coefficients, from draws of their errors.

    ``draws``, (features + 1) × free outputs × draws, are multiplied by the root of the small-sample factor. ``known``
    are variances of the coefficients, with control variates where they are known, and ``error`` is the relative
    Monte-Carlo error of the standard errors: the median over the coefficients.
    """

    combinations: Any
    draws: Array
    known: Array
    error: float

    def standard_errors(self) -> Array:
        """Standard errors, estimated with control variates."""
        return np.sqrt(self.known)

    def between(self, combinations: Array) -> Array:
        """Covariance matrix of linear combinations: the mean over the draws of their products."""
        own = np.asarray(combinations @ (self.combinations @ _flat(self.draws)))
        return np.asarray(own @ own.T / own.shape[1])

    def of_scores(self, rows: ScaledRows) -> Array:
        """Covariances of the scores: the mean over the draws of their products."""
        found = [rows.times(self.draws[:, a, :]) for a in range(self.draws.shape[1])]
        both = np.stack(found, axis=1)
        return np.asarray(np.einsum("iam,ibm->iab", both, both) / both.shape[2])


def _solutions(optimum: LargeOptimum, right: Array) -> tuple[Array, NDArray[np.bool_]]:
    """H⁻¹ times vectors, and whether each system was solved."""
    parts = [solve(optimum, right[:, :, k : k + _TOGETHER]) for k in range(0, right.shape[2], _TOGETHER)]
    return np.concatenate([part for part, _ in parts], axis=2), np.concatenate([solved for _, solved in parts])


def chosen_covariance(
    sample: Sample, optimum: LargeOptimum, combinations: Any, cov: str, factor: float
) -> tuple[ChosenCovariance, NDArray[np.bool_]]:
    """The covariance of a few coefficients, and whether the system of each was solved."""
    shape = (*optimum.model.shape[::-1], combinations.shape[0])
    right = np.asarray(combinations.toarray().T).reshape(shape).transpose(1, 0, 2)
    solution, solved = _solutions(optimum, right)
    if cov == "classical":
        matrix = np.asarray(combinations @ _flat(solution))
        return ChosenCovariance(factor * 0.5 * (matrix + matrix.T)), solved
    if cov == "cluster":
        request: RowSum = GroupScoresAlong(optimum.system, optimum.model, solution, sample.facts.divided_groups)
        of_groups: GroupProducts = sample.sum(request)
        return ChosenCovariance(factor * of_groups.matrix), solved
    of_rows: ArraySum = sample.sum(ScoresAlong(optimum.system, optimum.model, solution, sample.weight_power))
    return ChosenCovariance(factor * of_rows.values), solved


def simulated_covariance(
    sample: Sample, optimum: LargeOptimum, combinations: Any, cov: str, factor: float
) -> tuple[SimulatedCovariance, bool]:
    """The covariance of all coefficients by a multiplier bootstrap, and whether all systems were solved.

    A draw is H⁻¹Σξg, with independent signs ξ of rows, or of groups: its covariance is that of the sandwich. For the
    classical covariance, g are gradients at labels that are drawn from the model. Σξg has a known variance in each
    column, M_jj: where a column is the coefficient, it is a control variate.
    """
    power, groups = sample.weight_power, sample.facts.groups if cov == "cluster" else None
    found = sample.sum(SimulatedScores(optimum.system, optimum.model, power, groups, cov == "classical"))
    right, diagonal = found.values[:, :, :-1], found.values[:, :, -1]
    solution, solved = _solutions(optimum, right)
    draws = np.asarray(combinations @ _flat(solution))
    controlled = right.shape[1] == 1 and sample.scaling.shift is None and cov != "cluster"
    if controlled:
        # One entry a row, and the intercept is an output of its own: a coefficient is a multiple of its column's.
        unit = np.asarray(combinations.sum(axis=1)).ravel()
        place = combinations.indices
        control, expected = unit[:, None] * right[place, 0, :], unit**2 * diagonal[place, 0]
        variances, errors = _with_control(draws, control, expected)
    else:
        squares = draws**2
        variances = squares.mean(axis=1)
        errors = np.full(len(draws), 0.5 * np.sqrt(2.0 / DRAWS))
    # Coefficients that are not estimated have no variance.
    error = float(np.median(errors[variances > 0])) if (variances > 0).any() else 0.0
    return SimulatedCovariance(combinations, np.sqrt(factor) * solution, factor * variances, error), bool(solved.all())


def _with_control(draws: Array, control: Array, expected: Array) -> tuple[Array, Array]:
    """Means of squares, corrected by those of a control variate with known means; relative errors of their roots."""
    squares, others = draws**2, control**2
    mean, other = squares.mean(axis=1), others.mean(axis=1)
    apart, aside = squares - mean[:, None], others - other[:, None]
    spread = np.einsum("ij,ij->i", aside, aside)
    slope = np.divide(np.einsum("ij,ij->i", apart, aside), spread, out=np.zeros_like(mean), where=spread > 0)
    found = mean - slope * (other - expected)
    left = apart - slope[:, None] * aside
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = 0.5 * np.sqrt(np.einsum("ij,ij->i", left, left)) / draws.shape[1] / found
    return np.where(found > 0, found, mean), errors


@final
@message
@dataclass(frozen=True)
class SimulatedScores(SumAt):
    """Σξg of several draws, and last their variances: (features + 1) × free outputs × (draws + 1).

    Draws depend on the number of the row, or of its group, among all of them: the sums are the same however the rows
    are divided. ``groups`` are the labels of all groups, sorted, if a sign belongs to a group; then the variances are
    not computed. If ``draws_labels``, g are gradients at labels that are drawn from the model, and ξ is 1. ``power`` is
    1 if weights are frequencies, 2 if they are sampling weights.
    """

    power: int
    groups: NDArray[Any] | None
    draws_labels: bool

    def of(self, rows: SampleRows) -> ArraySum | None:
        """The sums over these rows."""
        if not rows.n_rows:
            return None
        total = np.zeros((*self.model.shape, DRAWS + 1))
        numbers = rows.first_row + np.arange(rows.n_rows)
        if self.groups is not None:
            assert rows.groups is not None
            numbers = np.searchsorted(self.groups, rows.groups[rows.used])
        for places, piece in rows.numbered_pieces(self.system):
            drawn, variances = self._of_piece(piece, numbers[places])
            for a in range(total.shape[1]):
                total[:, a, :-1] += piece.rows.transposed_times(drawn[:, a, :])
            total[:, :, -1] += piece.rows.squared_transposed_times(variances)
        return ArraySum(total)

    def _of_piece(self, piece: Piece, numbers: NDArray[np.intp]) -> tuple[Array, Array]:
        """ξg in the free scores, rows × outputs × draws, and their variances."""
        if self.draws_labels:
            drawn, information = _drawn_slopes(self.system, piece, self.model, numbers)
            return np.sqrt(piece.weights)[:, None, None] * drawn, piece.weights[:, None] * information
        slopes, signs = slopes_of(self.system.objective, piece, self.model), _signs(numbers)
        if self.groups is not None:
            slopes = piece.weights[:, None] * slopes
            return slopes[:, :, None] * signs[:, None, :], np.zeros_like(slopes)
        slopes = weighing(piece, self.power)[:, None] * slopes
        return slopes[:, :, None] * signs[:, None, :], slopes**2


def _drawn_slopes(system: System, piece: Piece, model: Array, numbers: NDArray[np.intp]) -> tuple[Array, Array]:
    """Gradients in the scores at labels drawn from the model, rows × free outputs × draws, and second derivatives."""
    objective, basis = system.objective, contrasts(system.objective)
    scored = scores(piece.rows, model, basis)
    shares = derivatives(objective, scored, piece.labels).shares
    if objective.is_regression:
        # Errors of variance 1.
        return _signs(numbers)[:, None, :], shares
    if basis is None:
        likely = 1.0 / (1.0 + np.exp(-scored))[:, :, None]
        return likely - (_uniform(numbers, likely.shape[1]) < likely), shares
    below = np.cumsum(shares, axis=1)
    classes = (_uniform(numbers, 1) > below[:, :-1, None]).sum(axis=1)
    drawn = shares[:, :, None] - (np.arange(shares.shape[1])[None, :, None] == classes[:, None, :])
    return np.einsum("ikm,ka->iam", drawn, basis), np.zeros((numbers.size, model.shape[1]))


def _signs(numbers: NDArray[np.intp]) -> Array:
    """A sign for each number and draw."""
    # Two of them are drawn from 64 bits.
    return _drawn(numbers, DRAWS // 2, lambda rng, count: rng.integers(0, 2, (count, DRAWS)) * 2.0 - 1.0)


def _uniform(numbers: NDArray[np.intp], outputs: int) -> Array:
    """A number between 0 and 1 for each number, output and draw."""
    return _drawn(numbers, outputs * DRAWS, lambda rng, count: rng.random((count, outputs, DRAWS)))


def _drawn(numbers: NDArray[np.intp], steps: int, draw: Callable[[np.random.Generator, int], Any]) -> Array:
    """Draws for each number, the same in every process; the generator makes ``steps`` steps for each."""
    own, places = np.unique(numbers, return_inverse=True)
    runs = np.split(own, np.flatnonzero(np.diff(own) > 1) + 1)
    found = [draw(np.random.Generator(np.random.PCG64(_SEED).advance(steps * int(run[0]))), run.size) for run in runs]
    return np.asarray(np.concatenate(found)[places.reshape(-1)])


def _flat(vectors: Array) -> Array:
    """Vectors in the order of a curvature: (free outputs × (features + 1)) × vectors."""
    return np.ascontiguousarray(vectors.transpose(1, 0, 2)).reshape(-1, vectors.shape[2])
