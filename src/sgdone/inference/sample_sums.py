"""What a summary is computed from: facts about rows, and sums over them, wherever the rows are."""

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sgdone.data.rows import Scaling
from sgdone.interfaces.objective import Objective
from sgdone.sums.row_sum import RowSum
from sgdone.sums.system import System

Array = NDArray[np.float64]
Weights = Literal["frequency", "sampling"]


class SampleSums(ABC):
    """Facts about the rows of a summary, and sums over them at a model.

    Models have (features + 1) × free outputs coefficients, in the units of ``scaling``.

    Attributes
    ----------
    objective : Objective
        The loss, without a penalty.
    units : ndarray
        What the columns were divided by: 1 unless their squares would overflow or underflow.
    weights : {"frequency", "sampling"}
        What the weights mean.
    origin : float
        What was subtracted from the targets, so that they keep their digits.
    target_squares : float
        Σv·y² of the targets as they were.
    """

    objective: Objective
    units: Array
    weights: Weights
    origin: float
    target_squares: float

    @property
    @abstractmethod
    def n_rows(self) -> float:
        """Number of rows: the sum of the weights if they are frequencies."""

    @property
    @abstractmethod
    def n_groups(self) -> int:
        """Number of groups of rows; 0 if the rows have none."""

    @property
    @abstractmethod
    def scaling(self) -> Scaling:
        """Units in which the columns are comparable; infinite for columns without a coefficient of their own."""

    @property
    @abstractmethod
    def rows_of_columns(self) -> Array:
        """Number of rows that the variation of each column comes from: (Σvd²)²/Σvd⁴.

        d is the distance from the mean, or from 0 without an intercept. It is m for a column with m ones among many
        zeros, a third of the rows for a normal distribution, and 1 if one row is far from all others.
        """

    @property
    @abstractmethod
    def class_shares(self) -> Array:
        """Shares of the classes; there are none in a regression."""

    @property
    @abstractmethod
    def target_spread(self) -> float:
        """Variance of the targets of a regression."""

    @property
    @abstractmethod
    def has_whole_weights(self) -> bool:
        """Whether all weights are whole numbers."""

    @abstractmethod
    def first_row(self, columns: NDArray[np.intp]) -> Array:
        """Values of some columns in the first row of positive weight, divided by ``units``."""

    @abstractmethod
    def null_loss(self) -> float:
        """Summed loss of the best model that predicts the same for all rows."""

    @abstractmethod
    def constant_model(self) -> Array:
        """A model that predicts the same for all rows, to start from."""

    @property
    @abstractmethod
    def n_used(self) -> int:
        """Number of rows of positive weight."""

    @property
    @abstractmethod
    def has_cheap_curvature(self) -> bool:
        """Whether Newton's method evaluates the curvature at each point."""

    @abstractmethod
    def sum(self, request: RowSum) -> Any:
        """A sum over the rows, in the units of `system`."""

    @abstractmethod
    def column_products(self) -> Array:
        """Σv·(x̃, 1)(x̃, 1)ᵀ."""

    @abstractmethod
    def score_products(self, model: Array) -> Array:
        """Σv·ggᵀ of the gradients g of the rows; v² in place of v if the weights are sampling weights."""

    @abstractmethod
    def group_score_products(self, model: Array) -> Array:
        """Σ over groups of (Σvg)(Σvg)ᵀ."""

    @abstractmethod
    def largest_change(self, step: Array) -> float:
        """Largest change of a score by a step."""

    @abstractmethod
    def information(self, model: Array) -> Array:
        """Σv·p(1 − p) of each class, sampling weights divided by their mean."""

    @abstractmethod
    def slope_sums(self, model: Array) -> Array:
        """Σv·ψ² of the slopes ψ of a regression, and the weight of the rows where |ψ| is below its bound."""

    @abstractmethod
    def bias_sums(self, model: Array, inverse: Array) -> Array:
        """Σv·(x̃, 1) ⊗ t, as in `sgdone.inference.bias`."""

    @property
    def system(self) -> System:
        """The loss in comparable units."""
        return System(self.objective, self.scaling)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.units.size)

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether each column has a coefficient of its own."""
        return np.isfinite(self.scaling.scale)

    def model_in_units(self, coef: Array, intercept: Array) -> Array:
        """A model of the user's as the sums need it: (features + 1) × free outputs, in comparable units."""
        return self.system.from_user(coef * self.units, intercept - self.origin)

    def rarest_share(self, chosen: NDArray[np.bool_]) -> float:
        """The smallest share of rows inside or outside one of the classes of the chosen outputs; 1 of a regression."""
        if self.objective.is_regression:
            return 1.0
        shares = self.class_shares[1:] if self.objective.n_outputs == 1 else self.class_shares[chosen]
        return float(np.minimum(shares, 1.0 - shares).min())
