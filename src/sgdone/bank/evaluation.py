"""Evaluations on validation rows: the best model so far, and what further training would gain.

The loss of an average falls towards its limit as 1/t with the number t of rows trained on. Between two evaluations, at
s and t rows, it has fallen by c(1/s − 1/t); m more rows gain c(1/t − 1/(t + m)), and all rows to come c/t. The gain is
that of another pass or, where passes are cheap, of as many passes as were made: after many of them one more gains
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.bank.candidates import Candidate
from sgdone.bank.comparison import ties
from sgdone.bank.constants import CHEAP_ROWS, LOSS_CLIP, TIMES_CONSTANT, Z_DOUBT
from sgdone.interfaces.measured import mean, means, standard_error
from sgdone.interfaces.progress import Judgement, Model
from sgdone.sums.constant_prediction import is_worse_than_constant


@final
@dataclass(frozen=True)
class Evaluation:
    """Losses of the candidates (columns) on validation rows, by models that were not trained on these."""

    steps: int
    candidates: Sequence[Candidate]
    losses: NDArray[np.float64]
    weights: NDArray[np.float64]
    #: Losses of a constant prediction of the same rows.
    constant: NDArray[np.float64]
    #: Whether large losses are clipped where candidates are compared.
    clipped: bool = False
    #: Numbers of the rows in their source, if other evaluations may be on other rows.
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @cached_property
    def compared(self) -> NDArray[np.float64]:
        """The losses by which candidates are compared."""
        return np.minimum(self.losses, LOSS_CLIP * np.median(self.losses, axis=0)) if self.clipped else self.losses

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Mean loss of each candidate."""
        return means(self.compared, self.weights)

    @property
    def tied(self) -> list[Candidate]:
        """The candidates that cannot be told apart from the best one."""
        return [self.candidates[k] for k in ties(self.compared, self.weights, self.lead)]

    @cached_property
    def lead(self) -> int:
        """Place of the best candidate."""
        return int(np.argmin(self.means))

    def is_worse_than(self, other: "Evaluation") -> bool:
        """Whether the leader of another evaluation was better, by more than the noise of the difference."""
        before, now = on_common_rows(other, self)
        difference = now.compared[:, self.lead] - before.compared[:, other.lead]
        return mean(difference, now.weights) > Z_DOUBT * standard_error(difference, now.weights)

    def at(self, rows: NDArray[np.intp]) -> "Evaluation":
        """The evaluation on some of the rows."""
        return replace(
            self,
            losses=self.losses[rows],
            weights=self.weights[rows],
            constant=self.constant[rows],
            numbers=self.numbers[rows],
        )

    def decrease_since(self, before: "Evaluation", candidate: Candidate) -> NDArray[np.float64]:
        """Decrease of the loss of each row since another evaluation."""
        difference: NDArray[np.float64] = (
            before.compared[:, before.candidates.index(candidate)] - self.compared[:, self.candidates.index(candidate)]
        )
        return difference


@final
@dataclass
class Evaluations:
    """The last evaluation, the best one with its model, and the judgement that follows from them."""

    #: Losses of a constant prediction of the validation rows.
    constant: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    last: Evaluation | None = None
    #: The evaluation before the last, within the first pass over rows whose number is not known.
    earlier: Evaluation | None = None
    best: Evaluation | None = None
    best_model: Model | None = None
    judgement: Judgement | None = None


def on_common_rows(before: Evaluation, now: Evaluation) -> tuple[Evaluation, Evaluation]:
    """Two evaluations on the rows that both have: validation rows of a stream change while it is read."""
    if np.array_equal(before.numbers, now.numbers):
        return before, now
    _, first, second = np.intersect1d(before.numbers, now.numbers, assume_unique=True, return_indices=True)
    return before.at(first), now.at(second)


def judge(before: Evaluation, now: Evaluation, n_rows: int) -> Judgement:
    """The loss of the best candidate, and the gain of another pass over ``n_rows`` rows, whichever is then the best.

    New candidates do not count: they have no earlier evaluation to extrapolate from.
    """
    loss = float(now.means[now.lead])
    more = _further_rows(now.steps, n_rows)
    share = _decrease_to_come(before.steps, now.steps) * more / (now.steps + more)
    best, error = np.inf, 0.0
    before, common = on_common_rows(before, now)
    for place, candidate in enumerate(now.candidates):
        if candidate not in before.candidates:
            continue
        decrease = common.decrease_since(before, candidate)
        expected = float(now.means[place]) - share * mean(decrease, common.weights)
        if expected < best:
            best, error = expected, share * standard_error(decrease, common.weights)
    noise = standard_error(now.compared[:, now.lead], now.weights, min(now.steps, n_rows))
    measured = measure(now)
    return replace(measured, gain=max(0.0, loss - best), gain_error=error, passes=more / n_rows, noise=noise)


def measure(now: Evaluation) -> Judgement:
    """Loss of the best candidate and its standard error; the gain of further passes is not known."""
    losses, unknown = now.losses[:, now.lead], float("nan")
    loss, constant = mean(losses, now.weights), mean(now.constant, now.weights)
    far_above = loss > TIMES_CONSTANT * constant
    return Judgement(
        loss,
        standard_error(losses, now.weights),
        gain=unknown,
        gain_error=unknown,
        passes=unknown,
        noise=unknown,
        constant_loss=constant,
        beats_constant=not far_above and not is_worse_than_constant(losses, now.constant, now.weights),
    )


def limits(before: Evaluation, now: Evaluation) -> NDArray[np.float64]:
    """The losses that the candidates converge to; for new candidates, their present losses."""
    ahead = _decrease_to_come(before.steps, now.steps)
    found = now.means.copy()
    before, common = on_common_rows(before, now)
    for place, candidate in enumerate(now.candidates):
        if candidate in before.candidates:
            found[place] -= ahead * max(mean(common.decrease_since(before, candidate), common.weights), 0.0)
    return found


def _decrease_to_come(before: int, now: int) -> float:
    """Ratio of the gain of all rows to come to the gain of the rows between two evaluations."""
    return before / (now - before)


def _further_rows(now: int, n_rows: int) -> int:
    """Rows of another pass, or as many as were read if these are few."""
    return max(n_rows, min(now, CHEAP_ROWS))
