"""Candidates of the default fit: those tried, when they are compared, and the constants of their comparison."""

from dataclasses import dataclass
from typing import final


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
        a: the penalty is α = a/rows, unless the user gives α.
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
PLAIN = (CANDIDATES[2],)


#: Rows after which candidates are compared for the first time; then after twice as many, and so on.
FIRST = 1024
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
    due = FIRST
    while due <= steps:
        due *= 2
    return due


def is_due_in_stream(steps: int) -> bool:
    """Whether candidates are compared after this number of rows."""
    return steps >= FIRST and next_in_stream(steps - 1) == steps


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
LATER_PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
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
LOST = ((3.0, 2.0), (1.5, 20.0))
FEWEST_TO_LEAVE = 5
#: Times the validation loss of a constant prediction that no model may have that is called converged, whatever the
#: error: a few rows with huge losses make the error as large as the loss.
TIMES_CONSTANT = 10.0
#: Standard errors of the difference within which two candidates are equally good.
Z_TIED = 1.0

#: Power of its number with which an iterate enters the average (Shamir & Zhang 2013).
AVERAGE_POWER = 3.0
#: τ/R of the step sizes γ₀/√(1 + t/τ), R the typical ‖x‖² + 1.
CLOCK = 10.0
