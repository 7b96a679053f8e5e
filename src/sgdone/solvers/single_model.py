"""Methods that train one model with one score: what they share."""

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.margin_statistics import MarginStatistics
from sgdone.interfaces.method import Method, Report, names
from sgdone.interfaces.objective import Model, Objective
from sgdone.interfaces.stop_rule import Needs, Pause, Status, Stop, Watch
from sgdone.kernels.outcome import CONTINUE
from sgdone.rows.class_means import centre_of_classes, scale_of_classes
from sgdone.rows.rows import Block, BlockScaler, Rows, Scaling, check_rows, squared_norms, typical
from sgdone.rows.source import Stream
from sgdone.solvers import loss_scale
from sgdone.solvers.state import Phase, State
from sgdone.solvers.stretch import predictions_of
from sgdone.steps.step_size import PRELIMINARY_ROWS, Preliminary, StepSize


def first_rows(objective: Objective, block: Block, *, all_rows: bool = False, relative: bool = False) -> Preliminary:
    """Sizes of the first 1000 rows, or of all rows of the matrix; they are trained on like the others.

    If ``relative``, sample weights are divided by their mean.
    """
    rows = block.all_used() if all_rows else block.used(0, block.order.size)[:PRELIMINARY_ROWS]
    norms = squared_norms(block.rows, rows)
    weights = block.weights_of(rows)
    if relative and rows.size:
        weights = weights / weights.mean()
    energies = weights * (norms + float(objective.fit_intercept))
    finite = np.isfinite(energies)
    return Preliminary(
        objective.loss,
        objective.known_alpha,
        norm=float(norms[finite].max(initial=0.0)),
        energy=float(energies[finite].max(initial=0.0)),
        class_scale=partial(scale_of_classes, block) if objective.task == "classification" else None,
        typical_energy=typical(energies[finite]),
        mean_energy=float(np.mean(energies[finite])) if finite.any() else 0.0,
    )


#: Standardised rows seldom have a ‖x‖² beyond this many times the number of features.
_LARGE = 1000.0


class SingleModel(Method):
    """A method that trains one model; `begin` and `use_rows` say how."""

    name: ClassVar[str]

    @property
    def updates_by_row(self) -> bool:
        """Whether each update uses one row and predicts it first."""
        return not self.whole_passes

    @property
    def counts(self) -> Literal["sample", "update"]:
        """Word for what `steps` counts, in messages."""
        return "sample" if self.updates_by_row else "update"

    def __str__(self) -> str:
        return shown_method(repr(self))

    offers: ClassVar[Needs] = Needs(iterate=True, step_size=True)
    #: Whether only the ratios of sample weights matter to it.
    weights_are_relative: ClassVar[bool] = False
    #: Whether the solution is an average of iterates.
    averages: ClassVar[bool] = False
    #: The phases that a state can be in, from the first on, and the number of its vectors.
    phases: ClassVar[tuple[Phase, ...]] = ("plain",)
    vectors: ClassVar[int] = 1
    #: The type of what a state keeps beside the weights.
    keeps: ClassVar[type] = type(None)

    def with_average(self, after: int | Literal["auto"]) -> "SingleModel":
        """The method with an average of its iterates as the solution."""
        raise ValueError(f"{self} cannot be averaged: use average=None, or a method that steps along rows")

    #: Whether a stopping rule has any effect.
    takes_stop: ClassVar[bool] = True

    @property
    def ends_by_itself(self) -> bool:
        """Whether it ends when it has reached a tolerance of its own, so that by default only a budget limits it."""
        return False

    def ending_by_itself(self) -> "SingleModel":
        """The method with a tolerance of its own, if it can have one: for fits that leave the end to it."""
        return self

    def with_l1_step(self) -> "SingleModel":
        """The method with steps for an L1 penalty."""
        if self.offers.l1_penalty:
            return self
        raise ValueError(
            f'penalty="l1" and "elasticnet" make weights exactly 0, which {self} does not: use solver="sgd" '
            "(an average is not sparse, and implicit steps do not support L1)"
        )

    @property
    @abstractmethod
    def default_step(self) -> StepSize:
        """The step size that suits the method."""

    def begin(self, objective: Objective, rows: Rows, step: StepSize, coef: NDArray[Any], intercept: float) -> State:
        """State before the first update, for rows stored in this way."""
        state = State.at(objective, rows, step, self.phases[0], self.vectors, coef, intercept)
        state.extra = self.keeps()
        return state

    @abstractmethod
    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use ``block.order[first:last]``, making at most ``updates`` updates, until one of ``watches`` fires."""

    def start(self, objective: Objective, stream: Stream, start: Model | None, step: StepSize | None) -> State:
        """Centre the rows, find the scale of the loss and the step size, and begin."""
        block = stream.block
        n_features = block.rows.n_features
        coef = np.zeros(n_features) if start is None else np.asarray(start.coef, dtype=np.float64).reshape(n_features)
        intercept = 0.0 if start is None else float(np.reshape(start.intercept, ()))
        if objective.center:
            scaling = _centred(block)
            block = BlockScaler(scaling)(block)
            objective, intercept = replace(objective, fit_intercept=False), -float(coef @ _shift(scaling))
        objective = loss_scale.with_first_scale(objective, block, self, coef, intercept)
        seen = first_rows(objective, block, all_rows=self.whole_passes, relative=self.weights_are_relative)
        resolved = (self.default_step if step is None else step).resolve(seen)
        state = self.begin(objective, block.rows, resolved, coef, intercept)
        state.method = repr(self)
        return state

    def resume(self, state: State, stream: Stream) -> State:
        """The same state, if the rows are of the same kind."""
        rows = stream.block.rows
        before, now = (state.n_features, state.dtype), (rows.n_features, rows.dtype)
        if before != now:
            raise ValueError(
                f"the run to resume had {before[0]} features of {before[1]}, these rows have {now[0]} of {now[1]}"
            )
        return state.reached_by(self.prepare(state, stream.block).rows.access)

    def prepare(self, state: State, block: Block) -> Block:
        """The block in the units of the state."""
        if state.scaling is None or (block.rows.scaling is not None and not state.objective.center):
            return block
        if state.in_units is None:
            state.in_units = BlockScaler(state.scaling)
        return state.in_units(block)

    def advance(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows, up to where the scale of the loss must be reset; measure loss and error of the stretch."""
        state.begin_stretch()
        if loss_scale.updates_until_due(state) == 0 and updates and first < last:
            return loss_scale.reset(state, block, first)
        allowed = min(updates, loss_scale.updates_until_due(state))
        report = self.use_rows(state, block, first, last, allowed, watches)
        made = report.predictions.size
        return replace(
            report, updates=made, loss=state.stretch_loss, error=state.stretch_error(made), pass_loss=state.pass_mean
        )

    def begin_pass(self, state: State) -> None:
        """Forget the sums of the last pass."""
        state.begin_pass()

    def end(self, state: State, stream: Stream, limit: Pause) -> None:
        """Forget the sums of the last stretch."""
        state.begin_stretch()

    def solution(self, state: State) -> Model:
        """The average or the iterate."""
        coef, intercept = state.solution()
        return Model(coef[None, :], np.array([intercept]))

    def objective(self, state: State) -> Objective:
        """The objective, with the scale of the loss."""
        return state.objective

    def iterate(self, state: State) -> tuple[NDArray[np.float64], float]:
        """The running iterate in the units in which the rows are seen."""
        return state.running()

    def margins(self, state: State, block: Block, report: Report, first: int) -> MarginStatistics | None:
        """Margins of the rows of a stretch, each predicted before it was trained on; None if a row cannot be used.

        If an update uses several rows, or one that it does not train on, the iterate after the stretch predicts them.
        """
        rows = block.used(first, report.position)
        if not rows.size:
            rows = block.all_used()
        predictions = report.predictions
        if predictions.size != rows.size or not self.updates_by_row:
            with np.errstate(over="ignore", invalid="ignore"):
                coef, intercept = state.iterate()
            at_iterate = State.at(state.objective, block.rows, state.step, "plain", 1, coef, intercept)
            predictions, outcome, _ = predictions_of(at_iterate, block, rows)
            if outcome != CONTINUE:
                return None
        weights = None if block.sample_weight.size == 1 else block.weights_of(rows)
        gamma = float(getattr(state.objective.loss, "gamma", 1.0))
        return MarginStatistics.of(block.labels[rows] * predictions, gamma, weights)

    def review(self, state: State, ended: Stop, feature_names: Any) -> Stop:
        """Advice about rows so large that steps must be small."""
        energy = state.step.energy_limit
        if ended.status is not Status.BUDGET_SPENT or ended.advice or not np.isfinite(energy):
            return ended
        if self.offers.any_scales or energy < _LARGE * (state.n_features + 1):
            return ended
        advice = (
            f"The largest ‖x‖² is {energy:.2g}, which makes the steps small: "
            "standardise the features to get further in fewer passes."
        )
        return replace(ended, advice=advice)

    def check_state(self, state: Any, objective: Objective, n_features: int) -> None:
        """Check what all states have in common; `check_memory` checks what the method itself keeps."""
        if not isinstance(state, State):
            raise ValueError(f"the state is a {type(state).__name__}, not one of {self!r}")
        if state.phase not in self.phases:
            raise ValueError(f"a state of {self!r} is not {state.phase}")
        state.check(n_features, self.vectors)
        self.check_memory(state)

    def check_memory(self, state: State) -> None:
        """Raise a ValueError if what the method keeps beside the weights is not of its kind."""
        if not isinstance(state.extra, self.keeps):
            raise ValueError(f"the state of {self!r} is a {type(state.extra).__name__}")

    def evidence(self, state: State) -> dict[str, Any]:
        """The scale of the loss, if it was found from the rows."""
        return loss_scale.evidence(state)


def shown_method(text: str) -> str:
    """The name by which users ask for the method of this repr; the repr itself if it has other parameters.

    Examples
    --------
    >>> shown_method("Averaged(inner=SGD(), after='auto', decay=0.0)"), shown_method("Pegasos(minibatch=7)")
    ('asgd', 'Pegasos(minibatch=7)')
    """
    from sgdone import solvers

    return {repr(make()): name for name, make in names(SingleModel, solvers).items()}.get(text, text)


def _centred(block: Block) -> Scaling:
    """Units whose origin is half-way between the means of the two classes."""
    shift = centre_of_classes(block)
    with np.errstate(over="ignore"):
        if not np.isfinite(shift @ shift):
            check_rows(block, block.used(0, block.order.size))
    scale = np.ones(block.rows.n_features) if block.rows.scaling is None else block.rows.scaling.scale
    return Scaling(scale, shift * scale)


def _shift(scaling: Scaling) -> NDArray[np.float64]:
    return np.zeros(0) if scaling.shift is None else scaling.shift
