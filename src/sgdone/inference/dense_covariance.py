"""Covariances of coefficients at an optimum whose curvature is factorised."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.covariance import SandwichCovariance
from sgdone.inference.optimum import Optimum
from sgdone.inference.sample import Sample
from sgdone.inference.score_products import GroupScoresAt, ScoreProductsAt
from sgdone.inference.sums_at_model import SlopeSums
from sgdone.newton.direction import Factors

Array = NDArray[np.float64]
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
