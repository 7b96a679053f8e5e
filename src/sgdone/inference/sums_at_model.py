"""Sums over rows at a model that only summaries need."""

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.sums.derivatives import derivatives
from sgdone.sums.pieces import Pieces
from sgdone.sums.score_products import slopes_of
from sgdone.sums.second_order import scores
from sgdone.sums.system import contrasts

Array = NDArray[np.float64]


def column_products(pieces: Pieces) -> Array:
    """Σv·(x̃, 1)(x̃, 1)ᵀ."""
    products = np.zeros((pieces.width, pieces.width))
    for piece in pieces:
        products += piece.rows.products(piece.weights[:, None])[0]
    return products


def information(objective: Objective, pieces: Pieces, model: Array) -> Array:
    """Σv·p(1 − p) of each class."""
    basis, total = contrasts(objective), np.zeros(objective.n_outputs)
    for rows, labels, weights in pieces:
        shares = derivatives(objective, scores(rows, model, basis), labels).shares
        total += weights @ (shares if basis is None else shares * (1.0 - shares))
    return total


def largest_change(objective: Objective, pieces: Pieces, step: Array) -> float:
    """Largest change of a score by a step."""
    basis = contrasts(objective)
    return max(float(np.abs(scores(piece.rows, step, basis)).max()) for piece in pieces)


def slope_sums(objective: Objective, pieces: Pieces, model: Array) -> Array:
    """Σv·ψ² of the slopes ψ of a regression, and the weight of the rows where |ψ| is below its bound."""
    squares, bent = 0.0, 0.0
    for piece in pieces:
        slopes = slopes_of(objective, piece, model)[:, 0]
        inside = np.abs(slopes) < objective.loss.lipschitz
        squares += float(piece.weights @ slopes**2)
        bent += float(piece.weights @ inside)
    return np.array([squares, bent])
