"""The margin test beside small validation sets on pairs of classes of images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sgdone import datasets
from sgdone.data import ArraySource
from sgdone.data.base import Source
from sgdone.papers.termination.claims import Reasons
from sgdone.papers.termination.comparison import TerminationComparison
from sgdone.papers.termination.runs import Accuracy
from sgdone.stopping import MaxPasses
from sgdone.stopping.base import StopRule

_FEW_DIRECTIONS = (
    "the images vary in few directions (tr²Σ/‖Σ‖² is 22 for 7 v 9, 8 to 11 for CIFAR-10): margins reach 1 before the "
    "others are learnt. Normal data with the covariances of these images do the same, isotropic data do not"
)

#: Training rows, and the pixels and labels of the test rows.
Images = tuple[ArraySource, NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True)
class TerminationImages(TerminationComparison[dict[str, Images]]):
    """Runs through the training images in different random orders; the accuracy is that on the test images.

    A test that has not fired when the training images are used up leaves no marker; the CSV file has ``fired`` 0.
    """

    #: Data sets by what the panels call them.
    pairs: ClassVar[Mapping[str, str]]
    reasons: ClassVar[Reasons] = Reasons(accuracy=_FEW_DIRECTIONS, many_iterations=_FEW_DIRECTIONS)
    quick: ClassVar[Mapping[str, Any]] = {"trials": 3}
    smoke: ClassVar[Mapping[str, Any]] = {"trials": 2}
    figure_size: ClassVar[tuple[float, float]] = (11.0, 10.0)

    @property
    def data(self) -> Sequence[str]:
        """Pairs of classes."""
        return list(self.pairs)

    @property
    def limit(self) -> StopRule:
        """The training images are used once."""
        return MaxPasses(1)

    def prepare(self, seed: np.random.SeedSequence) -> dict[str, Images]:
        """Load the images; pixels are left as they are."""
        return {pair: _load(name) for pair, name in self.pairs.items()}

    def rows_and_accuracy(self, data: str, prepared: dict[str, Images]) -> tuple[Source, Accuracy]:
        """Training images, and the fraction correct on the test images."""
        source, X, y = prepared[data]
        return source, partial(_fraction_correct, X, y)


def _load(name: str) -> Images:
    train, test = datasets.load(name), datasets.load(name, subset="test")
    return ArraySource(train.X, train.y.astype(np.float64)), test.X, test.y


def _fraction_correct(X: NDArray[Any], y: NDArray[np.int64], coef: NDArray[Any], intercept: float) -> float:
    return float(np.mean((X @ coef + intercept > 0) == (y > 0)))
