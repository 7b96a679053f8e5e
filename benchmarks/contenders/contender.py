"""What a method is here: something that can be given more or less to do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


class MissingError(Exception):
    """The library is not installed, or cannot do this data set; the message says which."""


@dataclass(frozen=True)
class Data:
    """Rows in random order, labels −1 and 1, and the penalty that all use."""

    name: str
    X: Any
    y: NDArray[np.float64]
    X_test: Any
    y_test: NDArray[np.float64]
    alpha: float

    @property
    def n_rows(self) -> int:
        """How many rows there are to learn from."""
        return int(self.X.shape[0])


#: ``fit(budget, seed)`` is what the clock sees; it returns how to predict, which the clock does not see.
Fit = Callable[[int, int], Callable[[Any], NDArray[Any]]]


@dataclass(frozen=True)
class Contender:
    """A method with the one number that says how long it may go on.

    ``prepare`` makes what comes before the clock starts (a file in the library's own format).
    """

    name: str
    prepare: Callable[[Data], Fit]
    #: The least budget, and the most.
    least: Callable[[Data], int]
    most: Callable[[Data], int]
    #: What the budget counts: rows, passes or iterations.
    unit: str = "iterations"
    #: Whether another seed gives another result.
    stochastic: bool = True
    own: bool = False


def linear(weights: NDArray[Any]) -> Callable[[Any], NDArray[Any]]:
    """Predictions with these weights."""
    return lambda X: np.asarray(X @ weights)


def rows_from(share: int) -> Callable[[Data], int]:
    """One part in so many of the rows, as the least budget of a method that needs no whole pass."""
    return lambda data: max(1, data.n_rows // share)


def passes(count: int) -> Callable[[Data], int]:
    """So many passes, as rows."""
    return lambda data: count * data.n_rows


def iterations(count: int) -> Callable[[Data], int]:
    """So many iterations."""
    return lambda data: count
