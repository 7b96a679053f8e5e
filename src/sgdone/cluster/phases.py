"""The phases of a fit over partitions: the average of a pass of the bank over each, then Newton's method."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.bank import Bank
from sgdone.bank.bank_state import BankState, raise_for_bad_row
from sgdone.bank.evaluation import CANDIDATES, DEFAULT_CANDIDATES, Candidate, ProgressiveLosses
from sgdone.bank.models import Models
from sgdone.cluster.partition import LabelCoding, Partition
from sgdone.cluster.partition_source import LabelledSum, PartitionSource
from sgdone.cluster.statistics import LabelSums, RowStatistics
from sgdone.interfaces.method import EndedPhase, FoundModel, Method, Report
from sgdone.interfaces.objective import Judgement, Model, Objective
from sgdone.interfaces.stop_rule import Needs, Status, Stop, StopRule, Watch
from sgdone.kernels.bank import NO_FOLD
from sgdone.newton import Problem, SearchRunner
from sgdone.newton.exact_phase import ExactPhase, ExactState
from sgdone.newton.search import RESIDUAL_ROUNDING
from sgdone.newton.summed_path import ChosenPenalty, SummedPath
from sgdone.rows.rows import Block, BlockScaler
from sgdone.rows.source import Stream
from sgdone.steps.step_size import StepSize
from sgdone.sums.row_sum import SHARED, ArraySum, RowSum, message
from sgdone.sums.second_order import LossesAt
from sgdone.sums.system import System, initial_intercept
from sgdone.sums.units import Units

Array = NDArray[np.float64]
#: Models that an answer has: one per candidate, their mean, or none.
Returned = Literal["each", "mean", "none"]

#: Bytes of the models of all candidates up to which they are sent at once. Beyond, a second pass trains the chosen
#: candidates alone: that takes less time than sending the others.
_MOST_BYTES = 1 << 22


@final
@message
@dataclass(frozen=True)
class BankSums:
    """Progressive losses of the candidates, and models times the weight of the rows they were trained on."""

    losses: ProgressiveLosses
    weight: float
    coef: Array
    intercept: Array

    def merge(self, other: "BankSums") -> "BankSums":
        """The sums over the rows of both."""
        return BankSums(
            self.losses.merge(other.losses),
            self.weight + other.weight,
            self.coef + other.coef,
            self.intercept + other.intercept,
        )

    def mean_of(self, places: Sequence[int]) -> Model:
        """The mean of the averages of some models, in the user's units."""
        chosen = list(places)
        return Model(self.coef[chosen].mean(axis=0) / self.weight, self.intercept[chosen].mean(axis=0) / self.weight)


@final
@message
@dataclass(frozen=True)
class BankPass(RowSum):
    """Ask for one pass of candidates, each with its penalty, over the rows."""

    system: System = field(metadata=SHARED)
    coding: LabelCoding = field(metadata=SHARED)
    candidates: tuple[Candidate, ...]
    alphas: tuple[float, ...]
    #: Curvature of the loss, typical ‖x‖² + 1 and mean weight of a row, for the step sizes.
    smoothness: float
    energy: float
    weight: float
    #: Intercepts of the common start; its coefficients are 0.
    intercept: Array
    #: Draws the order of the rows, together with the number of the partition.
    seed: int
    models: Returned

    def of(self, partition: Partition) -> BankSums:
        """Train the candidates on the rows in random order."""
        objective, scaling, source = self.system.objective, self.system.scaling, partition.source(self.coding)
        start = np.zeros((objective.n_outputs, self.system.n_features))
        models = Models.at(objective, self.candidates, source.rows.dtype, start, self.intercept)
        models.set_steps(self.smoothness, self.energy, self.weight, self.alphas)
        folds = np.full(partition.n_rows, NO_FOLD, dtype=np.uint8)
        in_units, losses = BlockScaler(scaling), ProgressiveLosses()
        for block in source.blocks(np.random.default_rng([self.seed, partition.number])):
            found = models.advance(in_units(block), folds, 0, block.order.size)
            raise_for_bad_row(block, found)
            weights = block.weights_of(block.used(0, block.order.size))
            if weights.size:
                losses.add(found.losses, weights)
        solved = [] if self.models == "none" else [models.solution(k, scaling) for k in range(models.n_models)]
        coef, intercept = np.array([own[0] for own in solved]), np.array([own[1] for own in solved])
        if self.models == "mean":
            coef, intercept = coef.mean(axis=0, keepdims=True), intercept.mean(axis=0, keepdims=True)
        return BankSums(losses, losses.weight, losses.weight * coef, losses.weight * intercept)


def average(
    system: System, coding: LabelCoding, statistics: RowStatistics, units: Units, seed: int
) -> Generator[RowSum, Any, tuple[Model, ProgressiveLosses]]:
    """Train the bank on each partition, choose by the summed losses, and average by the weights of the rows.

    It returns the average of the chosen candidates, and the progressive losses of all.
    """
    objective, rows = system.objective, statistics.rows
    smoothness = smoothness_of(objective, statistics.labels)
    mean_weight = statistics.weight / rows
    unit = (smoothness if objective.is_regression else 1.0) / rows
    given = None if objective.alpha is None else objective.alpha * mean_weight
    alphas = tuple(candidate.penalty * unit if given is None else given for candidate in CANDIDATES)
    size = 8 * len(CANDIDATES) * objective.n_outputs * system.n_features
    request = BankPass(
        system,
        coding,
        CANDIDATES,
        alphas,
        smoothness,
        _energy(units, objective),
        mean_weight,
        start_intercept(objective, statistics.labels),
        seed,
        "each" if size <= _MOST_BYTES else "none",
    )
    sums: BankSums = yield request
    chosen = sums.losses.tied
    if request.models == "each":
        return sums.mean_of(chosen), sums.losses
    candidates, own = tuple(CANDIDATES[k] for k in chosen), tuple(alphas[k] for k in chosen)
    trained: BankSums = yield replace(request, candidates=candidates, alphas=own, models="mean")
    return trained.mean_of([0]), sums.losses


def smoothness_of(objective: Objective, labels: LabelSums) -> float:
    """A curvature for step sizes: the largest of the loss, or its largest slope over the spread of the targets."""
    distance = 1.0 if labels.moments is None else float(labels.moments.spreads[0]) or 1.0
    found = min(objective.loss.smoothness, objective.loss.lipschitz / distance)
    return found if 0 < found < np.inf else 1.0


def start_intercept(objective: Objective, labels: LabelSums) -> Array:
    """Intercepts that fit all rows without their features."""
    if labels.moments is not None:
        return labels.moments.means.copy() if objective.fit_intercept else np.zeros(1)
    codes = np.array([-1.0, 1.0]) if labels.weights.size == 2 else np.arange(float(labels.weights.size))
    return initial_intercept(objective, codes, labels.weights)


def _energy(units: Units, objective: Objective) -> float:
    """Mean ‖x‖² + 1 of the rows, in the units of training."""
    known = units.scale > 0
    sizes = np.divide(units.squares, units.scale**2, out=np.zeros(known.size), where=known)
    return float(sizes.sum()) / max(1, units.rows) + float(objective.fit_intercept) or 1.0


_MORE = "Allow more passes or seconds."


@dataclass
class AverageState:
    """The best model so far, in the units of the system: a constant prediction, or the average of partitions."""

    system: System
    model: Array
    #: The best candidate of the bank.
    lead: Candidate = DEFAULT_CANDIDATES[0]
    #: Mean loss of the model.
    loss: float = float("nan")
    #: Progressive losses of the candidates.
    losses: ProgressiveLosses | None = None
    readings: SearchRunner = field(init=False)
    steps: int = 0


@final
@dataclass(frozen=True)
class AverageOfPartitions(Method):
    """One pass of the bank over each partition, merged by averaging; the first model of a fit, whatever the budget.

    Where each partition has one class, models of partitions predict that class: a constant prediction is then better.
    """

    offers: ClassVar[Needs] = Bank.offers
    whole_passes: ClassVar[bool] = True
    takes_blocks: ClassVar[bool] = False
    runs_to_its_end: ClassVar[bool] = True
    can_diverge: ClassVar[bool] = False

    source: PartitionSource
    units: Units
    #: Draws the order of the rows.
    seed: int

    def start(self, objective: Objective, stream: Stream, start: Model | None, step: StepSize | None) -> AverageState:
        """State at a constant prediction."""
        system = System(objective, self.units.scaling)
        state = AverageState(system, system.constant(start_intercept(objective, self.source.statistics.labels)))
        state.readings = SearchRunner(self.source.rounds, self._readings(state), each_counts=True)
        return state

    def advance(
        self, state: AverageState, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Make one round."""
        state.readings.read()
        state.steps += 1
        finished = Stop("", Status.CONVERGED, "the bank has made a pass") if state.readings.done else None
        return Report(first, further_reads=self.source.n_rows, finished=finished, passes=1, updates=1)

    def _readings(self, state: AverageState) -> Generator[RowSum, Any, None]:
        """The pass of the bank, and the losses of its average and of a constant prediction."""
        source, system = self.source, state.system
        mean, bank = yield from average(system, source.coding, source.statistics, self.units, self.seed)
        models = np.array([state.model, system.from_user(mean.coef, mean.intercept)])
        sums: ArraySum = yield LabelledSum(LossesAt(system, models), source.coding)
        *losses, weight = sums.values.tolist()
        best = 1 if losses[1] < losses[0] else 0
        state.losses = bank
        state.loss = losses[best] / weight
        state.model, state.lead = models[best], CANDIDATES[bank.lead] if best else DEFAULT_CANDIDATES[0]

    def solution(self, state: AverageState) -> Model:
        """The best model so far."""
        return state.system.to_user(state.model)

    def objective(self, state: AverageState) -> Objective:
        """The objective, with a first guess of the penalty if it is not given."""
        objective = state.system.objective
        if objective.alpha is not None:
            return objective
        return replace(objective, alpha=state.lead.penalty / self.source.total_weight)

    def hand_over(self, state: Any, main: Method, last: Any, stream: Stream) -> BankState:
        """State for further training: a bank with one candidate at the model."""
        return self.bank_at(self.solution(state), state.system.objective, self.objective(state).known_alpha)

    def bank_at(self, model: Model, objective: Objective, alpha: float) -> BankState:
        """A bank with a single candidate at the model, as if it had been trained in one pass."""
        statistics = self.source.statistics
        n_rows, smoothness = statistics.rows, smoothness_of(objective, statistics.labels)
        weight = statistics.weight / n_rows
        return BankState.at_model(FoundModel(self, model, objective, alpha, self.units, n_rows, weight, smoothness))

    def review(self, state: AverageState, ended: Stop, feature_names: Any) -> Stop:
        """Add to a spent budget that a first model takes some rounds."""
        if ended.status is not Status.BUDGET_SPENT:
            return ended
        return replace(ended, reason=f"{ended.reason}, or as many as a first model takes", advice=_MORE)

    def evidence(self, state: AverageState) -> dict[str, Any]:
        """The penalty, the loss, and the progressive loss of the bank."""
        return {"alpha": self.objective(state).alpha, "loss": state.loss} | progressive_loss(state)

    def __str__(self) -> str:
        return "the average of partitions"


@final
@dataclass(frozen=True)
class ExactOnPartitions(ExactPhase):
    """Newton's method over partitions, from their average, which is the phase before; each sum is a round."""

    needs: ClassVar[Needs] = Needs(smooth_loss=True)

    average: AverageOfPartitions

    def is_worthwhile(self, objective: Objective, stream: Stream, stop: StopRule, before: EndedPhase | None) -> bool:
        """Whether it follows the average, which alone is not good enough."""
        return before is not None

    def is_better(self, state: ExactState, ended: Stop, before: EndedPhase) -> bool:
        """Always true: each step lowers the objective."""
        return True

    def start_after(self, objective: Objective, stream: Stream, before: EndedPhase) -> ExactState:
        """State at the average of the partitions."""
        average: AverageState = before.state
        source = self.average.source
        system, n_rows, weight = average.system, source.n_rows, source.total_weight
        least = _least_dispersion(source.statistics.labels)
        problem = Problem(system, system.penalties(0.0), n_rows, least)
        # The penalty depends on the rows alone: its first guess and the validation rows are not those of the average.
        given, unit = None if objective.alpha is None else objective.alpha * weight, _unit(source.statistics.labels)
        chosen = ChosenPenalty(unit if given is None else given, average.model)
        path = SummedPath(problem, chosen, unit, chooses=given is None)
        units, kept = self.average.units, progressive_loss(average)
        return ExactState(source, path, n_rows, n_rows, weight, np.float64, units, each_counts=True, evidence=kept)

    def hand_over(self, state: ExactState, main: Method, last: Any, stream: Stream) -> BankState:
        """A bank with one candidate at the model."""
        return self.average.bank_at(self.solution(state), state.objective, self.objective(state).known_alpha)

    def summary(self, state: ExactState) -> str:
        """The remaining gain, as text, in units of the estimation noise p/(2n)."""
        path = _path(state)
        if path.found is None or path.found.stalled or path.is_separated:
            return ""
        gain, noise = _gain(state), _noise(state)
        return f"the expected gain of further steps is {gain / noise:.1g} of the estimation noise" if noise else ""

    def review(self, state: ExactState, ended: Stop, feature_names: Any) -> Stop:
        """The reason for the end, with the remaining gain if it ended early, and whether the classes are separated."""
        path, reason, advice = _path(state), ended.reason, ended.advice
        if path.is_separated or state.is_separated:
            return _with_separation(ended, state.n_rows, penalised=self.objective(state).known_alpha > 0)
        if ended.status in (Status.CONVERGED, Status.STALLED):
            return ended
        if ended.status is Status.BUDGET_SPENT:
            reason, advice = f"{reason}, or as many as a first model takes", _MORE
        if np.isfinite(_gain(state)):
            value = path.progress.value / state.weight
            reason += f"; further steps would lower the training objective, {value:.6g}, by about {_gain(state):.2g}"
        return replace(ended, reason=reason, advice=advice)

    def evidence(self, state: ExactState) -> dict[str, Any]:
        """The penalty, the loss, and the remaining gain."""
        path = _path(state)
        found = {"alpha": self.objective(state).alpha, "loss": path.training_loss, "decrement": path.best.decrement}
        found |= {"gain": _gain(state), "noise": _noise(state), **state.evidence}
        is_separated = path.is_separated or state.is_separated
        return found | ({"separation": "complete", "separable_rows": state.n_rows} if is_separated else {})

    def _judge(self, state: ExactState) -> Judgement:
        """The training objective and Newton's decrement."""
        value, left = _path(state).progress.value / state.weight, state.path.best.decrement
        return Judgement(value, gain=_gain(state), gain_error=0.0, estimated_by="training", decrement=left)

    def _stall_reason(self, state: ExactState) -> Stop | None:
        """Reason why the optimum was not reached; None if it was."""
        ended, value = super()._stall_reason(state), _path(state).progress.value / state.weight
        if ended is None:
            return None
        reason = f"no step lowers the training objective, {value:.6g}"
        reason += f", by the {_gain(state):.2g} that is expected" if np.isfinite(_gain(state)) else ""
        return replace(ended, reason=reason, advice="Give a larger alpha.")


def progressive_loss(state: AverageState) -> dict[str, Any]:
    """The progressive loss of the best candidate of the bank."""
    losses = state.losses
    return {} if losses is None else {"progressive_loss": float(losses.means[losses.lead] * losses.unit)}


def _path(state: ExactState) -> SummedPath:
    assert isinstance(state.path, SummedPath)
    return state.path


def _gain(state: ExactState) -> float:
    """Expected gain of further steps, per row."""
    return _path(state).progress.decrement / state.weight


def _noise(state: ExactState) -> float:
    """Excess loss that is expected of the optimum: p/(2n), in regression times the variance of residuals."""
    return state.path.system.n_coefficients / (2.0 * state.weight) * _path(state).unit


def _unit(labels: LabelSums) -> float:
    """Variance of the targets; 1 in classification."""
    if labels.moments is None:
        return 1.0
    return max(float(labels.moments.squares[0] / labels.moments.rows), float(np.finfo(np.float64).tiny))


def _least_dispersion(labels: LabelSums) -> float:
    """Variance of targets about their predictions that is rounding; 0 in classification."""
    return 0.0 if labels.moments is None else RESIDUAL_ROUNDING**2 * _unit(labels)


def _with_separation(ended: Stop, n_rows: int, *, penalised: bool) -> Stop:
    """The end of a fit to classes that some direction separates."""
    found = f"Complete separation: some direction classifies all {n_rows:,} rows without error"
    if penalised:
        return replace(ended, reason=f"{ended.reason}. {found}: only the penalty keeps the coefficients finite")
    advice = "Give a penalty, as alpha='auto', or remove the features that separate the classes."
    return replace(ended, status=Status.NO_OPTIMUM, rule="", reason=f"{found}: the loss has no minimum", advice=advice)
