"""What a step size is: a function of the sample's number, whose open parameters the first rows fill in."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.loss import Loss

Auto = Literal["auto"]
#: Rows looked at before the first step.
PRELIMINARY_ROWS = 1000


@final
@dataclass(frozen=True)
class Preliminary:
    """What a step size may know before the first step.

    ``norm`` is the largest ‖x‖² of the first rows; ``energy`` the largest v·(‖x‖² + 1) among them, v the
    sample weight and 1 the intercept's share (0 without one). ``typical_energy`` is their mean, rows beyond ten times
    the median counted as if they were that large: one wild row does not change it. ``mean_energy`` is the plain mean.
    """

    loss: Loss
    alpha: float
    norm: float
    energy: float
    #: σ̃² of so many first rows: see `sgdone.data.class_means.scale_of_classes`.
    class_scale: Callable[[int], float] | None = None
    typical_energy: float = 1.0
    mean_energy: float = 1.0

    @property
    def curvature(self) -> float:
        """The loss's smoothness, or 1 where it has none (the hinge, say), as Xu's recipe has it."""
        return self.loss.smoothness if np.isfinite(self.loss.smoothness) else 1.0


class StepSize(ABC):
    """A step size γ_t for t = 1, 2, …; a frozen dataclass whose fields are numbers or "auto"."""

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """γ at the samples ``t``; the first sample is 1."""

    @abstractmethod
    def resolve(self, preliminary: Preliminary) -> "StepSize":
        """The same step size with every "auto" replaced by a number."""

    @property
    def energy_limit(self) -> float:
        """The largest v·(‖x‖² + 1) this step size was made for; a larger row calls `resolve` again."""
        return float("inf")


def stable_step(preliminary: Preliminary) -> float:
    """1/(L·max v(‖x‖² + 1) + α): the largest first step at which no row seen can overshoot its own optimum twice."""
    size = preliminary.curvature * preliminary.energy + preliminary.alpha
    return 1.0 / size if size > 0 else 1.0


def check_positive(name: str, value: Any) -> None:
    """Refuse what is neither "auto" nor a positive finite number."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name}={value!r} is neither a number nor "auto"')
    elif not 0 < value < float("inf"):
        raise ValueError(f'{name}={value!r} is not a positive finite number: give one, or "auto"')
