"""Measured risks by problem and steps, as arrays."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sgdone.papers.experiment import Row
from sgdone.papers.logistic.problems import Array

#: Below this a difference of two risks is rounding.
ROUNDING = 1e-14


class RiskCourse(NamedTuple):
    """One method on one problem: numbers at each t, of each run in a row."""

    t: Array
    excess: Array
    bound: Array
    norms: Array

    def exponent(self, decades: float = 2.0) -> float:
        """The slope of the mean excess risk over the last decades, on log axes."""
        late = self.t >= self.t[-1] / 10**decades
        mean = np.maximum(self.excess.mean(axis=0), ROUNDING)[late]
        return float(np.polyfit(np.log(self.t[late]), np.log(mean), 1)[0])


def course_of(rows: Sequence[Row], problem: str, steps: str) -> RiskCourse:
    """The rows of a problem and steps."""
    here = [row for row in rows if row["problem"] == problem and row["steps"] == steps]
    runs = sorted({row["run"] for row in here}, key=lambda run: run or 0)
    by_run = [[row for row in here if row["run"] == run] for run in runs]
    table = {key: np.array([[row[key] for row in one] for one in by_run]) for key in ("excess_risk", "norm")}
    first = by_run[0]
    return RiskCourse(
        np.array([row["t"] for row in first], float),
        table["excess_risk"],
        np.array([row["bound"] for row in first]),
        table["norm"],
    )
