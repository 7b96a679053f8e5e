"""How far a fit has come: rows read, losses on the way, time."""

import time
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto.bank import Advance
from sgdone.auto.learner import Learner
from sgdone.stopping.base import Progress
from sgdone.trace import Trace, TraceRow


@final
class Course:
    """The trace, and what has been added up since the last pass began."""

    def __init__(self, n_rows: int | None, rows_read: int, *, regression: bool) -> None:
        self.n_rows, self.rows_read = n_rows, rows_read
        self.trace = Trace(task="regression" if regression else "classification")
        self._began = time.perf_counter()
        self._loss, self._weight = 0.0, 0.0

    def passes(self, begun: int) -> float:
        """Rows read divided by the number of rows; passes begun where nobody knows how many there are."""
        return self.rows_read / self.n_rows if self.n_rows else float(begun)

    def add(self, learner: Learner, found: Advance, weights: NDArray[np.float64], begun: int) -> None:
        """Add the losses of a stretch of rows."""
        if not len(found.losses):
            return
        model = learner.model
        loss, weight = float((weights * found.losses[:, model]).sum()), float(weights.sum())
        self._loss += loss
        self._weight += weight
        error = learner.task.error(float(found.misses[model]), len(found.losses))
        size, seconds = learner.bank.step_size(model), time.perf_counter() - self._began
        self.trace.append(TraceRow(learner.steps, self.passes(begun), loss / weight, error, size, seconds))

    def begin_pass(self) -> None:
        """The loss of a pass is its own."""
        self._loss, self._weight = 0.0, 0.0

    def progress(self, learner: Learner | None, begun: int, pass_ended: bool) -> Progress:
        """What rules and hooks may see."""
        steps = 0 if learner is None else learner.steps
        mean = self._loss / self._weight if self._weight else float("nan")
        seconds = time.perf_counter() - self._began
        return Progress(steps, self.rows_read, self.n_rows, begun, pass_ended, mean, seconds)
