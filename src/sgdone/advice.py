"""What to do next, from how a run went."""

import numpy as np
from numpy.typing import NDArray

from sgdone.solvers.base import BlockReport
from sgdone.solvers.state import State
from sgdone.stopping.base import Stop
from sgdone.trace import Trace
from sgdone.verdict import Status

#: How much larger than the number of features the largest ‖x‖² may be: standardised rows are seldom beyond it.
_LARGE = 1000.0


def divergence_reason(report: BlockReport) -> str:
    """What went beyond all bounds, and where."""
    size = f" at step size {report.step_size:.3g}" if np.isfinite(report.step_size) else ""
    return f"a prediction or a step exceeded what a float holds{size}; the last finite weights are kept"


def next_steps(ended: Stop, state: State, trace: Trace) -> str:
    """A sentence or two for the user, or nothing."""
    if ended.status is Status.DIVERGED:
        return (
            'The steps are too large for rows of this size: use step="auto", a smaller step, '
            'solver="aisgd" (which does not blow up), or scale the features.'
        )
    if ended.status in (Status.INTERRUPTED, Status.STOPPED):
        return "Go on with partial_fit, or fit again with warm_start=True."
    if len(trace) and trace[-1].passes >= 1 and _worse_than_nothing(state, trace):
        return (
            "The predictions made during the last pass were worse than predicting 0 for every row: "
            "features of very different scales are the usual cause, so standardise them."
        )
    if ended.status is Status.BUDGET_SPENT and ended.rule == "MaxPasses" and len(trace):
        return " ".join(filter(None, (_still_falling(trace), _far_from_standardised(state))))
    return ""


def _worse_than_nothing(state: State, trace: Trace) -> bool:
    """Whether the latest progressive loss exceeds that of predicting zero (classification alone)."""
    if state.problem.task != "classification":
        return False
    loss = state.problem.loss
    at_zero = loss.kernel.value(0.0, 1.0, loss.parameters)  # as plain Python: not worth compiling
    return _mean_loss(trace, trace["passes"] > trace[-1].passes - 1) > at_zero


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
