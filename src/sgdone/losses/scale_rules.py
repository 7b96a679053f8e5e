"""Rules with which a fit sets the scale of margin pursuit."""

import math
from abc import ABC
from dataclasses import dataclass, field
from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.loss import is_whole, real_or_nan


class ScaleRule(ABC):
    """A scale that a fit sets from the data; a frozen dataclass."""

    name: ClassVar[str]
    #: The scale set by a fit; None before.
    found: float | None

    def check_penalty(self, alpha: float) -> None:  # noqa: B027  # most support every penalty
        """Raise if the rule does not support this penalty."""


@final
@dataclass(frozen=True)
class AutoScale(ScaleRule):
    """s = var·k/γ, set once before the first step: Holland (2018), Algorithm 1; ``scale="auto"``.

    The bias of the location of the margins is then at most γ/k (eq. 6). var is the variance of the margins of the
    initial model. If the initial model is 0, var is the variance of the margins of w₀ = γμ/‖μ‖², μ the mean of y·x with
    1 for the intercept: the model along the difference of the class means whose mean margin is γ. The variance, and
    with it the scale, is sensitive to outliers.

    Parameters
    ----------
    k : float
        γ divided by the largest bias allowed; positive.

    Examples
    --------
    >>> from sgdone.losses import MarginPursuit
    >>> MarginPursuit(scale="auto")
    MarginPursuit(gamma=1.0, scale=AutoScale(k=2.0))
    """

    k: float = 2.0
    found: float | None = field(default=None, repr=False)
    name: ClassVar[str] = "auto"

    def __post_init__(self) -> None:
        if not 0 < real_or_nan(self.k) < math.inf:
            raise ValueError(
                f"k={self.k!r} of AutoScale is not a positive number: give the margin γ divided by the largest bias "
                "allowed"
            )

    def scale_of(self, margins: NDArray[np.float64], weights: NDArray[np.float64], gamma: float) -> float:
        """var·k/γ for the margins of weighted rows."""
        mean = float(np.average(margins, weights=weights))
        variance = float(np.average((margins - mean) ** 2, weights=weights))
        # By rounding, equal margins have a variance of a few eps² times their square.
        if not variance > 1e-24 * max(mean * mean, float(np.max(np.abs(margins))) ** 2):
            raise ValueError(
                "scale='auto' is 0, because all margins are equal before the first step (s = var·k/γ). "
                "Give MarginPursuit a number as scale"
            )
        return variance * self.k / gamma


@final
@dataclass(frozen=True)
class AdaptiveScale(ScaleRule):
    """s = 1 at first, √(n·v/(2α·log(1/δ))) after ``after`` updates: Holland (2018), Fig. 5; ``scale="adaptive"``.

    v is the 75th percentile of the absolute margins of the n rows at that time; it is robust to outliers, and computing
    it takes one more pass. A smaller penalty α gives a larger scale, which compensates for a penalty that is too small.
    If all margins are 0, the scale is unchanged.

    Parameters
    ----------
    after : int or "auto"
        Number of updates before the scale is reset; the paper does not give it. "auto" is the number of rows (one
        pass), or 10 if every update reads all rows.
    delta : float
        δ, between 0 and 1.
    first : float
        The scale before the reset.

    Examples
    --------
    >>> round(float(AdaptiveScale(after=1000).scale_of(np.array([-1.0, 0.5, 2.0]), alpha=1e-3)), 2)
    27.41
    """

    after: int | Literal["auto"] = "auto"
    delta: float = 0.05
    first: float = 1.0
    found: float | None = field(default=None, repr=False)
    #: The update after which the scale is reset, and whether it has been reset. Set by a fit.
    due: int | None = field(default=None, repr=False)
    done: bool = field(default=False, repr=False)
    name: ClassVar[str] = "adaptive"

    def __post_init__(self) -> None:
        if self.after != "auto" and not is_whole(self.after, 1):
            raise ValueError(
                f"after={self.after!r} of AdaptiveScale is not a positive integer: "
                'give the number of updates, or "auto"'
            )
        if not 0 < real_or_nan(self.delta) < 1:
            raise ValueError(f"delta={self.delta!r} of AdaptiveScale is not in (0, 1)")
        if not 0 < real_or_nan(self.first) < math.inf:
            raise ValueError(f"first={self.first!r} of AdaptiveScale is not a positive number: give the first scale")

    def check_penalty(self, alpha: float) -> None:
        """Raise unless α > 0: the scale is divided by √α."""
        if not alpha > 0:
            raise ValueError(
                "scale='adaptive' needs a positive alpha, because it is √(n·v/(2·alpha·log(1/δ))). "
                "Give alpha > 0, or another scale"
            )

    def scale_of(self, margins: NDArray[np.float64], alpha: float) -> float:
        """√(n·v/(2α·log(1/δ))) for the margins of all rows; 0 if they are 0."""
        v = np.percentile(np.abs(margins), 75)
        return np.sqrt(margins.size * v / (2.0 * alpha * math.log(1.0 / self.delta)))  # type: ignore[no-any-return]


#: Rules by name.
BY_NAME: dict[str, type[AutoScale] | type[AdaptiveScale]] = {rule.name: rule for rule in (AutoScale, AdaptiveScale)}
