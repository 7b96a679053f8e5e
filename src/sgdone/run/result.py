"""Result of a run: the model, the trace of its measurements, and the verdict: why it ended, and what to do next."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.margin_statistics import MarginStatistics
from sgdone.interfaces.method import Method, Report
from sgdone.interfaces.objective import Model, Objective, mean, standard_error
from sgdone.interfaces.stop_rule import Status, Stop
from sgdone.rows.source import Stream
from sgdone.rows.spread import FAR, Spread
from sgdone.steps.step_size import PRELIMINARY_ROWS
from sgdone.sums.system import Z_CONSTANT, best_constant, is_worse_than_constant

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True)
class Traffic:
    """One round of a fit on a cluster: the name of the request, and the bytes of requests and answers.

    Parts of a request that an earlier round has sent are not counted again: the workers keep them.
    """

    request: str
    bytes_sent: int
    bytes_received: int


@final
@dataclass(frozen=True)
class TraceRow:
    """One block of rows, or one round of a fit on a cluster.

    ``loss`` and ``error`` are progressive: each row is predicted before it is trained on. ``error`` is the
    fraction predicted wrong, or the root mean squared error in regression. ``margins`` are kept with
    ``monitors=["margins"]``, ``traffic`` on a cluster.
    """

    step: int
    passes: float
    loss: float
    error: float
    step_size: float
    seconds: float
    label: Any = None
    margins: MarginStatistics | None = None
    traffic: Traffic | None = None


#: Columns of a trace: numbers that every row has, and numbers of the margins with ``monitors=["margins"]``.
MEASURES = ("step", "passes", "loss", "error", "step_size", "seconds")
MARGINS = tuple(f"margin_{field.name}" for field in fields(MarginStatistics))
#: Further columns of a fit on a cluster.
TRAFFIC = tuple(field.name for field in fields(Traffic))


class Trace(Sequence[TraceRow]):
    """Measurements during a fit: a sequence of `TraceRow`, one per block (and class), as a table or a plot.

    Parameters
    ----------
    rows : iterable of TraceRow
        The measurements in the order they were made.
    verdict : Verdict, optional
        Where and why the fit stopped; marked in the picture.
    task : {"classification", "regression"}
        Task of the fit, which determines what ``error`` means.

    Examples
    --------
    >>> from sgdone import LinearClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> trace = LinearClassifier(random_state=0).fit(X / X.max(axis=0), y).trace_
    >>> trace["loss"].shape == (len(trace),)
    True
    """

    def __init__(self, rows: Sequence[TraceRow] = (), verdict: Any = None, task: str = "classification") -> None:
        self._rows = list(rows)
        self.verdict = verdict
        self.task = task

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, key: Any) -> Any:
        """A row by its number, or a column by its name."""
        return self.column(key) if isinstance(key, str) else self._rows[key]

    def __repr__(self) -> str:
        return f"Trace({len(self)} blocks)"

    def append(self, row: TraceRow) -> None:
        """Add a block's measurements."""
        self._rows.append(row)

    def column(self, name: str) -> NDArray[Any]:
        """All values of one measurement."""
        known = [*MEASURES, "label", *MARGINS, *TRAFFIC]
        if name not in known:
            raise KeyError(f"no column {name!r} in the trace: {', '.join(known)}")
        if name in TRAFFIC:
            if not self.has_traffic:
                raise KeyError(f"no column {name!r} in this trace: only fits on a cluster have it")
            return np.array([getattr(row.traffic, name) for row in self._rows])
        if name not in MARGINS:
            return np.array([getattr(row, name) for row in self._rows])
        if self._rows and not self.has_margins:
            raise KeyError(f"no column {name!r} in this trace: it needs monitors=['margins']")
        measure = name.removeprefix("margin_")
        return np.array([np.nan if row.margins is None else getattr(row.margins, measure) for row in self._rows])

    @property
    def has_margins(self) -> bool:
        """Whether margins were kept."""
        return any(row.margins is not None for row in self._rows)

    @property
    def has_traffic(self) -> bool:
        """Whether the trace comes from a fit on a cluster, with one row per round."""
        return bool(self._rows) and all(row.traffic is not None for row in self._rows)

    def labels(self) -> list[Any]:
        """The classes that have rows here; ``[None]`` where there is only one model."""
        return list(dict.fromkeys(row.label for row in self._rows))

    def to_frame(self) -> "pd.DataFrame":
        """The trace as a pandas data frame, with one row per block."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install 'sgdone[pandas]'") from error
        names = [*MEASURES, *([] if self.labels() in ([], [None]) else ["label"])]
        frame = pd.DataFrame([asdict(row) for row in self._rows], columns=names)
        further = [*(MARGINS if self.has_margins else ()), *(TRAFFIC if self.has_traffic else ())]
        return frame.assign(**{name: self.column(name) for name in further})

    def plot(self) -> "NDArray[Any]":
        """Draw progressive loss, error and step size against samples, the stop marked; returns the axes.

        For a fit on a cluster: loss and error at each evaluation, and the bytes sent so far.
        """
        from sgdone.run.trace_plot import plot_trace

        axes: NDArray[Any] = plot_trace(self)
        return axes

    def plot_margins(self) -> "NDArray[Any]":
        """Plot the margins during the fit, if they were kept (``monitors=["margins"]``); returns the axes."""
        from sgdone.run.trace_plot import plot_margins

        axes: NDArray[Any] = plot_margins(self)
        return axes


#: A tenth, with room for rounding: alphas are compared with those ten times as large and as small.
_TENFOLD = 0.11

#: Statuses from best to worst, for a verdict over several classes.
_SEVERITY = list(Status)


@final
@dataclass(frozen=True)
class Verdict:
    """Why a fit ended, where, and what to do next.

    Attributes
    ----------
    status : Status
        One of "converged", "in progress" (``partial_fit`` has used all rows given), "budget spent", "stalled",
        "no finite optimum", "stopped by a callback", "interrupted", "diverged".
    rule : str
        The rule that ended the fit; empty if none did (Ctrl-C, a callback, divergence).
    step : int
        Updates made.
    passes : float
        Rows read divided by the number of rows; after ``partial_fit``, which does not know that number, 1.
    reason : str
        What the rule observed.
    evidence : dict
        The numbers behind the reason.
    advice : str
        What to do next; empty if there is nothing to do.
    per_class : dict
        For several classes one-vs-rest, each class's own verdict.
    counts : {"sample", "update"}
        Unit of ``step``: an update that uses one row is called a sample.
    streamed : bool
        Whether the rows came by ``partial_fit``.
    finish_passes : float
        Passes of the exact phase, which ``passes`` includes.

    Examples
    --------
    >>> print(Verdict(Status.BUDGET_SPENT, "MaxPasses", 300, 3.0, "3 of 3 passes made"))
    Budget spent after 300 samples (3 passes): 3 of 3 passes made.
    """

    status: Status
    rule: str
    step: int
    passes: float
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)
    advice: str = ""
    per_class: "dict[Any, Verdict]" = field(default_factory=dict)
    counts: Literal["sample", "update"] = "sample"
    streamed: bool = False
    finish_passes: float = 0.0

    def __str__(self) -> str:
        unit = "pass" if self.passes == 1 else "passes"
        passes = f"{self.passes:.3g}" if self.passes < 100 else f"{self.passes:,.0f}"
        exact = f", {self.finish_passes:.3g} of them exact" if 0 < self.finish_passes < self.passes else ""
        read = "" if self.streamed else f" ({passes} {unit}{exact})"
        where = f"after {self.step:,} {self.counts}{'' if self.step == 1 else 's'}{read}"
        sentence = f"{self.status.capitalize()} {where}: {self.reason}."
        return f"{sentence} {self.advice}".rstrip()

    @property
    def is_minimum(self) -> bool:
        """Whether the training objective is at its minimum, by Newton's decrement; otherwise that was not tested."""
        return self.status is Status.CONVERGED and self.rule == "Decrement"

    @property
    def alpha_text(self) -> str:
        """How alpha was chosen, and what a tenth of it and ten times as much would change; empty if it was given.

        Examples
        --------
        >>> tried = [[1e-4, 0.31], [1e-3, 0.3], [1e-2, 0.34]]
        >>> found = {"alpha": 1e-3, "alpha_chosen_by": "leave-one-out", "alphas_tried": tried}
        >>> Verdict(Status.CONVERGED, "Decrement", 9, 9.0, "", found).alpha_text
        'the least leave-one-out loss of 3 from 0.0001 to 0.01 (+0.01 at 0.0001, +0.04 at 0.01)'
        """
        tried, alpha = self.evidence.get("alphas_tried", []), self.evidence.get("alpha")
        if not tried or not alpha:
            return ""
        least = min(loss for _, loss in tried)
        ends = f"of {len(tried)} from {tried[0][0]:.2g} to {tried[-1][0]:.2g}" if len(tried) > 1 else "of 1"
        # The nearest alphas that are at most a tenth, and at least ten times as large, with room for rounding.
        below = [pair for pair in tried if pair[0] < _TENFOLD * alpha][-1:]
        above = [pair for pair in tried if pair[0] > alpha / _TENFOLD][:1]
        others = [f"{loss - least:+.2g} at {other:.2g}" for other, loss in (*below, *above)]
        apart = f" ({', '.join(others)})" if others else ""
        return f"the least {self.evidence['alpha_chosen_by']} loss {ends}{apart}"

    @property
    def phases_text(self) -> str:
        """The phases of the fit with their passes, in turn; empty if there was only one.

        Examples
        --------
        >>> phases = [{"phase": "Newton's method", "passes": 60.0, "status": "stalled", "used": False}]
        >>> phases += [{"phase": "the default fit", "passes": 4.0, "status": "converged", "used": True}]
        >>> Verdict(Status.CONVERGED, "Gain", 9, 64.0, "", {"phases": phases}).phases_text
        "Newton's method 60 passes (stalled, not used), the default fit 4 passes (converged)"
        """
        phases = self.evidence.get("phases", [])
        if len(phases) < 2:
            return ""
        return ", ".join(
            f"{one['phase']} {one['passes']:.3g} passes ({one['status']}{'' if one['used'] else ', not used'})"
            for one in phases
        )

    def interrupted(self, by: str) -> "Verdict":
        """The verdict of a trained model, if what comes after training was interrupted."""
        reason = f"{by}; the fit itself: {self.status}, {self.reason}"
        return replace(self, status=Status.INTERRUPTED, rule="", reason=reason)

    @staticmethod
    def of_classes(verdicts: "dict[Any, Verdict]") -> "Verdict":
        """One verdict for several one-vs-rest fits: the worst class's status is reported."""
        label, worst = max(verdicts.items(), key=lambda item: (_SEVERITY.index(item[1].status), item[1].step))
        like = sum(verdict.status == worst.status for verdict in verdicts.values())
        reason = f"{like} of {len(verdicts)} classes; class {label!r}: {worst.reason}"
        return replace(worst, reason=reason, per_class=dict(verdicts))


@final
@dataclass(frozen=True)
class Result:
    """Result of a run."""

    #: In the user's units.
    model: Model
    #: Measurements during the run, and why it ended.
    trace: Trace
    verdict: Verdict
    #: Objective, with the penalty that the method chose.
    objective: Objective
    #: States of the method and of the rule, to continue from.
    state: Any
    rule_state: Any
    #: Rows read and passes begun so far.
    rows_read: int
    passes_begun: int
    #: `StopRule.state_key` of the rule that ``rule_state`` belongs to; empty in a run read from a model file, which has
    #: such a state only if its rule is that of the options.
    rule: str = ""


#: Rows on which accuracy and loss are compared with those of a constant prediction; fewer than the last say nothing.
_ACCURACY_ROWS, _LOSS_ROWS, _FEWEST_ROWS = 4096, 512, 20
#: A column that differs by this factor from the median column is named if the model is worse than a constant: steps
#: depend on squares, which then differ by a factor of 1000.
_DIFFERENT_SCALE = 30.0


def divergence_reason(report: Report) -> str:
    """Reason of a divergence, with the step size."""
    size = f" at step size {report.step_size:.3g}" if np.isfinite(report.step_size) else ""
    return f"a prediction or a step exceeded the largest float{size}; the last finite weights are kept"


def with_advice(
    ended: Stop, method: Method, state: Any, trace: Trace, stream: Stream, pass_loss: float, automatic_step: bool
) -> Stop:
    """Add advice to the end of a run; an end that looks like convergence but cannot be trusted becomes a stall."""
    if ended.status is Status.DIVERGED:
        return replace(ended, advice=_smaller_steps(method, stream, automatic_step))
    if ended.status in (Status.INTERRUPTED, Status.STOPPED):
        again = "fit again with warm_start=True."
        go_on = f"F{again[1:]}" if method.needs.all_rows else f"Continue with partial_fit, or {again}"
        return replace(ended, advice=ended.advice or go_on)
    if method.offers.any_scales or not len(trace):
        return ended
    first_pass = trace[-1].passes < 1
    if first_pass and ended.status is not Status.CONVERGED:
        return ended
    lost = _lost_to_constant(method, state, stream, trace, first_pass=first_pass)
    if first_pass and not lost:
        return ended
    worse = not first_pass and _is_worse_than_zero(method, state, trace, pass_loss)
    spread = _spread(method, stream, _DIFFERENT_SCALE if lost or worse else FAR)
    default = "LinearRegressor" if method.objective(state).is_regression else "LinearClassifier"
    if lost or spread or worse:
        # A loss that no longer improves says nothing about columns whose weights have hardly moved.
        doubtful = ended.status is Status.CONVERGED and (ended.assumes_scaled or lost is not None)
        what = lost.advice(spread, worse, default) if lost else _scale_columns(spread, worse, default)
        evidence = ended.evidence | (lost.evidence() if lost else {})
        status = Status.STALLED if doubtful else ended.status
        return replace(ended, status=status, evidence=evidence, advice=what)
    if ended.status is Status.BUDGET_SPENT and ended.rule:
        still_falling = _still_falling(trace, stream.n_rows or 1)
        return replace(ended, advice=" ".join(filter(None, (still_falling, ended.advice))))
    return ended


def _spread(method: Method, stream: Stream, far: float = FAR) -> str:
    """Columns whose scale differs from the others by a factor, as text; empty for a method that can cope with it."""
    if method.offers.any_scales:
        return ""
    block = stream.block
    spread = Spread.of(block.rows, block.used(0, block.order.size)[:PRELIMINARY_ROWS], far)
    return "" if spread is None else spread.in_words(stream.source.feature_names)


def _smaller_steps(method: Method, stream: Stream, automatic_step: bool) -> str:
    """Advice against divergence: options that were not tried yet."""
    spread = _spread(method, stream)
    options = [] if automatic_step else ['step="auto"', "a smaller step"]
    # Only implicit steps need a loss that is convex.
    options += [] if method.needs.convex_loss else ['solver="aisgd" (stable at any step size)']
    use = f"use {', '.join(options)}, or " if options else ""
    cause = f" ({spread})" if spread else ""
    return f"The steps are too large for rows of this size{cause}: {use}scale the features."


def _scale_columns(spread: str, worse: bool, default: str) -> str:
    """Advice about columns of different scales, and their effect."""
    found = "The predictions during the last pass were worse than predicting 0 for every row: " if worse else ""
    if not spread:
        return f"{found}use a smaller step, or check that the features have to do with the labels."
    found = found or "The scales of columns differ: "
    return (
        f"{found}{spread}, and steps that suit the largest columns hardly move the others. Standardise the features, "
        f"or use {default}, which scales them itself."
    )


def _is_worse_than_zero(method: Method, state: Any, trace: Trace, pass_loss: float) -> bool:
    """Whether the latest progressive loss exceeds the loss of predicting zero (classification only)."""
    objective = method.objective(state)
    if objective.task != "classification":
        return False
    loss = objective.loss
    at_zero = loss.kernel.value(0.0, 1.0, loss.parameters)  # as plain Python: not worth compiling
    last = pass_loss  # for a method that makes several passes between two rows of the trace
    if not last > 0 or trace[-1].passes - (trace[-2].passes if len(trace) > 1 else 0.0) <= 1:
        last = _mean_loss(trace, trace["passes"] > trace[-1].passes - 1)
    # After one step that reads all rows both are equal, up to rounding.
    return last > at_zero * (1.0 + 1e-9)


@dataclass(frozen=True)
class _LostToConstant:
    """Metric by which a model is clearly worse than the same prediction for all rows, with both values."""

    measure: Literal["accuracy", "loss"]
    own: float
    constant: float

    def advice(self, spread: str, worse_than_zero: bool, default: str) -> str:
        """Advice with both values."""
        found = (
            f"The model is worse than the same prediction for all rows: its {self.measure} is {self.own:.3g}, that of "
            f"a constant {self.constant:.3g}."
        )
        if spread or worse_than_zero:
            return f"{found} {_scale_columns(spread, worse_than_zero, default)}"
        return f"{found} Standardise the features, allow more passes, or use {default}, which scales them."

    def evidence(self) -> dict[str, float]:
        """Both values, for the verdict."""
        return {f"model_{self.measure}": self.own, f"constant_{self.measure}": self.constant}


def _lost_to_constant(
    method: Method, state: Any, stream: Stream, trace: Trace, *, first_pass: bool
) -> _LostToConstant | None:
    """Compare the model with a constant prediction, on some of the rows; None if it is not clearly worse.

    Classes are compared by accuracy too: steps too small for most columns leave the loss next to that of a constant.
    Within the first pass by accuracy only: rules that end a run there are about the classes, not the loss. Targets are
    also compared with the predictions of the last pass: iterates that are thrown about may have a constant as their
    average.
    """
    objective, block = method.objective(state), stream.block
    rows = block.used(0, block.order.size)
    rows = rows[:: -(-rows.size // _ACCURACY_ROWS) or 1]  # all over the block, whose rows may be sorted
    model = method.solution(state)
    if objective.n_outputs != 1 or rows.size < _FEWEST_ROWS or not np.all(np.isfinite(model.coef)):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(block.rows.matrix(rows) @ model.coef[0].astype(np.float64)) + model.intercept[0]
    labels, weights = block.labels[rows], block.weights_of(rows)
    if objective.is_regression or not first_pass:
        some = slice(None, None, -(-rows.size // _LOSS_ROWS))
        lost = _by_loss(objective, scores[some], labels[some], weights[some])
        if lost is not None:
            return lost
    # Rows of a stream need not be like those before them.
    if objective.task == "classification":
        return None if stream.source.part_of_stream else _by_accuracy(objective, scores, labels, weights)
    if first_pass:
        return None
    last = _mean_loss(trace, trace["passes"] > trace[-1].passes - 1)
    best = _constant_losses(objective, labels[some], weights[some])
    least, error = mean(best, weights[some]), standard_error(best, weights[some])
    return _LostToConstant("loss", last, least) if last > least + Z_CONSTANT * error else None


def _by_accuracy(
    objective: Objective, scores: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> _LostToConstant | None:
    """Compare the shares of rows that are classified correctly; without an intercept no constant can be predicted."""
    if not (objective.fit_intercept or objective.center) or not np.all(np.isfinite(scores)):
        return None
    positive = labels > 0
    majority = bool(mean(positive.astype(np.float64), weights) > 0.5)
    own, constant = ((scores > 0) != positive).astype(np.float64), (positive != majority).astype(np.float64)
    if not is_worse_than_constant(own, constant, weights):
        return None
    return _LostToConstant("accuracy", 1.0 - mean(own, weights), 1.0 - mean(constant, weights))


def _by_loss(
    objective: Objective, scores: NDArray[np.float64], labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> _LostToConstant | None:
    """Compare the mean losses. As plain Python: not worth compiling."""
    kernel, parameters = objective.loss.kernel, objective.loss.parameters
    try:
        own = np.array([kernel.value(z, y, parameters) for z, y in zip(scores.tolist(), labels.tolist(), strict=True)])
    except OverflowError:
        return None
    best = _constant_losses(objective, labels, weights)
    if not np.all(np.isfinite(own)) or not is_worse_than_constant(own, best, weights):
        return None
    return _LostToConstant("loss", mean(own, weights), mean(best, weights))


def _constant_losses(
    objective: Objective, labels: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Losses of the best constant prediction."""
    kernel, parameters = objective.loss.kernel, objective.loss.parameters
    constant = float(best_constant(objective, labels, weights)[0])
    return np.array([kernel.value(constant, y, parameters) for y in labels.tolist()])


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
    """Mean progressive loss over some rows of the trace, weighted by their samples; NaN if there is none."""
    samples = np.diff(trace["step"], prepend=0)
    return float(np.average(trace["loss"][chosen], weights=samples[chosen])) if chosen.any() else float("nan")
