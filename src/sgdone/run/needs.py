"""Whether a method, an objective, a stopping rule and a source fit together: the one place that says why not."""

from collections.abc import Sequence

from sgdone.interfaces.method import Method
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import StopRule
from sgdone.rows.source import Source
from sgdone.steps.step_size import StepSize


def check_needs(
    method: Method,
    objective: Objective,
    stop: StopRule,
    source: Source,
    step: StepSize | None = None,
    monitors: Sequence[str] = (),
) -> None:
    """Raise a ValueError that names the first mismatch, and what to use instead."""
    loss, needs, offers = objective.loss, method.needs, method.offers
    if source.is_mixed and not offers.mixed_rows:
        raise ValueError(
            f"X is part dense, part sparse, and {method} takes matrices of one storage: use X.tocsr() or X.toarray(), "
            "or LinearClassifier or LinearRegressor"
        )
    if needs.convex_loss and not loss.convex:
        raise ValueError(
            f"{method} makes implicit steps, which need a convex loss, and {loss.name!r} is not convex: "
            'use solver="sgd", solver="asgd" or solver="gd" (of SGDClassifier)'
        )
    if needs.classes and objective.task != "classification":
        raise ValueError(f"{method} is for two classes, whose rows have margins: use another solver")
    if needs.fixed_loss and loss.changes_during_fit:
        raise ValueError(
            f"scale='adaptive' changes the loss during the fit, but {method} stores slopes of it: "
            "use another solver, or a fixed scale"
        )
    if loss.is_open and not offers.iterate:
        raise ValueError(
            f"the scale of the loss {loss.name!r} is found by methods with a single model: give it as a number, or use "
            "SGDClassifier"
        )
    if method.losses is not None and type(loss) not in method.losses:
        *names, last = (known.name for known in method.losses)
        known = f"{', '.join(names)} and {last}"
        raise ValueError(
            f"{method} cannot do the loss {loss.name!r}: it can do {known}. Use one of them, or another solver"
        )
    if needs.smooth_loss and not loss.smooth_and_convex:
        raise ValueError(
            f"{method} needs second derivatives of a convex loss, and {loss.name!r} has kinks or is not convex: "
            'use another loss, or solver="aisgd"'
        )
    if needs.penalty and objective.alpha == 0:
        raise ValueError(f"{method} needs a positive alpha: {needs.penalty}")
    if objective.l1_ratio > 0 and not offers.l1_penalty:
        raise ValueError(
            f"{method!r} does not support an L1 penalty: use Truncated(SGD()), or "
            'SGDClassifier(solver="sgd", penalty="l1")'
        )
    if objective.alpha is None and not offers.choice_of_alpha:
        raise ValueError(f"{method} does not choose the penalty: give alpha")
    if objective.n_outputs > 1 and not offers.several_outputs:
        raise ValueError(
            f"{method} trains one model with one score; for {objective.n_outputs} classes train one model a class"
        )
    if objective.center and not offers.iterate:
        raise ValueError(f"center=True is for methods with a single model, not for {method}: use SGDClassifier")
    if needs.all_rows and (source.part_of_stream or not source.in_memory):
        raise ValueError(
            f"{method} must be able to read all rows at any time: a stream is not enough. Use fit, not partial_fit"
        )
    if step is not None and not offers.step_size:
        raise ValueError(f"{method} has no step size: remove step={step!r}")
    _check_rule(method, objective, stop)
    if monitors and (objective.task != "classification" or not offers.iterate):
        raise ValueError(f"monitors={list(monitors)} need classes and a method with a single model: use SGDClassifier")


def _check_rule(method: Method, objective: Objective, stop: StopRule) -> None:
    needs, offers = stop.needs, method.offers
    if needs.classes and objective.task != "classification":
        raise ValueError(f"{stop!r} needs two classes, and this is a regression: use another rule")
    if needs.judgement and needs.iterate:
        raise ValueError(
            f"{stop!r} combines Gain, which is for LinearClassifier and LinearRegressor, with a rule that watches a "
            "single model, which is for SGDClassifier and SGDRegressor: use one of them"
        )
    if needs.judgement and not offers.judgement:
        raise ValueError(
            f"{stop!r} needs a method that evaluates its model on validation rows, and {method} does not: "
            "use LinearClassifier or LinearRegressor, or another rule, for example ProgressiveLoss()"
        )
    if needs.decrement and not offers.decrement:
        raise ValueError(
            f"{stop!r} needs a method that knows how far it is from the minimum, and {method} does not: use "
            'SGDClassifier(solver="newton") or SGDRegressor(solver="newton"), or another rule'
        )
    if needs.iterate and not offers.iterate:
        raise ValueError(
            f"{stop!r} watches the iterate of a single model, and this fit trains several side by side: "
            "use SGDClassifier or SGDRegressor, for example with solver='asgd'"
        )
