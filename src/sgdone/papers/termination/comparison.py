"""The margin test compared with small validation sets: common code of the scatter plots."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sgdone.papers.claims import Claim
from sgdone.papers.drawing import Axes, Figure, grid_lines
from sgdone.papers.experiment import Experiment, Prepared, Row
from sgdone.papers.tables import Array, column, distinct, grouped, where
from sgdone.papers.termination.comparison_claims import Reasons
from sgdone.papers.termination.runs import (
    ASTERISK,
    LONGER,
    LOSSES,
    MARGIN,
    Accuracy,
    Centred,
    five_tests,
    preliminary_phase,
)
from sgdone.rows.source import Source
from sgdone.stopping import StopRule

#: Rows of the small validation sets by 1/α̃: the main text's for 1/16, the supplement's for 1/10 and 1/200.
SVS_SIZES = {16: (8, 32, 128), 10: (32, 128, 512), 200: (32, 128, 512)}

_STYLES: dict[str, dict[str, Any]] = {
    MARGIN: {"marker": ASTERISK, "color": "blue", "markersize": 7, "label": "test (12), k iterations"},
    LONGER: {"marker": "+", "color": "green", "markersize": 8, "label": "1.5k iterations"},
}
#: Runs that end at the same number of iterations are drawn in this ratio.
_ASIDE = 1.04
#: SVS from the smallest validation set to the largest.
_SVS_COLOURS = ("red", "magenta", "cyan")


def panel_label(row: Row) -> str:
    """Label of a panel in the paper: (l/200) is the logistic loss with α̃ = 1/200."""
    return f"{row['data']} ({row['loss'][0]}/{row['step'][2:]})"


class Trial(NamedTuple):
    """One random order of the rows of one kind of data, for both losses and all α̃."""

    data: str
    number: int


@dataclass(frozen=True)
class TerminationComparison(Experiment[Trial, Prepared]):
    """Accuracy against iterations of ten random runs, each ended by five tests, for both losses and three α̃."""

    trials: int = 10
    #: Why claims fail on these data, where that is known.
    reasons: ClassVar[Reasons] = Reasons()
    figure_size = (11.0, 13.5)

    @property
    @abstractmethod
    def data(self) -> Sequence[str]:
        """Rows of panels: values of a parameter, or data sets."""

    @property
    @abstractmethod
    def limit(self) -> StopRule:
        """Limit of a run that its test does not stop."""

    def sizes(self, data: str) -> Mapping[int, tuple[int, ...]]:
        """Rows of the small validation sets by 1/α̃."""
        return SVS_SIZES

    @abstractmethod
    def rows_and_accuracy(self, data: str, prepared: Prepared) -> tuple[Source, Accuracy]:
        """Training rows, and the fraction correct of a classifier."""

    def tasks(self) -> Sequence[Trial]:
        """Every random run of every panel."""
        return [Trial(data, number) for data in self.data for number in range(self.trials)]

    def measure(self, task: Trial, prepared: Prepared, seed: np.random.SeedSequence) -> list[Row]:
        """One random order, ended by five tests in turn for each loss and α̃."""
        source, accuracy = self.rows_and_accuracy(task.data, prepared)
        first = preliminary_phase(source, seed)
        centred = Centred(source, first.centre, seed)
        found = []
        for loss in LOSSES:
            for inverse, sizes in self.sizes(task.data).items():
                panel = {"data": task.data, "loss": loss, "step": f"1/{inverse}", "trial": task.number}
                ended = five_tests(centred, first, loss, 1 / inverse, sizes, self.limit, accuracy, seed)
                found += [panel | row for row in ended]
        return found

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Each sentence for each loss."""
        return [claim for loss in LOSSES for claim in self.claims_of_loss(rows, loss)]

    @abstractmethod
    def claims_of_loss(self, rows: Sequence[Row], loss: str) -> list[Claim]:
        """Claims of the paper about these data."""

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """A row of panels for each data and loss, a column for each α̃."""
        kinds, steps = distinct(rows, "data", "loss"), distinct(rows, "step")
        panels = figure.subplots(len(kinds), len(steps), sharex="row", squeeze=False)
        for (data, loss), line in zip(kinds, panels, strict=True):
            for step, axis in zip(steps, line, strict=True):
                here = where(rows, data=data, loss=loss, step=step)
                _draw_panel(axis, here)
                axis.set_title(panel_label(here[0]), fontsize="medium")
            line[0].set_ylabel("accuracy")
        above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.2), "fontsize": "small", "frameon": False, "ncol": 2}
        for step, top in zip(steps, panels[0], strict=True):
            top.legend(title=f"α̃ = {step}", **above)
        figure.supxlabel("iterations; runs that end at the same k are drawn side by side")
        return f"{self.trials} random runs per panel"


def side_by_side(k: Array) -> Array:
    """Numbers of iterations for a logarithmic axis, equal ones spread by 4 % each: SVS stops at multiples of 2p only.

    Examples
    --------
    >>> side_by_side(np.array([100.0, 256.0, 256.0, 256.0])).round()
    array([100., 246., 256., 266.])
    """
    spread = np.empty_like(k)
    for value in np.unique(k):
        same = np.flatnonzero(k == value)
        spread[same] = value * _ASIDE ** (np.arange(same.size) - (same.size - 1) / 2)
    return spread


def _draw_panel(axis: Axes, rows: Sequence[Row]) -> None:
    """A run whose test did not fire has no marker."""
    from matplotlib.colors import to_rgb

    colours = iter(_SVS_COLOURS)
    for test, runs in grouped(rows, "test").items():
        style = _STYLES.get(test) or {"marker": "o", "markersize": 6, "label": test, "color": next(colours)}
        if test not in _STYLES:
            style |= {"markerfacecolor": (*to_rgb(style["color"]), 0.25), "markeredgewidth": 1.3}
        k = side_by_side(column(runs, "iterations", fired=1))
        axis.plot(k, column(runs, "accuracy", fired=1), linestyle="none", **style)
    axis.set_xscale("log")
    grid_lines(axis)
