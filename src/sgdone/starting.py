"""What a run starts with: its first block, its model, and its rule."""

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.bad_rows import check_rows
from sgdone.data.class_means import centre_of_classes
from sgdone.data.passes import Passes
from sgdone.data.preparation import HoldOut, InUnits
from sgdone.data.rows import Scaling
from sgdone.data.source import Block, Source
from sgdone.losses.loss import Loss
from sgdone.measure import look_ahead
from sgdone.solvers.averaged import Averaged
from sgdone.solvers.base import Solver
from sgdone.solvers.half import Halving
from sgdone.solvers.isgd import ISGD
from sgdone.solvers.problem import Problem
from sgdone.solvers.rescaling import UnusableRow, first_scale
from sgdone.solvers.state import State
from sgdone.solvers.truncated import Truncated
from sgdone.steps.step_size import StepSize
from sgdone.stopping.base import StopRule
from sgdone.stopping.safeguard import Safeguard


@final
@dataclass(frozen=True)
class Objective:
    """What to minimise, how, with which steps."""

    loss: Loss
    solver: Solver
    step: StepSize | None
    alpha: float
    fit_intercept: bool
    task: Literal["classification", "regression"]
    center: bool
    l1_ratio: float


def check_penalty(alpha: float, l1_ratio: float, solver: Solver) -> None:
    """Refuse penalties that make no sense, and an L1 penalty with a method that does not know it."""
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha={alpha!r} is not a non-negative number")
    if not 0 <= l1_ratio <= 1:
        raise ValueError(f"l1_ratio={l1_ratio!r} is not between 0 (L2 alone) and 1 (L1 alone)")
    if l1_ratio > 0 and not isinstance(solver, Truncated):
        raise ValueError(f'{solver!r} has no steps with an L1 penalty: use solver="sgd" (that is, Truncated(SGD()))')


def check_convexity(loss: Loss, solver: Solver) -> None:
    """Refuse implicit steps on a loss that is not convex: they may jump from one valley to another."""
    inner = solver.inner if isinstance(solver, (Averaged, Halving)) else solver
    if isinstance(inner, ISGD) and not loss.convex:
        raise ValueError(
            f"{solver!r} makes implicit steps, which need a convex loss, and {loss.name!r} is not: "
            'use solver="sgd", "asgd" or "gd"'
        )


def with_budget(stop: StopRule, single_pass: bool) -> StopRule:
    """The rule, with a budget beside it unless it is sure to fire."""
    return stop if stop.bounded or single_pass else stop | Safeguard()


def start_rule(stop: StopRule, blocks: Passes, block: Block, n_rows: int | None) -> tuple[Any, Block]:
    """The rule's state, and the block without the rows that it holds out."""
    rule_state = stop.start(n_rows)
    if stop.hold_out:
        held = HoldOut(block, stop.hold_out)
        check_rows(block, held.rows)
        stop.validate_on(rule_state, held.X, held.labels)
        block = blocks.prepare(block, held)
    return rule_state, block


def resume_rule(stop: StopRule, asked: StopRule, rule_state: Any, n_rows: int | None) -> Any:
    """The state that another run left of the rule, with that of the budget beside it if there is one."""
    if rule_state is None or asked is stop:
        return rule_state
    both = asked.start(n_rows)
    both.states[0] = rule_state
    return both


def start_model(
    objective: Objective, source: Source, blocks: Passes, block: Block, coef: NDArray[Any] | None, intercept: float
) -> tuple[State, Block]:
    """The state before the first update, and the block in the units that are learnt in."""
    start = np.zeros(source.n_features) if coef is None else np.asarray(coef, dtype=np.float64)
    fit_intercept = objective.fit_intercept
    if objective.center:
        # A homogeneous predictor of rows between whose class means the origin lies.
        shift = centre_of_classes(block)
        with np.errstate(over="ignore"):
            if not np.isfinite(shift @ shift):
                check_rows(block, block.used(0, block.order.size))
        scale = np.ones(source.n_features) if block.rows.scaling is None else block.rows.scaling.scale
        block = blocks.prepare(block, InUnits(Scaling(scale, shift * scale)))
        fit_intercept, intercept = False, -float(start @ (shift * scale))
    problem = Problem.over(block, objective.loss, objective.alpha, fit_intercept, objective.task, objective.l1_ratio)
    solver = objective.solver
    try:
        problem = first_scale(problem, block, solver, start, intercept)
    except UnusableRow as found:
        check_rows(block, np.array(found.args, dtype=np.uint64))
        raise ValueError(f"row {found.args[0]} of X is too large to predict for. Scale the features") from None
    preliminary = look_ahead(problem, block, at_all=solver.whole_passes)
    step = (solver.default_step if objective.step is None else objective.step).resolve(preliminary)
    state = solver.start(problem, step, start, intercept)
    state.method = repr(solver)
    return state, block


def resume_model(state: State, blocks: Passes, block: Block) -> tuple[State, Block]:
    """The state of another run, for rows of the same kind, which are put into its units."""
    problem = state.problem
    before, now = (problem.n_features, problem.dtype), (block.rows.n_features, block.rows.dtype)
    if before != now:
        raise ValueError(
            f"the run to resume had {before[0]} features of {before[1]}, these rows have {now[0]} of {now[1]}"
        )
    if problem.scaling is not None and block.rows.scaling is None:
        block = blocks.prepare(block, InUnits(problem.scaling))
    return state.reached_by(block.rows.access), block
