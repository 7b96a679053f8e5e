"""A minimum number of passes, to keep another rule from firing too early."""

from dataclasses import dataclass
from typing import Any, final

from sgdone.interfaces.stop_rule import Pause, Progress, Stop, StopRule
from sgdone.stopping.budget import MaxPasses


@final
@dataclass(frozen=True)
class MinPasses(StopRule):
    """Fires once a number of passes is made: ``Pflug() & MinPasses(1)`` stops no earlier than that.

    Examples
    --------
    >>> from sgdone.stopping import Pflug
    >>> Pflug() & MinPasses(1)
    Pflug(burn_in='auto') & MinPasses(passes=1)
    """

    passes: float = 1

    def __post_init__(self) -> None:
        self._as_budget()

    def _as_budget(self) -> MaxPasses:
        return MaxPasses(self.passes)

    @property
    def bounded(self) -> bool:
        """Whether the number of passes is finite."""
        return self._as_budget().bounded

    def start(self, n_rows: int | None) -> int | None:
        """Rows to be read, if a pass has a known number of them."""
        return self._as_budget().start(n_rows)

    def check(self, state: Any, n_features: int) -> None:
        """Check the state of the budget."""
        self._as_budget().check(state, n_features)

    def next_pause(self, state: int | None) -> Pause:
        """The last of those rows."""
        return self._as_budget().next_pause(state)

    def observe(self, state: int | None, progress: Progress) -> Stop | None:
        """Fire once the rows are read."""
        stop = self._as_budget().observe(state, progress)
        if stop is None:
            return None
        reason = f"at least {self.passes:g} pass{'' if self.passes == 1 else 'es'} made"
        return Stop("MinPasses", stop.status, reason, stop.evidence)

    def describe(self, state: int | None, progress: Progress) -> str:
        """Number of passes made."""
        return self._as_budget().describe(state, progress)
