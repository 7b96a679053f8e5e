"""Models to start from that are far from the optimum: not used, shortened, or left during a stream."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.bank_state import BankState
from sgdone.bank.evaluation import FEWEST_TO_LEAVE, RESTART_LIMITS
from sgdone.interfaces.objective import mean, standard_error
from sgdone.kernels.bank import NO_FOLD
from sgdone.rows.rows import Block
from sgdone.sums.system import Z_CONSTANT, best_constant, is_worse_than_constant

#: Smallest share of a model to start from that is tried, and share of the loss that a smaller model must gain.
_LEAST_SHARE, _LEAST_GAIN = 2.0**-20, 0.05


def share_to_use(state: BankState, block: Block, rows: NDArray[np.uint64]) -> tuple[float, str]:
    """Share of the model to start from that is used, and why not all of it."""
    return best_share(partial(_losses, state, block, rows), block.weights_of(rows))


def shorten(state: BankState, block: Block, rows: NDArray[np.uint64], share: float) -> None:
    """Replace all models, before any update, by ``share`` of them and the rest of a constant prediction."""
    state.models.shrink(share, np.tile(_constant(state, block, rows), state.models.n_models))


def best_share(losses_at: Callable[[float], NDArray[np.float64]], weights: NDArray[np.float64]) -> tuple[float, str]:
    """Share of a model to start from that is used, and why not all of it; the rest is a constant prediction.

    A start that is clearly worse than a constant prediction is not used. One that is clearly better at a half, a
    quarter, … is taken there: steps are made for models that are too small, not for those that are too large.
    """
    now, constant = losses_at(1.0), losses_at(0.0)
    if is_worse_than_constant(now, constant, weights):
        return 0.0, "the model to start from was worse than a constant prediction and was not used"
    share, best = 1.0, now
    while share > _LEAST_SHARE:
        half = losses_at(share / 2.0)
        if mean(half - best, weights) >= 0:
            break
        share, best = share / 2.0, half
    difference = now - best
    least = max(_LEAST_GAIN * mean(best, weights), Z_CONSTANT * standard_error(difference, weights))
    if share < 1.0 and mean(difference, weights) > least:
        return share, f"the model to start from was too large and was multiplied by {share:g}"
    return 1.0, ""


def is_far_worse_than_constant(state: BankState, block: Block, rows: NDArray[np.uint64]) -> bool:
    """Whether a model is much worse on new rows than a constant prediction, as after a change of their units.

    The constant is the best one for these rows, and also the model's own without its coefficients: of rows of another
    mix of classes the latter is as wrong as the model.
    """
    if rows.size < FEWEST_TO_LEAVE:
        return False
    weights, now = block.weights_of(rows), _losses(state, block, rows, 1.0)
    own = state.models.mean_of([state.lead]).intercepts[1]
    constants = [_losses(state, block, rows, 0.0, intercept) for intercept in (_constant(state, block, rows), own)]
    return any(
        all(is_worse_than_constant(now, constant, weights, errors, factor) for constant in constants)
        for errors, factor in RESTART_LIMITS
    )


def _losses(
    state: BankState,
    block: Block,
    rows: NDArray[np.uint64],
    share: float,
    intercept: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Losses of ``share`` times the leader plus the rest of a constant prediction, by default the best one."""
    models = state.models.mean_of([state.lead])
    models.shrink(share, _constant(state, block, rows) if intercept is None else intercept)
    scaled = state.scaled(block).ordered(rows)
    return state.losses_of(models, scaled, np.full(block.rows.n_rows, NO_FOLD, np.uint8))[:, 0]


def _constant(state: BankState, block: Block, rows: NDArray[np.uint64]) -> NDArray[np.float64]:
    return best_constant(state.objective, block.labels[rows], block.weights_of(rows))
