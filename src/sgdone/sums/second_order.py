"""Objective, gradient and curvature of a loss at a model, in scaled units, added up over blocks of rows.

With z = x̃ᵀw + b for a row x̃ = (x − shift)/scale and a weight v, the sums are Σvℓ(z), Σv·ℓ′(z)·(x̃, 1) and
Σv·(x̃, 1)ℓ″(z)(x̃, 1)ᵀ. A model has one column of coefficients per output, the intercepts last.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.data.rows import Scaling
from sgdone.data.source import Block
from sgdone.interfaces.objective import Objective
from sgdone.sums.derivatives import Derivatives, derivatives
from sgdone.sums.merging import merged

Array = NDArray[np.float64]

#: Rows whose scaled copy is made at once. It is part of the result: sums of other pieces round differently.
PIECE = 4096


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
    gradient : ndarray
        Of Σvℓ, (features + 1) × outputs.
    curvature : ndarray
        Of Σvℓ: square, with the coefficients of the first output first, each followed by its intercept; empty if it
        was not asked for.
    """

    weight: float
    loss: float
    gradient: Array
    curvature: Array

    def merge(self, other: "SecondOrder") -> "SecondOrder":
        """The sums over the rows of both."""
        return SecondOrder(
            self.weight + other.weight,
            self.loss + other.loss,
            self.gradient + other.gradient,
            self.curvature + other.curvature,
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
        Whether to add up second derivatives.
    """
    return merged(
        _piece(objective, rows, labels, weights, model, curvature)
        for rows, labels, weights in scaled_pieces(block, scaling)
    )


def scaled_pieces(block: Block, scaling: Scaling) -> Iterator[tuple[Array, Array, Array]]:
    """Scaled rows with a last column of ones, labels and weights, `PIECE` rows of positive weight at a time."""
    used = block.all_used().astype(np.intp)
    matrix, inverse = block.rows.whole(), 1.0 / scaling.scale
    for first in range(0, used.size, PIECE):
        rows = used[first : first + PIECE]
        whole = rows.size == rows[-1] - rows[0] + 1
        part = matrix[rows[0] : rows[-1] + 1] if whole else matrix[rows]
        scaled = np.ones((rows.size, matrix.shape[1] + 1))
        scaled[:, :-1] = part.toarray() if sparse.issparse(part) else part
        if scaling.shift is not None:
            scaled[:, :-1] -= scaling.shift
        scaled[:, :-1] *= inverse
        yield scaled, block.labels[rows], block.weights_of(rows.astype(np.uint64))


def _piece(
    objective: Objective, rows: Array, labels: Array, weights: Array, model: Array, curvature: bool
) -> SecondOrder:
    found = derivatives(objective, rows @ model, labels)
    return SecondOrder(
        float(weights.sum()),
        float((weights * found.losses).sum()),
        rows.T @ (weights[:, None] * found.slopes),
        _curvature(objective, rows, weights, found) if curvature else np.empty(0),
    )


def _curvature(objective: Objective, rows: Array, weights: Array, found: Derivatives) -> Array:
    """Σv·(x̃, 1)ℓ″(x̃, 1)ᵀ: blocks of outputs; only a softmax has any beside the diagonal."""
    width, outputs = rows.shape[1], found.shares.shape[1]
    total = np.zeros((outputs * width, outputs * width))
    coupled = objective.predicts == "softmax"
    for a in range(outputs):
        here = slice(a * width, (a + 1) * width)
        own = found.shares[:, a] * (1.0 - found.shares[:, a]) if coupled else found.shares[:, a]
        weighted = np.sqrt(weights * own)[:, None] * rows
        total[here, here] = weighted.T @ weighted
        for b in range(a) if coupled else ():
            there = slice(b * width, (b + 1) * width)
            mixed = np.sqrt(weights * found.shares[:, a] * found.shares[:, b])[:, None] * rows
            total[here, there] = total[there, here] = -(mixed.T @ mixed)
    return total
