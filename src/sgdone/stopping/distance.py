"""The distance test of Pesme, Dieuleveut & Flammarion: whether the iterate still goes away from its start."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.stop_rule import NEVER, Needs, Pause, Progress, Status, Stop, StopRule
from sgdone.losses.loss import is_whole, real_or_nan
from sgdone.stopping.state_checks import check_count, check_numbers


@dataclass
class _Way:
    """The place of the (re)start, and the checkpoint ahead with the squared distance at the one before."""

    origin: NDArray[np.float64] | None = None
    step: int = 0
    power: int = 0
    checkpoint: int = 0
    distance: float = math.nan
    slope: float = math.nan


@final
@dataclass(frozen=True)
class Distance(StopRule):
    """Stop when ‖θ_n − θ_start‖² no longer grows with n: Pesme et al. (2020), on a logarithmic scale.

    On the way to the optimum the squared distance grows like n² or n, around it not at all. It is looked at
    n_k = ⌈q^k⌉ samples after the start; with Ω_k the squared distance there, the slope is
    (log Ω_{k+1} − log Ω_k)/log q. It fires once k ≥ ``first`` and the slope is below ``threshold``. The intercept
    counts as a weight. Made for constant steps. With the published ``first=5`` it judges from the 12th sample on,
    where slopes are mostly noise, and often fires too early; ``first=12`` (the 195th) mends most of that.

    Parameters
    ----------
    q : float
        Ratio of successive checkpoints.
    threshold : float
        The slope below which the iterate counts as stationary.
    first : int
        The first power whose slope is tested.

    Examples
    --------
    >>> from sgdone import SGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4000, 3))
    >>> y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(4000)
    >>> model = SGDRegressor(solver="sgd", step=0.01, alpha=0, stop="distance", random_state=0)
    >>> print(model.fit(X, y).verdict_)  # doctest: +ELLIPSIS
    Converged after ... samples (... passes): the squared distance from the start grew like n^...
    """

    q: float = 1.5
    threshold: float = 0.6
    first: int = 5
    name: ClassVar[str] = "distance"
    needs: ClassVar[Needs] = Needs(iterate=True)

    def __post_init__(self) -> None:
        if not 1 < real_or_nan(self.q) < math.inf:
            raise ValueError(f"q={self.q!r}: give the ratio of successive checkpoints, a number above 1")
        if not 0 < real_or_nan(self.threshold) < 2:
            raise ValueError(
                f"threshold={self.threshold!r}: give a slope between 0 (stationary) and 2 (a straight way)"
            )
        if not is_whole(self.first, 0):
            raise ValueError(f"first={self.first!r}: give a whole number of 0 or more")

    def start(self, n_rows: int | None) -> _Way:
        """No origin yet: the rule is called before the first row."""
        return _Way()

    def check(self, state: Any, n_features: int) -> None:
        """A place, and counts; distance and slope are unknown, or endless, at first."""
        self.check_kind(state, _Way)
        check_count(self, state.step, state.power, state.checkpoint)
        if state.origin is not None:
            check_numbers(self, state.origin, n_features + 1)
            self.check_kind(state, _Way, holds=bool(np.isfinite(state.origin).all()) and state.checkpoint > 0)
        # The powers are those of checkpoints, which count samples.
        self.check_kind(state, _Way, holds=state.power * math.log(self.q) < math.log(NEVER))

    def next_pause(self, state: _Way) -> Pause:
        """The checkpoint ahead; at first, the start itself."""
        return Pause(step=0 if state.origin is None else state.step + state.checkpoint)

    def observe(self, state: _Way, progress: Progress) -> Stop | None:
        """Take the start's place, or compare two checkpoints."""
        if state.origin is None:
            state.origin, state.step = _place(progress), progress.step
            state.checkpoint = 1
            return None
        if progress.step - state.step < state.checkpoint:
            return None
        with np.errstate(over="ignore"):
            before, state.distance = state.distance, float(np.sum((_place(progress) - state.origin) ** 2))
        tested, checkpoint = state.power - 1 >= self.first, state.checkpoint
        state.slope = _slope(before, state.distance, self.q)
        state.power += 1
        state.checkpoint = max(math.ceil(round(self.q**state.power, 6)), checkpoint + 1)
        if not tested or not state.slope < self.threshold:
            return None
        reason = (
            f"the squared distance from the start grew like n^{state.slope:.2f} over the last {checkpoint:,} samples, "
            f"less than n^{self.threshold:g}, at sample {progress.step:,}{progress.where}"
        )
        return Stop("Distance", Status.CONVERGED, reason, {"slope": state.slope, "threshold": self.threshold})

    def describe(self, state: _Way, progress: Progress) -> str:
        """The last slope."""
        if math.isnan(state.slope):
            return "has not made two checks"
        return f"saw the squared distance from the start grow like n^{state.slope:.2f}"


def _place(progress: Progress) -> Any:
    """The iterate, intercept included."""
    weights, intercept = progress.iterate()
    return np.append(weights, intercept)


def _slope(before: float, now: float, q: float) -> float:
    """Growth on a logarithmic scale; NaN at the first checkpoint, and without end from where nothing has moved yet."""
    if math.isnan(before):
        return math.nan
    if before <= 0 or now <= 0:
        return math.inf if before <= 0 else -math.inf
    return (math.log(now) - math.log(before)) / math.log(q)
