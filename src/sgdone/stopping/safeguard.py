"""The budget of a rule that may never fire."""

from dataclasses import dataclass, field
from typing import final

from sgdone.stopping.base import Look, Progress, Stop, StopRule
from sgdone.stopping.budget import MaxPasses


@final
@dataclass(frozen=True)
class Safeguard(StopRule):
    """As many passes as nobody needs; it speaks up only when they are spent."""

    budget: MaxPasses = field(default_factory=lambda: MaxPasses(100))

    @property
    def bounded(self) -> bool:
        """As the budget."""
        return self.budget.bounded

    @property
    def at_looks_alone(self) -> bool:
        """As the budget."""
        return self.budget.at_looks_alone

    def start(self, n_rows: int | None) -> int | None:
        """As the budget."""
        return self.budget.start(n_rows)

    def next_look(self, state: int | None) -> Look:
        """As the budget."""
        return self.budget.next_look(state)

    def observe(self, state: int | None, progress: Progress) -> Stop | None:
        """As the budget."""
        return self.budget.observe(state, progress)

    def says(self, state: int | None, progress: Progress) -> str:
        """Nothing: the user did not ask for it."""
        return ""

    @property
    def label(self) -> str:
        """None."""
        return ""
