"""Base class of stopping rules."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.needs import Needs
from sgdone.interfaces.progress import Pause, Progress
from sgdone.interfaces.stop import Stop
from sgdone.kernels.probes import FIRED, ProbeMaker
from sgdone.rows.rows import Rows


@final
@dataclass(frozen=True)
class Watch:
    """A check of every sample inside the compiled loop, and the arrays it uses.

    The loop ends at the sample where the watch fires, and the rule is called there.
    """

    make: ProbeMaker
    numbers: NDArray[np.float64]
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
        """How far the rule is from firing, in a few words."""
        return "has not fired"

    def then(self, factor: float) -> "StopRule":
        """Continue to ``factor`` times the samples at which this rule fires."""
        from sgdone.interfaces.composition import Then

        return Then(self, factor)

    def __or__(self, other: "StopRule") -> "StopRule":
        if not isinstance(other, StopRule):
            return NotImplemented
        from sgdone.interfaces.composition import AnyOf

        return AnyOf((self, other))

    def __and__(self, other: "StopRule") -> "StopRule":
        if not isinstance(other, StopRule):
            return NotImplemented
        from sgdone.interfaces.composition import AllOf

        return AllOf((self, other))
