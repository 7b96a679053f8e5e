"""Arguments that the statements share."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, as_given, assume, numbers, positive

__all__ = ["as_given", "margin_of", "numbers", "step_sums", "times"]

#: How far rounding may take a sum of steps beyond t, or a product beyond 1, relatively.
ROUNDING = 1e-12


def times(t: ArrayLike, least: int = 1) -> Array:
    """Whole numbers of steps, ``least`` or more, as floats."""
    found = numbers("t", t)
    wrong = (found != np.floor(found)) | (found < least)
    if wrong.any():
        raise ValueError(f"t={found[wrong].flat[0]:g} is not a whole number of {least} or more")
    return found


def margin_of(whose: str, margin: float, *, none_separable: bool = False) -> float:
    """γ, at most the norm of a row; infinite stands for no separable rows where that is allowed."""
    if none_separable and isinstance(margin, float) and margin == math.inf:
        return margin
    gamma = positive("margin", margin)
    assume(
        gamma <= 1.0 + ROUNDING,
        f"{whose} assumes rows of norm 1 or less, which makes γ ≤ 1",
        f"margin={gamma:g}: divide it, and the rows, by the largest norm of a row",
    )
    return gamma


def step_sums(whose: str, step_sum: ArrayLike, t: Array) -> Array:
    """Sums of t step sizes that are 1 or less."""
    sums = numbers("step_sum", step_sum, 0.0, above=True)
    excess = np.asarray(sums / t)
    worst = np.unravel_index(int(np.argmax(excess)), excess.shape)
    total, steps = (np.broadcast_to(values, excess.shape)[worst] for values in (sums, t))
    assume(
        bool(excess[worst] <= 1.0 + ROUNDING),
        f"{whose} assumes steps η_j ≤ 1, which makes the sum of the first t at most t",
        f"step_sum={total:g} at t={steps:g}",
    )
    return sums
