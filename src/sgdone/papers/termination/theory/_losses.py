"""What Theorem 5 knows of each loss."""

from dataclasses import dataclass
from typing import final

from sgdone.registry import did_you_mean


@final
@dataclass(frozen=True)
class LossConstants:
    """Constants of Baghal et al. (2021), eqs. (39) and (40).

    Parameters
    ----------
    name : str
        The loss.
    low_variance : float
        c: the variance is low where σ ≤ c‖μ‖.
    proven : float
        The largest σ/‖μ‖ for which Theorem 5 follows from its proof.
    growth : float
        The printed k of M = 501 + k·α‖μ‖².
    growth_needed : float
        A k with which Theorem 5 follows from its proof wherever the variance is low.
    """

    name: str
    low_variance: float
    proven: float
    growth: float
    growth_needed: float


_LOSSES = (
    LossConstants("logistic", low_variance=0.33, proven=0.33, growth=640.0, growth_needed=640.0),
    # The proof needs 0.002·k ≥ 1 + (σ/‖μ‖)²: 782 gives that up to 0.75, 1282 up to 1.25.
    LossConstants("hinge", low_variance=1.25, proven=0.75, growth=782.0, growth_needed=1282.0),
)


def constants_of(loss: str) -> LossConstants:
    """The constants of a loss by its name."""
    known = {constants.name: constants for constants in _LOSSES}
    if loss not in known:
        near = did_you_mean(str(loss), known)
        raise ValueError(f"loss={loss!r} is not one that the paper treats.{near} Known: {', '.join(known)}")
    return known[loss]
