"""What going on could still gain, and whether that is worth anything beside the noise of the loss itself.

The loss of an average falls towards its limit as 1/t with the number t of rows learnt from. Between two looks, at s and
t rows, it has fallen by c(1/s − 1/t); m more rows gain c(1/t − 1/(t + m)), and all rows to come c/t. What is asked for
is the gain of another pass or, where passes are cheap, of as many again: after many of them one more gains nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.candidates import Candidate
from sgdone.auto.judge import mean, means, standard_error

#: So many rows are read again without a second thought.
_CHEAP = 32768
#: Standard errors by which a model of before must be better to be taken back, or a gain be below a limit, to be sure.
_DOUBT = 2.0


@final
@dataclass(frozen=True)
class Look:
    """Losses of the candidates (columns) on rows that their judged models have not learnt from."""

    steps: int
    candidates: Sequence[Candidate]
    losses: NDArray[np.float64]
    weights: NDArray[np.float64]

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """The mean loss of each candidate."""
        return means(self.losses, self.weights)

    @cached_property
    def lead(self) -> int:
        """The place of the best candidate."""
        return int(np.argmin(self.means))

    def is_worse_than(self, other: "Look") -> bool:
        """Whether the leader of another look was better, by more than the noise of the difference."""
        difference = self.losses[:, self.lead] - other.losses[:, other.lead]
        return mean(difference, self.weights) > _DOUBT * standard_error(difference, self.weights)

    def fallen(self, before: "Look", candidate: Candidate) -> NDArray[np.float64]:
        """By how much the loss of each row has fallen since another look."""
        difference: NDArray[np.float64] = (
            before.losses[:, before.candidates.index(candidate)] - self.losses[:, self.candidates.index(candidate)]
        )
        return difference


@final
@dataclass(frozen=True)
class Outlook:
    """What going on is expected to gain, beside the noise of the loss."""

    loss: float
    #: Standard error of the loss, as if measured on all rows read.
    noise: float
    #: By how many more passes.
    passes: float
    gain: float
    gain_error: float

    @property
    def in_errors(self) -> float:
        """The gain in standard errors of the loss."""
        return self.gain / self.noise if self.noise > 0 else (np.inf if self.gain > 0 else 0.0)

    def surely_below(self, tol: float) -> bool:
        """Whether the gain is below so many standard errors of the loss, its own error allowed for."""
        return self.gain + _DOUBT * self.gain_error < tol * self.noise


def outlook(before: Look, now: Look, n_rows: int) -> Outlook:
    """What another pass over ``n_rows`` rows, or as many again, would gain, whichever candidate is then the best."""
    loss = float(now.means[now.lead])
    best, error = np.inf, 0.0
    for place, candidate in enumerate(now.candidates):
        if candidate not in before.candidates:
            continue
        factor = _as_much_again(before.steps, now.steps, n_rows)
        fallen = now.fallen(before, candidate)
        expected = float(now.means[place]) - factor * mean(fallen, now.weights)
        if expected < best:
            best, error = expected, factor * standard_error(fallen, now.weights)
    noise = standard_error(now.losses[:, now.lead], now.weights, min(now.steps, n_rows))
    return Outlook(loss, noise, _further(now.steps, n_rows) / n_rows, max(0.0, loss - best), error)


def limits(before: Look, now: Look) -> NDArray[np.float64]:
    """The losses that the candidates are heading for (of those that were not there before, they are at)."""
    ahead = _all_passes(before.steps, now.steps)
    found = now.means.copy()
    for place, candidate in enumerate(now.candidates):
        if candidate in before.candidates:
            found[place] -= ahead * max(mean(now.fallen(before, candidate), now.weights), 0.0)
    return found


def _all_passes(before: int, now: int) -> float:
    return before / (now - before)


def _further(now: int, n_rows: int) -> int:
    """The rows of another pass, or of as many again if they are few."""
    return max(n_rows, min(now, _CHEAP))


def _as_much_again(before: int, now: int, n_rows: int) -> float:
    more = _further(now, n_rows)
    return _all_passes(before, now) * more / (now + more)
