"""Comparing candidates by their losses on the same rows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.constants import LOST_SHARE, Z_LOST, Z_TIED
from sgdone.interfaces.measured import mean, means, standard_errors


def clear_losers(losses: NDArray[np.float64], weights: NDArray[np.float64], lead: int) -> NDArray[np.bool_]:
    """Columns that are clearly worse than the leading one, by paired differences."""
    difference = losses - losses[:, [lead]]
    behind_by = means(difference, weights)
    spread = standard_errors(difference, weights)
    return is_behind(behind_by, spread, mean(losses[:, lead], weights))


def is_behind(behind_by: NDArray[np.float64], errors: NDArray[np.float64], best: float) -> NDArray[np.bool_]:
    """Whether differences to the best mean loss are clear, and large enough to matter."""
    behind: NDArray[np.bool_] = behind_by > np.maximum(Z_LOST * errors, LOST_SHARE * abs(best))
    return behind


def ties(losses: NDArray[np.float64], weights: NDArray[np.float64], lead: int) -> Sequence[int]:
    """Columns that cannot be told apart from the leading one."""
    difference = losses - losses[:, [lead]]
    behind_by = means(difference, weights)
    spread = standard_errors(difference, weights)
    return [int(k) for k in np.flatnonzero(behind_by <= Z_TIED * spread)]


def worth_keeping(losers: NDArray[np.bool_], lead: int) -> Sequence[int]:
    """Places of the candidates to keep; they are ordered from small to large steps.

    The best step size only falls as more rows are read, so that a loser with larger steps has lost for good; the
    candidate with the next smaller steps than the leader stays, because it may become the best.
    """
    return [k for k in range(losers.size) if not losers[k] or k == lead - 1]
