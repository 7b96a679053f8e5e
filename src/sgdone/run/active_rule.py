"""A stopping rule during a run: its state, the rows it holds out, and a budget if it may never fire."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

from sgdone.interfaces.progress import Pause, Progress
from sgdone.interfaces.stop import Stop
from sgdone.interfaces.stop_rule import StopRule, Watch
from sgdone.rows.rows import Rows
from sgdone.rows.source import check_rows
from sgdone.rows.stream import Stream
from sgdone.stopping.budget import MaxPasses


@final
class ActiveRule:
    """A rule with its state.

    Parameters
    ----------
    rule : StopRule
        The user's rule. One that may never fire gets a budget of 100 passes, unless the rows are part of a stream.
    stream : Stream
        Where rows are held out for the rule.
    state : Any
        The state that another run left; None starts the rule.
    bounded : bool
        Whether the method is certain to end by itself.
    passes_before : int
        Passes of earlier phases, which the budget of 100 passes does not count.
    """

    def __init__(
        self, rule: StopRule, stream: Stream, state: Any = None, *, bounded: bool = False, passes_before: int = 0
    ) -> None:
        self._has_budget = not (bounded or rule.bounded or stream.source.part_of_stream)
        self.rule = rule | _Safeguard(MaxPasses(100 + passes_before)) if self._has_budget else rule
        if state is None:
            self.state = self.rule.start(stream.n_rows)
            self._hold_out(stream)
        elif self._has_budget:
            self.state = self.rule.start(stream.n_rows)
            self.state.states[0] = state
        else:
            self.state = state

    def _hold_out(self, stream: Stream) -> None:
        if self.rule.hold_out:
            held = stream.hold_out(self.rule.hold_out)
            check_rows(stream.block, held.rows)
            self.rule.validate_on(self.state, held.X, held.labels)

    @property
    def own_state(self) -> Any:
        """The state of the user's rule."""
        return self.state.states[0] if self._has_budget else self.state

    def next_pause(self) -> Pause:
        """The next point at which the rule must be called."""
        return self.rule.next_pause(self.state)

    def watches(self, rows: Rows) -> tuple[Watch, ...]:
        """Checks that the loop must make at every sample."""
        return self.rule.watches(self.state, rows)

    def observe(self, progress: Progress) -> Stop | None:
        """The reason to stop, if there is one."""
        return self.rule.observe(self.state, progress)


@final
@dataclass(frozen=True)
class _Safeguard(StopRule):
    """A budget that the user did not give: it is mentioned only when it is spent."""

    budget: MaxPasses
    label: ClassVar[str] = ""
    bounded: ClassVar[bool] = True
    is_budget: ClassVar[bool] = True

    def start(self, n_rows: int | None) -> int | None:
        """State of the budget."""
        return self.budget.start(n_rows)

    def next_pause(self, state: int | None) -> Pause:
        """Next pause of the budget."""
        return self.budget.next_pause(state)

    def observe(self, state: int | None, progress: Progress) -> Stop | None:
        """Reason to stop, once the budget is spent."""
        return self.budget.observe(state, progress)

    def describe(self, state: int | None, progress: Progress) -> str:
        """Empty description, because the user did not give the budget."""
        return ""
