"""The penalties tried: λ = α·n = 10^(k/2) for whole numbers k, as many as it takes for the best to lie inside."""

import math
from dataclasses import dataclass, field
from typing import Literal, final

#: The first k, the default of many libraries, and the largest: of targets that depend on nothing, every larger penalty
#: is a little better for ever.
FIRST, LARGEST = 0, 80
#: Coefficients of a model that is as good as constant: √(wᵀCw) for the curvature C of the loss, so that each of them is
#: below as many standard errors; and smallest penalty, as a share of the largest eigenvalue of C, that makes a
#: difference.
NO_COEFFICIENT, NO_PENALTY = 0.01, 1e-10


def penalty(k: int) -> float:
    """λ = 10^(k/2).

    Examples
    --------
    >>> penalty(0), penalty(2), penalty(-4)
    (1.0, 10.0, 0.01)
    """
    return float(10.0 ** (k / 2))


@final
@dataclass
class PenaltyGrid:
    """Penalties that were tried, and the next one: the neighbours of the best, until both are worse.

    Examples
    --------
    >>> grid = PenaltyGrid()
    >>> while (k := grid.next()) is not None:
    ...     grid.record(k, loss=(k - 3) ** 2)
    >>> sorted(grid.losses), grid.best, grid.end
    ([-1, 0, 1, 2, 3, 4], 3, '')
    """

    #: The first number k.
    first: int = FIRST
    losses: dict[int, float] = field(default_factory=dict)
    #: Smallest and largest k that may be tried.
    lowest: float = -math.inf
    highest: float = LARGEST

    @property
    def best(self) -> int:
        """The penalty with the least loss; of several, the largest."""
        return min(self.losses, key=lambda k: (self.losses[k], -k))

    def record(self, k: int, loss: float) -> None:
        """Record the loss at a penalty; infinite if it is not a number."""
        self.losses[k] = loss if loss == loss else math.inf

    def next(self) -> int | None:
        """The next penalty to try; None if the best is known."""
        if not self.losses:
            return self.first
        for k in (self.best - 1, self.best + 1):
            if k not in self.losses and self._allowed(k):
                return k
        return None

    @property
    def end(self) -> Literal["", "smallest", "largest"]:
        """Whether the best penalty is the smallest or the largest that makes a difference; empty if it is inside."""
        if self.best + 1 not in self.losses and not self._allowed(self.best + 1):
            return "largest"
        return "smallest" if self.best - 1 not in self.losses and not self._allowed(self.best - 1) else ""

    def _allowed(self, k: int) -> bool:
        return self.lowest <= k <= self.highest
