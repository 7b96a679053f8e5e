"""Interface of stopping rules: the progress that they see, the reason to stop, and rules made of rules.

``a | b`` fires with the first of two rules, ``a & b`` with the last, and ``a.then(factor)`` continues. A part that has
fired stays fired.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Judgement, Model
from sgdone.kernels.probes import FIRED, ProbeMaker
from sgdone.losses.loss import real_or_nan
from sgdone.rows.rows import Rows


@final
@dataclass(frozen=True, kw_only=True)
class Needs:
    """Requirements of a method or a stopping rule, or offers of a method; ``|`` combines those of several parts.

    A rule that needs a judgement goes with methods that offer one, and so on. `sgdone.interfaces.method.check_needs`
    checks all of this in one place, before the first row is used.

    Examples
    --------
    >>> needs = Needs(iterate=True) | Needs(classes=True)
    >>> needs.iterate, needs.classes, needs.judgement
    (True, True, False)
    """

    # Requirements of methods and rules on the labels, the rows and the objective.
    #: Two classes.
    classes: bool = False
    #: All rows, at any time: a stream is not enough.
    all_rows: bool = False
    #: A convex loss: the steps are implicit, which makes them stable at any size.
    convex_loss: bool = False
    #: A convex loss with second derivatives.
    smooth_loss: bool = False
    #: A loss that stays the same during a run: slopes of it are stored.
    fixed_loss: bool = False
    #: Why alpha must be positive; empty if it need not be.
    why_positive_alpha: str = ""

    # Requirements of rules, which methods offer.
    #: A single running iterate, which rules can watch row by row.
    iterate: bool = False
    #: A `Judgement`: the model is evaluated on validation rows.
    judgement: bool = False
    #: A judgement that says how far the objective is from its minimum.
    decrement: bool = False

    # Offers of methods to the rows, the objective and the user.
    #: Rows whose columns are part dense, part sparse.
    mixed_rows: bool = False
    #: Columns of very different scales.
    any_scales: bool = False
    #: Several scores, the sum of whose losses is minimised at once; other methods train one model per class.
    several_outputs: bool = False
    #: An L1 penalty.
    l1_penalty: bool = False
    #: A penalty that is not given, but chosen.
    choice_of_alpha: bool = False
    #: A step size.
    step_size: bool = False

    def __or__(self, other: "Needs") -> "Needs":
        return Needs(**{each.name: getattr(self, each.name) or getattr(other, each.name) for each in fields(self)})


class Status(StrEnum):
    """Statuses of a fit, from best to worst; each member is the text that users read."""

    CONVERGED = "converged"
    IN_PROGRESS = "in progress"
    BUDGET_SPENT = "budget spent"
    STALLED = "stalled"
    NO_OPTIMUM = "no finite optimum"
    STOPPED = "stopped by a callback"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"


@final
@dataclass(frozen=True)
class Stop:
    """A reason to stop.

    Parameters
    ----------
    rule : str
        Name of the rule or method that ended the run; empty if no rule did (Ctrl-C, a callback, divergence).
    status : Status
        How the run ended.
    reason : str
        What was observed.
    evidence : dict
        The numbers behind the reason.
    advice : str
        What to do next.
    assumes_scaled : bool
        Whether features of very different scales can mislead the rule.
    """

    rule: str
    status: Status
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)
    advice: str = ""
    assumes_scaled: bool = False


#: Later than any step or row.
NEVER = 2**62


class Turn(NamedTuple):
    """The share of a run in the seconds of a fit: models that are trained one after the other take turns.

    Parameters
    ----------
    began : float
        Seconds after which its turn began.
    number, turns : int
        Index of the group of models trained at the same time, one in each thread, and the number of groups.
    """

    began: float = 0.0
    number: int = 0
    turns: int = 1


@final
@dataclass(frozen=True)
class Progress:
    """State of a run after a chunk of rows.

    Parameters
    ----------
    step : int
        Updates made.
    rows_read : int
        Rows read.
    n_rows : int or None
        Rows in a pass, if known.
    pass_number : int
        Passes begun.
    pass_ended : bool
        Whether the last row read was the last of its pass.
    loss : float
        Mean progressive loss of the pass so far: each row is predicted just before it is trained on. NaN before the
        first update of a pass.
    seconds : float
        Time since the fit began.
    predictions, slopes : ndarray
        Prediction before each update of the chunk, and slope of the loss there, for methods with a single model.
    iterate : callable
        Returns the running weights and intercept, in the units in which the method sees the rows.
    solution : callable
        Returns the `Model` so far, in the user's units.
    judgement : Judgement or None
        The method's judgement, if it evaluated its model at this point.
    turn : Turn
        The share of this run in the seconds of the fit.
    """

    step: int
    rows_read: int
    n_rows: int | None
    pass_number: int
    pass_ended: bool
    loss: float
    seconds: float
    predictions: NDArray[np.float64] = field(repr=False, default_factory=lambda: np.empty(0))
    slopes: NDArray[np.float64] = field(repr=False, default_factory=lambda: np.empty(0))
    iterate: Callable[[], tuple[NDArray[np.float64], float]] = field(
        repr=False, default=lambda: (np.empty(0), 0.0), compare=False
    )
    solution: Callable[[], Model] = field(
        repr=False, default=lambda: Model(np.empty((1, 0)), np.empty(1)), compare=False
    )
    judgement: Judgement | None = None
    turn: Turn = field(default_factory=Turn)

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows."""
        if self.n_rows is None:
            return float(self.pass_number)
        return self.rows_read / self.n_rows

    @property
    def where(self) -> str:
        """The number of passes as text, "(0.37 passes)"; empty if the number of rows is unknown."""
        return "" if self.n_rows is None else f" ({self.passes:.3g} passes)"


@final
@dataclass(frozen=True)
class Pause:
    """The next point at which a rule or a method must be called; the driver does not go past it."""

    step: int = NEVER
    rows_read: int = NEVER


@final
@dataclass(frozen=True)
class Watch:
    """A check of every sample inside the compiled loop, and the arrays it uses.

    The loop ends at the sample where the watch fires, and the rule is called there.
    """

    #: Makes the two functions that the loop calls before and after each update (`sgdone.kernels.probes`).
    make: ProbeMaker
    #: Numbers that these functions read and change: the first says whether the watch has fired.
    numbers: NDArray[np.float64]
    #: Further arrays that they read or change, as validation rows.
    memory: tuple[Any, ...] = ()
    #: Whether it reads the weights: some methods do not store them as the loop's probes expect.
    reads_model: bool = False

    @property
    def fired(self) -> bool:
        """Whether it has fired."""
        return bool(self.numbers[FIRED])


class StopRule(ABC):
    """Decides when a run ends, from what has been seen so far.

    A rule is a frozen dataclass; what changes during a run is in the state that `start` makes. It is called after
    every block and pass, at its `next_pause`, and where one of its `watches` fires. Rules compose: ``a | b`` fires with
    the first of them, ``a & b`` with the last, ``a.then(c)`` continues to c times the samples at which ``a`` fired.
    """

    name: ClassVar[str]

    @property
    def parts(self) -> "tuple[StopRule, ...]":
        """The rules that it is made of. It has their needs, and holds out their rows."""
        return ()

    @property
    def leaves(self) -> "tuple[StopRule, ...]":
        """The rules at the ends of a composition; a rule without parts is its own leaf."""
        return tuple(leaf for part in self.parts for leaf in part.leaves) or (self,)

    @property
    def budgets(self) -> "tuple[StopRule, ...]":
        """The budgets that end a run by themselves."""
        return (self,) if self.is_budget else ()

    @property
    def needs(self) -> Needs:
        """Requirements on the method and the labels."""
        return reduce(or_, (part.needs for part in self.parts), Needs())

    @property
    def hold_out(self) -> int:
        """Number of rows at the beginning of the stream that the rule keeps from training."""
        return max((part.hold_out for part in self.parts), default=0)

    @property
    def is_budget(self) -> bool:
        """Whether it limits passes, samples or seconds and depends on nothing else."""
        return bool(self.parts) and all(part.is_budget for part in self.parts)

    @property
    def bounded(self) -> bool:
        """Whether it is certain to fire; the driver adds a budget of 100 passes to a rule that is not."""
        return False

    @property
    def tolerance(self) -> float | None:
        """Smallest gain that matters, in standard errors of the loss, if the rule has one."""
        return None

    @property
    def max_passes(self) -> int | None:
        """Largest number of passes that the rule allows, if it says."""
        return None

    @property
    def state_key(self) -> str:
        """Key of the state: a run that is resumed with a rule of another key starts that rule."""
        return repr(self)

    @abstractmethod
    def start(self, n_rows: int | None) -> Any:
        """State for a new run over ``n_rows`` rows (``None`` if not known)."""

    def check(self, state: Any, n_features: int) -> None:
        """Raise a ValueError for a state, read from a file, that this rule cannot have made."""
        self.check_kind(state, type(None))

    def check_kind(self, state: Any, kind: type, *, holds: bool = True) -> None:
        """Raise a ValueError unless a state has the given type, and ``holds`` is true."""
        if not isinstance(state, kind) or not holds:
            raise ValueError(f"the state of {self!r} is not valid")

    def restart(self, state: Any, n_rows: int | None) -> Any:
        """State after a change of step size, for rules that detect when one is due."""
        return self.start(n_rows)

    def validate_on(self, state: Any, X: Any, labels: NDArray[np.float64]) -> None:  # noqa: B027  # most take none
        """Take the rows held out, in the user's units; only called if `hold_out` is not 0."""

    def next_pause(self, state: Any) -> Pause:
        """The next point at which the rule must be called, in addition to the ends of blocks and passes."""
        return Pause()

    def watches(self, state: Any, rows: Rows) -> tuple[Watch, ...]:
        """Checks that the loop must make at every sample of such rows; none once the rule has fired."""
        return ()

    @abstractmethod
    def observe(self, state: Any, progress: Progress) -> Stop | None:
        """The reason to stop, if there is one."""

    @property
    def label(self) -> str:
        """Name of the rule in a sentence."""
        return type(self).__name__

    def describe(self, state: Any, progress: Progress) -> str:
        """Distance of the rule from firing, in a few words."""
        return "has not fired"

    def then(self, factor: float) -> "StopRule":
        """Continue to ``factor`` times the samples at which this rule fires."""
        return Then(self, factor)

    def __or__(self, other: "StopRule") -> "StopRule":
        if not isinstance(other, StopRule):
            return NotImplemented
        return AnyOf((self, other))

    def __and__(self, other: "StopRule") -> "StopRule":
        if not isinstance(other, StopRule):
            return NotImplemented
        return AllOf((self, other))


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
        return self.rules

    def check(self, state: _Parts, n_features: int) -> None:
        self.check_kind(state, _Parts)
        self.check_kind(
            state, _Parts, holds=set(state.fired) <= set(range(len(self.rules))) == set(range(len(state.states)))
        )
        for rule, part in zip(self.rules, state.states, strict=True):
            rule.check(part, n_features)

    def start(self, n_rows: int | None) -> _Parts:
        return _Parts([rule.start(n_rows) for rule in self.rules])

    def restart(self, state: _Parts, n_rows: int | None) -> _Parts:
        return _Parts([rule.restart(part, n_rows) for rule, part in zip(self.rules, state.states, strict=True)])

    def validate_on(self, state: _Parts, X: Any, labels: NDArray[np.float64]) -> None:
        """Each part takes as many of the rows as it needs."""
        for rule, part in zip(self.rules, state.states, strict=True):
            if rule.hold_out:
                rule.validate_on(part, X[: rule.hold_out], labels[: rule.hold_out])

    def next_pause(self, state: _Parts) -> Pause:
        """The nearest pause of a part that has not fired; now, once all have: the rule must fire at the next call."""
        pauses = [rule.next_pause(state.states[k]) for k, rule in self._waiting(state)]
        return Pause(
            min((pause.step for pause in pauses), default=0), min((pause.rows_read for pause in pauses), default=0)
        )

    def watches(self, state: _Parts, rows: Rows) -> tuple[Watch, ...]:
        return tuple(watch for k, rule in self._waiting(state) for watch in rule.watches(state.states[k], rows))

    def describe(self, state: _Parts, progress: Progress) -> str:
        words = self._words(state, progress)
        words |= {k: f"{self.rules[k].label} fired ({stop.reason})".strip() for k, stop in state.fired.items()}
        return "; ".join(words[k] for k in range(len(self.rules)))

    def _words(self, state: _Parts, progress: Progress) -> dict[int, str]:
        """Descriptions of the parts that have not fired, by place."""
        return {
            k: f"{rule.label} {rule.describe(state.states[k], progress)}".strip() for k, rule in self._waiting(state)
        }

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
        words = [text for text in self._words(state, progress).values() if text]
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
class _ThenState:
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

    def check(self, state: _ThenState, n_features: int) -> None:
        """Check the state of the wrapped rule; the sample to continue to is known once that rule has fired."""
        self.check_kind(state, _ThenState)
        self.check_kind(state, _ThenState, holds=0 <= state.target <= NEVER)
        self.rule.check(state.inner, n_features)

    def start(self, n_rows: int | None) -> _ThenState:
        """State of the wrapped rule."""
        return _ThenState(self.rule.start(n_rows))

    def restart(self, state: _ThenState, n_rows: int | None) -> _ThenState:
        """State of the wrapped rule after a restart."""
        return _ThenState(self.rule.restart(state.inner, n_rows))

    def validate_on(self, state: _ThenState, X: Any, labels: NDArray[np.float64]) -> None:
        """Pass the rows to the wrapped rule."""
        self.rule.validate_on(state.inner, X, labels)

    def next_pause(self, state: _ThenState) -> Pause:
        """Next pause of the wrapped rule; after it has fired, the sample to continue to."""
        return Pause(step=state.target) if state.stop is not None else self.rule.next_pause(state.inner)

    def watches(self, state: _ThenState, rows: Rows) -> tuple[Watch, ...]:
        """Watches of the wrapped rule, until it has fired."""
        return () if state.stop is not None else self.rule.watches(state.inner, rows)

    def observe(self, state: _ThenState, progress: Progress) -> Stop | None:
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

    def describe(self, state: _ThenState, progress: Progress) -> str:
        """Description of the wrapped rule or, once it has fired, of the continuation."""
        if state.stop is None:
            return self.rule.describe(state.inner, progress)
        return f"fired ({state.stop.reason}) and continues to sample {state.target:,}"

    def __repr__(self) -> str:
        return f"{_within(self.rule, _Composite)}.then({self.factor!r})"
