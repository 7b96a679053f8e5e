"""Searches for the best penalty with folds: what they share, and the search of the squared loss."""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from sgdone.newton.penalty_path import NO_PENALTY, Evaluated, PenaltyGrid, Readings, lam_at
from sgdone.sums.fold_rows import CurvatureWork, FoldOutputs, FoldProducts

if TYPE_CHECKING:
    from sgdone.newton.fold_path import FoldPath

Array = NDArray[np.float64]


class FoldSearch(ABC):
    """Search for the best penalty in one set of units, by the losses of rows that are held out from fold models."""

    #: Means of the scaled columns, once they are measured.
    means: Array

    def __init__(self, path: "FoldPath", rows: FoldProducts, *, in_given_units: bool = False) -> None:
        self.path, self.rows, self.in_given_units = path, rows, in_given_units
        self.grid, self.losses, self.loss, self.lam = PenaltyGrid(), np.empty(0), math.inf, math.nan

    @abstractmethod
    def evaluations(self, rival: Any = None, given: float | None = None) -> Readings:
        """Fold models at the given penalty, or at those around the best; yields before each reading of the rows.

        A ``rival`` is the search of the same kind in other units.
        """

    @abstractmethod
    def mean_model(self) -> tuple[Array, Array]:
        """Coefficients and intercepts from which the model of all rows is trained."""

    def measure(self) -> tuple[Array, float]:
        """Means of the scaled columns, and the mean squared norm of rows."""
        weights = self.path.weights
        total = float(weights.sum())
        found = np.zeros((2, self.rows.n_features, 1))
        self.rows.adds(weights[:, None], found[0])
        self.rows.adds(weights[:, None], found[1], squared=True)
        inverse = self.rows.inverse
        return found[0, :, 0] * inverse / total, float((found[1, :, 0] * inverse**2).sum()) / total


#: Readings after which penalties are compared, as a factor; and largest number of them, whose scores are kept.
_AGAIN, _MOST_KEPT = 1.25, 600
#: Decrement of the fold models, relative to the variance of the residuals, at a penalty that is compared.
_CLOSE = 0.01


@final
class LeastSquaresSearch(FoldSearch):
    """Search for the best penalty of the squared loss: one sequence of readings serves all penalties.

    The Krylov space of A = XᵀVX and b = XᵀVy, of centred rows, is the same for all A + λ. With the Lanczos vectors Q,
    T = QᵀAQ and b = β₀q₁ the solution is Qy, y = (T + λ)⁻¹β₀e₁ (Frommer & Maass 1999), and predictions of held-out rows
    are XQy: only these rows' XQ are kept. Larger penalties need fewer vectors.
    """

    def mean_model(self) -> tuple[Array, Array]:
        """A constant prediction."""
        return np.zeros((self.rows.n_features, 1)), np.array([float(self._centre.mean())])

    def evaluations(self, rival: Any = None, given: float | None = None) -> Readings:
        """Losses of held-out rows at the given penalty, or at those around the best."""
        yield None
        self.means, _ = self.measure()
        self.grid, self.lam = PenaltyGrid(), math.nan if given is None else given
        path, inverse = self.path, self.rows.inverse
        held_out, judged = path.held_out
        weights = path.weights[:, None] * ~held_out if judged.size else path.weights[:, None]
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        totals, columns = weights.sum(axis=0), weights.shape[1]
        width, fit_intercept = self.rows.width(columns), path.objective.fit_intercept
        shape, of_rows = (self.rows.n_features, width), (self.rows.n_rows, width)
        self._centre = path.labels @ weights / totals if fit_intercept else np.zeros(columns)
        yield None
        centres = np.zeros(shape)
        if fit_intercept:
            self._add(weights / totals, centres)
        yield None
        vector = np.zeros(shape)
        self._add(weights * (path.labels[:, None] - self._centre), vector)
        if not np.all(np.isfinite(np.einsum("ij,ij->j", vector, vector))):
            raise OverflowError("the products of columns and targets are too large")
        work = self._work(weights, shape, of_rows)
        fold_of = held_out[judged].argmax(axis=1) if judged.size else np.empty(0, np.intp)
        lanczos = _Lanczos(vector[:, :columns], path.labels[judged] - self._centre[fold_of], fold_of)
        before, due = np.zeros(shape), 4
        while True:
            yield None
            np.multiply(vector, inverse[:, None], out=work.columns)
            work.intercepts[:] = -np.einsum("ij,ij->j", centres, vector)
            work.found[:] = 0.0
            self.rows.curved(work)
            along = work.totals[0].copy()
            residual = work.found * inverse[:, None] - along * vector - lanczos.last * before
            lanczos.add(along, np.linalg.norm(residual, axis=0), work.scores[judged, fold_of])
            before, vector = vector, residual / np.where(lanczos.last > 0.0, lanczos.last, 1.0)
            ended = lanczos.count >= _MOST_KEPT or not lanczos.last.any()
            if lanczos.count >= due or ended:
                due = max(due + 1, int(_AGAIN * due))
                is_known = self._compare(lanczos, given, ended=ended)
                path.evaluated = Evaluated(self.loss, math.sqrt(2.0 * self.loss))
                if is_known:
                    break
        path.offer(self)

    def _add(self, values: Array, found: Array) -> None:
        """Add Σ x̃·values over the rows to ``found``."""
        padded = np.zeros((self.rows.n_rows, found.shape[1]))
        padded[:, : values.shape[1]] = values
        self.rows.adds(padded, found)
        found *= self.rows.inverse[:, None]

    def _work(self, weights: Array, shape: tuple[int, int], of_rows: tuple[int, int]) -> CurvatureWork:
        ones = np.zeros(of_rows)
        ones[:, : weights.shape[1]] = 1.0
        arrays = np.zeros(of_rows), np.zeros(of_rows), np.zeros((2, shape[1])), np.zeros(shape)
        return CurvatureWork(np.zeros(shape), np.zeros(shape[1]), ones, weights, FoldOutputs(1, False), *arrays)

    def _compare(self, lanczos: "_Lanczos", given: float | None, *, ended: bool) -> bool:
        """Losses at all penalties whose models are known by now; returns whether the best is."""
        # Above the largest eigenvalue nothing is left of the coefficients.
        largest = max(lanczos.largest, np.finfo(np.float64).tiny)
        highest = math.ceil(2.0 * math.log10(largest)) + _VANISHED
        lowest = math.ceil(2.0 * math.log10(NO_PENALTY * largest))
        ks = np.arange(highest, lowest - 1, -1) if given is None else np.array([0])
        lams = 10.0 ** (ks / 2.0) if given is None else np.array([max(given, NO_PENALTY * largest)])
        losses, decrements = lanczos.solve(lams)
        self.grid = PenaltyGrid(lowest=lowest, highest=highest)
        first = self.path.weigh(losses[:, 0])[0] if losses.size else math.nan
        for place, k in enumerate(ks.tolist()):
            loss, error = self.path.weigh(losses[:, place]) if losses.size else (math.nan, math.nan)
            if not (ended or decrements[place] <= _CLOSE * 2.0 * loss or not losses.size):
                return False
            self.grid.record(k, loss, _NO_GAIN * error)
            if k == self.grid.best:
                self.losses, self.loss = losses[:, place], loss
                self.lam = lam_at(k) if given is None else given
            # Next to the largest penalties the loss is that of a constant, and may rise before it falls.
            has_learned = first - self.loss > error
            if k <= self.grid.best - (1 if has_learned else _PAST):
                break
            if k == self.grid.best and has_learned and self.grid.levels_off(k - 1):
                break
        return True


#: Standard errors of the loss that the next smaller penalty must gain for even smaller ones to be tried.
_NO_GAIN = 0.02
#: Half powers of ten by which the largest penalty exceeds the largest eigenvalue; and penalties that are tried beyond
#: the best one.
_VANISHED, _PAST = 4, 4


@final
class _Lanczos:
    """Tridiagonal matrices of several models, and held-out rows' scores of the Lanczos vectors.

    ``first`` has XᵀVy, a column for each model, which is divided by its norm; ``targets`` are the centred targets of
    held-out rows, and ``fold_of`` their models.
    """

    def __init__(self, first: Array, targets: Array, fold_of: NDArray[np.intp]) -> None:
        norms = np.linalg.norm(first, axis=0)
        first /= np.where(norms > 0.0, norms, 1.0)
        self._norms, self._targets, self._fold_of = norms, targets, fold_of
        self._along, self._between, self._scores = list[Array](), list[Array](), list[Array]()
        #: Norm of the last residual of each column, which may be more than there are models.
        self.last = np.zeros(1)

    @property
    def count(self) -> int:
        """Number of vectors."""
        return len(self._along)

    def add(self, along: Array, between: Array, scores: Array) -> None:
        """Add qᵀAq, the norm of what is left, and the scores."""
        # What is left of the largest product but rounding is nothing.
        self._along.append(along)
        largest = np.max(np.abs(self._along), axis=0)
        self.last = np.where(between > _ROUNDED * largest, between, 0.0)
        self._between.append(self.last)
        self._scores.append(scores.copy())

    @property
    def largest(self) -> float:
        """Largest eigenvalue of all T, roughly: the largest sum of a row."""
        along, between = np.array(self._along), np.array(self._between)
        between[1:] += between[:-1]
        return float((along + between)[:, : self._norms.size].max(initial=0.0))

    def solve(self, lams: Array) -> tuple[Array, Array]:
        """Losses of held-out rows (rows) at penalties (columns), and an upper bound of the models' decrements."""
        scores, along, between = np.array(self._scores), np.array(self._along), np.array(self._between)
        found, bounds = np.empty((self._targets.size, lams.size)), np.zeros(lams.size)
        bands = np.zeros((3, self.count))
        for m, norm in enumerate(self._norms.tolist()):
            bands[0, 1:] = bands[2, :-1] = between[:-1, m]
            right, own = np.zeros(self.count), self._fold_of == m
            right[0] = norm
            solutions = np.empty((self.count, lams.size))
            for k, lam in enumerate(lams.tolist()):
                bands[1] = along[:, m] + lam
                solutions[:, k] = solve_banded((1, 1), bands, right, check_finite=False)
            found[own] = scores[:, own].T @ solutions - self._targets[own, None]
            bounds = np.maximum(bounds, 0.5 * (self.last[m] * solutions[-1]) ** 2 / lams)
        return 0.5 * found**2, bounds


#: Share of the largest product below which what is left of it is rounding.
_ROUNDED = 1e-14
