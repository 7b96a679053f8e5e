"""The rows of Xu (2011), section 6.3, as curves by set, loss and method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import stats

from sgdone.papers.averaging.benchmark_runs import AS_PRINTED, METHODS
from sgdone.papers.experiment import Row
from sgdone.papers.tables import Array, by_run, column, grouped

#: Names in place of a method in rows of the exact minimiser, and of sets that are not available.
OPTIMUM, SKIPPED = "optimum", "skipped"


@final
@dataclass(frozen=True)
class Curve:
    """One method's runs on one set: passes by point; seconds, errors and costs by run and point."""

    passes: Array
    seconds: Array
    errors: Array
    costs: Array

    def place(self, passes: float) -> int:
        """The first point at or after a number of passes."""
        return int(np.searchsorted(self.passes, passes - 1e-6))

    def error(self, passes: float) -> float:
        """Mean over the runs after a number of passes."""
        return float(self.errors[:, self.place(passes)].mean())

    def cost(self, passes: float) -> float:
        """Mean cost over the runs after a number of passes."""
        return float(self.costs[:, self.place(passes)].mean())

    def volatility(self, first: float, last: float) -> float:
        """Standard deviation of the error over the points of some passes, mean over the runs; NaN of fewer than two."""
        within = self.errors[:, self.place(first) : self.place(last) + 1]
        if within.shape[1] < 2:
            return np.nan
        return float(within.std(axis=1).mean()) if np.all(np.isfinite(within)) else np.inf

    def pass_seconds(self) -> float:
        """Seconds of the second pass, median over the runs; step sizes are chosen and rows copied before it."""
        return float(np.median(self.seconds[:, self.place(2)] - self.seconds[:, self.place(1)]))

    def seconds_to(self, error: float) -> float:
        """Until the mean error is that or less, median over the runs; infinite if it never is."""
        reached = np.flatnonzero(self.errors.mean(axis=0) <= error)
        return float(np.median(self.seconds[:, reached[0]])) if reached.size else np.inf


@final
@dataclass(frozen=True)
class BenchmarkTable:
    """All curves, and the minimisers' errors and costs on the test rows."""

    curves: Mapping[tuple[str, str, str], Curve]
    optima: Mapping[tuple[str, str], tuple[float, float]]
    #: Sets that are not available, and why.
    skipped: Mapping[str, str]

    @property
    def sets(self) -> list[str]:
        """Sets that were measured."""
        return list(dict.fromkeys(data for data, _ in self.optima))

    @property
    def losses(self) -> list[str]:
        """Losses that were measured."""
        return list(dict.fromkeys(loss for _, loss in self.optima))

    def methods(self, loss: str) -> list[str]:
        """The methods, of the six, that were run with a loss."""
        return [method for method in METHODS if (self.sets[0], loss, method) in self.curves]

    def errors(self, data: str, loss: str, passes: float) -> dict[str, float]:
        """Mean error of each of the six after a number of passes."""
        return {m: self.curves[data, loss, m].error(passes) for m in self.methods(loss)}

    def costs(self, data: str, loss: str, passes: float) -> dict[str, float]:
        """Mean cost of each of the six after a number of passes."""
        return {m: self.curves[data, loss, m].cost(passes) for m in self.methods(loss)}

    def excess(self, data: str, loss: str, method: str, passes: float) -> float:
        """Mean error after a number of passes less the exact minimiser's."""
        return self.curves[data, loss, method].error(passes) - self.optima[data, loss][0]

    def mean_ranks(self, loss: str, passes: float, sets: Sequence[str]) -> dict[str, float]:
        """Places among the six by mean error, 1 the lowest, equals sharing theirs; means over the sets, best first."""
        ranks = [stats.rankdata(list(self.errors(data, loss, passes).values())) for data in sets]
        means = dict(zip(self.methods(loss), np.mean(ranks, axis=0).tolist(), strict=True))
        return dict(sorted(means.items(), key=lambda item: item[1]))


def table_of(rows: Sequence[Row]) -> BenchmarkTable:
    """The rows of the CSV file by set, loss and method."""
    optima = {(r["data"], r["loss"]): (r["error"], r["cost"]) for r in rows if r["method"] == OPTIMUM}
    skipped = {r["data"]: r["note"] for r in rows if r["method"] == SKIPPED}
    measured = [row for row in rows if row["method"] in (*METHODS, AS_PRINTED)]
    curves = {}
    for key, own in grouped(measured, "data", "loss", "method").items():
        passes = column(own, "passes", run=own[0]["run"])
        curves[key] = Curve(passes, *(by_run(own, "run", name) for name in ("seconds", "error", "cost")))
    return BenchmarkTable(curves, optima, skipped)
