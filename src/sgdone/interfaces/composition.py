"""Rules made of rules: ``a | b``, ``a & b`` and ``a.then(factor)``. A part that has fired stays fired."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.progress import NEVER, Pause, Progress
from sgdone.interfaces.stop import Stop
from sgdone.interfaces.stop_rule import StopRule, Watch
from sgdone.losses.loss import real_or_nan
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


@dataclass
class _Going:
    """State of the wrapped rule and, once it has fired, its reason and the sample to continue to."""

    inner: Any
    stop: Stop | None = None
    target: int = field(default=NEVER)


@final
@dataclass(frozen=True)
class Then(StopRule):
    """Continue to ``factor`` times the samples at which a rule fired: ``rule.then(1.5)``.

    Baghal et al. (2021), section 5, continue to 1.5 k samples to see whether the accuracy still improves.

    Examples
    --------
    >>> from sgdone.stopping import MarginTest
    >>> MarginTest().then(1.5)
    MarginTest(threshold=1.0, fresh=False).then(1.5)
    """

    rule: StopRule
    factor: float

    def __post_init__(self) -> None:
        factor: Any = self.factor
        if not 1 <= real_or_nan(factor) < math.inf:
            raise ValueError(f"then({factor!r}): the factor must be a number, at least 1")

    @property
    def parts(self) -> tuple[StopRule, ...]:
        """The wrapped rule."""
        return (self.rule,)

    @property
    def bounded(self) -> bool:
        """Whether the wrapped rule is bounded."""
        return self.rule.bounded

    def check(self, state: _Going, n_features: int) -> None:
        """Check the state of the wrapped rule; the sample to continue to is known once that rule has fired."""
        self.check_kind(state, _Going)
        self.check_kind(state, _Going, holds=0 <= state.target <= NEVER)
        self.rule.check(state.inner, n_features)

    def start(self, n_rows: int | None) -> _Going:
        """State of the wrapped rule."""
        return _Going(self.rule.start(n_rows))

    def restart(self, state: _Going, n_rows: int | None) -> _Going:
        """State of the wrapped rule after a restart."""
        return _Going(self.rule.restart(state.inner, n_rows))

    def validate_on(self, state: _Going, X: Any, labels: NDArray[np.float64]) -> None:
        """Pass the rows to the wrapped rule."""
        self.rule.validate_on(state.inner, X, labels)

    def next_pause(self, state: _Going) -> Pause:
        """Next pause of the wrapped rule; after it has fired, the sample to continue to."""
        return Pause(step=state.target) if state.stop is not None else self.rule.next_pause(state.inner)

    def watches(self, state: _Going, rows: Rows) -> tuple[Watch, ...]:
        """Watches of the wrapped rule, until it has fired."""
        return () if state.stop is not None else self.rule.watches(state.inner, rows)

    def observe(self, state: _Going, progress: Progress) -> Stop | None:
        """Fire once the wrapped rule has fired, and the further samples are used."""
        if state.stop is None:
            state.stop = self.rule.observe(state.inner, progress)
            if state.stop is None:
                return None
            state.target = math.ceil(round(self.factor * progress.step, 6))
        if progress.step < state.target:
            return None
        stop = state.stop
        reason = f"{stop.reason}; continued to {self.factor:g} times the samples"
        return replace(stop, reason=reason, evidence={**stop.evidence, "factor": self.factor})

    @property
    def label(self) -> str:
        """Label of the wrapped rule."""
        return self.rule.label

    def describe(self, state: _Going, progress: Progress) -> str:
        """Description of the wrapped rule or, once it has fired, of the continuation."""
        if state.stop is None:
            return self.rule.describe(state.inner, progress)
        return f"fired ({state.stop.reason}) and continues to sample {state.target:,}"

    def __repr__(self) -> str:
        rule = f"({self.rule!r})" if isinstance(self.rule, (AnyOf, AllOf)) else repr(self.rule)
        return f"{rule}.then({self.factor!r})"
