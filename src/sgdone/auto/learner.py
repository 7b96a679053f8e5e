"""A bank at work: rows come, units are kept up to date, candidates are judged and left behind."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.bank import Bank
from sgdone.auto.candidates import FEWEST, Candidate
from sgdone.auto.folds import Folds
from sgdone.auto.gain import Look, limits
from sgdone.auto.judge import clear_losers, ties, worth_keeping
from sgdone.auto.order import LabelOrder
from sgdone.auto.refusal import refuse
from sgdone.auto.tally import Tally
from sgdone.auto.task import Task
from sgdone.auto.units import Units
from sgdone.data.preparation import InUnits
from sgdone.data.source import Block
from sgdone.kernels.bank import ALL_ROWS, PENALTY
from sgdone.losses.loss import Loss
from sgdone.measure import squared_norms, typical

#: Rows whose sizes make the step size.
_SIZED = 1024
#: Penalties that are tried from the second pass on, if larger than the leader's, unless they take so many bytes.
_PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
#: Losses of robust regression beyond so many times their median are cut to that where candidates are compared.
_FAR_AWAY = 30.0
#: How much bolder the steps are that are tried beside the leader's, and those beyond which none are.
_BOLDER, _BOLDEST = 4.0, 256.0
_MOST_MEMORY = 1 << 28


class Learnt(NamedTuple):
    """A loss, the penalty α on coefficients in the units learnt in, and whether there is an intercept."""

    loss: Loss
    alpha: float
    fit_intercept: bool
    dtype: np.dtype[Any]


@final
@dataclass
class Learner:
    """Everything that changes while a bank learns, and that it takes to go on."""

    task: Task
    #: The user's α; None leaves it to the candidates.
    alpha: float | None
    units: Units
    bank: Bank
    lead: Candidate
    order: LabelOrder = field(default_factory=LabelOrder)
    #: Candidates that were tried beside a leader, those left behind included.
    tried: list[Candidate] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    #: What a row costs a step: typical ‖x‖² + 1, and curvature.
    energy: float = 0.0
    smoothness: float = 1.0
    #: The mean weight of a row, which a penalty that is left to the fit goes with.
    weight: float = 1.0
    _in_units: tuple[int, InUnits] | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def over(
        cls,
        block: Block,
        window: NDArray[np.uint64],
        task: Task,
        alpha: float | None,
        start: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
        candidates: Sequence[Candidate],
        *,
        seen: NDArray[np.uint64],
        ordered: bool,
    ) -> "Learner":
        """A bank that has learnt nothing yet; its units are those of the rows seen, a window or more."""
        rows = block.rows
        dense = rows.access.vectors_first
        units = Units(dense, dense and task.fit_intercept, rows.n_features, ordered=ordered)
        units.observe(block, seen)
        units.renew()
        labels = block.labels[window]
        if start is None:
            coef, intercept = np.zeros((task.n_outputs, rows.n_features)), task.start(labels)
        else:
            coef, intercept = start
            scaling = units.scaling
            if scaling.shift is not None:
                intercept = intercept + coef @ scaling.shift
            coef = coef * np.where(np.isfinite(scaling.scale), scaling.scale, 0.0)
        bank = Bank.at(task, candidates, rows.dtype, coef, intercept)
        middle, smoothness = candidates[len(candidates) // 2], task.smoothness(labels)
        learner = cls(task, alpha, units, bank, middle, smoothness=smoothness)
        learner._size_up(learner.scaled(block), window)
        return learner

    def scaled(self, block: Block) -> Block:
        """The block in the units that are learnt in."""
        if self._in_units is None or self._in_units[0] != self.units.version:
            self._in_units = (self.units.version, InUnits(self.units.scaling))
        return self._in_units[1](block)

    def see(self, block: Block, window: NDArray[np.uint64]) -> None:
        """Take note of rows that are about to be learnt from; say the same in new units if it is time for them."""
        before = self.units.scaling
        self.units.observe(block, window)
        if self.units.renew():
            self.bank.change_units(before, self.units.scaling)
            self._size_up(self.scaled(block), window)
            if window.size >= FEWEST:
                self.smoothness = self.task.smoothness(block.labels[window])

    def set_penalties(self, n_rows: int) -> None:
        """Step sizes, and penalties that suit so many rows."""
        unit = self.weight * (self.smoothness if self.task.is_regression else 1.0)
        alphas = [
            self.alpha if self.alpha is not None else candidate.penalty * unit / n_rows
            for candidate in self.bank.candidates
        ]
        self.bank.set_steps(self.smoothness, self.energy, self.weight, alphas)

    @property
    def problem(self) -> Learnt:
        """What is minimised, now that the candidates have a leader."""
        penalty = float(self.bank.plans[self.model, PENALTY])
        return Learnt(self.task.loss, penalty, self.task.fit_intercept, self.bank.weights.dtype)

    @property
    def model(self) -> int:
        """The leading candidate's model that learns from all rows."""
        return self.bank.main(self.lead)

    @property
    def steps(self) -> int:
        """Rows learnt from."""
        return self.bank.steps

    def excess(self, loss: float, n_rows: int) -> float:
        """By how much the optimum on so many rows is expected to exceed the least loss there is, without a penalty.

        It is p/(2n) of a loss that is a negative log-likelihood with p parameters (Akaike 1974), and in units of the
        residuals' variance, twice the loss, where targets are predicted.
        """
        parameters = int(np.count_nonzero(self.units.scale)) * self.task.n_free_outputs
        return parameters / (2.0 * n_rows) * (2.0 * loss if self.task.is_regression else 1.0)

    def running(self) -> tuple[NDArray[np.float64], float]:
        """What rules that watch an iterate would ask for: none of them takes part."""
        return np.empty(0), 0.0

    def solution(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The leading candidate's average in the user's units."""
        return self.bank.solution(self.model, self.units.scaling)

    def blend(self, look: Look) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean of the candidates that noise cannot tell apart from the leader.

        The loss is convex: that of the mean is no larger than the mean of theirs, and usually smaller than the least.
        """
        alive = self.bank.alive
        chosen = [look.candidates[k] for k in ties(look.losses, look.weights, look.lead)]
        models = [self.bank.main(candidate) for candidate in chosen if candidate in alive]
        solutions = [self.bank.solution(model, self.units.scaling) for model in models]
        coef = np.mean([coef for coef, _ in solutions], axis=0)
        return coef, np.mean([intercept for _, intercept in solutions], axis=0)

    def note(self, losses: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        """Add up losses of rows that were predicted before they were learnt from."""
        self.tally.add(losses[:, [self.bank.main(candidate) for candidate in self.bank.alive]], weights)

    def judge_progress(self, *, drop: bool) -> None:
        """Find the leader from these losses; leave clear losers behind, and begin anew, if it is time for it."""
        if not self.tally.rows:  # rows of weight 0 alone have come since the last time
            return
        alive, place = self.bank.alive, self.tally.lead
        self.lead = alive[place]
        if drop:
            self._keep([alive[k] for k in worth_keeping(self.tally.clear_losers(), place)])
            self.tally.clear()

    def fork(self, folds: Folds, *, may_wait: bool) -> None:
        """Beside each model, those that leave out a fold; one fold alone may wait until the first pass is over."""
        if folds.count == 1 and may_wait:
            self.bank.hold_out()
        else:
            self.bank.fork(folds.count)

    def release(self, block: Block, folds: Folds) -> bool:
        """Let models learn from the rows that were held out: the last of the first pass. Whether there were any."""
        waited = self.bank.holds_out
        if waited:
            self.bank.fork(folds.count)
            held_out = replace(self.scaled(block), order=folds.rows, upcoming=folds.rows)
            refuse(held_out, self.bank.advance(held_out, folds.of_row, 0, folds.rows.size))
        return waited

    def look(self, block: Block, folds: Folds) -> Look:
        """Losses of all candidates on the rows of the folds, or on the rows of the block if there are none."""
        rows = folds.rows if folds.count else block.all_used()
        judged = replace(self.scaled(block), order=rows, upcoming=rows)
        found = self.bank.advance(judged, folds.of_row, 0, rows.size, learn=False)
        refuse(judged, found)
        alive = self.bank.alive
        losses = np.empty((rows.size, len(alive)))
        of_row = folds.of_row[rows] if folds.count else np.full(rows.size, ALL_ROWS)
        for place, candidate in enumerate(alive):
            for fold, model in self.bank.models_of(candidate).items():
                chosen = of_row == fold
                losses[chosen, place] = found.losses[chosen, model]
        if self.task.is_robust:
            # A few targets far away would make so much noise that nothing else could be told.
            losses = np.minimum(losses, _FAR_AWAY * np.median(losses, axis=0))
        return Look(self.bank.steps, alive, losses, block.weights_of(rows))

    def judge_look(self, before: Look | None, now: Look, most: int) -> None:
        """Find the leader from a look; leave behind who has lost and is not about to catch up, and all but so many."""
        self.lead = now.candidates[now.lead]
        if before is None or now.steps <= before.steps or len(now.candidates) == 1:
            return
        losers = clear_losers(now.losses, now.weights, now.lead)
        heading = limits(before, now)
        hopeless = heading > heading[now.lead]
        best = set(np.argsort(heading)[:most].tolist()) | {now.lead}
        self._keep([c for k, c in enumerate(now.candidates) if k in best and not (losers[k] and hopeless[k])])

    def branch(self, n_rows: int, *, bolder: bool, penalties: bool) -> None:
        """Beside the leader, what was not tried yet: bolder steps, larger penalties.

        Penalties begin to tell then; and steps that were too bold for the first rows may be the best for what is left.
        """
        lead, weights = self.lead, self.bank.weights
        others = [Candidate(_BOLDER * lead.gain, lead.penalty)] if bolder and lead.gain < _BOLDEST else []
        if penalties and self.alpha is None:
            others += [Candidate(lead.gain, a) for a in _PENALTIES if lead.penalty < a <= 100 * lead.penalty]
        others = [other for other in others if other not in self.tried and other not in self.bank.alive]
        share = len(others) * len(self.bank.models_of(lead)) / self.bank.n_models
        if others and share * weights.nbytes <= _MOST_MEMORY:
            self.bank.branch(lead, others)
            self.tried.extend(others)
            self.set_penalties(n_rows)

    def copy(self) -> "Learner":
        """A copy that shares nothing that changes."""
        parts = {name: getattr(self, name).copy() for name in ("units", "bank", "order", "tried", "tally")}
        return replace(self, **parts)

    def adopt(self, coef: NDArray[np.float64], intercept: NDArray[np.float64]) -> None:
        """Put the leader where the fit has ended, given in the user's units, so that going on begins there."""
        self.bank.set_solution(self.model, coef, intercept, self.units.scaling)

    def settle(self) -> None:
        """Leave the models of folds behind: they have done their work."""
        self.bank.leave_folds()

    def _keep(self, candidates: list[Candidate]) -> None:
        if len(candidates) < len(self.bank.alive):
            self.bank.keep(candidates)

    def _size_up(self, block: Block, window: NDArray[np.uint64]) -> None:
        """Step sizes for the typical row of a window, unless it is but a few rows of a stream that is known."""
        if self.energy and window.size < FEWEST:
            return
        energies = squared_norms(block.rows, window[:_SIZED]) + float(self.task.fit_intercept)
        # Weights may differ by any factor, and then a few rows carry all of the loss: their mean is what counts.
        self.weight = float(block.weights_of(window).mean())
        self.energy = typical(energies[np.isfinite(energies)]) or 1.0
