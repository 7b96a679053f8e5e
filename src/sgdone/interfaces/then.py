"""Continuing after a rule has fired."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.composition import AllOf, AnyOf
from sgdone.interfaces.progress import NEVER, Pause, Progress
from sgdone.interfaces.stop import Stop
from sgdone.interfaces.stop_rule import StopRule, Watch
from sgdone.losses.loss import real_or_nan
from sgdone.rows.rows import Rows


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
