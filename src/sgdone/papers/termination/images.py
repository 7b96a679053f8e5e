"""The margin test compared with small validation sets on pairs of classes of images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone import datasets
from sgdone.papers.claims import AlsoTried, Claim, Sentence
from sgdone.papers.experiment import Row
from sgdone.papers.tables import where
from sgdone.papers.termination.comparison import TerminationComparison, panel_label
from sgdone.papers.termination.comparison_claims import Reasons, claims_on_all_data, claims_on_images, tried_on_images
from sgdone.papers.termination.runs import LOSSES, Accuracy, svs
from sgdone.rows import ArraySource
from sgdone.rows.source import Source
from sgdone.stopping import MaxPasses, StopRule

_FEW_DIRECTIONS = (
    "the images vary in few directions (tr²Σ/‖Σ‖² is 22 for 7 v 9, 8 to 11 for CIFAR-10): margins reach 1 before the "
    "others are learnt. Normal data with the covariances of these images do the same, isotropic data do not"
)

_EXHAUSTED = Sentence(
    "The plot in the first row, right, does not include cyan circles because the training data was exhausted before "
    "the SVS test could activate for p=512.",
    "supplement, caption of Fig. 5",
)

#: Training rows, and the pixels and labels of the images on which the accuracy is counted.
Images = tuple[ArraySource, NDArray[np.float32], NDArray[np.float64]]


@dataclass(frozen=True)
class TerminationImages(TerminationComparison[dict[str, Images]]):
    """Runs through the training images in different random orders; the accuracy is that on other images.

    A test that has not fired when the training images are used up has no marker; the CSV file has ``fired`` 0.
    """

    #: Data sets by what the panels call them.
    pairs: ClassVar[Mapping[str, str]]
    #: Training images on which the accuracy is counted instead of the test images.
    held_out: ClassVar[int] = 0
    reasons = Reasons(accuracy=_FEW_DIRECTIONS, iterations=_FEW_DIRECTIONS)
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
        rng = np.random.default_rng(seed)
        return {pair: _load(name, self.held_out, rng) for pair, name in self.pairs.items()}

    def rows_and_accuracy(self, data: str, prepared: dict[str, Images]) -> tuple[Source, Accuracy]:
        """Training images, and the fraction correct on the others."""
        source, X, y = prepared[data]
        return source, partial(_fraction_correct, X, y)

    def claims_of_loss(self, rows: Sequence[Row], loss: str) -> list[Claim]:
        """The conclusions, and sections 5.2 and 6."""
        return [*claims_on_all_data(rows, loss, self.reasons), *claims_on_images(rows, loss, self.reasons)]

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """Section 6 against all validation sets."""
        return [tried for loss in LOSSES for tried in tried_on_images(rows, loss)]


def _load(name: str, held_out: int, rng: np.random.Generator) -> Images:
    """Training images, and test images or ``held_out`` of the training images."""
    train = datasets.load(name, dtype=np.float32)
    X, y = train.X, train.y.astype(np.float64)
    if not held_out:
        test = datasets.load(name, subset="test", dtype=np.float32)
        return ArraySource(X, y), test.X, test.y.astype(np.float64)
    order = rng.permutation(y.size)
    kept, others = np.sort(order[held_out:]), order[:held_out]
    return ArraySource(X[kept], y[kept]), X[others], y[others]


def _fraction_correct(X: NDArray[Any], y: NDArray[np.float64], coef: NDArray[Any], intercept: float) -> float:
    return float(np.mean((X @ coef.astype(X.dtype) + intercept > 0) == (y > 0)))


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

    The accuracy is counted on 2,000 training images that are held out: there are only 193 and 221 test images.
    """

    pairs: ClassVar = {"deer v airplane": "cifar10-deer-vs-airplane", "frog v truck": "cifar10-frog-vs-truck"}
    held_out = 2000
    name = "termination-cifar"
    title = "Margin test against small validation sets on CIFAR-10, d = 3072"
    paper = "Baghal, Paquette, Vavasis (2021), Fig. 5 (Fig. 3 of the main text)"

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Claims of the other figures, and that one panel lacks the largest validation set."""
        return [*super().claims(rows), _exhausted(rows)]


def _exhausted(rows: Sequence[Row]) -> Claim:
    silent: dict[str, list[bool]] = {}
    for row in where(rows, test=svs(512)):
        silent.setdefault(panel_label(row), []).append(not row["fired"])
    without = [label for label, runs in silent.items() if all(runs)]
    counts = ", ".join(f"{label} {sum(runs)} of {len(runs)}" for label, runs in silent.items() if any(runs))
    return Claim(
        _EXHAUSTED,
        "in exactly one panel the training images end in every run before SVS with p = 512 fires",
        f"{len(without)} panels; runs that ended first: {counts or 'none'}",
        len(without) == 1,
    )
