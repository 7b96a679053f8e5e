"""Excess risk against samples, measured in trials and expected: what both experiments of Xu (2011) have in common."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from sgdone.papers.experiment import Row

Array = NDArray[np.float64]
#: Numbers of samples, rising.
Points = NDArray[np.int64]

BATCH = "batch"


def rows_of(method: str, samples: Iterable[int], trial: int | None, risks: Iterable[float]) -> list[Row]:
    """Lines of the CSV file; those without a trial are expectations."""
    return [
        {"method": method, "samples": int(t), "trial": trial, "excess_risk": float(risk)}
        for t, risk in zip(samples, risks, strict=True)
    ]


@final
@dataclass(frozen=True)
class Curve:
    """The course of one method.

    Parameters
    ----------
    samples : array, (points,)
        Where it was measured.
    risks : array, (trials, points)
        Excess risk, by trial.
    expected : array, (points,)
        Its exact expectation.
    """

    samples: Array
    risks: Array
    expected: Array

    def over(self, batch: "Curve") -> "Curve":
        """The excess risk in units of the batch method's expected one at the same samples."""
        return Curve(self.samples, self.risks / batch.expected, self.expected / batch.expected)

    @property
    def means(self) -> Array:
        """Mean over the trials."""
        return np.asarray(self.risks.mean(axis=0))

    @property
    def standard_errors(self) -> Array:
        """Standard errors of the means."""
        return np.asarray(self.risks.std(axis=0, ddof=1) / np.sqrt(len(self.risks)))

    def at(self, samples: int) -> int | None:
        """The place of a number of samples, if it was looked at."""
        places = np.flatnonzero(self.samples == samples)
        return int(places[0]) if places.size else None


def curve_of(rows: Sequence[Row], method: str) -> Curve:
    """The lines of one method as arrays."""
    here = [row for row in rows if row["method"] == method]
    expected = {row["samples"]: row["excess_risk"] for row in here if row["trial"] is None}
    by_trial: dict[int, list[float]] = {}
    for row in here:
        if row["trial"] is not None:
            by_trial.setdefault(row["trial"], []).append(row["excess_risk"])
    return Curve(np.array(list(expected), float), np.array(list(by_trial.values())), np.array(list(expected.values())))


def settles_below(samples: Array, values: Array, level: float) -> float:
    """Where a course falls below a level for good, on straight lines between the logarithms; infinite if it does not.

    Examples
    --------
    >>> round(settles_below(np.array([1.0, 10.0, 100.0]), np.array([100.0, 1.0, 0.5]), 10.0), 3)
    3.162
    """
    above = np.flatnonzero(values > level)
    if above.size == 0:
        return float(samples[0])
    k = above[-1]
    if k == values.size - 1:
        return float("inf")
    share = np.log(values[k] / level) / np.log(values[k] / values[k + 1])
    return float(samples[k] * (samples[k + 1] / samples[k]) ** share)
