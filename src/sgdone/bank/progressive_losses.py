"""Progressive losses of the candidates, summed over rows."""

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.comparison import is_behind
from sgdone.bank.constants import Z_TIED


@final
@dataclass
class ProgressiveLosses:
    """Sums over rows of v, vℓ, v², v²ℓ and v²ℓℓᵀ, v a weight and ℓ the losses of the candidates.

    They give the means of the losses and the standard errors of their differences.
    """

    rows: int = 0
    #: Unit of the losses, so that their squares stay finite.
    unit: float = 1.0
    weight: float = 0.0
    heavy: float = 0.0
    sums: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    heavy_sums: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    products: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    def add(self, losses: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        """Add rows; their losses have a column per candidate, always the same ones until `clear`."""
        if not self.rows:
            count = losses.shape[1]
            self.sums, self.heavy_sums, self.products = np.zeros(count), np.zeros(count), np.zeros((count, count))
            self.unit = float(np.abs(losses).max(initial=0.0)) or 1.0
        weighted = losses / self.unit * weights[:, None]
        self.rows += len(losses)
        self.weight += float(weights.sum())
        self.heavy += float((weights * weights).sum())
        self.sums += weighted.sum(axis=0)
        self.heavy_sums += (weighted * weights[:, None]).sum(axis=0)
        # NumPy's own sums: starting the threads of a BLAS would take longer.
        self.products += np.einsum("ij,ik->jk", weighted, weighted, optimize=False)

    def merge(self, other: "ProgressiveLosses") -> "ProgressiveLosses":
        """The sums over the rows of both."""
        unit = max(self.unit, other.unit)
        own, others = self.unit / unit, other.unit / unit
        return ProgressiveLosses(
            self.rows + other.rows,
            unit,
            self.weight + other.weight,
            self.heavy + other.heavy,
            own * self.sums + others * other.sums,
            own * self.heavy_sums + others * other.heavy_sums,
            own * own * self.products + others * others * other.products,
        )

    def clear(self) -> None:
        """Start again."""
        self.rows, self.weight, self.heavy = 0, 0.0, 0.0

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean loss of each candidate, in units of ``unit``."""
        return self.sums / self.weight

    @property
    def lead(self) -> int:
        """The place of the best candidate."""
        return int(np.argmin(self.means))

    def errors(self, lead: int) -> NDArray[np.float64]:
        """Standard errors of the differences between the candidates' means and the leader's."""
        squares = np.diag(self.products)
        difference = self.means - self.means[lead]
        scatter = squares - 2.0 * self.products[lead] + squares[lead]
        scatter += difference * (difference * self.heavy - 2.0 * (self.heavy_sums - self.heavy_sums[lead]))
        errors: NDArray[np.float64] = np.sqrt(np.maximum(scatter, 0.0)) / self.weight
        return errors

    def clear_losers(self) -> NDArray[np.bool_]:
        """Which candidates are clearly worse than the leader."""
        lead = self.lead
        return is_behind(self.means - self.means[lead], self.errors(lead), self.means[lead])

    @property
    def tied(self) -> list[int]:
        """Places of the candidates that cannot be told apart from the leader."""
        lead = self.lead
        return np.flatnonzero(self.means - self.means[lead] <= Z_TIED * self.errors(lead)).tolist()

    def copy(self) -> "ProgressiveLosses":
        """A copy that shares nothing that changes."""
        arrays = {name: getattr(self, name).copy() for name in ("sums", "heavy_sums", "products")}
        return replace(self, **arrays)
