"""The scale of margin pursuit, found from the rows: before the first step, or reset once during the run."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report, ending_of
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import NEVER
from sgdone.kernels.outcome import CONTINUE
from sgdone.losses.margin_pursuit import MarginPursuit
from sgdone.losses.scale_rules import AdaptiveScale, AutoScale, ScaleRule
from sgdone.message_text import RowError
from sgdone.rows.rows import Block, check_rows
from sgdone.solvers.state import State
from sgdone.solvers.stretch import predictions_of, weighted_sum
from sgdone.steps import Constant
from sgdone.steps.step_size import Preliminary

#: Updates before an adaptive scale is reset, of methods each update of which reads all rows.
_WHOLE_PASSES = 10


def with_first_scale(
    objective: Objective, block: Block, method: Any, coef: NDArray[Any], intercept: float
) -> Objective:
    """The objective with a number in place of a scale that is found before the first step.

    For rows in arrays all of them are used, for a stream those of its first block.
    """
    loss = objective.loss
    if not isinstance(loss, MarginPursuit) or loss.rule is None:
        return objective
    rule = loss.rule
    rule.check_penalty(objective.known_alpha)
    if isinstance(rule, AdaptiveScale):
        used = _WHOLE_PASSES if method.whole_passes else block.all_used().size
        due = used if rule.after == "auto" else int(rule.after)
        return _with(objective, loss, replace(rule, found=float(rule.first), due=due))
    if not isinstance(rule, AutoScale):
        raise TypeError(f"unknown scale {rule!r}: use AutoScale() or AdaptiveScale()")
    rows = block.all_used()
    margins = _margins_for_variance(objective, float(loss.gamma), block, rows, coef, intercept)
    found = rule.scale_of(margins, block.weights_of(rows), float(loss.gamma))
    return _with(objective, loss, replace(rule, found=found))


def updates_until_due(state: State) -> int:
    """Updates until an adaptive scale must be reset."""
    rule = _waiting(state)
    return NEVER if rule is None or rule.due is None else max(0, rule.due - state.steps)


def reset(state: State, block: Block, first: int) -> Report:
    """Reset the scale of the loss from the predictions for all rows."""
    loss, rule = state.objective.loss, _waiting(state)
    assert isinstance(loss, MarginPursuit)
    assert rule is not None
    predictions, outcome, row = predictions_of(state, block, block.all_used())
    if outcome != CONTINUE:
        return Report(first, ending_of(outcome), bad_row=row)
    found = float(rule.scale_of(predictions, state.objective.known_alpha))
    state.objective = _with(state.objective, loss, replace(rule, found=found if found > 0 else rule.found, done=True))
    # A step size that depends on the scale changes with it.
    state.step = state.step.resolve(Preliminary(state.objective.loss, state.objective.known_alpha, 0.0, 0.0))
    return Report(first, further_reads=block.rows.n_rows, pass_loss=state.pass_mean)


def evidence(state: State) -> dict[str, float]:
    """The scale that was found, if one was."""
    loss = state.objective.loss
    rule = loss.rule if isinstance(loss, MarginPursuit) else None
    return {} if rule is None or rule.found is None else {"scale": rule.found}


def _waiting(state: State) -> AdaptiveScale | None:
    """The rule of an adaptive scale that has not been reset yet."""
    loss = state.objective.loss
    rule = loss.rule if isinstance(loss, MarginPursuit) else None
    return rule if isinstance(rule, AdaptiveScale) and not rule.done and rule.due is not None else None


def _with(objective: Objective, loss: MarginPursuit, rule: ScaleRule) -> Objective:
    return replace(objective, loss=replace(loss, scale=rule))


def _margins_for_variance(
    objective: Objective, gamma: float, block: Block, rows: NDArray[np.uint64], coef: NDArray[Any], intercept: float
) -> NDArray[np.float64]:
    """Margins of the model to start from or, if that is 0, of the one along the mean of y·x whose mean margin is γ."""
    labels = block.labels[rows]
    predictions, at_start = _predicted(objective, block, rows, coef, intercept)
    if np.any(coef):
        return labels * predictions
    weights = block.weights_of(rows)
    shares = weights * labels / np.sum(weights)
    mean = weighted_sum(at_start, block, rows, shares)
    mean_intercept = float(np.sum(shares)) if objective.fit_intercept else 0.0
    norm = float(mean @ mean) + mean_intercept**2
    if not norm > 0:
        raise ValueError(
            "the mean of y·x is 0, so that no direction parts the classes and scale='auto' has no margins to go by: "
            "give MarginPursuit a number for its scale, or a model to start from"
        )
    w, b = gamma / norm * mean, gamma / norm * mean_intercept
    scaling = block.rows.scaling
    if scaling is not None:
        w = w / scaling.scale
        b -= 0.0 if scaling.shift is None else float(w @ scaling.shift)
    return labels * _predicted(objective, block, rows, w, b)[0]


def _predicted(
    objective: Objective, block: Block, rows: NDArray[np.uint64], coef: NDArray[Any], intercept: float
) -> tuple[NDArray[np.float64], State]:
    state = State.at(objective, block.rows, Constant(1.0), "plain", 1, coef, intercept)
    predictions, outcome, row = predictions_of(state, block, rows)
    if outcome != CONTINUE:
        check_rows(block, np.array([row], dtype=np.uint64))
        raise RowError("", int(row), " of X is too large to predict for. Scale the features")
    return predictions, state
