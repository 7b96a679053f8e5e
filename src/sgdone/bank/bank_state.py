"""State of the bank: units, candidates, their models, and measurements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.evaluation import (
    LARGER_STEP,
    LARGEST_STEP,
    LATER_PENALTIES,
    MAX_BYTES,
    ROWS_FOR_STEPS,
    SMALLER_PENALTY,
    Candidate,
    Evaluation,
    Evaluations,
    ProgressiveLosses,
    clear_losers,
    limits,
    worth_keeping,
)
from sgdone.bank.models import Advance, Models
from sgdone.interfaces.method import FoundModel
from sgdone.interfaces.objective import LossEstimator, Model, Objective
from sgdone.interfaces.stop_rule import NEVER
from sgdone.kernels.bank import ALL_ROWS, ALPHA, DECAY_ROWS, LEAVES_OUT, NO_FOLD, RECORDS_LOSSES, STEP_SCALE, STEPS
from sgdone.kernels.outcome import CONTINUE, NOT_SOUND
from sgdone.rows.faults import ORDER_MATTERS, EntryOrder, GroupMeans, LabelOrder
from sgdone.rows.rows import ENTRIES, LEVEL, SMALLEST_SCALE, Block, BlockScaler, check_rows, squared_norms, typical
from sgdone.rows.validation_rows import FEWEST, ValidationRows
from sgdone.run.loss_change import LossWatch
from sgdone.solvers.stretch import LARGEST
from sgdone.sums.system import best_constant, curvature, initial_intercept, is_robust
from sgdone.sums.units import LIFT, WINDOW, Units, roles_of


@dataclass
class Stage:
    """Place of a run in its passes, and the work that is due before the next row."""

    #: Rows of a stream are read once, as in a first pass.
    kind: Literal["stream", "first pass", "later passes"] = "first pass"
    #: Whether the rows of all passes, of all but the first, or of none are shuffled.
    order: Literal["shuffled", "shuffled later", "as given"] = "shuffled"
    #: Whether to add candidates before the next row, or to begin again: the rows of the first pass were sorted.
    next: Literal["train", "branch", "restart"] = "train"
    #: Whether larger penalties are among the candidates added.
    tries_penalties: bool = False
    #: Passes begun, since training began again and in all.
    passes: int = 0
    begun: int = 0

    def begin_pass(self) -> None:
        """Count a pass."""
        self.passes += 1
        self.begun += 1
        if self.kind == "first pass" and self.passes != 1:
            self.kind = "later passes"

    @property
    def is_stream(self) -> bool:
        """Whether the rows are part of a stream."""
        return self.kind == "stream"

    @property
    def is_first(self) -> bool:
        """Whether each row is read for the first time: its columns are measured, and losses are progressive."""
        return self.kind != "later passes"

    @property
    def is_ordered(self) -> bool:
        """Whether the rows of the first pass keep the user's order."""
        return self.order != "shuffled"

    @property
    def is_reordered(self) -> bool:
        """Whether rows that come in the user's order at first have been read again in another one."""
        return self.begun > 1 and self.order != "as given"


@dataclass
class RunState:
    """State of the default fit during one run, which is not kept beyond it."""

    #: Rows of positive weight in a pass; 0 if that is not known.
    n_rows: int = 0
    #: Whether all rows fit into one window, so that passes are cheap.
    small: bool = False
    #: How many rows a row of weight 1 stands for.
    frequency: float = 1.0
    stage: Stage = field(default_factory=Stage)
    #: Rows whose columns are measured before they are trained on.
    window: int = WINDOW
    #: Position in the block up to which columns were measured, and whether that was just done.
    measured_to: int = 0
    window_measured: bool = False
    #: Whether the columns of all rows were measured before the first update.
    all_measured: bool = False
    #: Held-out rows met in this pass.
    validation_rows_skipped: int = 0
    #: Sums of weight × loss, and of weights, over the pass.
    pass_loss: float = 0.0
    pass_weight: float = 0.0
    #: Counted work of training (`sgdone.newton.counted_work`).
    work: float = 0.0
    validation: ValidationRows = field(default_factory=ValidationRows)
    #: Several folds that are chosen, and held out once candidates have been compared for the first time.
    folds_to_come: ValidationRows = field(default_factory=ValidationRows)
    evaluations: Evaluations = field(default_factory=Evaluations)
    #: The last answer of `folds_of`, with the labels and the validation rows it is about.
    folds: tuple[NDArray[np.float64], ValidationRows, NDArray[np.uint8]] | None = None
    #: Compares groups of rows that come in the user's order: their levels and words, and their progressive losses.
    entries: EntryOrder = field(default_factory=EntryOrder)
    watch: LossWatch = field(default_factory=LossWatch)
    #: Rows trained on before this run.
    steps_before: int = 0
    #: The model to start from, and a remark if it was far from the optimum, or as good as the result.
    start: Model | None = None
    start_note: str = ""
    #: The model returned, once the run has ended.
    solution: Model | None = None

    def begin_pass(self) -> None:
        """Start the sums of a pass again."""
        self.stage.begin_pass()
        self.validation_rows_skipped, self.pass_loss, self.pass_weight = 0, 0.0, 0.0

    def folds_of(self, block: Block) -> NDArray[np.uint8]:
        """The fold of every row of a block's matrix."""
        if self.folds is None or self.folds[0] is not block.labels or self.folds[1] is not self.validation:
            self.folds = block.labels, self.validation, self.validation.folds_of(block)
        return self.folds[2]

    @property
    def estimated_by(self) -> LossEstimator:
        """Rows by which evaluations estimate the loss."""
        return "validation" if self.validation.count else "training"

    @property
    def stream_changed(self) -> str:
        """A change of the stream during this run, as a sentence; empty if there was none."""
        change = self.watch.change()
        return "" if change is None or change.found <= self.steps_before else change.sentence()

    @property
    def mean_pass_loss(self) -> float:
        """Mean progressive loss of the pass so far; NaN before its first row."""
        return self.pass_loss / self.pass_weight if self.pass_weight else float("nan")


@final
@dataclass
class BankState:
    """State of a default fit: everything that changes, and is needed to continue."""

    objective: Objective
    units: Units
    models: Models
    lead: Candidate
    order: LabelOrder = field(default_factory=LabelOrder)
    #: Candidates that were tried beside a leader, those dropped included.
    tried: list[Candidate] = field(default_factory=list)
    progressive: ProgressiveLosses = field(default_factory=ProgressiveLosses)
    #: Typical ‖x‖² + 1 of a row, and curvature of the loss, for the step sizes.
    energy: float = 0.0
    smoothness: float = 1.0
    #: Mean weight of a row; a penalty that is chosen by the fit is proportional to it.
    weight: float = 1.0
    in_units: tuple[int, BlockScaler] | None = field(default=None, init=False, repr=False, compare=False)
    run: RunState = field(default_factory=RunState, init=False, repr=False, compare=False)

    @classmethod
    def initial(
        cls,
        block: Block,
        window: NDArray[np.uint64],
        objective: Objective,
        start: Model | None,
        candidates: Sequence[Candidate],
        *,
        seen: NDArray[np.uint64],
        ordered: bool,
    ) -> "BankState":
        """A state before the first update, in the units of the rows ``seen``."""
        rows = block.rows
        centred = objective.fit_intercept and not rows.is_sparse
        units = Units(rows.n_dense, centred, rows.n_features, ordered=ordered, roles=roles_of(rows))
        units.observe(block, seen)
        units.renew()
        labels = block.labels[window]
        if start is None:
            coef, intercept = _no_coef(objective, rows.n_features), initial_intercept(objective, labels)
        else:
            scaled, intercept = units.scaling.from_user(start.coef.astype(np.float64), start.intercept)
            coef = scaled.T
        models = Models.at(objective, candidates, rows.dtype, coef, intercept)
        middle, smoothness = candidates[len(candidates) // 2], curvature(objective, labels)
        state = cls(objective, units, models, middle, smoothness=smoothness)
        state._set_step_sizes(state.scaled(block), window)
        return state

    @classmethod
    def at_model(cls, found: FoundModel) -> "BankState":
        """A state with a single candidate, at a model that another phase has found."""
        objective, units, n_rows = found.objective, found.units.copy(), found.rows * found.frequency
        candidate = Candidate(1.0, found.alpha * n_rows / (found.smoothness if objective.is_regression else 1.0))
        coef, intercept = _no_coef(objective, units.n_features), np.zeros(objective.n_outputs)
        models = Models.at(objective, [candidate], found.model.coef.dtype, coef, intercept)
        state = cls(objective, units, models, candidate, smoothness=found.smoothness, weight=found.weight)
        known = units.scale > 0
        sizes = np.divide(units.squares, (units.lift * units.scale) ** 2, out=np.zeros(known.size), where=known)
        state.energy = float(sizes.sum()) / max(1, units.rows) + float(objective.fit_intercept) or 1.0
        state.set_leader_model(found.model)
        models.numbers[:, STEPS] = found.rows
        state.set_alphas(n_rows)
        return state

    def scaled(self, block: Block) -> Block:
        """The block in the units of training."""
        return self._units_in_use()(block)

    def _units_in_use(self) -> BlockScaler:
        if self.in_units is None or self.in_units[0] != self.units.version:
            self.in_units = None  # frees the memory of the last units first
            self.in_units = (self.units.version, BlockScaler(self.units.scaling))
        return self.in_units[1]

    def restart(self, block: Block, window: NDArray[np.uint64], candidates: Sequence[Candidate]) -> None:
        """Begin the training again, in the units that are known by now."""
        intercept = initial_intercept(self.objective, block.labels[window])
        coef = _no_coef(self.objective, self.units.n_features)
        self.models = Models.at(self.objective, candidates, block.rows.dtype, coef, intercept)
        self.lead, self.tried = candidates[len(candidates) // 2], []
        self.smoothness, self.energy = curvature(self.objective, block.labels[window]), 0.0
        self.progressive.clear()
        self._set_step_sizes(self.scaled(block), window)
        self.run.evaluations = Evaluations()
        self.hold_out(self.run.validation)

    def append_features(self, roles: NDArray[np.int32]) -> None:
        """Add sparse columns that no row has had so far: their weights are 0, and all others keep their places."""
        self.units.append_features(roles)
        self.models.append_features(roles.size)

    def measure_columns(self, block: Block, window: NDArray[np.uint64]) -> None:
        """Measure the columns of rows before they are trained on; convert the models if the units change."""
        units = self.units
        scale, shift = units.scale, units.shift
        units.observe(block, window)
        if units.renew():
            self.in_units = None
            self.models.change_units(units.scaling_of(scale, shift), units.scaling)
            self._set_step_sizes(self.scaled(block), window)
            if window.size >= FEWEST:
                self.smoothness = curvature(self.objective, block.labels[window])

    def set_alphas(self, n_rows: float) -> None:
        """Set step sizes and penalties α of the models, for a fit to ``n_rows`` rows."""
        unit = self.weight * (self.smoothness if self.objective.is_regression else 1.0)
        given = self.objective.alpha
        alphas = [given if given is not None else c.penalty * unit / n_rows for c in self.models.candidates]
        self.models.set_steps(self.smoothness, self.energy, self.weight, alphas)

    @property
    def alpha(self) -> float:
        """The penalty of the leading candidate."""
        return float(self.models.plans[self.model, ALPHA])

    @property
    def model(self) -> int:
        """The leading candidate's model that trains on all rows."""
        return self.models.main(self.lead)

    @property
    def steps(self) -> int:
        """Rows trained on."""
        return self.models.steps

    def excess(self, loss: float, n_rows: int) -> float:
        """Expected excess loss of the unpenalised optimum on ``n_rows`` rows.

        p/(2n) for a negative log-likelihood with p parameters (Akaike 1974); in regression times the variance of the
        residuals, that is twice the loss.
        """
        return self.parameters / (2.0 * n_rows) * (2.0 * loss if self.objective.is_regression else 1.0)

    @property
    def order_matters(self) -> bool:
        """Whether rows that came in the user's order differ from those before them, in anything that is measured."""
        labels, entries, columns = self.order.share_between, self.run.entries.share, self.units.groups.shares()
        sorted_by = max(labels, entries, float(columns.max(initial=0.0)))
        return sorted_by > ORDER_MATTERS or bool(self.run.stream_changed)

    @property
    def parameters(self) -> int:
        """Number of coefficients that can differ from 0."""
        return int(np.count_nonzero(self.units.scale)) * self.objective.n_free_outputs

    def solution(self) -> Model:
        """The leading candidate's average in the user's units."""
        return self.mean_of([self.lead])

    def mean_of_tied(self, evaluation: Evaluation) -> Model:
        """The mean of the candidates that cannot be told apart from the leader.

        The loss is convex: the mean model has at most the mean of their losses, and usually less than the least.
        """
        return self.mean_of(self.tied(evaluation))

    def mean_of(self, candidates: Sequence[Candidate]) -> Model:
        """The mean of the averages of some candidates in the user's units, by models that train on the most rows."""
        models = [self.models.main(candidate) for candidate in candidates]
        return Model(*self.models.mean_solution(models, self._units_in_use().scaling))

    def tied(self, evaluation: Evaluation) -> list[Candidate]:
        """The remaining candidates that an evaluation cannot tell apart from the best one."""
        alive = self.models.alive
        return [found for found in evaluation.tied if found in alive]

    def add_losses(self, losses: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        """Add progressive losses: each row is predicted before it is trained on."""
        self.progressive.add(losses[:, [self.models.main(candidate) for candidate in self.models.alive]], weights)

    def compare_progressive(self, *, drop: bool) -> None:
        """Find the leader from the progressive losses; if ``drop``, drop clear losers and start the sums again."""
        if not self.progressive.rows:  # only rows of weight 0 since the last comparison
            return
        alive, place = self.models.alive, self.progressive.lead
        self.lead = alive[place]
        if drop:
            run, sparse = self.run, self.units.n_dense < self.units.n_features
            larger = sparse and bool(run.validation.count or run.folds_to_come.count)
            self._keep([alive[k] for k in worth_keeping(self.progressive.clear_losers(), place, larger=larger)])
            self.progressive.clear()

    def hold_out(self, validation: ValidationRows) -> None:
        """Keep validation rows from models: a single fold from all of them, several folds from a model each."""
        self.run.validation = validation
        if validation.count == 1:
            self.models.hold_out()
        elif validation.count:
            self.models.fork(validation.count)

    def release(self, block: Block) -> bool:
        """Train on the rows that were held out from all models; returns whether there were any."""
        waited, validation = self.models.holds_out, self.run.validation
        if waited:
            self.models.fork(validation.count)
            held_out = self.scaled(validation.block or block).ordered(validation.rows)
            raise_for_bad_row(held_out, self.models.advance(held_out, validation.of_row, 0, validation.rows.size))
        return waited

    def evaluate(self, block: Block) -> Evaluation:
        """Losses of all candidates on the validation rows, or on all rows of the block if there are none."""
        block, of_row = self.validation_rows(block)
        losses = self.losses_of(self.models, block, of_row)
        constant, weights = self.run.evaluations.constant, block.weights_of(block.order.rows)
        numbers, last = self.run.validation.numbers, self.run.evaluations.last
        if constant.size != len(losses) or (last is not None and not np.array_equal(last.numbers, numbers)):
            constant = self.run.evaluations.constant = self._losses_of_constant(block, of_row)
        robust = is_robust(self.objective)
        return Evaluation(self.models.steps, self.models.alive, losses, weights, constant, robust, numbers)

    def validation_rows(self, block: Block) -> tuple[Block, NDArray[np.uint8]]:
        """The validation rows in the units of training, and the fold of each row of their matrix."""
        validation = self.run.validation
        block = validation.block or block
        rows = validation.rows if validation.count else block.all_used()
        return self.scaled(block).ordered(rows), validation.folds_of(block)

    def losses_of(self, models: Models, block: Block, of_row: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Losses of the candidates of some models (columns) on the rows of a block."""
        found, losses = models.losses(block, of_row)
        raise_for_bad_row(block, found)
        return losses

    def losses_by_fold(
        self, block: Block, of_row: NDArray[np.uint8], model_of: Callable[[int], Models]
    ) -> NDArray[np.float64]:
        """Losses of the rows of each fold by a single model, one fold after the other."""
        losses, folds = np.empty(block.order.size), of_row[block.order.rows]
        nowhere = np.full(block.rows.n_rows, NO_FOLD, np.uint8)
        for fold in np.unique(folds).tolist():
            own = folds == fold
            rows = block.ordered(block.order.rows[own])
            losses[own] = self.losses_of(model_of(fold), rows, nowhere)[:, 0]
        return losses

    def _losses_of_constant(self, block: Block, of_row: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Losses of a constant prediction; for a fold, the best constant for the rows of the other folds, if any."""
        used = block.order.rows
        labels, weights, folds = block.labels[used], block.weights_of(used), of_row[used]

        def constant(fold: int) -> Models:
            others = folds != fold if np.any(folds != fold) else folds == fold
            intercept = best_constant(self.objective, labels[others], weights[others])
            coef = _no_coef(self.objective, self.units.n_features)
            return Models.at(self.objective, [self.lead], self.models.weights.dtype, coef, intercept)

        return self.losses_by_fold(block, of_row, constant)

    def drop_losers(self, before: Evaluation | None, now: Evaluation, most: int) -> None:
        """Find the leader of an evaluation; drop losers that will not catch up, and all but ``most`` candidates."""
        self.lead = now.candidates[now.lead]
        if before is None or now.steps <= before.steps or len(now.candidates) == 1:
            return
        losers = clear_losers(now.compared, now.weights, now.lead)
        heading = limits(before, now)
        hopeless = heading > heading[now.lead]
        best = set(np.argsort(heading)[:most].tolist()) | {now.lead}
        self._keep([c for k, c in enumerate(now.candidates) if k in best and not (losers[k] and hopeless[k])])

    def branch(self, n_rows: float, *, larger_steps: bool, penalties: bool) -> None:
        """Add candidates beside the leader that were not tried yet: larger steps, larger penalties.

        Penalties begin to matter after the first pass; and steps that were too large for the first rows may be the best
        for the rest. In the first pass a smaller penalty goes with them, as in `CANDIDATES`.
        """
        lead, others = self.lead, list[Candidate]()
        if larger_steps and lead.multiplier < LARGEST_STEP:
            penalty = lead.penalty * (SMALLER_PENALTY if self.run.stage.is_first else 1.0)
            others.append(Candidate(LARGER_STEP * lead.multiplier, penalty))
        others = self._that_fit(others + (self.larger_penalties if penalties else []))
        if others:
            self.models.branch(lead, others)
            self.tried.extend(others)
            self.set_alphas(n_rows)

    @property
    def larger_penalties(self) -> list[Candidate]:
        """Candidates with larger penalties than the leader's that were not tried yet."""
        if self.objective.alpha is not None:
            return []
        lead = self.lead
        return self._that_fit([Candidate(lead.multiplier, a) for a in LATER_PENALTIES if 1 < a / lead.penalty <= 100])

    def _that_fit(self, others: list[Candidate]) -> list[Candidate]:
        """Those of some candidates that were not tried yet; none if they would take too much memory."""
        others = [other for other in others if other not in self.tried and other not in self.models.alive]
        share = len(others) * len(self.models.models_of(self.lead)) / self.models.n_models
        return others if share * self.models.weights.nbytes <= MAX_BYTES else []

    def copy(self) -> "BankState":
        """A copy that shares nothing that changes."""
        parts = {name: getattr(self, name).copy() for name in ("units", "models", "order", "tried", "progressive")}
        made = replace(self, **parts)
        made.run.watch = self.run.watch.copy()
        return made

    def at_columns(self, columns: NDArray[np.int64], n_features: int) -> "BankState":
        """The state after a run on sparse rows, with their features as some of ``n_features`` columns."""
        units, models = self.units.at_columns(columns, n_features), self.models.at_columns(columns, n_features)
        made = replace(self, units=units, models=models)
        made.run.watch = self.run.watch
        return made

    def set_leader_model(self, model: Model) -> None:
        """Make the leader a model in the user's units, so that further training starts there."""
        coef = model.coef.astype(np.float64, copy=False)
        self.models.set_solution(self.model, coef, model.intercept, self._units_in_use().scaling)

    def _keep(self, candidates: list[Candidate]) -> None:
        if len(candidates) < len(self.models.alive):
            self.models.keep(candidates)
            self.progressive.clear()  # its sums have a column for each candidate

    def _set_step_sizes(self, block: Block, window: NDArray[np.uint64]) -> None:
        """Measure the typical row of a window, unless it has only a few rows of a stream that is known already."""
        if self.energy and window.size < FEWEST:
            return
        energies = squared_norms(block.rows, window[:ROWS_FOR_STEPS]) + float(self.objective.fit_intercept)
        # Weights may differ by any factor, and then a few rows carry all of the loss: use the mean weight.
        self.weight = float(block.weights_of(window).mean())
        self.energy = typical(energies[np.isfinite(energies)]) or 1.0


def _no_coef(objective: Objective, n_features: int) -> NDArray[np.float64]:
    """Coefficients that are all 0 (outputs × features), without memory of their own."""
    return np.broadcast_to(0.0, (objective.n_outputs, n_features))


def raise_for_bad_row(block: Block, found: Advance) -> None:
    """Raise for the row at which a chunk ended, if it did not reach its end."""
    if found.outcome == CONTINUE:
        return
    row = block.order.rows[found.position : found.position + 1]
    if found.outcome == NOT_SOUND:
        block.rows.check_indices()
    check_rows(block, row)
    raise ValueError(f"row {row[0]} cannot be used: X or the label there is too large. Scale them")


def check_state(state: Any, objective: Objective, n_features: int) -> None:
    """Raise a ValueError for a state, read from a file, that no fit of such a model leaves.

    The compiled loops check nothing. Types of the fields are checked where they are read.
    """
    _require("a state of the default fit", isinstance(state, BankState))
    _require("an objective for these outputs", state.objective.n_outputs == objective.n_outputs)
    _require("an objective of this kind", state.objective.predicts == objective.predicts)
    _require("step sizes", *(0 < n < np.inf for n in (state.energy, state.smoothness, state.weight)))
    _check_models(state.models, state.objective, n_features)
    _require("a leader", state.lead in state.models.candidates)
    _check_units(state.units, n_features)
    _require("an order of labels", np.isfinite(state.order.pivot))
    _check_groups(state.order.groups, objective.n_outputs)
    _check_candidates(state.tried)
    _check_progressive(state.progressive, len(state.models.alive))


def _check_models(models: Models, objective: Objective, n_features: int) -> None:
    count, width, weights = models.n_models, models.n_models * objective.n_outputs, models.weights
    _require("models of the objective", models.objective == objective)
    _require("models of all rows", count > 0, models.folds == [ALL_ROWS] * count)
    _check_candidates(models.candidates)
    _require("weights", weights.dtype in LARGEST, weights.flags.c_contiguous, weights.shape == (n_features, 2 * width))
    _require("weights", np.isfinite(weights))
    _check_arrays((2, width), models.intercepts)
    _check_arrays((count, 4), models.numbers)
    _check_arrays((count, 5), models.plans)
    steps, plans = models.numbers[:, STEPS], models.plans
    _require("numbers of rows", steps >= 0, steps < NEVER, steps == np.floor(steps))
    _require("step sizes and penalties", plans[:, [STEP_SCALE, DECAY_ROWS, ALPHA]] >= 0)
    _require("plans", plans[:, LEAVES_OUT] == ALL_ROWS, np.isin(plans[:, RECORDS_LOSSES], (0, 1)))


def _check_candidates(candidates: Sequence[Candidate]) -> None:
    fit = (0 < found.multiplier < np.inf and 0 <= found.penalty < np.inf for found in candidates)
    _require("candidates", *fit, len(set(candidates)) == len(candidates))


def _check_units(units: Units, n_features: int) -> None:
    roles, scale = units.roles, units.scale
    _require("units of these features", units.n_features == n_features)
    _require("units", 0 <= units.n_dense <= n_features, units.n_dense > 0 or not units.centred)
    _require("units", 0 <= units.made_from <= units.rows < NEVER, 0 <= units.version < NEVER)
    _check_arrays((n_features,), units.firsts, units.squares, units.lift, scale)
    _check_arrays((units.n_dense,), units.pivot)
    _check_arrays((n_features if units.centred else 0,), units.shift)
    _require("units", roles.dtype == np.int32, roles.shape == (n_features,))
    _require("units", roles >= ENTRIES, roles <= max(LEVEL, n_features), np.isin(units.lift, (1.0, LIFT)))
    _require("units", scale >= 0, (scale == 0) | (scale >= SMALLEST_SCALE), units.squares >= 0)
    counts = units.firsts[units.n_dense :]
    _require("units", counts >= 0, counts <= units.rows, units.shift[units.n_dense :] == 0)
    _check_groups(units.groups, units.n_dense)


def _check_groups(groups: GroupMeans, width: int) -> None:
    _require("groups of rows", 0 <= groups.groups <= groups.rows < np.inf)
    _check_arrays((width if groups.groups else 0,), groups.sums, groups.squares, groups.between)


def _check_progressive(sums: ProgressiveLosses, count: int) -> None:
    _require("losses", 0 <= sums.rows < NEVER, np.isfinite([sums.unit, sums.weight, sums.heavy]))
    if sums.rows:
        _require("losses", sums.unit > 0, sums.weight > 0, sums.heavy > 0)
        _check_arrays((count,), sums.sums, sums.heavy_sums)
        _check_arrays((count, count), sums.products)


def _check_arrays(shape: tuple[int, ...], *arrays: Any) -> None:
    for array in arrays:
        _require(f"an array of shape {shape}", isinstance(array, np.ndarray) and array.shape == shape)
        _require("numbers", array.dtype == np.float64)
        _require("numbers", np.isfinite(array))


def _require(what: str, *conditions: Any) -> None:
    """Raise unless all conditions hold, which are truth values or arrays of them."""
    if not all(np.all(condition) for condition in conditions):
        raise ValueError(f"the state of a fit does not hold {what}, as this model needs")
