"""Rules made of rules. A part that has fired stays fired."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.progress import Pause, Progress
from sgdone.interfaces.stop import Stop
from sgdone.interfaces.stop_rule import StopRule, Watch
from sgdone.rows.rows import Rows


@dataclass
class _Parts:
    """States of the parts, and the reasons of parts that have fired, by position, in the order in which they fired."""

    states: list[Any]
    fired: dict[int, Stop] = field(default_factory=dict)


class _Composite(StopRule):
    rules: tuple[StopRule, ...]
    label: ClassVar[str] = ""  # the parts have their own

    @property
    def parts(self) -> tuple[StopRule, ...]:
        """The rules composed."""
        return self.rules

    def check(self, state: _Parts, n_features: int) -> None:
        """Check the state of each part."""
        self.check_kind(state, _Parts)
        self.check_kind(
            state, _Parts, holds=set(state.fired) <= set(range(len(self.rules))) == set(range(len(state.states)))
        )
        for rule, part in zip(self.rules, state.states, strict=True):
            rule.check(part, n_features)

    def start(self, n_rows: int | None) -> _Parts:
        """States of the parts."""
        return _Parts([rule.start(n_rows) for rule in self.rules])

    def restart(self, state: _Parts, n_rows: int | None) -> _Parts:
        """States of the parts after a restart."""
        return _Parts([rule.restart(part, n_rows) for rule, part in zip(self.rules, state.states, strict=True)])

    def validate_on(self, state: _Parts, X: Any, labels: NDArray[np.float64]) -> None:
        """Each part takes as many of the rows as it needs."""
        for rule, part in zip(self.rules, state.states, strict=True):
            if rule.hold_out:
                rule.validate_on(part, X[: rule.hold_out], labels[: rule.hold_out])

    def next_pause(self, state: _Parts) -> Pause:
        """The nearest pause of a part that has not fired."""
        pauses = [rule.next_pause(state.states[k]) for k, rule in self._waiting(state)]
        return Pause(
            min((pause.step for pause in pauses), default=0), min((pause.rows_read for pause in pauses), default=0)
        )

    def watches(self, state: _Parts, rows: Rows) -> tuple[Watch, ...]:
        """Watches of the parts that have not fired."""
        return tuple(watch for k, rule in self._waiting(state) for watch in rule.watches(state.states[k], rows))

    def describe(self, state: _Parts, progress: Progress) -> str:
        """The descriptions of the parts."""
        words = {k: rule.describe(state.states[k], progress) for k, rule in self._waiting(state)}
        words |= {k: f"fired ({stop.reason})" for k, stop in state.fired.items()}
        return "; ".join(f"{rule.label} {words[k]}".strip() for k, rule in enumerate(self.rules))

    def _waiting(self, state: _Parts) -> list[tuple[int, StopRule]]:
        """The parts that have not fired, with their places."""
        return [(k, rule) for k, rule in enumerate(self.rules) if k not in state.fired]

    def _observe_parts(self, state: _Parts, progress: Progress) -> list[Stop]:
        """Call the parts that have not fired; returns the reasons so far, in the order in which parts fired."""
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
    def budgets(self) -> tuple[StopRule, ...]:
        """The budgets of all parts."""
        return tuple(budget for rule in self.rules for budget in rule.budgets)

    @property
    def bounded(self) -> bool:
        """Whether one part is certain to fire."""
        return any(rule.bounded for rule in self.rules)

    @property
    def max_passes(self) -> int | None:
        """The smallest limit of a part."""
        return min((limit for rule in self.rules if (limit := rule.max_passes) is not None), default=None)

    def observe(self, state: _Parts, progress: Progress) -> Stop | None:
        """The reason of the part that fired, and the descriptions of the others."""
        fired = self._observe_parts(state, progress)
        if not fired:
            return None
        stop = fired[0]
        words = [f"{rule.label} {rule.describe(state.states[k], progress)}".strip() for k, rule in self._waiting(state)]
        words = [word for word in words if word]
        others = [*stop.evidence.get("others", []), *words]
        evidence = {**stop.evidence, "others": others} if others else stop.evidence
        return replace(stop, reason="; ".join([stop.reason, *words]), evidence=evidence)

    def __repr__(self) -> str:
        return " | ".join(_within(rule, AnyOf if k else ()) for k, rule in enumerate(self.rules))


@final
@dataclass(frozen=True)
class AllOf(_Composite):
    """Fires with the last of its parts: ``a & b``."""

    rules: tuple[StopRule, ...]

    @property
    def bounded(self) -> bool:
        """Whether every part is certain to fire."""
        return all(rule.bounded for rule in self.rules)

    @property
    def max_passes(self) -> int | None:
        """The largest limit of a part, if all parts have one."""
        limits = [rule.max_passes for rule in self.rules]
        known = [limit for limit in limits if limit is not None]
        return max(known) if len(known) == len(limits) else None

    def observe(self, state: _Parts, progress: Progress) -> Stop | None:
        """All parts' reasons, once all have fired; the last to fire names the rule.

        A budget that was spent earlier is only named: its reason would contradict the number of passes at the end.
        """
        fired = self._observe_parts(state, progress)
        if len(fired) < len(self.rules):
            return None
        last = fired[-1]
        spent = [self.rules[k].label for k in list(state.fired)[:-1] if self.rules[k].is_budget]
        reason = " and ".join(
            stop.reason for k, stop in state.fired.items() if stop is last or not self.rules[k].is_budget
        )
        reason += f", after {' and '.join(spent)}" if spent else ""
        evidence = {stop.rule: stop.evidence for stop in fired}
        return replace(last, reason=reason, evidence=evidence)

    def __repr__(self) -> str:
        return " & ".join(_within(rule, (AnyOf, AllOf) if k else AnyOf) for k, rule in enumerate(self.rules))


def _within(rule: StopRule, bracketed: type | tuple[type, ...]) -> str:
    """Repr of a part, in brackets if it is of one of these types."""
    return f"({rule!r})" if isinstance(rule, bracketed) else repr(rule)
