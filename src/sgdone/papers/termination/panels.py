"""Means and spreads of the runs in each panel of a scatter plot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from sgdone.papers.experiment import Row
from sgdone.papers.termination.runs import MARGIN

#: Mean accuracies closer than this count as equal.
EQUAL = 0.01


@final
@dataclass(frozen=True)
class Ended:
    """The runs of a panel that one test ended; standard deviations are those of the sample."""

    accuracy: float
    accuracy_spread: float
    iterations: float
    #: Standard deviation over mean.
    iterations_spread: float

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Ended":
        """Over two or more runs."""
        accuracies, iterations = (np.array([row[name] for row in rows], float) for name in ("accuracy", "iterations"))
        mean = float(iterations.mean())
        spreads = [float(column.std(ddof=1)) for column in (accuracies, iterations)]
        return cls(float(accuracies.mean()), spreads[0], mean, spreads[1] / mean)


class Panel(NamedTuple):
    """One scatter plot; ``tests`` lacks those that fired in fewer than two runs."""

    data: str
    loss: str
    step: str
    tests: dict[str, Ended]

    @property
    def label(self) -> str:
        """As the paper has it: (l/200) is the logistic loss with α̃ = 1/200."""
        return f"{self.data} ({self.loss[0]}/{self.step[2:]})"


class Pair(NamedTuple):
    """The margin test and a small validation set on the same runs."""

    label: str
    margin: Ended
    svs: Ended


def panels_of(rows: Sequence[Row]) -> list[Panel]:
    """All panels, in the order of the rows."""
    panels = {(row["data"], row["loss"], row["step"]): dict[str, list[Row]]() for row in rows}
    for row in rows:
        if row["fired"]:
            panels[row["data"], row["loss"], row["step"]].setdefault(row["test"], []).append(row)
    return [
        Panel(*key, {test: Ended.of(runs) for test, runs in tests.items() if len(runs) > 1})
        for key, tests in panels.items()
    ]


def pairs_of(panels: Iterable[Panel]) -> list[Pair]:
    """The margin test beside every small validation set of every panel, where both fired."""
    return [
        Pair(f"{panel.label} {test.removeprefix('SVS, ')}", panel.tests[MARGIN], ended)
        for panel in panels
        for test, ended in panel.tests.items()
        if test.startswith("SVS") and MARGIN in panel.tests
    ]


def span(numbers: Mapping[str, float], form: str = "+.3f") -> str:
    """The least and the largest, in words."""
    return f"from {min(numbers.values()):{form}} to {max(numbers.values()):{form}}" if numbers else ""
