"""Budgets: limits on passes, samples and seconds; and a smallest number of passes."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

from sgdone.interfaces.stop_rule import NEVER, Pause, Progress, Status, Stop, StopRule
from sgdone.losses.loss import is_whole, real_or_nan


def _check(name: str, value: float) -> None:
    if not real_or_nan(value) > 0 or (isinstance(value, int) and math.isinf(real_or_nan(value))):
        raise ValueError(f"{name}={value!r} is not a positive number: give how many to allow")


def _passes_text(number: float, digits: int = 6) -> str:
    """A number of passes, without an exponent where a reader would rather see the number.

    Examples
    --------
    >>> _passes_text(0.12345, 3), _passes_text(1.2345), _passes_text(1e6), _passes_text(float("inf"))
    ('0.123', '1.2345', '1,000,000', 'inf')
    """
    is_whole = number >= 10**digits or number == int(number)
    return f"{number:,.0f}" if number < 1e9 and is_whole else f"{number:.{digits}g}"


class _PassCount(StopRule):
    """Rules about a number of passes over the rows: as a number of rows, if a pass has a known number of them."""

    passes: float

    def __post_init__(self) -> None:
        _check("passes", self.passes)

    @property
    def bounded(self) -> bool:
        """Whether the number of passes is finite."""
        return not math.isinf(self.passes)

    def start(self, n_rows: int | None) -> int | None:
        """Rows to read, if a pass has a known number of them."""
        return None if n_rows is None or not self.bounded else math.ceil(round(self.passes * n_rows, 6))

    def check(self, state: Any, n_features: int) -> None:
        """A number of rows, if it is known."""
        self.check_kind(state, object, holds=state is None or is_whole(state, 0))

    def next_pause(self, state: int | None) -> Pause:
        """The last of these rows."""
        return Pause(rows_read=NEVER if state is None else state)

    def describe(self, state: int | None, progress: Progress) -> str:
        """Number of passes made, and of those to make."""
        return f"has made {_passes_text(progress.passes, 3)} of {_passes_text(self.passes)} passes"

    def _are_made(self, state: int | None, progress: Progress) -> bool:
        if state is not None:
            return progress.rows_read >= state
        return progress.pass_ended and progress.pass_number >= self.passes


@final
@dataclass(frozen=True)
class MaxPasses(_PassCount):
    """Stop after a number of passes over the rows; part of a pass counts in rows, rounded up.

    Examples
    --------
    >>> MaxPasses(0)
    Traceback (most recent call last):
        ...
    ValueError: passes=0 is not a positive number: give how many to allow
    """

    passes: float = 1
    name: ClassVar[str] = "one_pass"
    is_budget: ClassVar[bool] = True

    @property
    def max_passes(self) -> int | None:
        """The number of passes, rounded up."""
        return max(1, math.ceil(self.passes)) if self.bounded else None

    def observe(self, state: int | None, progress: Progress) -> Stop | None:
        """Fire once the rows are read."""
        if not self._are_made(state, progress):
            return None
        unit = "pass" if self.passes == 1 else "passes"
        reason = f"{_passes_text(self.passes)} {unit} allowed and made"
        advice = (
            "" if progress.step else "No update was made, and the model is the one at the start: allow more passes."
        )
        return Stop("MaxPasses", Status.BUDGET_SPENT, reason, {"passes": self.passes}, advice)


@final
@dataclass(frozen=True)
class MinPasses(_PassCount):
    """Fires once a number of passes is made: ``Pflug() & MinPasses(1)`` stops no earlier than that.

    Examples
    --------
    >>> from sgdone.stopping import Pflug
    >>> Pflug() & MinPasses(1)
    Pflug(burn_in='auto') & MinPasses(passes=1)
    """

    passes: float = 1

    def observe(self, state: int | None, progress: Progress) -> Stop | None:
        """Fire once the rows are read."""
        if not self._are_made(state, progress):
            return None
        reason = f"at least {self.passes:g} pass{'' if self.passes == 1 else 'es'} made"
        return Stop("MinPasses", Status.BUDGET_SPENT, reason, {"passes": self.passes})


@final
@dataclass(frozen=True)
class MaxSamples(StopRule):
    """Stop after a number of updates."""

    samples: int
    is_budget: ClassVar[bool] = True
    bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check("samples", self.samples)
        if self.samples != self.samples // 1:
            raise ValueError(f"samples={self.samples!r} is not a whole number")

    def start(self, n_rows: int | None) -> None:
        """No state: the run counts."""

    def next_pause(self, state: Any) -> Pause:
        """The last update that may be made."""
        return Pause(step=int(self.samples))

    def observe(self, state: Any, progress: Progress) -> Stop | None:
        """Fire once the updates are made."""
        if progress.step < self.samples:
            return None
        reason = f"MaxSamples allows {self.samples:,}"
        return Stop("MaxSamples", Status.BUDGET_SPENT, reason, {"samples": self.samples})

    def describe(self, state: Any, progress: Progress) -> str:
        """Number of updates allowed."""
        return f"allows {self.samples:,}"


@final
@dataclass(frozen=True)
class MaxSeconds(StopRule):
    """Stop at the first block that ends after a number of seconds; where that is depends on the machine.

    They are the seconds of the whole fit. Models that are trained one after the other, one per class, share them: each
    may use an equal part of what the models before it have left.
    """

    seconds: float
    is_budget: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check("seconds", self.seconds)

    @property
    def bounded(self) -> bool:
        """Whether the number of seconds is finite."""
        return not math.isinf(self.seconds)

    def start(self, n_rows: int | None) -> "_Clock":
        """State in which no time is used."""
        return _Clock()

    def check(self, state: Any, n_features: int) -> None:
        """Check that the seconds are finite numbers."""
        self.check_kind(state, _Clock)
        used = state.this_run, state.earlier_runs
        self.check_kind(state, _Clock, holds=all(0 <= seconds < math.inf for seconds in used))

    def observe(self, state: "_Clock", progress: Progress) -> Stop | None:
        """Fire once the time is up; time between two calls of ``partial_fit`` does not count."""
        turn = progress.turn
        used = progress.seconds - turn.began
        if used < state.this_run:
            state.earlier_runs += state.this_run
        state.this_run = used
        left = self.seconds - turn.turns * state.earlier_runs - turn.began
        if used < left / (turn.turns - turn.number):
            return None
        reason = f"{self.seconds:g} seconds allowed and used"
        if turn.turns > 1:
            reason = f"its part of the {self.seconds:g} seconds allowed is used"
        return Stop("MaxSeconds", Status.BUDGET_SPENT, reason, {"seconds": self.seconds})

    def describe(self, state: "_Clock", progress: Progress) -> str:
        """Number of seconds used, and allowed."""
        used = progress.turn.turns * state.earlier_runs + progress.seconds
        return f"has used {used:.3g} of {self.seconds:g} seconds"


@dataclass
class _Clock:
    """Seconds used by one model in this run and in those that it continues."""

    this_run: float = 0.0
    earlier_runs: float = 0.0
