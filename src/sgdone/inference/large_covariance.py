"""Covariances of many coefficients: of a few of them exactly, of all of them by simulation."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.covariance import Covariance
from sgdone.inference.large import LargeOptimum, solve
from sgdone.inference.sample import Sample
from sgdone.sums.derivatives import derivatives
from sgdone.sums.pieces import Piece
from sgdone.sums.scaled_rows import ScaledRows
from sgdone.sums.score_products import slopes_of
from sgdone.sums.second_order import scores
from sgdone.sums.system import contrasts

Array = NDArray[np.float64]

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
        """Roots of the diagonal."""
        return np.sqrt(np.diagonal(self.matrix))

    def between(self, combinations: Array) -> Array:
        """One product."""
        return np.asarray(combinations @ self.matrix @ combinations.T)

    def of_scores(self, rows: ScaledRows) -> Array:
        """Not known: predictions depend on all coefficients."""
        raise NotImplementedError


@final
@dataclass(frozen=True, eq=False)
class SimulatedCovariance(Covariance):
    """The covariance of all coefficients, from draws of their errors.

    Parameters
    ----------
    combinations : CSR matrix
        Each coefficient of the summary in terms of those in the units of the sums.
    draws : ndarray
        (features + 1) × free outputs × draws, multiplied by the root of the small-sample factor.
    known : ndarray
        Variances of the coefficients, with control variates where they are known.
    error : float
        Relative Monte-Carlo error of the standard errors: the median over the coefficients.
    """

    combinations: Any
    draws: Array
    known: Array
    error: float

    def standard_errors(self) -> Array:
        """Those estimated with control variates."""
        return np.sqrt(self.known)

    def between(self, combinations: Array) -> Array:
        """The mean over the draws of products of the combinations."""
        own = np.asarray(combinations @ (self.combinations @ _flat(self.draws)))
        return np.asarray(own @ own.T / own.shape[1])

    def of_scores(self, rows: ScaledRows) -> Array:
        """The mean over the draws of products of the scores."""
        found = [rows.times(self.draws[:, a, :]) for a in range(self.draws.shape[1])]
        both = np.stack(found, axis=1)
        return np.asarray(np.einsum("iam,ibm->iab", both, both) / both.shape[2])


def chosen_covariance(
    sample: Sample, optimum: LargeOptimum, combinations: Any, cov: str, factor: float
) -> tuple[ChosenCovariance, NDArray[np.bool_]]:
    """The covariance of a few coefficients, and whether the system of each was solved."""
    shape = (*optimum.model.shape[::-1], combinations.shape[0])
    right = np.asarray(combinations.toarray().T).reshape(shape).transpose(1, 0, 2)
    parts = [solve(optimum, right[:, :, first : first + _TOGETHER]) for first in range(0, shape[2], _TOGETHER)]
    solution, solved = np.concatenate([part[0] for part in parts], axis=2), np.concatenate([p[1] for p in parts])
    if cov == "classical":
        matrix = np.asarray(combinations @ _flat(solution))
        return ChosenCovariance(factor * 0.5 * (matrix + matrix.T)), solved
    matrix = np.zeros((shape[2], shape[2]))
    sums: Array | None = None
    if cov == "cluster":
        assert sample.groups is not None
        sums = np.zeros((int(sample.groups.max()) + 1, shape[2]))
    for rows, piece in _with_rows(sample):
        slopes = slopes_of(sample.objective, piece, optimum.model)
        along = sum(slopes[:, [a]] * piece.rows.times(solution[:, a, :]) for a in range(slopes.shape[1]))
        if sums is not None:
            assert sample.groups is not None
            np.add.at(sums, sample.groups[rows], piece.weights[:, None] * along)
        else:
            along = _weighing(sample, piece)[:, None] * along
            matrix += along.T @ along
    if sums is not None:
        matrix = sums.T @ sums
    return ChosenCovariance(factor * matrix), solved


def simulated_covariance(
    sample: Sample, optimum: LargeOptimum, combinations: Any, cov: str, factor: float
) -> tuple[SimulatedCovariance, bool]:
    """The covariance of all coefficients by a multiplier bootstrap, and whether all systems were solved.

    A draw is H⁻¹Σξg, with independent signs ξ of rows, or of groups: its covariance is that of the sandwich. For the
    classical covariance, g are gradients at labels that are drawn from the model. Σξg has a known variance in each
    column, M_jj: where a column is the coefficient, it is a control variate.
    """
    rng = np.random.default_rng(_SEED)
    shape = (*optimum.model.shape, DRAWS)
    right, diagonal = np.zeros(shape), np.zeros(optimum.model.shape)
    signs = None
    if cov == "cluster":
        assert sample.groups is not None
        signs = rng.integers(0, 2, (int(sample.groups.max()) + 1, DRAWS)) * 2.0 - 1.0
    for rows, piece in _with_rows(sample):
        if cov == "classical":
            drawn = _drawn_slopes(sample, piece, optimum.model, rng)
            weighing = np.sqrt(piece.weights)
            slopes = _information(sample, piece, optimum.model)
            diagonal += piece.rows.squared_transposed_times(piece.weights[:, None] * slopes)
        else:
            slopes = slopes_of(sample.objective, piece, optimum.model)
            if signs is None:
                own = rng.integers(0, 2, (piece.labels.size, DRAWS)) * 2.0 - 1.0
                weighing = _weighing(sample, piece)
                diagonal += piece.rows.squared_transposed_times((weighing[:, None] * slopes) ** 2)
            else:
                assert sample.groups is not None
                own, weighing = signs[sample.groups[rows]], piece.weights
            drawn = slopes[:, :, None] * own[:, None, :]
        for a in range(shape[1]):
            right[:, a, :] += piece.rows.transposed_times(weighing[:, None] * drawn[:, a, :])
    parts = [solve(optimum, right[:, :, first : first + _TOGETHER]) for first in range(0, DRAWS, _TOGETHER)]
    solution = np.concatenate([part[0] for part in parts], axis=2)
    solved = bool(all(part[1].all() for part in parts))
    draws = np.asarray(combinations @ _flat(solution))
    controlled = shape[1] == 1 and sample.scaling.shift is None and cov != "cluster"
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
    known = errors[variances > 0]
    error = float(np.median(known)) if known.size else 0.0
    return SimulatedCovariance(combinations, np.sqrt(factor) * solution, factor * variances, error), solved


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


def _drawn_slopes(sample: Sample, piece: Piece, model: Array, rng: np.random.Generator) -> Array:
    """Gradients in the scores at labels drawn from the model: rows × free outputs × draws."""
    objective, basis = sample.objective, contrasts(sample.objective)
    found = derivatives(objective, scores(piece.rows, model, basis), piece.labels)
    size = piece.labels.size
    if objective.is_regression:
        return np.asarray(rng.standard_normal((size, 1, DRAWS)))
    if basis is None and objective.n_outputs == 1:
        positive = 1.0 / (1.0 + np.exp(-scores(piece.rows, model, basis)[:, 0]))
        return np.asarray((positive[:, None] - (rng.random((size, DRAWS)) < positive[:, None]))[:, None, :])
    if basis is None:
        likely = 1.0 / (1.0 + np.exp(-scores(piece.rows, model, basis)))[:, :, None]
        return np.asarray(likely - (rng.random((size, likely.shape[1], DRAWS)) < likely))
    below = np.cumsum(found.shares, axis=1)
    classes = (rng.random((size, 1, DRAWS)) > below[:, :-1, None]).sum(axis=1)
    drawn = found.shares[:, :, None] - (np.arange(found.shares.shape[1])[None, :, None] == classes[:, None, :])
    return np.asarray(np.einsum("ikm,ka->iam", drawn, basis))


def _information(sample: Sample, piece: Piece, model: Array) -> Array:
    """Second derivatives of rows in each free score."""
    found = derivatives(sample.objective, scores(piece.rows, model, contrasts(sample.objective)), piece.labels)
    return found.shares if contrasts(sample.objective) is None else np.zeros((piece.labels.size, model.shape[1]))


def _weighing(sample: Sample, piece: Piece) -> Array:
    """What a row's gradient is multiplied by: the root of a frequency, or a sampling weight."""
    return piece.weights if sample.weights == "sampling" else np.sqrt(piece.weights)


def _with_rows(sample: Sample) -> Iterator[tuple[NDArray[np.intp], Piece]]:
    """Pieces with the numbers of their rows."""
    used, first = sample.block.all_used().astype(np.intp), 0
    for piece in sample.pieces:
        yield used[first : first + piece.labels.size], piece
        first += piece.labels.size


def _flat(vectors: Array) -> Array:
    """Vectors in the order of a curvature: (free outputs × (features + 1)) × vectors."""
    return np.ascontiguousarray(vectors.transpose(1, 0, 2)).reshape(-1, vectors.shape[2])
