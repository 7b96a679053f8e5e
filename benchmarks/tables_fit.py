"""What is measured of a fit to a raw table: seconds from the frame to the model, loss and error of the test rows."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tables_data import Split


@dataclass(frozen=True)
class Fit:
    """Seconds from the raw frame to the model, and how well the model predicts the test rows."""

    setting: str
    #: Seconds of the processor and of the wall clock, and those of the wall clock that encoding took.
    cpu: float
    wall: float
    encoding: float
    #: Log loss and share of wrong predictions, or mean squared error and 1 − R².
    loss: float
    error: float
    note: str = ""


class Clock:
    """Seconds of the processor and of the wall clock that a block of code takes."""

    def __enter__(self) -> "Clock":
        self._began = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu, self.wall = time.process_time() - self._began[0], time.perf_counter() - self._began[1]


def measured(
    split: Split, predicted: NDArray[Any], clocks: tuple[Clock, Clock], setting: str = "", note: str = ""
) -> Fit:
    """A fit by its predictions (probabilities of class 1, or values) and the seconds of encoding and of fitting."""
    y, (encoding, fitting) = split.y_test, clocks
    predicted = np.asarray(predicted, dtype=np.float64)
    if split.is_regression:
        loss = float(np.mean((predicted - y) ** 2))
        error = loss / float(y.var())
    else:
        p_true = np.where(y == 1, predicted, 1 - predicted)
        loss = float(-np.log(np.maximum(p_true, np.finfo(np.float64).eps)).mean())
        error = float(np.mean((predicted > 0.5) != y))
    seconds = encoding.cpu + fitting.cpu, encoding.wall + fitting.wall, encoding.wall
    return Fit(setting, *seconds, loss, error, note)


def predictions(model: Any, rows: Any) -> NDArray[Any]:
    """Probabilities of class 1, or values."""
    found: NDArray[Any] = model.predict_proba(rows)[:, 1] if hasattr(model, "predict_proba") else model.predict(rows)
    return found
