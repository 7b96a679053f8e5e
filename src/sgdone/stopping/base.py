"""What a stopping rule is."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.rows import Rows
from sgdone.kernels.probes import FIRED, ProbeMaker
from sgdone.verdict import Status

NEVER = 2**62


@final
@dataclass(frozen=True)
class Progress:
    """Where a run is after some rows: what rules and hooks may see.

    ``loss`` is the mean progressive loss of the pass so far: of predictions made just before each update, NaN
    if there was none. ``predictions`` and ``slopes`` are those of the updates since the last look. ``iterate()``
    gives the running weights and intercept in the units in which the rows are learnt from.
    """

    step: int
    rows_read: int
    n_rows: int | None
    #: Passes begun, and whether the last row read ended one.
    pass_number: int
    pass_ended: bool
    loss: float
    seconds: float
    predictions: NDArray[np.float64] = field(repr=False, default_factory=lambda: np.empty(0))
    slopes: NDArray[np.float64] = field(repr=False, default_factory=lambda: np.empty(0))
    iterate: Callable[[], tuple[NDArray[np.float64], float]] = field(
        repr=False, default=lambda: (np.empty(0), 0.0), compare=False
    )

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows."""
        if self.n_rows is None:
            return float(self.pass_number)
        return self.rows_read / self.n_rows

    @property
    def where(self) -> str:
        """The place in words: "(0.37 passes)", or nothing if nobody knows how long a pass is."""
        return "" if self.n_rows is None else f" ({self.passes:.3g} passes)"


@final
@dataclass(frozen=True)
class Look:
    """The next place where a rule wants to be asked; a run does not go past it."""

    step: int = NEVER
    rows_read: int = NEVER


@final
@dataclass(frozen=True)
class Watch:
    """A look at every sample, made by the compiled loop: which functions, and what they hold.

    The loop breaks off at the sample where the watch fires, and the rule is asked there.
    """

    make: ProbeMaker
    numbers: NDArray[np.float64]
    memory: tuple[Any, ...] = ()
    #: Whether it looks at the weights: not every method keeps them as the loop's probes expect.
    reads_model: bool = False

    @property
    def fired(self) -> bool:
        """Whether it has fired."""
        return bool(self.numbers[FIRED])


@final
@dataclass(frozen=True)
class Stop:
    """A rule has fired."""

    rule: str
    status: Status
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)
    advice: str = ""


class StopRule(ABC):
    """Decides when a run ends, from what has been seen so far.

    A rule is a frozen dataclass; what it remembers during a run is in the state that `start` makes. It is asked
    after every block and pass, at the places of `next_look`, and where one of its `watches` fires.
    Rules compose: ``a | b`` fires with the first of them, ``a & b`` with the last, ``a.then(c)`` goes on to c
    times the samples at which ``a`` fired.
    """

    name: ClassVar[str]

    @property
    def hold_out(self) -> int:
        """Rows of the stream's beginning that are kept from training for the rule to look at."""
        return 0

    @property
    def bounded(self) -> bool:
        """Whether it is sure to fire some time: a run adds a budget to a rule that is not."""
        return False

    @property
    def at_looks_alone(self) -> bool:
        """Whether it need not be asked after every pass, but at its looks alone, and now and then."""
        return False

    @property
    def needs_classes(self) -> bool:
        """Whether it makes sense for two classes alone."""
        return False

    @abstractmethod
    def start(self, n_rows: int | None) -> Any:
        """State for a new run over ``n_rows`` rows (``None`` if not known)."""

    def check(self, state: Any, n_features: int) -> None:  # noqa: B027
        """Refuse a state, read from a file, that the compiled loops would take for something else than it is."""

    def restart(self, state: Any, n_rows: int | None) -> Any:
        """State after a change of step size, for rules that are used to detect when one is due."""
        return self.start(n_rows)

    def validate_on(self, state: Any, X: Any, labels: NDArray[np.float64]) -> None:  # noqa: B027  # most take none
        """Take the rows held out, in the user's units; only called if `hold_out` is not 0."""

    def next_look(self, state: Any) -> Look:
        """The next place where this rule must be asked; it is also asked after every block and pass."""
        return Look()

    def watches(self, state: Any, rows: Rows) -> tuple[Watch, ...]:
        """What the loop must look at, sample by sample, over such rows; none once it has fired."""
        return ()

    @abstractmethod
    def observe(self, state: Any, progress: Progress) -> Stop | None:
        """Look at the run; the reason to stop, if there is one."""

    @property
    def label(self) -> str:
        """The rule's name in a sentence."""
        return type(self).__name__

    def says(self, state: Any, progress: Progress) -> str:
        """How far the rule is from firing, in a few words."""
        return "has not fired"

    def then(self, factor: float) -> "StopRule":
        """Go on to ``factor`` times the samples at which this rule fires."""
        from sgdone.stopping.then import Then

        return Then(self, factor)

    def __or__(self, other: "StopRule") -> "StopRule":
        if not isinstance(other, StopRule):
            return NotImplemented
        from sgdone.stopping.composition import AnyOf

        return AnyOf((self, other))

    def __and__(self, other: "StopRule") -> "StopRule":
        if not isinstance(other, StopRule):
            return NotImplemented
        from sgdone.stopping.composition import AllOf

        return AllOf((self, other))
