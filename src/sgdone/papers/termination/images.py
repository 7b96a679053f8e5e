"""The margin test beside small validation sets on pairs of classes of images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone import datasets
from sgdone.data import ArraySource
from sgdone.data.source import Source
from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Row
from sgdone.papers.tables import where
from sgdone.papers.termination.comparison import Reasons, TerminationComparison, panel_label
from sgdone.papers.termination.runs import Accuracy, svs
from sgdone.stopping import MaxPasses, StopRule

_FEW_DIRECTIONS = (
    "the images vary in few directions (tr²Σ/‖Σ‖² is 22 for 7 v 9, 8 to 11 for CIFAR-10): margins reach 1 before the "
    "others are learnt. Normal data with the covariances of these images do the same, isotropic data do not"
)

#: Training rows, and the pixels and labels of the test rows.
Images = tuple[ArraySource, NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True)
class TerminationImages(TerminationComparison[dict[str, Images]]):
    """Runs through the training images in different random orders; the accuracy is that on the test images.

    A test that has not fired when the training images are used up has no marker; the CSV file has ``fired`` 0.
    """

    #: Data sets by what the panels call them.
    pairs: ClassVar[Mapping[str, str]]
    reasons = Reasons(accuracy=_FEW_DIRECTIONS, many_iterations=_FEW_DIRECTIONS)
    quick: ClassVar = {"trials": 3}
    smoke: ClassVar = {"trials": 2}
    figure_size = (11.0, 10.0)

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


@final
@dataclass(frozen=True)
class TerminationMnist(TerminationImages):
    """Figure 4 (Fig. 3 of the main text): 1 against 8, an easy task, and 7 against 9, a harder one."""

    pairs: ClassVar = {"1 v 8": "mnist-1-vs-8", "7 v 9": "mnist-7-vs-9"}
    name = "termination-mnist"
    title = "Margin test against small validation sets on MNIST, d = 784"
    paper = "Baghal, Paquette, Vavasis (2021), Fig. 4 (Fig. 3 of the main text)"


@final
@dataclass(frozen=True)
class TerminationCifar(TerminationImages):
    """Figure 5 (Fig. 3 of the main text): deer against airplanes, frogs against trucks.

    The test images are those of these classes among the first 1,000: 193 and 221.
    """

    pairs: ClassVar = {"deer v airplane": "cifar10-deer-vs-airplane", "frog v truck": "cifar10-frog-vs-truck"}
    reasons = replace(TerminationImages.reasons, step="some 200 test images do not tell differences below 0.02")
    name = "termination-cifar"
    title = "Margin test against small validation sets on CIFAR-10, d = 3072"
    paper = "Baghal, Paquette, Vavasis (2021), Fig. 5 (Fig. 3 of the main text)"

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """As for the other figures, and that one panel lacks the largest validation set."""
        return [*super().claims(rows), _exhausted(rows)]


def _exhausted(rows: Sequence[Row]) -> Claim:
    silent: dict[str, list[bool]] = {}
    for row in where(rows, test=svs(512)):
        silent.setdefault(panel_label(row), []).append(not row["fired"])
    without = [label for label, runs in silent.items() if all(runs)]
    counts = ", ".join(f"{label} {sum(runs)} of {len(runs)}" for label, runs in silent.items() if any(runs))
    return Claim(
        "in exactly one panel the training images end in every run before SVS with p = 512 fires",
        "caption of Fig. 5: one plot lacks the cyan circles, the training data being exhausted first",
        f"{len(without)} panels; runs that ended first: {counts or 'none'}",
        len(without) == 1,
    )
