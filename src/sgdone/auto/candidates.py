"""What a bank tries side by side."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Candidate:
    """A step size and a penalty.

    Parameters
    ----------
    gain : float
        g: steps are γ = g/(L·R)·(1 + t/(10R))^−½ with L the loss's smoothness and R the typical ‖x‖² + 1 of a row.
    penalty : float
        a: the penalty is α = a/rows, unless the user has given one.
    """

    gain: float
    penalty: float


#: From the most cautious to the boldest. After t rows a step size g acts as a penalty of order 1/(g·t) would, so that
#: large steps go with small penalties: other pairs were never better by more than noise.
CANDIDATES = (
    Candidate(0.25, 100.0),
    Candidate(1.0, 10.0),
    Candidate(4.0, 1.0),
    Candidate(16.0, 0.1),
    Candidate(64.0, 0.01),
)
#: Of fewer rows than this nothing can be chosen: the middle of the road it is.
FEWEST = 20
PLAIN = (CANDIDATES[2],)
