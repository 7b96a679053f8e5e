"""Candidates of the bank and their comparison: progressive losses, validation rows, the gain of more training.

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

from sgdone.interfaces.objective import Judgement, Model, mean, means, standard_error, standard_errors
from sgdone.sums.system import is_worse_than_constant


@final
@dataclass(frozen=True)
class Candidate:
    """A learning-rate multiplier and a penalty.

    Parameters
    ----------
    multiplier : float
        g, the learning-rate multiplier: steps are γ = g/(L·R)·(1 + t/(10R))^−½, with L the smoothness of the loss and R
        the typical ‖x‖² + 1 of a row.
    penalty : float
        a, that is α times the number of rows: the penalty is α = a/rows, unless the user gives α.
    """

    multiplier: float
    penalty: float


#: From small to large steps. After t rows a multiplier g acts like a penalty of order 1/(g·t), so that large steps go
#: with small penalties: other pairs were never better by more than noise.
CANDIDATES = (
    Candidate(0.25, 100.0),
    Candidate(1.0, 10.0),
    Candidate(4.0, 1.0),
    Candidate(16.0, 0.1),
    Candidate(64.0, 0.01),
)
#: The only candidate if there are too few rows to compare several.
DEFAULT_CANDIDATES = (CANDIDATES[2],)


#: Rows after which candidates are compared for the first time; then after twice as many, and so on.
FIRST_COMPARISON = 1024
#: Rows of a first pass after which larger steps are tried, and how many times as many it takes until the next time.
_LARGER_STEPS, _AGAIN = 8192, 4
#: Passes after which candidates are evaluated, for small and for large data: gains are estimated best between numbers
#: far apart, and a pass over large data is expensive.
_SMALL = frozenset({1, 2, 4, 8, 16, 32, 64, 100})
_LARGE = _SMALL | {3, 6, 12, 24, 48}


def most_candidates(passes: int, *, small: bool) -> int:
    """Largest number of candidates worth further passes: no limit at first, or if passes are cheap."""
    if small or passes < 2:
        return 1000
    return 2 if passes < 6 else 1


def next_in_stream(steps: int) -> int:
    """The next number of rows after which the candidates of a first pass are compared."""
    due = FIRST_COMPARISON
    while due <= steps:
        due *= 2
    return due


def is_due_in_stream(steps: int) -> bool:
    """Whether candidates are compared after this number of rows."""
    return steps >= FIRST_COMPARISON and next_in_stream(steps - 1) == steps


def is_time_for_larger_steps(steps: int) -> bool:
    """Whether larger steps are tried in a first pass after this number of rows, whatever was tried before.

    Examples
    --------
    >>> [steps for steps in (1024 * 2**k for k in range(16)) if is_time_for_larger_steps(steps)]
    [8192, 32768, 131072, 524288, 2097152, 8388608, 33554432]
    """
    due = _LARGER_STEPS
    while due < steps:
        due *= _AGAIN
    return due == steps


def is_due_after(passes: int, *, small: bool) -> bool:
    """Whether the candidates are evaluated at the end of a pass."""
    return passes in (_SMALL if small else _LARGE)


#: Rows of the first window whose norms set the step sizes.
ROWS_FOR_STEPS = 1024

#: Share of the first pass after which candidates are compared again only at its end: two comparisons close to each
#: other say nothing about what a whole pass gains.
LATE_IN_PASS = 0.75

#: Rows of a stream before its candidates are compared for the first time.
ENOUGH_ROWS = 256

#: Last pass after which other candidates are tried beside the leader.
LAST_BRANCH = 16

#: Penalties (times the number of rows) tried from the second pass on, if larger than the leader's.
LATER_PENALTIES = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
#: Factor between the learning-rate multiplier of the leader and the larger one tried beside it, and the largest tried.
LARGER_STEP, LARGEST_STEP = 4.0, 256.0
#: Factor of the penalty that goes with larger steps in a first pass.
SMALLER_PENALTY = 0.1
#: Bytes that the weights of new candidates may take.
MAX_BYTES = 1 << 28

#: In robust regression, losses are clipped at this many times their median where candidates are compared: a few distant
#: targets would otherwise drown every difference.
LOSS_CLIP = 30.0

#: Without validation rows, passes before the training loss is trusted.
BLIND_PASSES = 32

#: Rows that can be read again at no cost worth counting: the gain is extrapolated over at least this many.
CHEAP_ROWS = 32768

#: Standard errors of the loss that further passes must gain for the verdict to advise them: what is expected within the
#: first pass may be several times what further passes over the same rows gain.
GAIN_WORTH_ADVICE = 1.0

#: Standard errors by which an earlier model must be better to be returned instead of the last one.
Z_DOUBT = 2.0
#: Standard errors of the difference at which a candidate has lost, and the share of the best loss that it must exceed.
Z_LOST, LOST_SHARE = 3.0, 0.003
#: When a model that ``partial_fit`` continues is left: standard errors by which its loss on new rows must exceed that
#: of a constant prediction, and the factor. The first rows of a stream may leave a model somewhat worse, and starting
#: again each time would learn nothing; of a few rows only a very large factor is a sign, of fewer than five nothing is.
RESTART_LIMITS = ((3.0, 2.0), (1.5, 20.0))
FEWEST_TO_LEAVE = 5
#: Times the validation loss of a constant prediction that no model may have that is called converged, whatever the
#: error: a few rows with huge losses make the error as large as the loss.
TIMES_CONSTANT = 10.0
#: Standard errors of the difference within which two candidates are equally good.
Z_TIED = 1.0

#: Power of its number with which an iterate enters the average (Shamir & Zhang 2013).
AVERAGE_POWER = 3.0
#: τ/R of the step sizes γ₀/√(1 + t/τ), R the typical ‖x‖² + 1.
DECAY_FACTOR = 10.0


def clear_losers(losses: NDArray[np.float64], weights: NDArray[np.float64], lead: int) -> NDArray[np.bool_]:
    """Columns that are clearly worse than the leading one, by paired differences."""
    difference = losses - losses[:, [lead]]
    errors = standard_errors(difference, weights)
    return is_behind(means(difference, weights), errors, mean(losses[:, lead], weights))


def is_behind(behind_by: NDArray[np.float64], errors: NDArray[np.float64], best: float) -> NDArray[np.bool_]:
    """Whether differences to the best mean loss are clear, and large enough to matter."""
    behind: NDArray[np.bool_] = behind_by > np.maximum(Z_LOST * errors, LOST_SHARE * abs(best))
    return behind


def ties(losses: NDArray[np.float64], weights: NDArray[np.float64], lead: int) -> Sequence[int]:
    """Columns that cannot be told apart from the leading one."""
    difference = losses - losses[:, [lead]]
    tied = means(difference, weights) <= Z_TIED * standard_errors(difference, weights)
    return np.flatnonzero(tied).tolist()


def worth_keeping(losers: NDArray[np.bool_], lead: int, *, larger: bool = False) -> Sequence[int]:
    """Places of the candidates to keep; they are ordered from small to large steps.

    The best step size only falls as more rows are read, so that a loser with larger steps has lost for good; the
    candidate with the next smaller steps than the leader stays, because it may become the best. So does the one with
    the next ``larger`` steps where rare columns have hardly been trained by now.
    """
    return [k for k in range(losers.size) if not losers[k] or k == lead - 1 or (larger and k == lead + 1)]


@final
@dataclass
class ProgressiveLosses:
    """Sums over rows of v, vℓ, v², v²ℓ and v²ℓℓᵀ, v a weight and ℓ the losses of the candidates.

    They give the means of the losses and the standard errors of their differences.
    """

    rows: int = 0
    #: Unit of the losses, so that their squares stay finite.
    unit: float = 1.0
    weight: float = 0.0
    #: Σv², and Σv²ℓ below.
    heavy: float = 0.0
    sums: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    heavy_sums: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    products: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    def add(self, losses: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
        """Add rows; their losses have a column per candidate, always the same ones until `clear`."""
        if not self.rows:
            count = losses.shape[1]
            self.sums, self.heavy_sums, self.products = np.zeros(count), np.zeros(count), np.zeros((count, count))
            self.unit = float(np.abs(losses).max(initial=0.0)) or 1.0
        weighted = losses / self.unit * weights[:, None]
        self.rows += len(losses)
        self.weight += float(weights.sum())
        self.heavy += float((weights * weights).sum())
        self.sums += weighted.sum(axis=0)
        self.heavy_sums += (weighted * weights[:, None]).sum(axis=0)
        # NumPy's own sums: starting the threads of a BLAS would take longer.
        self.products += np.einsum("ij,ik->jk", weighted, weighted, optimize=False)

    def merge(self, other: "ProgressiveLosses") -> "ProgressiveLosses":
        """The sums over the rows of both."""
        unit = max(self.unit, other.unit)
        own, others = self.unit / unit, other.unit / unit
        return ProgressiveLosses(
            self.rows + other.rows,
            unit,
            self.weight + other.weight,
            self.heavy + other.heavy,
            own * self.sums + others * other.sums,
            own * self.heavy_sums + others * other.heavy_sums,
            own * own * self.products + others * others * other.products,
        )

    def clear(self) -> None:
        """Start again."""
        self.rows, self.weight, self.heavy = 0, 0.0, 0.0

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean loss of each candidate, in units of ``unit``."""
        return self.sums / self.weight

    @property
    def lead(self) -> int:
        """The place of the best candidate."""
        return int(np.argmin(self.means))

    def errors(self, lead: int) -> NDArray[np.float64]:
        """Standard errors of the differences between the candidates' means and the leader's."""
        squares = np.diag(self.products)
        difference = self.means - self.means[lead]
        scatter = squares - 2.0 * self.products[lead] + squares[lead]
        scatter += difference * (difference * self.heavy - 2.0 * (self.heavy_sums - self.heavy_sums[lead]))
        errors: NDArray[np.float64] = np.sqrt(np.maximum(scatter, 0.0)) / self.weight
        return errors

    def clear_losers(self) -> NDArray[np.bool_]:
        """Candidates that are clearly worse than the leader."""
        lead = self.lead
        return is_behind(self.means - self.means[lead], self.errors(lead), self.means[lead])

    @property
    def tied(self) -> list[int]:
        """Places of the candidates that cannot be told apart from the leader."""
        lead = self.lead
        return np.flatnonzero(self.means - self.means[lead] <= Z_TIED * self.errors(lead)).tolist()

    def copy(self) -> "ProgressiveLosses":
        """A copy that shares nothing that changes."""
        arrays = {name: getattr(self, name).copy() for name in ("sums", "heavy_sums", "products")}
        return replace(self, **arrays)


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
        earlier, now = (one.compared[:, one.candidates.index(candidate)] for one in (before, self))
        return np.asarray(earlier - now)


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
    #: Whether the gain was certainly below the tolerance at the last evaluation.
    certain: bool = False


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
    # Rows of another pass, or as many as were read if these are few.
    more = max(n_rows, min(now.steps, CHEAP_ROWS))
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
    losses = now.losses[:, now.lead]
    loss, constant = mean(losses, now.weights), mean(now.constant, now.weights)
    far_above = loss > TIMES_CONSTANT * constant
    return Judgement(
        loss,
        standard_error(losses, now.weights),
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
