"""One pass of the bank over each partition, from a common start: losses to choose by, and models to average."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.bank_state import raise_for_bad_row
from sgdone.bank.candidates import CANDIDATES, Candidate
from sgdone.bank.evaluation import ProgressiveLosses
from sgdone.bank.models import Models
from sgdone.cluster.label_coding import LabelCoding
from sgdone.cluster.partition import Partition
from sgdone.cluster.statistics import LabelSums, RowStatistics
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Model
from sgdone.kernels.bank import NO_FOLD
from sgdone.rows.preparation import InUnits
from sgdone.sums.constant_prediction import initial_intercept
from sgdone.sums.row_sum import SHARED, RowSum, message
from sgdone.sums.system import System
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
    """Ask for one pass of candidates over the rows.

    Parameters
    ----------
    system : System
        The objective, and the units of the columns.
    coding : LabelCoding
        The labels.
    candidates, alphas : tuple
        Candidates, and the penalty of each.
    smoothness, energy, weight : float
        Curvature of the loss, typical ‖x‖² + 1 and mean weight of a row, for the step sizes.
    intercept : ndarray
        Intercepts of the common start; its coefficients are 0.
    seed : int
        Draws the order of the rows, together with the number of the partition.
    models : {"each", "mean", "none"}
        Which models to send back.
    """

    system: System = field(metadata=SHARED)
    coding: LabelCoding = field(metadata=SHARED)
    candidates: tuple[Candidate, ...]
    alphas: tuple[float, ...]
    smoothness: float
    energy: float
    weight: float
    intercept: Array
    seed: int
    models: Returned

    def of(self, partition: Partition) -> BankSums:
        """Train the candidates on the rows in random order."""
        objective, scaling, source = self.system.objective, self.system.scaling, partition.source(self.coding)
        start = np.zeros((objective.n_outputs, self.system.n_features))
        models = Models.at(objective, self.candidates, source.rows.dtype, start, self.intercept)
        models.set_steps(self.smoothness, self.energy, self.weight, self.alphas)
        folds = np.full(partition.n_rows, NO_FOLD, dtype=np.uint8)
        in_units, losses = InUnits(scaling), ProgressiveLosses()
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


@final
@dataclass(frozen=True)
class Averaged:
    """The average of the chosen candidates, the best of them, and the progressive losses of all."""

    model: Model
    lead: Candidate
    losses: ProgressiveLosses


def average(
    system: System, coding: LabelCoding, statistics: RowStatistics, units: Units, seed: int
) -> Generator[RowSum, Any, Averaged]:
    """Train the bank on each partition, choose by the summed losses, and average by the weights of the rows."""
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
    chosen, lead = sums.losses.tied, CANDIDATES[sums.losses.lead]
    if request.models == "each":
        return Averaged(sums.mean_of(chosen), lead, sums.losses)
    candidates, own = tuple(CANDIDATES[k] for k in chosen), tuple(alphas[k] for k in chosen)
    trained: BankSums = yield replace(request, candidates=candidates, alphas=own, models="mean")
    return Averaged(trained.mean_of([0]), lead, sums.losses)


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
