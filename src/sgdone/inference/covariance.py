"""Covariances of coefficients: the inverse of the information, or a sandwich."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.inference.optimum import Optimum
from sgdone.inference.sample import Sample
from sgdone.inference.sums_at_model import GroupScoresAt, ScoreProductsAt, SlopeSums
from sgdone.machine.threads import blas_threads, mapped, single_thread
from sgdone.newton.search import Factors
from sgdone.sums.pieces import ScaledRows

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
    """V = C(H⁻¹MH⁻¹)Cᵀ times a factor; M = H for the classical covariance.

    Parameters
    ----------
    combinations : CSR matrix
        C: each coefficient of the summary in terms of those in the units of the sums.
    inverse : ndarray
        H⁻¹.
    middle : ndarray or None
        M; None for H.
    factor : float
        Factor of the matrix.
    outputs : int
        Number of free outputs.
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
            return self._between(np.asarray((self.combinations.T @ combinations.T).T))

    def of_scores(self, rows: ScaledRows) -> Array:
        """(x̃, 1)ᵀV(x̃, 1) for each pair of outputs."""
        count = self.outputs
        blocks = self._matrix.reshape(count, len(self._matrix) // count, count, -1).transpose(0, 2, 1, 3)
        matrices = np.ascontiguousarray(blocks).reshape(count * count, *blocks.shape[2:])
        # A block off the diagonal is not symmetric; its form is that of its symmetric part.
        forms = rows.quadratic_forms(0.5 * (matrices + matrices.transpose(0, 2, 1)))
        return forms.reshape(-1, count, count)

    def _between(self, own: Array) -> Array:
        left = own @ self.inverse
        middle = left @ own.T if self.middle is None else left @ self.middle @ left.T
        return self.factor * middle

    @cached_property
    def _matrix(self) -> Array:
        if self.middle is None:
            return self.factor * self.inverse
        return self.factor * (self.inverse @ self.middle @ self.inverse)


def combinations(scale: Array, shift: Array | None, outputs: Array, columns: NDArray[np.intp], intercept: bool) -> Any:
    """The coefficients of a summary in terms of those in the units of the sums.

    Parameters
    ----------
    scale, shift : ndarray
        Units of the columns: x̃ = (x − shift)/scale; infinite for coefficients that are 0.
    outputs : ndarray
        Each output of the summary in terms of the free outputs, a row each.
    columns : ndarray of int
        Features of the summary.
    intercept : bool
        Whether the intercept is the first coefficient of each output.

    Returns
    -------
    CSR matrix
        A row for each coefficient, output by output; (features + 1) × free outputs columns.
    """
    width, inverse = scale.size + 1, np.where(np.isfinite(scale), 1.0 / scale, 0.0)
    rows = sparse.csr_array((inverse[columns], (np.arange(columns.size), columns)), shape=(columns.size, width))
    if intercept:
        first = np.zeros((1, width))
        first[0, -1] = 1.0
        if shift is not None:
            first[0, :-1] = -shift * inverse
        rows = sparse.csr_array(sparse.vstack([sparse.csr_array(first), rows]))
    return sparse.csr_array(sparse.kron(sparse.csr_array(outputs), rows, format="csr"))


Cov = Literal["classical", "robust", "cluster"]


def dense_covariance(
    sample: Sample, optimum: Optimum, combinations: Any, cov: Cov, coefficients: int
) -> SandwichCovariance:
    """The covariance of combinations of coefficients at an optimum."""
    objective, outputs = sample.objective, optimum.model.shape[1]
    inverse = optimum.factors.inverse()
    inverse[optimum.factors.fixed, :] = inverse[:, optimum.factors.fixed] = 0.0
    factor = factor_of(sample, cov, coefficients, optimum.sums.loss)
    if cov == "classical":
        if objective.is_regression and not objective.loss.quadratic:
            return _huber_covariance(sample, optimum, combinations, coefficients)
        return SandwichCovariance(combinations, inverse, None, factor, outputs)
    if cov == "cluster":
        assert sample.facts.divided_groups is not None
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


def _huber_covariance(sample: Sample, optimum: Optimum, combinations: Any, coefficients: int) -> SandwichCovariance:
    products = sample.column_products
    factor = huber_factor(sample, optimum.model, coefficients)
    penalties = np.where(optimum.estimated, 0.0, np.inf)
    return SandwichCovariance(combinations, Factors.of(products, penalties, 1).inverse(), None, factor, 1)
