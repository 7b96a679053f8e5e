"""Objective, gradient and curvature of a loss at a model, in scaled units, added up over blocks of rows.

With z = x̃ᵀw + b for a row x̃ = (x − shift)/scale and a weight v, the sums are Σvℓ(z), Σv·ℓ′(z)·(x̃, 1) and
Σv·(x̃, 1)ℓ″(z)(x̃, 1)ᵀ. A model has one column of coefficients per output, the intercepts last. A softmax of K scores
does not depend on a constant added to all of them: its models have K − 1 columns u, with scores zQᵀ for an orthonormal
basis Q of the contrasts. Coefficients and intercepts of the K classes then sum to 0, and their norm is that of u.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from sgdone.data.rows import Scaling
from sgdone.data.threads import mapped
from sgdone.interfaces.objective import Objective
from sgdone.sums.derivatives import Derivatives, derivatives
from sgdone.sums.merging import merged
from sgdone.sums.pieces import Piece, Pieces
from sgdone.sums.scaled_rows import ScaledRows

Array = NDArray[np.float64]
Curvature = Literal["full", "single", "diagonal", "none"]


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
        Of Σvℓ, (features + 1) × columns of the model.
    curvature : ndarray
        Of Σvℓ: square, with the coefficients of the first column first, each followed by its intercept; empty if it
        was not asked for.
    diagonal : ndarray
        The diagonal of the curvature, shaped like the model; empty if it was not asked for.
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


@lru_cache(maxsize=16)
def contrasts(objective: Objective) -> Array | None:
    """Q, classes × (classes − 1), whose columns are orthonormal and sum to 0; None unless the loss is a softmax.

    Examples
    --------
    >>> from sgdone.losses import Logistic
    >>> contrasts(Objective.of_classes(Logistic(), 3)).round(3).T
    array([[ 0.707, -0.707,  0.   ],
           [ 0.408,  0.408, -0.816]])
    """
    return np.ascontiguousarray(helmert(objective.n_outputs).T) if objective.predicts == "softmax" else None


def free_model(objective: Objective, scaling: Scaling, coef: Array, intercept: Array) -> Array:
    """A model in the user's units, outputs × features, as the sums need it: (features + 1) × free outputs, scaled."""
    shift = 0.0 if scaling.shift is None else coef @ scaling.shift
    scaled = coef * np.where(np.isfinite(scaling.scale), scaling.scale, 0.0)
    model, basis = np.vstack([scaled.T, (intercept + shift)[None, :]]), contrasts(objective)
    return model if basis is None else model @ basis


def second_order(objective: Objective, pieces: Pieces, model: Array, *, curvature: Curvature = "full") -> SecondOrder:
    """Sums over all rows of positive weight.

    Parameters
    ----------
    objective : Objective
        The loss; its penalty is not part of the sums.
    pieces : Pieces
        Rows in the units of the sums.
    model : ndarray
        Coefficients in these units and intercepts, (features + 1) × free outputs.
    curvature : {"full", "single", "diagonal", "none"}
        Which second derivatives to add up; "single": all of them, in single precision where that is faster.
    """
    return merged(pieces.map(lambda piece: _piece(objective, piece, model, curvature)))


def curvature_products(objective: Objective, pieces: Pieces, model: Array) -> Callable[[Array], Array]:
    """The function u ↦ Hu, H the curvature of Σvℓ at a model; u and Hu are shaped like the model.

    Scores are computed once; each product reads all rows once. Where there is one output, u may have any number of
    columns: several directions.
    """
    basis = contrasts(objective)
    known = list(
        pieces.map(lambda piece: derivatives(objective, scores(piece.rows, model, basis), piece.labels).shares)
    )

    def of_piece(shares: Array, piece: Piece, direction: Array) -> Array:
        change = shares * scores(piece.rows, direction, basis)
        if basis is not None:
            change = (change - shares * change.sum(axis=1, keepdims=True)) @ basis
        return piece.rows.transposed_times(piece.weights[:, None] * change)

    def product(direction: Array) -> Array:
        total = np.zeros_like(direction)
        pairs = zip(known, pieces, strict=True)
        for part in mapped(lambda pair: of_piece(*pair, direction), pairs, pieces.threads):
            total += part
        return total

    return product


def scores(rows: ScaledRows, model: Array, basis: Array | None) -> Array:
    """Scores of rows: one column an output."""
    free = rows.times(model)
    return free if basis is None else free @ basis.T


def own_curvatures(objective: Objective, found: Derivatives) -> tuple[list[tuple[int, int]], Array]:
    """Second derivatives in pairs of columns of a model: the pairs, and one value a row and a pair.

    Of a softmax with probabilities p they are Qᵀ(diag p − ppᵀ)Q. Of other losses no score depends on another.
    """
    basis, shares = contrasts(objective), found.shares
    if basis is None:
        return [(a, a) for a in range(shares.shape[1])], shares
    pairs = [(a, b) for a in range(basis.shape[1]) for b in range(a + 1)]
    first, second = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
    means = shares @ basis
    return pairs, shares @ (basis[:, first] * basis[:, second]) - means[:, first] * means[:, second]


def _piece(objective: Objective, piece: Piece, model: Array, curvature: Curvature) -> SecondOrder:
    rows, labels, weights = piece
    basis = contrasts(objective)
    of_rows = scores(rows, model, basis)
    found = derivatives(objective, of_rows, labels)
    slopes = found.slopes if basis is None else found.slopes @ basis
    full, diagonal = np.empty(0), np.empty(0)
    if curvature != "none":
        pairs, values = own_curvatures(objective, found)
        if curvature in ("full", "single"):
            single = curvature == "single"
            if len(pairs) > 1 and not model[:-1].any():
                # All rows have the same second derivatives: one product is enough.
                products = values[0][:, None, None] * rows.products(weights[:, None], single=single)
            else:
                products = rows.products(weights[:, None] * values, single=single)
            full = assembled(pairs, products, model.shape)
        else:
            own = [k for k, (a, b) in enumerate(pairs) if a == b]
            diagonal = rows.squared_transposed_times(weights[:, None] * values[:, own])
    return SecondOrder(
        float(weights.sum()),
        float(weights @ found.losses),
        _misses(objective, of_rows, labels),
        rows.transposed_times(weights[:, None] * slopes),
        full,
        diagonal,
    )


def assembled(pairs: list[tuple[int, int]], blocks: Array, shape: tuple[int, ...]) -> Array:
    """The symmetric matrix of blocks, one a pair of columns."""
    width, columns = shape
    if columns == 1:
        return np.asarray(blocks[0])
    total = np.zeros((columns * width, columns * width))
    for (a, b), found in zip(pairs, blocks, strict=True):
        here, there = slice(a * width, (a + 1) * width), slice(b * width, (b + 1) * width)
        total[here, there] = total[there, here] = found
    return total


def _misses(objective: Objective, scored: Array, labels: Array) -> float:
    if objective.is_regression:
        return float(((scored[:, 0] - labels) ** 2).sum())
    if objective.predicts == "two_classes":
        return float(np.count_nonzero(scored[:, 0] * labels <= 0))
    return float(np.count_nonzero(scored.argmax(axis=1) != labels))
