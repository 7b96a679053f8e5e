"""The margin test and small validation sets (SVS) on the same runs, in pairs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgdone.papers.experiment import Row
from sgdone.papers.tables import Array, grouped
from sgdone.papers.termination.runs import MARGIN, svs

#: α̃ of the main text, and the large and the small one of the supplement.
MAIN, LARGE, SMALL = "1/16", "1/10", "1/200"
_LARGEST = svs(512)

#: Runs by data, step and trial: the row of each test that fired.
Runs = dict[tuple[str, str, int], dict[str, Row]]
#: Standard deviations by data and step, of each test.
Spreads = dict[tuple[str, str], dict[str, float]]


class Pair(NamedTuple):
    """The margin test and a small validation set on one run."""

    step: str
    size: str
    margin: Row
    svs: Row

    @property
    def gain(self) -> float:
        """Accuracy of the margin test less that of SVS."""
        return float(self.margin["accuracy"] - self.svs["accuracy"])

    @property
    def more(self) -> float:
        """Iterations of the margin test over those of SVS."""
        return float(self.margin["iterations"] / self.svs["iterations"])


def runs_of(rows: Sequence[Row], loss: str) -> Runs:
    """The tests that fired, run by run."""
    found: Runs = {}
    for row in rows:
        if row["loss"] == loss and row["fired"]:
            found.setdefault((row["data"], row["step"], row["trial"]), {})[row["test"]] = row
    return found


def pairs_of(runs: Runs, *steps: str, largest: bool = False) -> list[Pair]:
    """The margin test compared with SVS, or with SVS at p = 512 only, at some α̃."""
    return [
        Pair(step, test, tests[MARGIN], row)
        for (_, step, _), tests in runs.items()
        if step in steps and MARGIN in tests
        for test, row in tests.items()
        if test.startswith("SVS") and (test == _LARGEST or not largest)
    ]


def spreads_of(
    rows: Sequence[Row], loss: str, what: str, steps: Sequence[str]
) -> dict[tuple[str, str], dict[str, float]]:
    """Standard deviation over runs by data and step, of each test; that of iterations is divided by their mean."""
    own = [row for row in rows if row["loss"] == loss and row["fired"] and row["step"] in steps]
    found: Spreads = {}
    for (data, step, test), runs in grouped(own, "data", "step", "test").items():
        values: Array = np.array([row[what] for row in runs], dtype=np.float64)
        if values.size > 1:
            spread = values.std(ddof=1) / (values.mean() if what == "iterations" else 1.0)
            found.setdefault((data, step), {})[test] = float(spread)
    return found
