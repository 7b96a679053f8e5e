"""Many models of the same rows, advancing together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.candidates import Candidate
from sgdone.auto.task import Task
from sgdone.data.rows import Scaling
from sgdone.data.source import Block
from sgdone.kernels.bank import ALL_ROWS, CLOCK, GAIN, LEAVES_OUT, OWN, PENALTY, SCALE, SHARE, STEPS, TOLD, make_bank
from sgdone.kernels.bank_rows import CSR, DENSE
from sgdone.solvers.stretch import LARGEST

#: The power of its number that an iterate weighs in the average.
DECAY = 3.0
#: τ/R, the clock of the steps γ₀/√(1 + t/τ).
_CLOCK = 10.0


class Advance(NamedTuple):
    """What a stretch of rows led to."""

    position: int
    outcome: int
    #: Of every row used (rows) and model (columns): the loss of the average before the row was learnt from; 0 for
    #: models of folds, unless nothing is learnt.
    losses: NDArray[np.float64]
    #: Of every model: the sum of errors over the rows.
    misses: NDArray[np.float64]


@final
@dataclass
class Bank:
    """Models, a column or more of weights each; a model is a candidate, and the fold that it does not learn from."""

    task: Task
    candidates: list[Candidate]
    folds: list[int]
    #: Features × 2·predictions: u of all models, then û (`sgdone.kernels.bank`).
    weights: NDArray[Any]
    intercepts: NDArray[np.float64]
    numbers: NDArray[np.float64]
    plans: NDArray[np.float64]

    @classmethod
    def at(
        cls,
        task: Task,
        candidates: Sequence[Candidate],
        dtype: np.dtype[Any],
        coef: NDArray[np.float64],
        intercept: NDArray[np.float64],
    ) -> "Bank":
        """All candidates at the same start: ``coef`` (outputs × features) in the units learnt in."""
        count = len(candidates)
        weights = np.tile(coef.T, (1, 2 * count)).astype(dtype)
        numbers = np.zeros((count, 4))
        numbers[:, [SCALE, OWN]] = 1.0
        plans = np.zeros((count, 5))
        plans[:, LEAVES_OUT] = ALL_ROWS
        plans[:, TOLD] = 1.0
        intercepts = np.tile(intercept, (2, count))
        return cls(task, list(candidates), [ALL_ROWS] * count, weights, intercepts, numbers, plans)

    @property
    def n_models(self) -> int:
        """Models alive, those of folds included."""
        return len(self.candidates)

    @property
    def steps(self) -> int:
        """Rows that the models without a fold have learnt from."""
        return int(self.numbers[:, STEPS].max(initial=0.0))

    def set_steps(self, smoothness: float, energy: float, weight: float, penalties: Sequence[float]) -> None:
        """Step sizes for rows of a typical ‖x‖² + 1 and weight, and the penalties α of the models."""
        self.plans[:, GAIN] = [candidate.gain / (smoothness * energy * weight) for candidate in self.candidates]
        self.plans[:, CLOCK] = _CLOCK * energy
        self.plans[:, PENALTY] = penalties

    def step_size(self, model: int) -> float:
        """The step size of a model at its next row."""
        gain, clock = self.plans[model, [GAIN, CLOCK]]
        return float(gain / np.sqrt(1.0 + (self.numbers[model, STEPS] + 1.0) / clock))

    def advance(self, block: Block, folds: NDArray[np.uint8], first: int, last: int, *, learn: bool = True) -> Advance:
        """Predict the rows ``block.order[first:last]`` and, unless told not to, learn from them."""
        rows, task = block.rows, self.task
        loss = task.loss
        loop = make_bank(
            DENSE if rows.access.vectors_first else CSR,
            task.make_outputs,
            loss.kernel.value,
            loss.kernel.implicit,
            rows.types,
        )
        losses = np.zeros((last - first, self.n_models))
        misses = np.zeros(self.n_models)
        width, dtype = self.weights.shape[1], self.weights.dtype
        position, used, outcome = loop(
            rows.arrays,
            block.labels,
            block.sample_weight,
            block.weight_stride,
            folds,
            block.order,
            block.upcoming,
            first,
            last,
            self.plans,
            np.array([float(task.fit_intercept), LARGEST[dtype], DECAY, float(learn)]),
            loss.parameters,
            self.weights,
            self.weights.reshape(-1),
            self.intercepts,
            self.numbers,
            losses,
            misses,
            np.empty(rows.n_features if rows.access.vectors_first else 0, dtype),
            np.empty(width, dtype),
            np.empty(width, dtype),
            np.empty((3, task.n_outputs)),
        )
        return Advance(position, outcome, losses[:used], misses)

    def solution(self, model: int, scaling: Scaling) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The average of a model in the user's units: weights (outputs × features) and intercepts."""
        outputs = self.task.n_outputs
        begin = model * outputs
        averages = self.n_models * outputs + begin
        own, share = self.numbers[model, [OWN, SHARE]]
        coef = own * self.weights[:, averages : averages + outputs].astype(np.float64)
        coef += share * self.weights[:, begin : begin + outputs]
        coef /= scaling.scale[:, None]
        intercept = self.intercepts[1, begin : begin + outputs].copy()
        if scaling.shift is not None:
            intercept -= scaling.shift @ coef
        return coef.T.copy(), intercept

    def set_solution(
        self, model: int, coef: NDArray[np.float64], intercept: NDArray[np.float64], scaling: Scaling
    ) -> None:
        """Make the iterate and the average of a model what is given in the user's units."""
        outputs = self.task.n_outputs
        begin = model * outputs
        averages = self.n_models * outputs + begin
        known = np.isfinite(scaling.scale)
        columns = (coef * np.where(known, scaling.scale, 0.0)).T
        self.weights[:, begin : begin + outputs] = self.weights[:, averages : averages + outputs] = columns
        self.numbers[model, [SCALE, OWN, SHARE]] = 1.0, 1.0, 0.0
        moved = 0.0 if scaling.shift is None else coef @ scaling.shift
        self.intercepts[:, begin : begin + outputs] = intercept + moved

    def change_units(self, old: Scaling, new: Scaling) -> None:
        """Say the same in other units: no prediction changes."""
        if old.shift is not None and new.shift is not None:
            moved = (new.shift - old.shift) / old.scale @ self.weights.astype(np.float64)
            half = moved.size // 2
            per_model = self.task.n_outputs
            scale, own, share = (np.repeat(self.numbers[:, k], per_model) for k in (SCALE, OWN, SHARE))
            self.intercepts[0] += scale * moved[:half]
            self.intercepts[1] += own * moved[half:] + share * moved[:half]
        with np.errstate(invalid="ignore"):
            ratio = new.scale / old.scale
        # A column without spread so far has no weight.
        ratio[~np.isfinite(old.scale)] = 0.0
        self.weights *= ratio.astype(self.weights.dtype)[:, None]

    def fork(self, n_folds: int) -> None:
        """Beside every model, one for each fold that does not learn from that fold's rows."""
        count = self.n_models
        self._select(np.tile(np.arange(count), 1 + n_folds))
        self.folds = [fold for fold in (ALL_ROWS, *range(n_folds)) for _ in range(count)]
        self.plans[:, LEAVES_OUT] = self.folds
        self.plans[count:, TOLD] = 0.0

    def hold_out(self) -> None:
        """Keep the rows of the only fold from all models, until they are forked."""
        self.folds = [0] * self.n_models
        self.plans[:, LEAVES_OUT] = 0.0

    @property
    def holds_out(self) -> bool:
        """Whether there are rows that no model learns from yet."""
        return ALL_ROWS not in self.folds

    def main(self, candidate: Candidate) -> int:
        """The model of a candidate that learns from the most rows: the first of its models."""
        return self.candidates.index(candidate)

    def branch(self, origin: Candidate, others: Sequence[Candidate]) -> None:
        """More candidates, which are where another one is now."""
        models = list(self.models_of(origin).values())
        count = self.n_models
        self._select(np.concatenate([np.arange(count), *[models] * len(others)]).astype(np.intp))
        for number, candidate in enumerate(others):
            begin = count + number * len(models)
            self.candidates[begin : begin + len(models)] = [candidate] * len(models)

    def tell_of(self, model: int) -> None:
        """From now on, have losses of one model alone."""
        self.plans[:, TOLD] = 0.0
        self.plans[model, TOLD] = 1.0

    def keep(self, candidates: Sequence[Candidate]) -> None:
        """Leave the other candidates' models behind."""
        self._select(np.array([k for k, found in enumerate(self.candidates) if found in candidates]))

    def leave_folds(self) -> None:
        """Keep the models that learn from all rows."""
        if not self.holds_out:
            self._select(np.array([k for k, fold in enumerate(self.folds) if fold == ALL_ROWS]))
        self.plans[:, TOLD] = 1.0

    def models_of(self, candidate: Candidate) -> dict[int, int]:
        """The models of a candidate by fold."""
        return {self.folds[k]: k for k, found in enumerate(self.candidates) if found == candidate}

    @property
    def alive(self) -> list[Candidate]:
        """The candidates that are left, in their order."""
        return list(dict.fromkeys(self.candidates))

    def copy(self) -> "Bank":
        """A copy that shares nothing that changes."""
        arrays = {name: getattr(self, name).copy() for name in ("weights", "intercepts", "numbers", "plans")}
        return replace(self, candidates=list(self.candidates), folds=list(self.folds), **arrays)

    def _select(self, models: NDArray[np.intp]) -> None:
        outputs = self.task.n_outputs
        columns = (models[:, None] * outputs + np.arange(outputs)).ravel()
        both = np.concatenate([columns, self.n_models * outputs + columns])
        self.weights = np.ascontiguousarray(self.weights[:, both])
        self.intercepts = self.intercepts[:, columns].copy()
        self.numbers, self.plans = self.numbers[models].copy(), self.plans[models].copy()
        self.candidates = [self.candidates[k] for k in models]
        self.folds = [self.folds[k] for k in models]
