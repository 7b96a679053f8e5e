"""What a stopping rule is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.verdict import Status

NEVER = 2**62


@final
@dataclass(frozen=True)
class Progress:
    """Where a run is after some rows: what rules and hooks may see.

    ``loss`` is the mean progressive loss of the pass so far: of predictions made just before each update, NaN
    if there was none. ``predictions`` and ``slopes`` are those of the updates since the last look.
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

    @property
    def passes(self) -> float:
        """Rows read divided by the number of rows."""
        if self.n_rows is None:
            return float(self.pass_number)
        return self.rows_read / self.n_rows


@final
@dataclass(frozen=True)
class Look:
    """The next place where a rule wants to be asked; a run does not go past it."""

    step: int = NEVER
    rows_read: int = NEVER


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

    A rule is a frozen dataclass; what it remembers during a run is in the state that `start` makes.
    Rules compose: ``a | b`` fires with the first of them, ``a & b`` with the last.
    """

    name: ClassVar[str]

    @abstractmethod
    def start(self, n_rows: int | None) -> Any:
        """State for a new run over ``n_rows`` rows (``None`` if not known)."""

    def next_look(self, state: Any) -> Look:
        """The next place where this rule must be asked; it is also asked after every block and pass."""
        return Look()

    @abstractmethod
    def observe(self, state: Any, progress: Progress) -> Stop | None:
        """Look at the run; the reason to stop, if there is one."""

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
