"""Stop when a pass over the rows no longer helps."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

from sgdone.interfaces.stop_rule import Progress, Status, Stop, StopRule
from sgdone.losses.loss import real_or_nan

#: A pass that raises the loss by more than this is no sign of convergence.
_RISE = 0.1


@dataclass
class _Passes:
    """The mean losses of the passes so far."""

    means: list[float] = field(default_factory=list)


@final
@dataclass(frozen=True)
class ProgressiveLoss(StopRule):
    """Stop when a whole pass lowers the progressive loss by less than a relative amount.

    The progressive loss of a pass is the mean loss of its rows, each predicted just before it is trained on:
    it needs no rows held out and no second reading.

    Parameters
    ----------
    tol : float
        The relative amount: a pass must bring the loss below (1 − tol) times the loss of the pass before.

    Examples
    --------
    >>> ProgressiveLoss(tol=0.01)
    ProgressiveLoss(tol=0.01)
    """

    tol: float = 1e-3
    name: ClassVar[str] = "progressive"

    def __post_init__(self) -> None:
        if not 0 <= real_or_nan(self.tol) < 1:
            raise ValueError(f"tol={self.tol!r} is not in [0, 1): give the relative gain a pass must bring")

    def start(self, n_rows: int | None) -> _Passes:
        """No pass yet."""
        return _Passes()

    def check(self, state: Any, n_features: int) -> None:
        """The losses of passes, whatever they were."""
        self.check_kind(state, _Passes)

    def observe(self, state: _Passes, progress: Progress) -> Stop | None:
        """Compare the last two passes."""
        if not progress.pass_ended or math.isnan(progress.loss):
            return None
        state.means.append(progress.loss)
        if len(state.means) < 2:
            return None
        before, after = state.means[-2:]
        if after < (1.0 - self.tol) * before:
            return None
        gain = (before - after) / before if before > 0 else 0.0
        change = f"{'lowered' if gain >= 0 else 'raised'} the progressive loss by {abs(gain):.2%}"
        reason = f"pass {progress.pass_number} {change}, to {after:.6g} (tol: {self.tol:.2%})"
        evidence = {"gain": gain, "tol": self.tol, "loss_before": before, "loss": after}
        if gain >= -_RISE:
            return Stop("ProgressiveLoss", Status.CONVERGED, reason, evidence, assumes_scaled=True)
        advice = "The steps are too large: standardise the features, or use a smaller step."
        return Stop("ProgressiveLoss", Status.STALLED, reason, evidence, advice)

    def describe(self, state: _Passes, progress: Progress) -> str:
        """The decrease that it waits for."""
        return f"waits for a pass that gains less than {self.tol:.2%}"


def auto() -> StopRule:
    """The default rule: a pass that gains less than 0.1 %, or ten passes."""
    from sgdone.stopping.budget import MaxPasses

    return ProgressiveLoss(tol=1e-3) | MaxPasses(10)


auto.name = "auto"  # type: ignore[attr-defined]
