"""What to do next, from how a run went."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block
from sgdone.data.spread import Spread
from sgdone.solvers.base import BlockReport, Solver
from sgdone.solvers.state import State
from sgdone.steps.step_size import PRELIMINARY_ROWS
from sgdone.stopping.base import Stop
from sgdone.trace import Trace
from sgdone.verdict import Status

#: How much larger than the number of features the largest ‖x‖² may be: standardised rows are seldom beyond it.
_LARGE = 1000.0


def divergence_reason(report: BlockReport) -> str:
    """What went beyond all bounds, and where."""
    size = f" at step size {report.step_size:.3g}" if np.isfinite(report.step_size) else ""
    return f"a prediction or a step exceeded what a float holds{size}; the last finite weights are kept"


@final
@dataclass(frozen=True)
class Ending:
    """What there is to judge an end by: the model, its course, the last rows seen, and what the user had a say in."""

    solver: Solver
    state: State
    trace: Trace
    block: Block
    automatic_step: bool
    feature_names: Sequence[str] | None

    def spread(self) -> str:
        """Which columns are of quite another size than the others; nothing to a method that does not mind."""
        if not self.solver.minds_scales:
            return ""
        rows = self.block.used(0, self.block.order.size)[:PRELIMINARY_ROWS]
        spread = Spread.of(self.block.rows, rows)
        return "" if spread is None else spread.in_words(self.feature_names)


def judged(ended: Stop, ending: Ending) -> Stop:
    """The same end with advice; an end that is called convergence but cannot be is called a stall."""
    if ended.status is Status.DIVERGED:
        return replace(ended, advice=_smaller_steps(ending))
    if ended.status in (Status.INTERRUPTED, Status.STOPPED):
        further = "fit again with warm_start=True."
        go_on = f"F{further[1:]}" if ending.solver.reads_all_rows else f"Go on with partial_fit, or {further}"
        return replace(ended, advice=ended.advice or go_on)
    if not len(ending.trace) or ending.trace[-1].passes < 1:
        return ended
    spread, worse = ending.spread(), _worse_than_nothing(ending.state, ending.trace)
    if spread or worse:
        # That nothing is gained any more says nothing about columns that have hardly been moved.
        doubtful = ended.status is Status.CONVERGED and ended.rule == "ProgressiveLoss"
        status = Status.STALLED if doubtful else ended.status
        return replace(ended, status=status, advice=_scale_columns(spread, worse))
    if ended.status is Status.BUDGET_SPENT and ended.rule == "MaxPasses" and not ended.advice:
        hints = (_still_falling(ending.trace), _far_from_standardised(ending.state))
        return replace(ended, advice=" ".join(filter(None, hints)))
    return ended


def _smaller_steps(ending: Ending) -> str:
    """What keeps a method from diverging, of what was not tried."""
    spread = ending.spread()
    tried = [] if ending.automatic_step else ['step="auto"', "a smaller step"]
    tried += [] if "ISGD" in repr(ending.solver) else ['solver="aisgd" (which does not blow up)']
    use = f"use {', '.join(tried)}, or " if tried else ""
    blame = f" ({spread})" if spread else ""
    return f"The steps are too large for rows of this size{blame}: {use}scale the features."


def _scale_columns(spread: str, worse: bool) -> str:
    """What scales have done, or must have done."""
    found = "The predictions made during the last pass were worse than predicting 0 for every row: " if worse else ""
    if not spread:
        return f"{found}features of very different scales are the usual cause, so standardise them."
    found += f"{spread}, and steps that suit the largest columns leave the others where they are."
    return f"{found[0].upper()}{found[1:]} Standardise the features, then fit again."


def _worse_than_nothing(state: State, trace: Trace) -> bool:
    """Whether the latest progressive loss exceeds that of predicting zero (classification alone)."""
    if state.problem.task != "classification":
        return False
    loss = state.problem.loss
    at_zero = loss.kernel.value(0.0, 1.0, loss.parameters)  # as plain Python: not worth compiling
    # After one step of a whole pass it is that very loss, but for rounding.
    return _last_loss(state, trace) > at_zero * (1.0 + 1e-9)


def _last_loss(state: State, trace: Trace) -> float:
    """The mean progressive loss of the last pass; a method that reads all rows a step keeps that of its last step."""
    if state.pass_mean > 0 and trace[-1].passes - (trace[-2].passes if len(trace) > 1 else 0.0) > 1:
        return state.pass_mean
    return _mean_loss(trace, trace["passes"] > trace[-1].passes - 1)


def _still_falling(trace: Trace) -> str:
    """Advice to go on, if the last pass still lowered the progressive loss by more than 1 %."""
    passes = np.ceil(trace["passes"])
    if passes[0] > passes[-1] - 1 or trace[-1].passes != passes[-1]:
        return ""
    last, before = (_mean_loss(trace, passes == passes[-1] - k) for k in (0, 1))
    if not before > 0 or (before - last) / before < 0.01:
        return ""
    return f"The last pass still lowered the progressive loss by {(before - last) / before:.1%}: allow more passes."


def _mean_loss(trace: Trace, chosen: NDArray[np.bool_]) -> float:
    """Mean progressive loss over some stretches, each as heavy as it has samples; NaN if there is none."""
    samples = np.diff(trace["step"], prepend=0)
    return float(np.average(trace["loss"][chosen], weights=samples[chosen])) if chosen.any() else float("nan")


def _far_from_standardised(state: State) -> str:
    """Advice to scale the features, if the largest row is far larger than standardised features would make it."""
    energy = state.step.energy_limit
    if not np.isfinite(energy) or energy < _LARGE * (state.problem.n_features + 1):
        return ""
    return (
        f"Rows are as large as ‖x‖² = {energy:.2g}, which makes for small steps: "
        "standardise the features to get further in fewer passes."
    )
