"""How a fit turns data into the scale of margin pursuit."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses._number import number


class ScaleRule(ABC):
    """A scale that is not a number until a fit has found one; a frozen dataclass."""

    name: ClassVar[str]
    #: The scale in use, once there is one; not for the user.
    found: float | None

    @abstractmethod
    def check_penalty(self, alpha: float) -> None:
        """Refuse a penalty that the rule cannot do with."""


@final
@dataclass(frozen=True)
class AutoScale(ScaleRule):
    """s = var·k/γ, found once before the first step: Holland (2018), Algorithm 1; ``scale="auto"``.

    The bias of the location of the margins is then at most a share 1/k of γ (eq. 6). var is the variance of the margins
    of the model that a fit starts from; at a start of 0 all margins are 0, and it is that of the margins of
    w₀ = γμ/‖μ‖², μ the mean of y·x with 1 for the intercept: the model along the difference of the classes whose mean
    margin is γ. It is a moment of the data: wild rows make it, and with it the scale, large.

    Parameters
    ----------
    k : float
        One over the share of γ that the bias may be; positive.

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
        if not 0 < number(self.k) < math.inf:
            raise ValueError(
                f"AutoScale's k is {self.k!r}: give one over the share of the margin γ that the bias may be, "
                "a positive number"
            )

    def check_penalty(self, alpha: float) -> None:
        """Any will do."""

    def scale_of(self, margins: NDArray[np.float64], weights: NDArray[np.float64], gamma: float) -> float:
        """var·k/γ of margins of weighted rows."""
        mean = float(np.average(margins, weights=weights))
        variance = float(np.average((margins - mean) ** 2, weights=weights))
        # Rounding leaves margins that are all equal with a variance of some eps² of their square.
        if not variance > 1e-24 * max(mean * mean, float(np.max(np.abs(margins))) ** 2):
            raise ValueError(
                "all margins are equal before the first step, and scale='auto' is 0: s = var·k/γ. "
                "Give MarginPursuit a number for its scale"
            )
        return variance * self.k / gamma


@final
@dataclass(frozen=True)
class AdaptiveScale(ScaleRule):
    """s = 1 at first and √(n·v/(2α·log(1/δ))) after so many updates: Holland (2018), Fig. 5; ``scale="adaptive"``.

    v is the 75th percentile of the absolute margins of the n rows then, which are read once more for it, and which a
    few wild rows do not change. The scale grows as the penalty α falls, which makes up for one that is too small. Where
    all margins are 0 it stays as it is.

    Parameters
    ----------
    after : int or "auto"
        Updates before the scale is reset; the paper does not tell how many. "auto" is as many as there are rows, one
        pass, or 10 where every update reads all of them.
    delta : float
        δ, between 0 and 1.
    first : float
        The scale until then.

    Examples
    --------
    >>> AdaptiveScale(after=1000).scale_of(np.array([-1.0, 0.5, 2.0]), alpha=1e-3).round(2)
    np.float64(27.41)
    """

    after: int | Literal["auto"] = "auto"
    delta: float = 0.05
    first: float = 1.0
    found: float | None = field(default=None, repr=False)
    #: The update after which the scale is reset, and whether it has been; not for the user.
    due: int | None = field(default=None, repr=False)
    done: bool = field(default=False, repr=False)
    name: ClassVar[str] = "adaptive"

    def __post_init__(self) -> None:
        after: Any = self.after
        if after != "auto" and (isinstance(after, bool) or not isinstance(after, Integral) or int(after) < 1):
            raise ValueError(
                f'AdaptiveScale\'s after is {after!r}: give the updates before the reset, 1 or more, or "auto"'
            )
        if not 0 < number(self.delta) < 1:
            raise ValueError(f"AdaptiveScale's delta is {self.delta!r}: give a number between 0 and 1")
        if not 0 < number(self.first) < math.inf:
            raise ValueError(f"AdaptiveScale's first is {self.first!r}: give the first scale, a positive number")

    def check_penalty(self, alpha: float) -> None:
        """α divides."""
        if not alpha > 0:
            raise ValueError(
                "scale='adaptive' needs a positive alpha: it is √(n·v/(2·alpha·log(1/δ))). Give one, or another scale"
            )

    def scale_of(self, margins: NDArray[np.float64], alpha: float) -> float:
        """√(n·v/(2α·log(1/δ))) of the margins of all rows; 0 if they are 0."""
        v = np.percentile(np.abs(margins), 75)
        return np.sqrt(margins.size * v / (2.0 * alpha * math.log(1.0 / self.delta)))  # type: ignore[no-any-return]


#: What the words stand for.
BY_NAME: dict[str, type[AutoScale] | type[AdaptiveScale]] = {rule.name: rule for rule in (AutoScale, AdaptiveScale)}
