"""Rules made of rules. A part that has fired stays fired."""

from dataclasses import dataclass, field
from typing import Any, final

from sgdone.stopping.base import Look, Progress, Stop, StopRule


@dataclass
class _Parts:
    """The parts' states, and those that have fired, by their place, in the order in which they did."""

    states: list[Any]
    fired: dict[int, Stop] = field(default_factory=dict)


class _Composite(StopRule):
    rules: tuple[StopRule, ...]

    def start(self, n_rows: int | None) -> _Parts:
        """States of the parts."""
        return _Parts([rule.start(n_rows) for rule in self.rules])

    def next_look(self, state: _Parts) -> Look:
        """The nearest look of a part that has not fired."""
        looks = [rule.next_look(state.states[k]) for k, rule in enumerate(self.rules) if k not in state.fired]
        return Look(min(look.step for look in looks), min(look.rows_read for look in looks))

    def _ask(self, state: _Parts, progress: Progress) -> list[Stop]:
        """Ask the parts that have not fired; those that have by now, in the order in which they did."""
        for k, rule in enumerate(self.rules):
            if k not in state.fired:
                stop = rule.observe(state.states[k], progress)
                if stop is not None:
                    state.fired[k] = stop
        return list(state.fired.values())


@final
@dataclass(frozen=True)
class AnyOf(_Composite):
    """Fires with the first of its parts: ``a | b``."""

    rules: tuple[StopRule, ...]

    def observe(self, state: _Parts, progress: Progress) -> Stop | None:
        """The part that fired, if one did."""
        fired = self._ask(state, progress)
        return fired[0] if fired else None

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.rules))


@final
@dataclass(frozen=True)
class AllOf(_Composite):
    """Fires with the last of its parts: ``a & b``."""

    rules: tuple[StopRule, ...]

    def observe(self, state: _Parts, progress: Progress) -> Stop | None:
        """All parts' reasons, once all have fired; the last to fire names the rule."""
        fired = self._ask(state, progress)
        if len(fired) < len(self.rules):
            return None
        last = fired[-1]
        reason = " and ".join(stop.reason for stop in fired)
        evidence = {stop.rule: stop.evidence for stop in fired}
        return Stop(last.rule, last.status, reason, evidence, last.advice)

    def __repr__(self) -> str:
        return " & ".join(f"({rule!r})" if isinstance(rule, AnyOf) else repr(rule) for rule in self.rules)
