"""The margin test beside small validation sets: what the figures of scatter plots share."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from sgdone.data.base import Source
from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Experiment, Prepared, Row
from sgdone.papers.termination.claims import Reasons, claims_of_comparison
from sgdone.papers.termination.drawing import draw_comparison
from sgdone.papers.termination.runs import Accuracy, five_tests
from sgdone.stopping.base import StopRule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOSSES = ("logistic", "hinge")
#: Rows of the small validation sets by 1/α̃: the main text's for 1/16, the supplement's for 1/10 and 1/200.
SVS_SIZES = {16: (8, 32, 128), 10: (32, 128, 512), 200: (32, 128, 512)}


class Trial(NamedTuple):
    """One random run, ended by five tests in turn."""

    data: str
    loss: str
    #: 1/α̃.
    inverse_step: int
    number: int


@dataclass(frozen=True)
class TerminationComparison(Experiment[Trial, Prepared]):
    """Accuracy against iterations of ten random runs, each ended by five tests, for both losses and three α̃."""

    trials: int = 10
    #: Why claims fail on these data, where that is known.
    reasons: ClassVar[Reasons] = Reasons()
    figure_size: ClassVar[tuple[float, float]] = (11.0, 13.5)

    @property
    @abstractmethod
    def data(self) -> Sequence[str]:
        """What the rows of panels are about: values of a parameter, or data sets."""

    @property
    @abstractmethod
    def limit(self) -> StopRule:
        """What ends a run whose test does not."""

    @abstractmethod
    def rows_and_accuracy(self, data: str, prepared: Prepared) -> tuple[Source, Accuracy]:
        """Rows to train on, and the fraction correct of a classifier."""

    def tasks(self) -> Sequence[Trial]:
        """Every random run of every panel."""
        return [
            Trial(data, loss, inverse_step, number)
            for data in self.data
            for loss in LOSSES
            for inverse_step in SVS_SIZES
            for number in range(self.trials)
        ]

    def measure(self, task: Trial, prepared: Prepared, seed: np.random.SeedSequence) -> list[Row]:
        """One random run."""
        source, accuracy = self.rows_and_accuracy(task.data, prepared)
        sizes = SVS_SIZES[task.inverse_step]
        ended = five_tests(source, task.loss, 1 / task.inverse_step, sizes, self.limit, accuracy, seed)
        panel = {"data": task.data, "loss": task.loss, "step": f"1/{task.inverse_step}", "trial": task.number}
        return [panel | row for row in ended]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What the paper says about all of these figures."""
        return claims_of_comparison(rows, self.reasons)

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
        """A row of panels for each data and loss, a column for each α̃."""
        draw_comparison(rows, figure)
        figure.suptitle(f"{self.title}\n{self.paper}; {self.trials} random runs a panel", fontsize="large")
