"""The one driver: rows in, weights, trace and verdict out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone import advice
from sgdone.bad_rows import raise_for_bad_row
from sgdone.data.passes import Passes
from sgdone.data.source import Source
from sgdone.losses.loss import Loss
from sgdone.measure import margins_of, measure
from sgdone.solvers import rescaling
from sgdone.solvers.base import Solver
from sgdone.solvers.state import State
from sgdone.starting import (
    Objective,
    check_convexity,
    check_penalty,
    resume_model,
    resume_rule,
    start_model,
    start_rule,
    with_budget,
)
from sgdone.steps.step_size import StepSize
from sgdone.stopping.base import Progress, Stop, StopRule
from sgdone.trace import Trace
from sgdone.verdict import Status, Verdict

#: Called after each stretch of rows with the progress and the state; a returned text stops the run.
Hook = Callable[[Progress, State], str | None]

#: What a trace keeps beside loss and error, if asked.
Monitor = Literal["margins"]

#: Entries of rows between two looks of the rules, unless told otherwise: some ten milliseconds of work.
_ENTRIES_IN_STRETCH = 1 << 24


@final
@dataclass(frozen=True)
class Result:
    """What a run leaves: the model in the user's units, how it came about, and what it takes to go on."""

    coef: NDArray[Any]
    intercept: float
    trace: Trace
    verdict: Verdict
    state: State
    rule_state: Any
    rows_read: int
    passes_begun: int


def run(
    source: Source,
    loss: Loss,
    solver: Solver,
    stop: StopRule,
    *,
    alpha: float,
    l1_ratio: float = 0.0,
    step: StepSize | None = None,
    fit_intercept: bool = True,
    center: bool = False,
    task: Literal["classification", "regression"] = "classification",
    rng: np.random.Generator | None = None,
    coef: NDArray[Any] | None = None,
    intercept: float = 0.0,
    resume: Result | None = None,
    single_pass: bool = False,
    block_size: int | None = None,
    hook: Hook | None = None,
    feature_names: Sequence[str] | None = None,
    monitors: Sequence[Monitor] = (),
) -> Result:
    """Train a linear model until a rule stops it.

    Parameters
    ----------
    source : Source
        Where the rows come from.
    loss, solver, stop, step : Loss, Solver, StopRule, StepSize
        What to minimise, how, until when, and with which steps (the solver's own if not given). A rule that may
        never fire gets a budget of 100 passes beside it.
    alpha : float
        Penalty: the objective is the mean loss + α(ρ‖w‖₁ + (1 − ρ)/2·‖w‖²).
    l1_ratio : float
        ρ, the share of L1, from 0 to 1; only `sgdone.solvers.Truncated` takes one above 0.
    fit_intercept : bool
        Whether there is an intercept; it is not penalised.
    center : bool
        Whether to put the origin half-way between the means of the two classes, estimated from the first 100 rows,
        and to learn no intercept beside it: Baghal et al. (2021), section 5. The result is in the user's units.
    task : {"classification", "regression"}
        What the error in the trace means.
    rng : numpy.random.Generator
        Where the order of the rows comes from.
    coef, intercept
        The model to start from; zero if not given.
    resume : Result, optional
        Another run to go on from, bit for bit if it ended with a pass; its arrays are changed in place, and its loss,
        penalty and step size stay as they were.
    single_pass : bool
        Return after one pass even if no rule has fired.
    block_size : int, optional
        Rows between two looks of the rules; it never changes a result.
    hook : callable, optional
        Called after each stretch of rows; a returned text stops the run.
    feature_names : sequence of str, optional
        What the verdict calls the columns.
    monitors : sequence of str
        What the trace is to keep beside loss and error: "margins", for two classes.

    Examples
    --------
    >>> from sgdone.data import ArraySource
    >>> from sgdone.losses import Squared
    >>> from sgdone.solvers import asgd
    >>> from sgdone.stopping import MaxPasses
    >>> X = np.linspace(-1.0, 1.0, 200)[:, None]
    >>> result = run(ArraySource(X, 3.0 * X[:, 0] + 1.0), Squared(), asgd(), MaxPasses(50), alpha=0.0)
    >>> result.coef.round(2), round(result.intercept, 2)
    (array([3.]), 1.0)
    >>> print(result.verdict)
    Budget spent after 10,000 samples (50 passes): 50 passes allowed and made.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    check_penalty(alpha, l1_ratio, solver)
    check_convexity(loss, solver)
    if stop.needs_classes and task != "classification":
        raise ValueError(f"{stop!r} is for two classes, and this is a regression: use another rule")
    if monitors and task != "classification":
        raise ValueError(f"monitors={list(monitors)} are for classes, and this is a regression: it has no margins")
    asked = with_budget(stop, single_pass)
    blocks = Passes(source, rng, 0 if resume is None else resume.passes_begun)
    block = blocks.next()
    if solver.reads_all_rows and (single_pass or block.rows.n_rows != source.n_rows):
        raise ValueError(
            f"{solver!r} must be able to read all rows at any time: a stream is not enough. Use fit, not partial_fit"
        )
    rule_state, rows_read = None, 0
    if resume is not None:
        rule_state, rows_read = resume_rule(stop, asked, resume.rule_state, source.n_rows), resume.rows_read
    if rule_state is None:
        rule_state, block = start_rule(asked, blocks, block, source.n_rows)
    if resume is None:
        objective = Objective(loss, solver, step, alpha, fit_intercept, task, center, l1_ratio)
        state, block = start_model(objective, source, blocks, block, coef, intercept)
    else:
        state, block = resume_model(resume.state, blocks, block)
        task = state.problem.task
    beginning = state.copy()
    state.begin_pass()
    stretch = block_size or max(1, _ENTRIES_IN_STRETCH // max(1, block.rows.typical_length))
    trace = Trace(task=task)
    clock = time.perf_counter()
    position = 0
    ended: Stop | None = None
    try:
        while ended is None:
            look = asked.next_look(rule_state)
            # A method whose updates read all rows makes as many as no rule wants to look between.
            ahead = block.order.size - position if not solver.whole_passes else stretch if asked.at_looks_alone else 1
            last = position + min(ahead, stretch, max(0, look.rows_read - rows_read))
            state.begin_stretch()
            watches = asked.watches(rule_state, block.rows)
            allowed = max(0, look.step - state.steps)
            report = rescaling.advance(solver, state, block, position, last, allowed, watches)
            blocks.count(report.passes)
            rows_read += report.position - position + report.further_reads
            progress = Progress(
                state.steps,
                rows_read,
                source.n_rows,
                blocks.begun,
                report.passes > 0 or (blocks.ended and report.position == block.order.size),
                state.pass_mean,
                time.perf_counter() - clock,
                report.predictions,
                report.slopes,
                state.running,
            )
            if report.updates:
                row = measure(state, report, progress)
                if "margins" in monitors:
                    row = replace(row, margins=margins_of(solver, state, block, report, position))
                trace.append(row)
            if report.ending != "used":
                raise_for_bad_row(block, report)
                ended = Stop("divergence", Status.DIVERGED, advice.divergence_reason(report))
                break
            fired = asked.observe(rule_state, progress)
            # A method that has ended says how: a budget that it has passed on the way is no reason to doubt it.
            ended = report.finished or fired
            wish = hook(progress, state) if hook is not None else None
            if ended is None:
                if wish is not None:
                    ended = Stop("callback", Status.STOPPED, wish)
                elif single_pass and progress.pass_ended:
                    ended = Stop("single pass", Status.BUDGET_SPENT, "one pass over the rows given")
                elif (
                    not (report.position > position or report.fired or report.further_reads)
                    and asked.next_look(rule_state) == look
                ):
                    raise RuntimeError(f"{stop!r} asked for a look at {look} but did not fire there")
            position = report.position
            if position == block.order.size and ended is None:
                if blocks.ended:
                    state.begin_pass()
                block, position = blocks.next(), 0
    except KeyboardInterrupt:
        ended = Stop("Ctrl-C", Status.INTERRUPTED, "the model so far is kept")
    updates = state.steps
    state.begin_stretch()
    with np.errstate(over="ignore", invalid="ignore"):
        solution, offset = state.solution()
    if not (np.all(np.isfinite(solution)) and np.isfinite(offset)):
        state = beginning
        solution, offset = state.solution()
        ended = Stop("divergence", Status.DIVERGED, "weights exceeded what a float holds; those of the start are kept")
    passes = rows_read / source.n_rows if source.n_rows else float(blocks.begun)
    ended = advice.judged(ended, advice.Ending(solver, state, trace, block, step is None, feature_names))
    verdict = Verdict(
        ended.status,
        ended.rule,
        updates,
        passes,
        "; ".join(filter(None, (ended.reason, solver.says(state)))),
        ended.evidence | solver.evidence(state) | rescaling.evidence(state),
        ended.advice,
    )
    trace.verdict = verdict
    kept = rule_state if asked is stop else rule_state.states[0]
    return Result(solution, offset, trace, verdict, state, kept, rows_read, blocks.begun)
