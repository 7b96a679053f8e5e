"""What a contender of `files` is given, and what is measured of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, final

#: Memory with which few rows are read block by block.
LITTLE_MEMORY = 1 << 22


class MissingError(Exception):
    """Raised if a contender is not installed."""


@final
@dataclass(frozen=True)
class Job:
    """One fit.

    Parameters
    ----------
    contender : str
        Its name.
    train, test, labels : str
        Files with training rows, with test rows, and with the labels of these.
    small : str
        A file with few training rows, in the same format.
    folder : str
        For caches that are kept from one fit to the next.
    max_memory : int
        Bytes that our buffers may take.
    """

    contender: str
    train: str
    test: str
    labels: str
    small: str
    folder: str
    max_memory: int = 1_000_000_000


class Fitted(NamedTuple):
    """The result of a fit: a function that gives the probabilities of class 1 of the test rows, if there is a model."""

    predict: Callable[[], Any] | None = None
    note: str = ""


#: Imports what it needs, and returns the function that is timed.
Contender = Callable[[Job], Callable[[], Fitted]]


@final
@dataclass(frozen=True)
class Measured:
    """One fit, in a process of its own.

    Parameters
    ----------
    start_up, fit : float
        Seconds from the start of the process until a fit on few rows has ended, and of the fit.
    cpu : float
        Seconds of the processors for the fit.
    peak : int
        Largest anonymous memory until the end of the fit, in bytes.
    loss : float
        Log loss of the test rows; not a number if there is no model.
    note : str
        Passes, trees or sizes.
    """

    start_up: float
    fit: float
    cpu: float
    peak: int
    loss: float
    note: str

    @property
    def total(self) -> float:
        """Seconds from the start of the process to the model."""
        return self.start_up + self.fit


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
