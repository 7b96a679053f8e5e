"""Courses of errors and margins out of the rows of a CSV file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.data import Array

#: Quantities of a course.
QUANTITIES = (
    "training_error",
    "test_error",
    "mean",
    "median",
    "standard_deviation",
    "lower_quartile",
    "upper_quartile",
    "skew",
)


@final
@dataclass(frozen=True, eq=False)
class Best:
    """The course of a method with the λ of its lowest mean test error, trials × points for each quantity."""

    alpha: float
    gradients: Array
    values: dict[str, Array]

    def mean(self, quantity: str) -> Array:
        """The mean over trials at each point."""
        return np.asarray(self.values[quantity].mean(axis=0))

    @property
    def errors(self) -> Array:
        """The test errors of the trials at the point where their mean is lowest."""
        return np.asarray(self.values["test_error"][:, int(np.argmin(self.mean("test_error")))])

    def error(self) -> float:
        """The lowest mean test error."""
        return float(self.errors.mean())

    def standard_error(self) -> float:
        """That of the lowest mean test error."""
        return float(self.errors.std(ddof=1) / np.sqrt(self.errors.size)) if self.errors.size > 1 else 0.0

    def end(self, quantity: str) -> float:
        """The mean over trials at the end."""
        return float(self.mean(quantity)[-1])


def bests_of(rows: Sequence[Row]) -> dict[tuple[str, str], Best]:
    """By set and method."""
    gathered: dict[tuple[str, str], dict[float, list[Row]]] = {}
    for row in rows:
        gathered.setdefault((row["data"], row["method"]), {}).setdefault(row["lambda"], []).append(row)
    found = {}
    for key, by_alpha in gathered.items():
        courses = [_course(alpha, own) for alpha, own in by_alpha.items()]
        found[key] = min(courses, key=lambda best: float(best.mean("test_error").min()))
    return found


def _course(alpha: float, rows: Sequence[Row]) -> Best:
    gradients = sorted({row["gradients"] for row in rows})
    places = {step: k for k, step in enumerate(gradients)}
    trials = {trial: k for k, trial in enumerate(sorted({row["trial"] for row in rows}))}
    values = {quantity: np.empty((len(trials), len(places))) for quantity in QUANTITIES}
    for row in rows:
        for quantity in QUANTITIES:
            values[quantity][trials[row["trial"]], places[row["gradients"]]] = row[quantity]
    return Best(alpha, np.array(gradients, dtype=np.float64), values)
