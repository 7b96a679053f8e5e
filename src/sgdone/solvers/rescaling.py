"""The scale of margin pursuit, where a fit is to find it: before the first step, or once on the way."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block
from sgdone.kernels.outcome import CONTINUE, NOT_SOUND
from sgdone.losses.loss import Loss
from sgdone.losses.margin_pursuit import MarginPursuit
from sgdone.losses.scale_rules import AdaptiveScale, AutoScale, ScaleRule
from sgdone.solvers.base import BlockReport, Solver
from sgdone.solvers.batch import predictions_of
from sgdone.solvers.problem import Problem
from sgdone.solvers.state import State
from sgdone.solvers.weighing import weighted_sum
from sgdone.steps import Constant
from sgdone.steps.step_size import Preliminary
from sgdone.stopping.base import Watch

#: Updates before an adaptive scale is reset, of methods each update of which reads all rows.
_WHOLE_PASSES = 10


class UnusableRow(Exception):  # noqa: N818
    """A row that cannot be predicted for; its number is the argument."""


def rescales(loss: Loss) -> bool:
    """Whether the scale of a loss is found from the rows."""
    return isinstance(loss, MarginPursuit) and loss.rule is not None


def first_scale(problem: Problem, block: Block, solver: Solver, coef: NDArray[Any], intercept: float) -> Problem:
    """The problem with a number in the place of a scale that is to be found before the first step.

    Of rows in arrays all are looked at, of a stream those of its first block.
    """
    loss = problem.loss
    if not isinstance(loss, MarginPursuit) or loss.rule is None:
        return problem
    rule = loss.rule
    rule.check_penalty(problem.alpha)
    if isinstance(rule, AdaptiveScale):
        if solver.keeps_slopes:
            raise ValueError(f"scale='adaptive' changes the loss, and {solver!r} keeps its slopes: use another solver")
        used = _WHOLE_PASSES if solver.whole_passes else block.all_used().size
        due = used if rule.after == "auto" else int(rule.after)
        return _with(problem, loss, replace(rule, found=float(rule.first), due=due))
    if not isinstance(rule, AutoScale):
        raise TypeError(f"{rule!r} is a rule that no fit knows: give AutoScale() or AdaptiveScale()")
    rows = block.all_used()
    margins = _margins_for_variance(problem, float(loss.gamma), block, rows, coef, intercept)
    found = rule.scale_of(margins, block.weights_of(rows), float(loss.gamma))
    return _with(problem, loss, replace(rule, found=found))


def advance(
    solver: Solver, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...]
) -> BlockReport:
    """Let a solver advance, up to where the scale of its loss is to be reset; there, reset it and do nothing else."""
    loss = state.problem.loss
    if not isinstance(loss, MarginPursuit):
        return solver.advance(state, block, first, last, updates, watches)
    rule = loss.rule
    if not isinstance(rule, AdaptiveScale) or rule.done or rule.due is None or not updates or first >= last:
        return solver.advance(state, block, first, last, updates, watches)
    if state.steps < rule.due:
        return solver.advance(state, block, first, last, min(updates, rule.due - state.steps), watches)
    rows = block.all_used()
    predictions, outcome, row = predictions_of(state, block, rows)
    nothing = np.empty(0)
    if outcome != CONTINUE:
        ending = "not sound" if outcome == NOT_SOUND else "not finite"
        return BlockReport(first, ending, nothing, nothing, np.nan, blamed=row)  # type: ignore[arg-type]
    found = float(rule.scale_of(predictions, state.problem.alpha))
    state.problem = _with(state.problem, loss, replace(rule, found=found if found > 0 else rule.found, done=True))
    # A step size that goes by the scale goes along.
    state.step = state.step.resolve(Preliminary(state.problem.loss, state.problem.alpha, 0.0, 0.0))
    return BlockReport(first, "used", nothing, nothing, np.nan, further_reads=block.rows.n_rows)


def evidence(state: State) -> dict[str, float]:
    """The scale that was found, if one was to be."""
    loss = state.problem.loss
    rule = loss.rule if isinstance(loss, MarginPursuit) else None
    return {} if rule is None or rule.found is None else {"scale": rule.found}


def _with(problem: Problem, loss: MarginPursuit, rule: ScaleRule) -> Problem:
    return replace(problem, loss=replace(loss, scale=rule))


def _margins_for_variance(
    problem: Problem, gamma: float, block: Block, rows: NDArray[np.uint64], coef: NDArray[Any], intercept: float
) -> NDArray[np.float64]:
    """Margins of the model to start from or, if that is 0, of the one along the mean of y·x whose mean margin is γ."""
    labels = block.labels[rows]
    predictions, at_start = _predicted(problem, block, rows, coef, intercept)
    if np.any(coef):
        return labels * predictions
    weights = block.weights_of(rows)
    shares = weights * labels / np.sum(weights)
    mean = weighted_sum(at_start, block, rows, shares)
    mean_intercept = float(np.sum(shares)) if problem.fit_intercept else 0.0
    norm = float(mean @ mean) + mean_intercept**2
    if not norm > 0:
        raise ValueError(
            "the mean of y·x is 0, so that no direction parts the classes and scale='auto' has no margins to go by: "
            "give MarginPursuit a number for its scale, or a model to start from"
        )
    w, b = gamma / norm * mean, gamma / norm * mean_intercept
    if problem.scaling is not None:
        w = w / problem.scaling.scale
        b -= 0.0 if problem.scaling.shift is None else float(w @ problem.scaling.shift)
    return labels * _predicted(problem, block, rows, w, b)[0]


def _predicted(
    problem: Problem, block: Block, rows: NDArray[np.uint64], coef: NDArray[Any], intercept: float
) -> tuple[NDArray[np.float64], State]:
    state = State.at(problem, Constant(1.0), "plain", 1, coef, intercept)
    predictions, outcome, row = predictions_of(state, block, rows)
    if outcome != CONTINUE:
        raise UnusableRow(row)
    return predictions, state
