"""Many models trained on the same rows, side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.evaluation import AVERAGE_POWER, DECAY_FACTOR, Candidate
from sgdone.interfaces.objective import Objective
from sgdone.kernels.bank import (
    ALL_ROWS,
    ALPHA,
    DECAY_ROWS,
    LEAVES_OUT,
    NO_FOLD,
    OWN,
    RECORDS_LOSSES,
    SCALE,
    SHARE,
    STEP_SCALE,
    STEPS,
    make_bank,
)
from sgdone.kernels.bank_rows import CSR, DENSE, MIXED
from sgdone.kernels.loop import make_loop
from sgdone.kernels.outputs import make_one_vs_rest, make_softmax, make_target, make_two_classes
from sgdone.machine.memory import check_training_memory
from sgdone.rows.rows import Block, Scaling
from sgdone.solvers.stretch import LARGEST, run_loop

_ACCESS = {"dense": DENSE, "sparse": CSR, "mixed": MIXED}
_OUTPUTS = {
    "target": make_target,
    "two_classes": make_two_classes,
    "one_vs_rest": make_one_vs_rest,
    "softmax": make_softmax,
}
#: Features that are copied at a time: a copy of all weights may not fit into memory.
_PIECE = 1 << 14


class Advance(NamedTuple):
    """Outcome of training on a chunk of rows."""

    position: int
    outcome: int
    #: Loss of the average of each model (columns) on each row used (rows), before training on it; 0 for models whose
    #: losses are not recorded.
    losses: NDArray[np.float64]
    #: Sum of errors over the rows, of each model.
    misses: NDArray[np.float64]


@final
@dataclass
class Models:
    """The models of all candidates, with one column of weights per score.

    A model belongs to a candidate, and does not train on the rows of its fold.
    """

    objective: Objective
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
        objective: Objective,
        candidates: Sequence[Candidate],
        dtype: np.dtype[Any],
        coef: NDArray[np.float64],
        intercept: NDArray[np.float64],
    ) -> "Models":
        """All candidates at the same start: ``coef`` (outputs × features) in the units of training."""
        count, (n_outputs, n_features) = len(candidates), coef.shape
        numbers = np.zeros((count, 4))
        numbers[:, [SCALE, OWN]] = 1.0
        plans = np.zeros((count, 5))
        plans[:, LEAVES_OUT] = ALL_ROWS
        plans[:, RECORDS_LOSSES] = 1.0
        weights = np.empty((n_features, 2 * count * n_outputs), dtype)
        weights.reshape(n_features, 2 * count, n_outputs)[:] = coef.T[:, None]
        intercepts = np.tile(intercept, (2, count))
        return cls(objective, list(candidates), [ALL_ROWS] * count, weights, intercepts, numbers, plans)

    @property
    def n_models(self) -> int:
        """Number of models, including the models of folds."""
        return len(self.candidates)

    @property
    def steps(self) -> int:
        """Rows that the models without a fold were trained on."""
        return int(self.numbers[:, STEPS].max(initial=0.0))

    def set_steps(self, smoothness: float, energy: float, weight: float, alphas: Sequence[float]) -> None:
        """Step sizes for rows of a typical ‖x‖² + 1 and weight, and the penalties α of the models."""
        self.plans[:, STEP_SCALE] = [
            candidate.multiplier / (smoothness * energy * weight) for candidate in self.candidates
        ]
        self.plans[:, DECAY_ROWS] = DECAY_FACTOR * energy
        self.plans[:, ALPHA] = alphas

    def step_size(self, model: int) -> float:
        """The step size of a model at its next row."""
        gain, decay_rows = self.plans[model, [STEP_SCALE, DECAY_ROWS]]
        return float(gain / np.sqrt(1.0 + (self.numbers[model, STEPS] + 1.0) / decay_rows))

    def advance(self, block: Block, folds: NDArray[np.uint8], first: int, last: int, *, learn: bool = True) -> Advance:
        """Predict the rows ``block.order.rows[first:last]`` and, if ``learn``, train on them."""
        rows, objective, kernel = block.rows, self.objective, self.objective.loss.kernel
        functions = _OUTPUTS[objective.predicts], kernel.value, kernel.implicit
        losses = np.zeros((last - first, self.n_models))
        misses = np.zeros(self.n_models)
        width, dtype = self.weights.shape[1], self.weights.dtype
        row = np.empty(rows.n_dense + (width if rows.storage == "mixed" else 0), dtype)
        room = row, np.empty(width, dtype), np.empty(width if learn else 0, dtype), np.empty((3, objective.n_outputs))
        ran = run_loop(
            block,
            first,
            last,
            last - first,
            make_loop(_ACCESS[rows.storage], make_bank, functions, rows.types),
            [float(objective.fit_intercept), LARGEST[dtype], AVERAGE_POWER],
            objective.loss.parameters,
            self.weights,
            self.weights.reshape(-1),
            np.empty(0),
            (*room, folds, self.plans, self.intercepts, self.numbers, losses, misses),
        )
        return Advance(ran.position, ran.outcome, losses[: ran.updates], misses)

    def solution(self, model: int, scaling: Scaling) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The average of a model in the user's units: weights (outputs × features) and intercepts."""
        return self.mean_solution([model], scaling)

    def mean_solution(self, models: Sequence[int], scaling: Scaling) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean of the averages of some models in the user's units."""
        coef, intercept = np.empty((len(self.weights), self.objective.n_outputs)), self._intercept(models)
        for rows in _pieces(len(self.weights)):
            coef[rows] = self._average(models, rows)
        return scaling.to_user(coef, intercept, out=coef)

    def mean_of(self, candidates: Sequence[Candidate], fold: int | None = None) -> "Models":
        """The mean of the averages of some candidates that leave out a fold, as a single model.

        By default it is the mean of the models that train on the most rows.
        """
        models = [self.main(found) if fold is None else self.models_of(found)[fold] for found in candidates]
        nothing = np.broadcast_to(0.0, (self.objective.n_outputs, len(self.weights)))
        mean = Models.at(self.objective, [candidates[0]], self.weights.dtype, nothing, self._intercept(models))
        both = mean.weights.reshape(len(self.weights), 2, self.objective.n_outputs)
        for rows in _pieces(len(self.weights)):
            both[rows] = self._average(models, rows)[:, None]
        return mean

    def shrink(self, share: float, intercept: NDArray[np.float64]) -> None:
        """Multiply weights and intercepts by ``share``, and add 1 − ``share`` times other intercepts of all models."""
        self.weights *= self.weights.dtype.type(share)
        self.intercepts *= share
        self.intercepts += (1.0 - share) * intercept

    def losses(self, block: Block, of_row: NDArray[np.uint8]) -> tuple[Advance, NDArray[np.float64]]:
        """Losses of the candidates (columns) on the rows in order: of the model that left out the row's fold."""
        found = self.advance(block, of_row, 0, block.order.size, learn=False)
        losses = np.full((len(found.losses), len(self.alive)), np.nan)
        folds = of_row[block.order.rows[: len(losses)]]
        for place, candidate in enumerate(self.alive):
            for fold, model in self.models_of(candidate).items():
                chosen = folds == (NO_FOLD if fold == ALL_ROWS else fold)
                losses[chosen, place] = found.losses[chosen, model]
        return found, losses

    def set_solution(
        self, model: int, coef: NDArray[np.float64], intercept: NDArray[np.float64], scaling: Scaling
    ) -> None:
        """Set the iterate and the average of a model to coefficients given in the user's units."""
        outputs = self.objective.n_outputs
        begin = model * outputs
        averages = self.n_models * outputs + begin
        scaled, self.intercepts[:, begin : begin + outputs] = scaling.from_user(coef, intercept)
        self.weights[:, begin : begin + outputs] = self.weights[:, averages : averages + outputs] = scaled
        self.numbers[model, [SCALE, OWN, SHARE]] = 1.0, 1.0, 0.0

    def change_units(self, old: Scaling, new: Scaling) -> None:
        """Convert the weights to other units: no prediction changes."""
        if old.shift is not None and new.shift is not None:
            moved = (new.shift - old.shift) / old.scale @ self.weights.astype(np.float64, copy=False)
            half = moved.size // 2
            per_model = self.objective.n_outputs
            scale, own, share = (np.repeat(self.numbers[:, k], per_model) for k in (SCALE, OWN, SHARE))
            self.intercepts[0] += scale * moved[:half]
            self.intercepts[1] += own * moved[half:] + share * moved[:half]
        for rows in _pieces(len(self.weights)):
            with np.errstate(invalid="ignore"):
                ratio = new.scale[rows] / old.scale[rows]
            # A column without spread so far has no weight.
            ratio[~np.isfinite(old.scale[rows])] = 0.0
            self.weights[rows] *= ratio.astype(self.weights.dtype)[:, None]

    def append_features(self, count: int) -> None:
        """Add features whose weights are 0."""
        size = (len(self.weights) + count) * self.weights.shape[1] * self.weights.itemsize
        check_training_memory(size, len(self.weights) + count, self.objective.n_outputs)
        self._resize(len(self.weights) + count, self.weights.shape[1])

    def at_columns(self, columns: NDArray[np.int64], n_features: int) -> "Models":
        """The models with their features as some of ``n_features`` columns; the weights of the others are 0."""
        size = n_features * self.weights.shape[1] * self.weights.itemsize
        check_training_memory(size, n_features, self.objective.n_outputs)
        weights = np.zeros((n_features, self.weights.shape[1]), self.weights.dtype)
        weights[columns] = self.weights[: columns.size]
        return replace(self, weights=weights)

    def fork(self, n_folds: int) -> None:
        """Add to every model one per fold that does not train on that fold's rows."""
        count = self.n_models
        self._select(np.tile(np.arange(count), 1 + n_folds))
        self.folds = [fold for fold in (ALL_ROWS, *range(n_folds)) for _ in range(count)]
        self.plans[:, LEAVES_OUT] = self.folds
        self.plans[count:, RECORDS_LOSSES] = 0.0

    def hold_out(self) -> None:
        """Let no model train on the rows of the only fold, until `fork`."""
        self.folds = [0] * self.n_models
        self.plans[:, LEAVES_OUT] = 0.0

    @property
    def holds_out(self) -> bool:
        """Whether there are rows that no model trains on yet."""
        return ALL_ROWS not in self.folds

    def main(self, candidate: Candidate) -> int:
        """The model of a candidate that trains on the most rows: the first of its models."""
        return self.candidates.index(candidate)

    def branch(self, origin: Candidate, others: Sequence[Candidate]) -> None:
        """Add candidates that start where another one is now."""
        models = list(self.models_of(origin).values())
        count = self.n_models
        self._select(np.concatenate([np.arange(count), *[models] * len(others)]).astype(np.intp))
        for number, candidate in enumerate(others):
            begin = count + number * len(models)
            self.candidates[begin : begin + len(models)] = [candidate] * len(models)

    def record_losses_of(self, model: int) -> None:
        """Record the losses of one model only."""
        self.plans[:, RECORDS_LOSSES] = 0.0
        self.plans[model, RECORDS_LOSSES] = 1.0

    def keep(self, candidates: Sequence[Candidate]) -> None:
        """Drop the models of all other candidates."""
        self._select(np.array([k for k, found in enumerate(self.candidates) if found in candidates]))

    def drop_fold_models(self) -> None:
        """Keep the models that train on all rows."""
        if self.holds_out:
            self.folds = [ALL_ROWS] * self.n_models
            self.plans[:, LEAVES_OUT] = ALL_ROWS
        else:
            self._select(np.array([k for k, fold in enumerate(self.folds) if fold == ALL_ROWS]))
        self.plans[:, RECORDS_LOSSES] = 1.0

    def models_of(self, candidate: Candidate) -> dict[int, int]:
        """The models of a candidate by fold."""
        return {self.folds[k]: k for k, found in enumerate(self.candidates) if found == candidate}

    @property
    def alive(self) -> list[Candidate]:
        """The remaining candidates, in their order."""
        return list(dict.fromkeys(self.candidates))

    def copy(self) -> "Models":
        """A copy that shares nothing that changes."""
        arrays = {name: getattr(self, name).copy() for name in ("weights", "intercepts", "numbers", "plans")}
        return replace(self, candidates=list(self.candidates), folds=list(self.folds), **arrays)

    def _average(self, models: Sequence[int], rows: slice) -> NDArray[np.float64]:
        """The mean of the averages of some models in the units of training, of some features: features × outputs."""
        outputs = self.objective.n_outputs
        mean = np.zeros((len(self.weights[rows]), outputs))
        for model in models:
            begin = model * outputs
            averages = self.n_models * outputs + begin
            own, share = self.numbers[model, [OWN, SHARE]]
            coef = own * self.weights[rows, averages : averages + outputs].astype(np.float64)
            coef += share * self.weights[rows, begin : begin + outputs]
            mean += coef / len(models)
        return mean

    def _intercept(self, models: Sequence[int]) -> NDArray[np.float64]:
        """The mean of the intercepts of the averages of some models."""
        outputs, mean = self.objective.n_outputs, np.zeros(self.objective.n_outputs)
        for model in models:
            mean += self.intercepts[1, model * outputs : (model + 1) * outputs] / len(models)
        return mean

    def _select(self, models: NDArray[np.intp]) -> None:
        outputs = self.objective.n_outputs
        columns = (models[:, None] * outputs + np.arange(outputs)).ravel()
        both = np.concatenate([columns, self.n_models * outputs + columns])
        if len(models) > self.n_models:
            size = len(self.weights) * both.size * self.weights.itemsize
            check_training_memory(size, len(self.weights), outputs)
        self._take(both)
        self.intercepts = self.intercepts[:, columns].copy()
        self.numbers, self.plans = self.numbers[models].copy(), self.plans[models].copy()
        self.candidates = [self.candidates[k] for k in models]
        self.folds = [self.folds[k] for k in models]

    def _take(self, columns: NDArray[np.intp]) -> None:
        """Replace the columns of the weights by some of them, or by copies, without a second array of their size."""
        count, before, after = *self.weights.shape, columns.size
        if after > before:
            self._resize(count, after)
        old, new = (self.weights.reshape(-1)[: count * width].reshape(count, width) for width in (before, after))
        pieces = list(_pieces(count))
        for rows in reversed(pieces) if after > before else pieces:  # no feature is overwritten before it is moved
            new[rows] = old[rows][:, columns]
        del old, new
        if after < before:
            self._resize(count, after)

    def _resize(self, *shape: int) -> None:
        """Change the shape of the weights: present values stay in memory, and zeros follow."""
        try:
            self.weights.resize(shape)
        except ValueError:  # the array is in use elsewhere, or a view
            weights = np.zeros(shape, self.weights.dtype)
            size = min(weights.size, self.weights.size)
            weights.reshape(-1)[:size] = self.weights.reshape(-1)[:size]
            self.weights = weights


def _pieces(count: int) -> Iterator[slice]:
    """Slices of ``count`` features, a piece at a time."""
    return (slice(first, first + _PIECE) for first in range(0, count, _PIECE))
