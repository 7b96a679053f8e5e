"""Predictions for all rows, and weighted sums of them."""

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.batch import make_combination, make_predictions
from sgdone.rows.rows import Block
from sgdone.solvers.state import State
from sgdone.solvers.stretch import LARGEST


def predictions_of(state: State, block: Block, rows: NDArray[np.uint64]) -> tuple[NDArray[np.float64], int, int]:
    """Predictions of the running iterate for some rows, the outcome, and the row that could not be used if any."""
    out = np.empty(rows.size)
    scale, _, intercept = state.place()
    outcome, place = make_predictions(state.access, block.rows.types)(
        block.rows.arrays, rows, state.weights, state.offsets, scale, intercept, LARGEST[state.dtype], out
    )
    return out, outcome, int(rows[place]) if rows.size else 0


def weighted_sum(
    state: State, block: Block, rows: NDArray[np.uint64], coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σ c·x over some rows, in the units in which the method sees them."""
    total = np.zeros(state.n_features)
    combine = make_combination(state.access, block.rows.types)
    combine(block.rows.arrays, rows, coefficients, *room_for_sums(state), total)
    return total


def room_for_sums(state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Room for a sum of rows in float64, and for its offsets."""
    return np.zeros(state.weights.shape), np.zeros((1, 2))
