"""Rules made of rules. A part that has fired stays fired."""

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.rows import Rows
from sgdone.stopping.base import Look, Progress, Stop, StopRule, Watch


@dataclass
class _Parts:
    """The parts' states, and those that have fired, by their place, in the order in which they did."""

    states: list[Any]
    fired: dict[int, Stop] = field(default_factory=dict)


class _Composite(StopRule):
    rules: tuple[StopRule, ...]

    @property
    def hold_out(self) -> int:
        """Rows enough for every part."""
        return max(rule.hold_out for rule in self.rules)

    @property
    def needs_classes(self) -> bool:
        """Whether one part does."""
        return any(rule.needs_classes for rule in self.rules)

    @property
    def at_looks_alone(self) -> bool:
        """Whether all parts do."""
        return all(rule.at_looks_alone for rule in self.rules)

    def check(self, state: _Parts, n_features: int) -> None:
        """Each part its own."""
        for rule, part in zip(self.rules, state.states, strict=True):
            rule.check(part, n_features)

    def start(self, n_rows: int | None) -> _Parts:
        """States of the parts."""
        return _Parts([rule.start(n_rows) for rule in self.rules])

    def restart(self, state: _Parts, n_rows: int | None) -> _Parts:
        """States of the parts after a restart."""
        return _Parts([rule.restart(part, n_rows) for rule, part in zip(self.rules, state.states, strict=True)])

    def validate_on(self, state: _Parts, X: Any, labels: NDArray[np.float64]) -> None:
        """Each part takes as many of the rows as it asked for."""
        for rule, part in zip(self.rules, state.states, strict=True):
            if rule.hold_out:
                rule.validate_on(part, X[: rule.hold_out], labels[: rule.hold_out])

    def next_look(self, state: _Parts) -> Look:
        """The nearest look of a part that has not fired."""
        looks = [rule.next_look(state.states[k]) for k, rule in self._waiting(state)]
        return Look(min((look.step for look in looks), default=0), min((look.rows_read for look in looks), default=0))

    def watches(self, state: _Parts, rows: Rows) -> tuple[Watch, ...]:
        """Those of the parts that have not fired."""
        return tuple(watch for k, rule in self._waiting(state) for watch in rule.watches(state.states[k], rows))

    def says(self, state: _Parts, progress: Progress) -> str:
        """What each part says."""
        words = {k: rule.says(state.states[k], progress) for k, rule in self._waiting(state)}
        words |= {k: f"fired ({stop.reason})" for k, stop in state.fired.items()}
        return "; ".join(f"{rule.label} {words[k]}".strip() for k, rule in enumerate(self.rules))

    @property
    def label(self) -> str:
        """None: the parts speak for themselves."""
        return ""

    def _waiting(self, state: _Parts) -> list[tuple[int, StopRule]]:
        """The parts that have not fired, with their places."""
        return [(k, rule) for k, rule in enumerate(self.rules) if k not in state.fired]

    def _ask(self, state: _Parts, progress: Progress) -> list[Stop]:
        """Ask the parts that have not fired; those that have by now, in the order in which they did."""
        for k, rule in self._waiting(state):
            stop = rule.observe(state.states[k], progress)
            if stop is not None:
                state.fired[k] = stop
        return list(state.fired.values())


@final
@dataclass(frozen=True)
class AnyOf(_Composite):
    """Fires with the first of its parts: ``a | b``."""

    rules: tuple[StopRule, ...]

    @property
    def bounded(self) -> bool:
        """Whether one part is sure to fire."""
        return any(rule.bounded for rule in self.rules)

    def observe(self, state: _Parts, progress: Progress) -> Stop | None:
        """The part that fired, if one did, and what the others said."""
        fired = self._ask(state, progress)
        if not fired:
            return None
        stop = fired[0]
        words = [f"{rule.label} {rule.says(state.states[k], progress)}".strip() for k, rule in self._waiting(state)]
        words = [word for word in words if word]
        others = [*stop.evidence.get("others", []), *words]
        evidence = {**stop.evidence, "others": others} if others else stop.evidence
        return Stop(stop.rule, stop.status, "; ".join([stop.reason, *words]), evidence, stop.advice)

    def __repr__(self) -> str:
        return " | ".join(_within(rule, AnyOf if k else ()) for k, rule in enumerate(self.rules))


@final
@dataclass(frozen=True)
class AllOf(_Composite):
    """Fires with the last of its parts: ``a & b``."""

    rules: tuple[StopRule, ...]

    @property
    def bounded(self) -> bool:
        """Whether every part is sure to fire."""
        return all(rule.bounded for rule in self.rules)

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
        return " & ".join(_within(rule, (AnyOf, AllOf) if k else AnyOf) for k, rule in enumerate(self.rules))


def _within(rule: StopRule, bracketed: type | tuple[type, ...]) -> str:
    """A part's own words, in brackets if it is one of such."""
    return f"({rule!r})" if isinstance(rule, bracketed) else repr(rule)
