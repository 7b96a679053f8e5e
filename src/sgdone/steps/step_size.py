"""The interface of step sizes: functions of the sample number t. Parameters may be set from the first rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.loss import Loss, real_or_nan

Auto = Literal["auto"]
#: Number of rows used to set automatic parameters before the first step.
PRELIMINARY_ROWS = 1000


@final
@dataclass(frozen=True)
class Preliminary:
    """Statistics of the first rows, with which step sizes set their automatic parameters.

    ``norm`` is the largest ‖x‖² of the first rows. ``energy`` is the largest v·(‖x‖² + 1), v the sample weight and 1
    the intercept (0 without one). ``mean_energy`` is the mean of v·(‖x‖² + 1). ``typical_energy`` is the mean after
    clipping at ten times the median, so that a single outlier does not change it.
    """

    loss: Loss
    alpha: float
    norm: float
    energy: float
    #: σ̃² as a function of the number of first rows: see `sgdone.rows.class_means.scale_of_classes`.
    class_scale: Callable[[int], float] | None = None
    typical_energy: float = 1.0
    mean_energy: float = 1.0

    @property
    def curvature(self) -> float:
        """Smoothness of the loss, or 1 if the loss is not smooth (such as the hinge), as in Xu (2011)."""
        return self.loss.smoothness if np.isfinite(self.loss.smoothness) else 1.0


class StepSize(ABC):
    """A step size γ_t for t = 1, 2, …: a frozen dataclass whose fields are numbers or "auto"."""

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, t: NDArray[np.int64]) -> NDArray[np.float64]:
        """Step sizes of the samples ``t``; the first sample has t = 1."""

    @abstractmethod
    def resolve(self, preliminary: Preliminary) -> "StepSize":
        """Return this step size with every "auto" replaced by a number."""

    @property
    def energy_limit(self) -> float:
        """Largest v·(‖x‖² + 1) for which this step size is valid. A larger row calls `resolve` again."""
        return float(getattr(self, "energy", np.inf))


def stable_step(preliminary: Preliminary) -> float:
    """1/(L·max v(‖x‖² + 1) + α): the largest step at which no row seen overshoots its own minimum (smooth losses)."""
    size = preliminary.curvature * preliminary.energy + preliminary.alpha
    return 1.0 / size if size > 0 else 1.0


def check_positive(name: str, value: Any) -> None:
    """Raise unless the value is "auto" or a positive finite number."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name}={value!r} is neither a number nor "auto"')
    elif not 0 < real_or_nan(value) < float("inf"):
        raise ValueError(f'{name}={value!r} is not a positive finite number: give one, or "auto"')


_CHUNK = 8192


def step_sizes(step: StepSize, first: int, count: int) -> NDArray[np.float64]:
    """Step sizes of the samples first, first + 1, …, first + count − 1.

    Vectorised functions may round the same element differently at another position of an array. So step sizes are
    always computed for whole chunks and sliced afterwards.
    """
    chunks = range((first - 1) // _CHUNK, (first + count - 2) // _CHUNK + 1)
    make = _chunk if isinstance(step, Hashable) else _chunk.__wrapped__
    sizes = [make(step, chunk) for chunk in chunks]
    start = first - 1 - chunks.start * _CHUNK
    return (sizes[0] if len(sizes) == 1 else np.concatenate(sizes))[start : start + count]


@lru_cache(maxsize=8)
def _chunk(step: StepSize, chunk: int) -> NDArray[np.float64]:
    sizes = np.asarray(step(np.arange(chunk * _CHUNK + 1, (chunk + 1) * _CHUNK + 1)), dtype=np.float64)
    if sizes.shape != (_CHUNK,):
        raise ValueError(
            f"{step!r} returned an array of shape {sizes.shape} for {_CHUNK} samples: return one per sample"
        )
    if not (sizes.min() >= 0 and sizes.max() < np.inf):
        bad = int(np.flatnonzero(~((sizes >= 0) & np.isfinite(sizes)))[0])
        raise ValueError(
            f"{step!r} returned the step size {sizes[bad]} at sample {chunk * _CHUNK + 1 + bad}: "
            "return non-negative finite numbers"
        )
    return sizes
