"""What a bank predicts: how many numbers a row, of which loss."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.outputs import Outputs, make_one_vs_rest, make_softmax, make_target, make_two_classes
from sgdone.losses.loss import Loss

Kind = Literal["target", "two_classes", "one_vs_rest", "softmax"]

_MAKERS: dict[Kind, Callable[..., Outputs]] = {
    "target": make_target,
    "two_classes": make_two_classes,
    "one_vs_rest": make_one_vs_rest,
    "softmax": make_softmax,
}


@final
@dataclass(frozen=True)
class Task:
    """A loss, the kind of prediction, and how many outputs a model has."""

    loss: Loss
    kind: Kind
    n_outputs: int
    fit_intercept: bool

    @classmethod
    def of(cls, loss: Loss, n_classes: int | None, fit_intercept: bool) -> "Task":
        """Regression without classes; two make one output, more one each, coupled if the loss has probabilities."""
        if n_classes is None:
            return cls(loss, "target", 1, fit_intercept)
        if n_classes == 2:
            return cls(loss, "two_classes", 1, fit_intercept)
        return cls(loss, "softmax" if loss.probabilistic else "one_vs_rest", n_classes, fit_intercept)

    @property
    def make_outputs(self) -> Callable[..., Outputs]:
        """The factory in `sgdone.kernels.outputs`."""
        return _MAKERS[self.kind]

    @property
    def n_free_outputs(self) -> int:
        """Outputs that matter: a softmax takes no note of what all have in common."""
        return self.n_outputs - 1 if self.kind == "softmax" else self.n_outputs

    @property
    def is_regression(self) -> bool:
        """Whether targets are predicted."""
        return self.kind == "target"

    def start(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Intercepts that suit some rows without a look at their features."""
        if not self.fit_intercept:
            return np.zeros(self.n_outputs)
        if self.kind == "target":
            return np.array([self._middle(labels)])
        if not self.loss.probabilistic:
            return np.zeros(self.n_outputs)
        numbers = (labels > 0).astype(np.intp) if self.kind == "two_classes" else labels.astype(np.intp)
        counts = np.bincount(numbers, minlength=max(2, self.n_outputs))
        if not counts.all():  # sorted by class, perhaps: these rows are not like those to come
            return np.zeros(self.n_outputs)
        logs: NDArray[np.float64] = np.log(counts)
        return logs - logs.mean() if self.kind == "softmax" else logs[1:] - logs[:1]

    def smoothness(self, labels: NDArray[np.float64]) -> float:
        """A curvature for step sizes: the loss's largest, or its largest slope over a typical distance."""
        distance = 1.0
        if self.is_regression:
            distance = float(np.median(np.abs(labels - self._middle(labels)))) or 1.0
        found = min(self.loss.smoothness, self.loss.lipschitz / distance)
        return found if 0 < found < np.inf else 1.0

    @property
    def is_robust(self) -> bool:
        """Whether targets far away are let be: their slope is no larger than that of others."""
        return self.is_regression and self.loss.lipschitz < np.inf

    def _middle(self, labels: NDArray[np.float64]) -> float:
        return float(np.median(labels) if self.is_robust else labels.mean())

    def error(self, misses: float, rows: int) -> float:
        """Share of wrong classes, or root mean squared error."""
        mean = misses / max(1, rows)
        return float(np.sqrt(mean)) if self.is_regression else mean
