"""Objective, gradient and curvature of a loss at a model, in scaled units, added up over blocks of rows.

With z = x̃ᵀw + b for a row x̃ = (x − shift)/scale and a weight v, the sums are Σvℓ(z), Σv·ℓ′(z)·(x̃, 1) and
Σv·(x̃, 1)ℓ″(z)(x̃, 1)ᵀ. A model has one column of coefficients per output, the intercepts last.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.rows import Scaling
from sgdone.data.source import Block
from sgdone.interfaces.objective import Objective
from sgdone.sums.derivatives import Derivatives, derivatives
from sgdone.sums.merging import merged
from sgdone.sums.pieces import ScaledRows, scaled_pieces

Array = NDArray[np.float64]


@final
@dataclass(frozen=True)
class SecondOrder:
    """Sums over rows at a model.

    Parameters
    ----------
    weight : float
        Σv.
    loss : float
        Σvℓ.
    misses : float
        Σ over rows of wrong classes, or of squared errors.
    gradient : ndarray
        Of Σvℓ, (features + 1) × outputs.
    curvature : ndarray
        Of Σvℓ: square, with the coefficients of the first output first, each followed by its intercept; empty if it
        was not asked for.
    diagonal : ndarray
        The diagonal of the curvature, (features + 1) × outputs; empty if it was not asked for.
    """

    weight: float
    loss: float
    misses: float
    gradient: Array
    curvature: Array
    diagonal: Array

    def merge(self, other: "SecondOrder") -> "SecondOrder":
        """The sums over the rows of both."""
        return SecondOrder(
            self.weight + other.weight,
            self.loss + other.loss,
            self.misses + other.misses,
            self.gradient + other.gradient,
            self.curvature + other.curvature,
            self.diagonal + other.diagonal,
        )


def second_order(
    objective: Objective, block: Block, scaling: Scaling, model: Array, *, curvature: bool = True
) -> SecondOrder:
    """Sums over all rows of positive weight of a block's matrix.

    Parameters
    ----------
    objective : Objective
        The loss; its penalty is not part of the sums.
    block : Block
        Rows in the user's units.
    scaling : Scaling
        Units of the sums.
    model : ndarray
        Coefficients in these units and intercepts, (features + 1) × outputs.
    curvature : bool
        Whether to add up all second derivatives, or their diagonal only.
    """
    return merged(
        _piece(objective, rows, labels, weights, model, curvature)
        for rows, labels, weights in scaled_pieces(block, scaling)
    )


def curvature_products(objective: Objective, block: Block, scaling: Scaling, model: Array) -> Callable[[Array], Array]:
    """The function u ↦ Hu, H the curvature of Σvℓ at a model; u and Hu are shaped like the model.

    Scores are computed once; each product reads all rows once.
    """
    known = [
        derivatives(objective, rows.times(model), labels).shares for rows, labels, _ in scaled_pieces(block, scaling)
    ]
    coupled = objective.predicts == "softmax"

    def product(direction: Array) -> Array:
        total = np.zeros_like(direction)
        for shares, (rows, _, weights) in zip(known, scaled_pieces(block, scaling), strict=True):
            change = shares * rows.times(direction)
            if coupled:
                change -= shares * change.sum(axis=1, keepdims=True)
            total += rows.transposed_times(weights[:, None] * change)
        return total

    return product


def _piece(
    objective: Objective, rows: ScaledRows, labels: Array, weights: Array, model: Array, curvature: bool
) -> SecondOrder:
    scores = rows.times(model)
    found = derivatives(objective, scores, labels)
    nothing = np.empty(0)
    return SecondOrder(
        float(weights.sum()),
        float((weights * found.losses).sum()),
        _misses(objective, scores, labels),
        rows.transposed_times(weights[:, None] * found.slopes),
        _curvature(objective, rows.copy(), weights, found) if curvature else nothing,
        nothing if curvature else _diagonal(objective, rows, weights, found),
    )


def _misses(objective: Objective, scores: Array, labels: Array) -> float:
    if objective.is_regression:
        return float(((scores[:, 0] - labels) ** 2).sum())
    if objective.predicts == "two_classes":
        return float(np.count_nonzero(scores[:, 0] * labels <= 0))
    return float(np.count_nonzero(scores.argmax(axis=1) != labels))


def _own_curvature(objective: Objective, found: Derivatives) -> Array:
    """Second derivatives in each score alone."""
    return found.shares * (1.0 - found.shares) if objective.predicts == "softmax" else found.shares


def _curvature(objective: Objective, rows: Array, weights: Array, found: Derivatives) -> Array:
    """Σv·(x̃, 1)ℓ″(x̃, 1)ᵀ: blocks of outputs; only a softmax has any beside the diagonal."""
    width, outputs = rows.shape[1], found.shares.shape[1]
    total = np.zeros((outputs * width, outputs * width))
    own, coupled = _own_curvature(objective, found), objective.predicts == "softmax"
    for a in range(outputs):
        here = slice(a * width, (a + 1) * width)
        weighted = np.sqrt(weights * own[:, a])[:, None] * rows
        total[here, here] = weighted.T @ weighted
        for b in range(a) if coupled else ():
            there = slice(b * width, (b + 1) * width)
            mixed = np.sqrt(weights * found.shares[:, a] * found.shares[:, b])[:, None] * rows
            total[here, there] = total[there, here] = -(mixed.T @ mixed)
    return total


def _diagonal(objective: Objective, rows: ScaledRows, weights: Array, found: Derivatives) -> Array:
    return rows.squared_transposed_times(weights[:, None] * _own_curvature(objective, found))
