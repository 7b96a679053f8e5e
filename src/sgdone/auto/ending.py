"""What is said of a fit that has ended."""

from collections.abc import Sequence

from sgdone.auto import schedule
from sgdone.auto.learner import Learner
from sgdone.auto.order import drift_advice
from sgdone.stopping.base import Stop, StopRule
from sgdone.verdict import Status, Verdict


def endless(rule: StopRule, passes: int) -> Stop | None:
    """The end of a fit whose rule may never fire, once there have been passes enough."""
    if rule.bounded or passes < schedule.MOST_PASSES:
        return None
    reason = f"{schedule.MOST_PASSES} passes made, and {rule!r} has not fired"
    return Stop("MaxPasses", Status.BUDGET_SPENT, reason, {"passes": schedule.MOST_PASSES})


def verdict_of(
    ended: Stop, learner: Learner, passes: float, *, promise: bool, feature_names: Sequence[str] | None
) -> Verdict:
    """Why a fit ended, after how many rows and passes, and what to do next; ``promise`` is of a gain from going on."""
    status, advice = ended.status, ended.advice
    if learner.order.advice and status in (Status.CONVERGED, Status.BUDGET_SPENT):
        status, advice = Status.STALLED, learner.order.advice
    elif status is Status.BUDGET_SPENT and promise:
        advice = "Allow more passes: the last look promised a gain from another one."
    elif status in (Status.INTERRUPTED, Status.STOPPED):
        advice = advice or "Go on with partial_fit, or fit again with warm_start=True."
    drift = drift_advice(learner.units.groups, feature_names) if not learner.order.advice else ""
    return Verdict(status, ended.rule, learner.steps, passes, ended.reason, ended.evidence, f"{advice} {drift}".strip())
