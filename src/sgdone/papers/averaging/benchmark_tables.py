"""What was measured, by set, loss and method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sgdone.papers.averaging.benchmark_runs import AS_PRINTED, METHODS
from sgdone.papers.experiment import Row

Array = NDArray[np.float64]
#: What stands for a method in rows of the exact minimiser, and of sets that are not at hand.
OPTIMUM, SKIPPED = "optimum", "skipped"


@final
@dataclass(frozen=True)
class Course:
    """One method's runs on one set: passes by point; seconds, errors and costs by run and point."""

    passes: Array
    seconds: Array
    errors: Array
    costs: Array

    def place(self, passes: float) -> int:
        """The first point at or after so many passes."""
        return int(np.searchsorted(self.passes, passes - 1e-6))

    def error(self, passes: float) -> float:
        """Mean over the runs after so many passes."""
        return float(self.errors[:, self.place(passes)].mean())

    def cost(self, passes: float) -> float:
        """The same of the cost."""
        return float(self.costs[:, self.place(passes)].mean())

    def volatility(self, first: float, last: float) -> float:
        """Standard deviation of the error over the points of some passes, mean over the runs; NaN of fewer than two."""
        within = self.errors[:, self.place(first) : self.place(last) + 1]
        if within.shape[1] < 2:
            return np.nan
        return float(within.std(axis=1).mean()) if np.all(np.isfinite(within)) else np.inf

    def pass_seconds(self) -> float:
        """Of the second pass alone, median over the runs: choosing step sizes and copying rows are before it."""
        return float(np.median(self.seconds[:, self.place(2)] - self.seconds[:, self.place(1)]))

    def seconds_to(self, error: float) -> float:
        """Until the mean error is that or less, median over the runs; infinite if it never is."""
        reached = np.flatnonzero(self.errors.mean(axis=0) <= error)
        return float(np.median(self.seconds[:, reached[0]])) if reached.size else np.inf


@final
@dataclass(frozen=True)
class Table:
    """All courses, and the minimisers' errors and costs on the test rows."""

    courses: Mapping[tuple[str, str, str], Course]
    optima: Mapping[tuple[str, str], tuple[float, float]]
    #: Sets that are not at hand, and why.
    skipped: Mapping[str, str]

    @property
    def sets(self) -> list[str]:
        """Those that were measured."""
        return list(dict.fromkeys(data for data, _ in self.optima))

    @property
    def losses(self) -> list[str]:
        """The same."""
        return list(dict.fromkeys(loss for _, loss in self.optima))

    def methods(self, loss: str) -> list[str]:
        """Of the six, those that were run with a loss."""
        return [method for method in METHODS if (self.sets[0], loss, method) in self.courses]

    def errors(self, data: str, loss: str, passes: float) -> dict[str, float]:
        """Mean error of each of the six after so many passes."""
        return {m: self.courses[data, loss, m].error(passes) for m in self.methods(loss)}

    def costs(self, data: str, loss: str, passes: float) -> dict[str, float]:
        """The same of the cost."""
        return {m: self.courses[data, loss, m].cost(passes) for m in self.methods(loss)}

    def excess(self, data: str, loss: str, method: str, passes: float) -> float:
        """Mean error after so many passes less the exact minimiser's."""
        return self.courses[data, loss, method].error(passes) - self.optima[data, loss][0]

    def mean_ranks(self, loss: str, passes: float, sets: Sequence[str]) -> dict[str, float]:
        """Places among the six by mean error, 1 the lowest, equals sharing theirs; means over the sets, best first."""
        ranks = [stats.rankdata(list(self.errors(data, loss, passes).values())) for data in sets]
        means = dict(zip(self.methods(loss), np.mean(ranks, axis=0).tolist(), strict=True))
        return dict(sorted(means.items(), key=lambda item: item[1]))


def table_of(rows: Sequence[Row]) -> Table:
    """The rows of the CSV file put in order."""
    optima = {(r["data"], r["loss"]): (r["error"], r["cost"]) for r in rows if r["method"] == OPTIMUM}
    skipped = {r["data"]: r["note"] for r in rows if r["method"] == SKIPPED}
    gathered: dict[tuple[str, str, str], dict[int, list[Row]]] = {}
    for row in rows:
        if row["method"] in (*METHODS, AS_PRINTED):
            runs = gathered.setdefault((row["data"], row["loss"], row["method"]), {})
            runs.setdefault(row["run"], []).append(row)
    return Table({key: _course(list(runs.values())) for key, runs in gathered.items()}, optima, skipped)


def _course(runs: Sequence[Sequence[Row]]) -> Course:
    passes = np.array([row["passes"] for row in runs[0]], float)
    # Without a clock the seconds are None, which becomes NaN.
    seconds, errors, costs = (
        np.array([[r[k] for r in run] for run in runs], float) for k in ("seconds", "error", "cost")
    )
    return Course(passes, seconds, errors, costs)
