"""Whether a method, an objective, a stopping rule and a source fit together: the one place that says why not."""

from collections.abc import Sequence

import numpy as np

from sgdone.data.source import Source
from sgdone.interfaces.method import Method
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import StopRule
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
    loss = objective.loss
    if source.is_mixed and not method.takes_mixed_rows:
        raise ValueError(
            f"X is part dense, part sparse, and {method} takes matrices of one storage: use X.tocsr() or X.toarray(), "
            "or LinearClassifier or LinearRegressor"
        )
    if method.is_implicit and not loss.convex:
        raise ValueError(
            f"{method} makes implicit steps, which need a convex loss, and {loss.name!r} is not convex: "
            'use solver="sgd", solver="asgd" or solver="gd" (of SGDClassifier)'
        )
    if method.needs_fixed_loss and loss.changes_during_fit:
        raise ValueError(
            f"scale='adaptive' changes the loss during the fit, but {method} stores slopes of it: "
            "use another solver, or a fixed scale"
        )
    if loss.is_open and not method.has_iterate:
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
    if method.needs_smooth_loss and (not loss.convex or (np.isinf(loss.smoothness) and np.isfinite(loss.lipschitz))):
        raise ValueError(
            f"{method} needs second derivatives of a convex loss, and {loss.name!r} has kinks or is not convex: "
            'use another loss, or solver="aisgd"'
        )
    if method.needs_penalty and objective.alpha == 0:
        raise ValueError(f"{method} needs a positive alpha: {method.needs_penalty}")
    if objective.l1_ratio > 0 and not method.has_l1_step:
        raise ValueError(f'{method} has no step for an L1 penalty: use solver="sgd", that is Truncated(SGD())')
    if objective.alpha is None and not method.chooses_alpha:
        raise ValueError(f"{method} does not choose the penalty: give alpha")
    if objective.n_outputs > 1 and not method.trains_all_outputs:
        raise ValueError(
            f"{method} trains one model with one score; for {objective.n_outputs} classes train one model a class"
        )
    if objective.center and not method.has_iterate:
        raise ValueError(f"center=True is for methods with a single model, not for {method}: use SGDClassifier")
    if method.needs_all_rows and (source.part_of_stream or not source.in_memory):
        raise ValueError(
            f"{method} must be able to read all rows at any time: a stream is not enough. Use fit, not partial_fit"
        )
    if step is not None and not method.takes_step:
        raise ValueError(f"{method} has no step size: remove step={step!r}")
    _check_rule(method, objective, stop)
    if monitors and (objective.task != "classification" or not method.has_iterate):
        raise ValueError(f"monitors={list(monitors)} need classes and a method with a single model: use SGDClassifier")


def _check_rule(method: Method, objective: Objective, stop: StopRule) -> None:
    if stop.needs_classes and objective.task != "classification":
        raise ValueError(f"{stop!r} needs two classes, and this is a regression: use another rule")
    if stop.needs_judgement and stop.needs_iterate:
        raise ValueError(
            f"{stop!r} combines Gain, which is for LinearClassifier and LinearRegressor, with a rule that watches a "
            "single model, which is for SGDClassifier and SGDRegressor: use one of them"
        )
    if stop.needs_judgement and not method.gives_judgement:
        raise ValueError(
            f"{stop!r} needs a method that evaluates its model on validation rows, and {method} does not: "
            "use LinearClassifier or LinearRegressor, or another rule, for example ProgressiveLoss()"
        )
    if stop.needs_decrement and not method.gives_decrement:
        raise ValueError(
            f"{stop!r} needs a method that knows how far it is from the minimum, and {method} does not: use "
            'SGDClassifier(solver="newton") or SGDRegressor(solver="newton"), or another rule'
        )
    if stop.needs_iterate and not method.has_iterate:
        raise ValueError(
            f"{stop!r} watches the iterate of a single model, and this fit trains several side by side: "
            "use SGDClassifier or SGDRegressor, for example with solver='asgd'"
        )
