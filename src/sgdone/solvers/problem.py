"""What is to be minimised."""

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from sgdone.data.rows import Scaling
from sgdone.data.source import Block
from sgdone.kernels.rows import RowAccess
from sgdone.losses.loss import Loss


@final
@dataclass(frozen=True)
class Problem:
    """Mean weighted loss + α(ρ‖w‖₁ + (1 − ρ)/2·‖w‖²), over rows of a kind; the intercept is not penalised.

    ρ is ``l1_ratio``.
    """

    loss: Loss
    alpha: float
    fit_intercept: bool
    task: Literal["classification", "regression"]
    n_features: int
    dtype: np.dtype[Any]
    access: RowAccess
    scaling: Scaling | None = None
    l1_ratio: float = 0.0

    @classmethod
    def over(
        cls,
        block: Block,
        loss: Loss,
        alpha: float,
        fit_intercept: bool,
        task: Literal["classification", "regression"],
        l1_ratio: float = 0.0,
    ) -> "Problem":
        """The problem over rows like those of a block."""
        rows = block.rows
        return cls(loss, alpha, fit_intercept, task, rows.n_features, rows.dtype, rows.access, rows.scaling, l1_ratio)

    @property
    def l1(self) -> float:
        """The factor of ‖w‖₁."""
        return self.alpha * self.l1_ratio

    @property
    def l2(self) -> float:
        """The factor of ½‖w‖²."""
        return self.alpha * (1.0 - self.l1_ratio)
