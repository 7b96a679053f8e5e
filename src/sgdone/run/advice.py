"""What to do next, from how a run went."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.data.spread import Spread
from sgdone.data.stream import Stream
from sgdone.interfaces.measured import mean, standard_error
from sgdone.interfaces.method import Method, Report
from sgdone.interfaces.stop import Status, Stop
from sgdone.run.constant_prediction import Z_CONSTANT, best_constant, is_worse_than_constant
from sgdone.run.trace import Trace
from sgdone.steps.step_size import PRELIMINARY_ROWS

#: Rows on which the model is compared with a constant prediction, and fewer than which say nothing.
_ROWS_COMPARED, _FEWEST_COMPARED = 512, 20


def divergence_reason(report: Report) -> str:
    """What was not finite, and at which step size."""
    size = f" at step size {report.step_size:.3g}" if np.isfinite(report.step_size) else ""
    return f"a prediction or a step exceeded the largest float{size}; the last finite weights are kept"


def with_advice(
    ended: Stop, method: Method, state: Any, trace: Trace, stream: Stream, pass_loss: float, automatic_step: bool
) -> Stop:
    """The same end with advice; an end that looks like convergence but cannot be trusted is called a stall."""
    if ended.status is Status.DIVERGED:
        return replace(ended, advice=_smaller_steps(method, stream, automatic_step))
    if ended.status in (Status.INTERRUPTED, Status.STOPPED):
        again = "fit again with warm_start=True."
        go_on = f"F{again[1:]}" if method.needs_all_rows else f"Continue with partial_fit, or {again}"
        return replace(ended, advice=ended.advice or go_on)
    if not method.needs_comparable_scales or not len(trace) or trace[-1].passes < 1:
        return ended
    spread, worse = _spread(method, stream), _is_worse_than_zero(method, state, trace, pass_loss)
    losses = None if spread or worse else _losses_if_worse_than_constant(method, state, stream, trace)
    default = "LinearRegressor" if method.objective(state).is_regression else "LinearClassifier"
    if losses is not None:
        advice = (
            f"The model is worse than the same prediction for all rows: its loss is {losses[0]:.3g}, that of a "
            f"constant {losses[1]:.3g}. Standardise the features, allow more passes, or use {default}, which "
            "scales them."
        )
        return replace(
            ended, status=Status.STALLED if ended.status is Status.CONVERGED else ended.status, advice=advice
        )
    if spread or worse:
        # That nothing improves any more says nothing about columns that have hardly moved.
        doubtful = ended.status is Status.CONVERGED and ended.assumes_scaled
        status = Status.STALLED if doubtful else ended.status
        return replace(ended, status=status, advice=_scale_columns(spread, worse, default))
    if ended.status is Status.BUDGET_SPENT and ended.rule:
        still_falling = _still_falling(trace, stream.n_rows or 1)
        return replace(ended, advice=" ".join(filter(None, (still_falling, ended.advice))))
    return ended


def _spread(method: Method, stream: Stream) -> str:
    """Which columns differ in scale from the others; empty for a method that can cope with it."""
    if not method.needs_comparable_scales:
        return ""
    block = stream.block
    spread = Spread.of(block.rows, block.used(0, block.order.size)[:PRELIMINARY_ROWS])
    return "" if spread is None else spread.in_words(stream.source.feature_names)


def _smaller_steps(method: Method, stream: Stream, automatic_step: bool) -> str:
    """What keeps a method from diverging, of what was not tried."""
    spread = _spread(method, stream)
    options = [] if automatic_step else ['step="auto"', "a smaller step"]
    options += [] if method.is_implicit else ['solver="aisgd" (stable at any step size)']
    use = f"use {', '.join(options)}, or " if options else ""
    cause = f" ({spread})" if spread else ""
    return f"The steps are too large for rows of this size{cause}: {use}scale the features."


def _scale_columns(spread: str, worse: bool, default: str) -> str:
    """What columns of different scales did, or are likely to have done."""
    found = "The predictions during the last pass were worse than predicting 0 for every row: " if worse else ""
    if not spread:
        return f"{found}use a smaller step, or check that the features have to do with the labels."
    found += f"{spread}, and steps that suit the largest columns hardly move the others."
    return f"{found[0].upper()}{found[1:]} Standardise the features, or use {default}, which scales them itself."


def _is_worse_than_zero(method: Method, state: Any, trace: Trace, pass_loss: float) -> bool:
    """Whether the latest progressive loss exceeds that of predicting zero (classification only)."""
    objective = method.objective(state)
    if objective.task != "classification":
        return False
    loss = objective.loss
    at_zero = loss.kernel.value(0.0, 1.0, loss.parameters)  # as plain Python: not worth compiling
    last = pass_loss  # of a method that makes several passes between two rows of the trace
    if not last > 0 or trace[-1].passes - (trace[-2].passes if len(trace) > 1 else 0.0) <= 1:
        last = _mean_loss(trace, trace["passes"] > trace[-1].passes - 1)
    # After one step that reads all rows it is that very loss, but for rounding.
    return last > at_zero * (1.0 + 1e-9)


def _losses_if_worse_than_constant(
    method: Method, state: Any, stream: Stream, trace: Trace
) -> tuple[float, float] | None:
    """Mean losses of the model and of a constant prediction, if the model's is clearly larger; of some of the rows.

    Targets are also compared with the predictions of the last pass: iterates that are thrown about may have a constant
    as their average. As plain Python: not worth compiling.
    """
    objective, block = method.objective(state), stream.block
    rows = block.used(0, block.order.size)[:_ROWS_COMPARED]
    model = method.solution(state)
    if objective.n_outputs != 1 or rows.size < _FEWEST_COMPARED or not np.all(np.isfinite(model.coef)):
        return None
    kernel, parameters, labels = objective.loss.kernel, objective.loss.parameters, block.labels[rows]
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(block.rows.matrix(rows) @ model.coef[0].astype(np.float64)) + model.intercept[0]
    try:
        own = np.array([kernel.value(z, y, parameters) for z, y in zip(scores.tolist(), labels.tolist(), strict=True)])
    except OverflowError:
        return None
    weights = block.weights_of(rows)
    constant = float(best_constant(objective, labels, weights)[0])
    best = np.array([kernel.value(constant, y, parameters) for y in labels.tolist()])
    if not np.all(np.isfinite(own)):
        return None
    if is_worse_than_constant(own, best, weights):
        return mean(own, weights), mean(best, weights)
    last, least = _mean_loss(trace, trace["passes"] > trace[-1].passes - 1), mean(best, weights)
    if objective.is_regression and last > least + Z_CONSTANT * standard_error(best, weights):
        return last, least
    return None


def _still_falling(trace: Trace, n_rows: int) -> str:
    """Advice to continue, if the last pass lowered the progressive loss by more than 1 % and by more than noise does.

    The first pass says nothing: its progressive loss has the rows before anything was learnt. The standard deviation of
    a loss is about its mean, and two passes are compared.
    """
    passes = np.ceil(trace["passes"])
    if passes[-1] < 3 or passes[0] > passes[-1] - 1 or trace[-1].passes != passes[-1]:
        return ""
    last, before = (_mean_loss(trace, passes == passes[-1] - k) for k in (0, 1))
    if not before > 0 or (before - last) / before < max(0.01, np.sqrt(2.0 / n_rows)):
        return ""
    return f"The last pass still lowered the progressive loss by {(before - last) / before:.1%}: allow more passes."


def _mean_loss(trace: Trace, chosen: NDArray[np.bool_]) -> float:
    """Mean progressive loss over some stretches, weighted by their samples; NaN if there is none."""
    samples = np.diff(trace["step"], prepend=0)
    return float(np.average(trace["loss"][chosen], weights=samples[chosen])) if chosen.any() else float("nan")
