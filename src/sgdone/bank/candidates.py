"""Candidates that the default fit trains side by side."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Candidate:
    """A learning-rate multiplier and a penalty.

    Parameters
    ----------
    multiplier : float
        g, the learning-rate multiplier: steps are γ = g/(L·R)·(1 + t/(10R))^−½, with L the smoothness of the loss and R
        the typical ‖x‖² + 1 of a row.
    penalty : float
        a: the penalty is α = a/rows, unless the user gives α.
    """

    multiplier: float
    penalty: float


#: From small to large steps. After t rows a multiplier g acts like a penalty of order 1/(g·t), so that large steps go
#: with small penalties: other pairs were never better by more than noise.
CANDIDATES = (
    Candidate(0.25, 100.0),
    Candidate(1.0, 10.0),
    Candidate(4.0, 1.0),
    Candidate(16.0, 0.1),
    Candidate(64.0, 0.01),
)
#: The only candidate if there are too few rows to compare several.
PLAIN = (CANDIDATES[2],)
