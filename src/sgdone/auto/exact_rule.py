"""What the finishes share: which fits they end, and what ends them."""

from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import StopRule
from sgdone.newton import EXACT
from sgdone.stopping import Decrement


def can_be_exact(objective: Objective, stop: StopRule) -> bool:
    """Whether the loss is smooth and convex with an L2 penalty, and `Gain` would end the fit."""
    default = stop.tolerance is not None or any(leaf.tolerance is not None for leaf in stop.leaves)
    return objective.loss.smooth_and_convex and default and objective.l1_ratio == 0


def exact_rule(stop: StopRule) -> StopRule:
    """`Decrement`, and the budgets of the run."""
    rule: StopRule = Decrement(EXACT)
    for leaf in stop.leaves:
        rule = rule | leaf if leaf.is_budget and leaf.label else rule
    return rule
