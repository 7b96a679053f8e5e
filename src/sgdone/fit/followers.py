"""Followers of a fit: a line per pass, the progress of the command, callbacks of scikit-learn."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, final

from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.options import FitOptions
from sgdone.interfaces.objective import Model
from sgdone.interfaces.stop_rule import Progress
from sgdone.run import Hook

if TYPE_CHECKING:
    from sgdone.fit.fit import FitProblem

#: Makes a hook for a model, given its number.
ProgressHook = Callable[[int], Hook]


class RunHook(ABC):
    """Hook that is told when the run ends."""

    @abstractmethod
    def __call__(self, progress: Progress) -> str | None:
        """Follow the run; a returned text stops it."""

    @abstractmethod
    def end(self, model: Model) -> None:
        """End the run."""


class FitFollower(ABC):
    """Follower of a fit, with a hook for the run of each model."""

    #: Whether models are trained one after the other, in their order.
    in_turn: ClassVar[bool] = False

    def begin(self, problem: "FitProblem", options: FitOptions) -> bool:
        """Begin a fit; returns whether it is followed."""
        return True

    @abstractmethod
    def hook(self, number: int, name: str) -> Hook:
        """Hook for the run of a model, which begins."""

    def end(self, model: FittedModel) -> None:  # noqa: B027  # most followers have nothing to do
        """End the fit."""


@final
class ProgressLines(FitFollower):
    """Hooks of a function, such as the progress line of the command."""

    def __init__(self, make: ProgressHook) -> None:
        self._make = make

    def hook(self, number: int, name: str) -> Hook:
        """The function's hook for a model."""
        return self._make(number)


@final
class PassLines(FitFollower):
    """A printed line per pass."""

    def hook(self, number: int, name: str) -> Hook:
        """Hook that prints the passes of a model."""
        return _PassPrinter(name)


@final
class _PassPrinter(RunHook):
    """Print a line per pass, also of the last one if the run ends within it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._unprinted: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        self._unprinted = progress
        if progress.pass_ended:
            self._print("")

    def end(self, model: Model) -> None:
        """Print the line of a pass that has not ended."""
        if self._unprinted is not None:
            share = self._unprinted.passes % 1.0
            self._print(f", {share:.0%} of it" if share else "")

    def _print(self, part: str) -> None:
        progress, self._unprinted = self._unprinted, None
        if progress is not None:
            loss = f"progressive loss {progress.loss:.6g}, {progress.seconds:.2f} s"
            print(f"{self._name}pass {progress.pass_number}{part}: {loss}")
