"""Averaged SGD beside five other methods on benchmark data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.datasets import DatasetNotFound
from sgdone.papers.averaging.benchmark_claims import claims_of_benchmarks
from sgdone.papers.averaging.benchmark_data import SETS, Benchmark
from sgdone.papers.averaging.benchmark_drawing import draw_benchmarks
from sgdone.papers.averaging.benchmark_optimum import minimise
from sgdone.papers.averaging.benchmark_runs import LIBLINEAR, LOSSES, Point, compile_on, course, methods_for
from sgdone.papers.averaging.benchmark_tables import OPTIMUM, SKIPPED, table_of
from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Experiment, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PASSES = 2


class Task(NamedTuple):
    """All methods on one order of the rows, or the exact minimiser."""

    data: str
    loss: str
    run: int | None


@final
@dataclass(frozen=True)
class AsgdBenchmarks(Experiment[Task, dict[str, Benchmark | str]]):
    """Figures 3 to 5: test error and cost within two passes, of linear models with three losses.

    The challenge's sets and RCV1 cannot be had here: sets drawn to the same size of rows, two other collections of
    texts and a9a stand in for them; see `SETS`. Each run is an order of the rows, the same for all methods but
    LIBLINEAR, which draws its own. Intercepts are not penalised, but Pegasos' and LIBLINEAR's are: they are weights of
    a constant feature. Step sizes are the methods' own, none is tuned; ASGD's decay with a = λ, as in the paper.
    """

    runs: int = 5
    #: Looks in a pass.
    points: int = 10
    sets: tuple[str, ...] = tuple(name for name in SETS if name != "digits9")
    #: Training rows of each set at most; rows and features of the generated ones.
    limit: int | None = None
    rows: int = 30_000
    features: int = 500
    #: Whether seconds are measured: they are not the same again with the same seed.
    timed: bool = True
    name: ClassVar[str] = "asgd-benchmarks"
    title: ClassVar[str] = "Averaged SGD against SGD2, SGD-QN, online L-BFGS, Pegasos and LIBLINEAR in two passes"
    paper: ClassVar[str] = "Xu (2011), Figs. 3–5"
    quick: ClassVar[Mapping[str, Any]] = {
        "runs": 1, "limit": 10_000, "rows": 10_000, "features": 200, "sets": tuple(
            name for name in SETS if name not in ("digits9", "sci.space")
        ),
    }  # fmt: skip
    smoke: ClassVar[Mapping[str, Any]] = {
        "runs": 2, "rows": 400, "features": 10, "sets": ("digits9", "alpha-like", "beta-like"), "timed": False,
    }  # fmt: skip

    def prepare(self, seed: np.random.SeedSequence) -> dict[str, Benchmark | str]:
        """Load, draw and scale the sets; in place of one that is not at hand, why."""
        prepared: dict[str, Benchmark | str] = {}
        for name, own in zip(self.sets, seed.spawn(len(self.sets)), strict=True):
            rng = np.random.default_rng(own)
            try:
                prepared[name] = Benchmark.load(name, self.limit, (self.rows, self.features), rng)
            except DatasetNotFound as error:
                prepared[name] = str(error)
        at_hand = [data for data in prepared.values() if isinstance(data, Benchmark)]
        # Before the tasks: none is to wait for another's compiler with its own clock running.
        for data in {type(data.X): data for data in at_hand}.values():
            for name, loss in LOSSES.items():
                compile_on(data, loss, [method for method in methods_for(name) if method != LIBLINEAR])
        return prepared

    def tasks(self) -> Sequence[Task]:
        """Minimisers, then runs."""
        runs = (None, *range(self.runs))
        return [Task(data, loss, run) for data in self.sets for loss in LOSSES for run in runs]

    def measure(self, task: Task, prepared: dict[str, Benchmark | str], seed: np.random.SeedSequence) -> list[Row]:
        """Two passes of each method, or the minimiser's place."""
        data, loss = prepared[task.data], LOSSES[task.loss]
        if isinstance(data, str):
            return [self._row(task, SKIPPED, note=data)] if task.run is None else []
        size = f"{data.labels.size:,} × {data.X.shape[1]:,}, λ = 10{_exponent(data.alpha)}"
        if task.run is None:
            exact = minimise(loss, data.X.astype(np.float64), data.labels, data.alpha)
            error, cost = data.judge(loss, exact.coef, exact.intercept)
            return [self._row(task, OPTIMUM, Point(np.nan, np.nan, error, cost), size)]
        return [
            self._row(task, method, point)
            for method in methods_for(task.loss)
            for point in course(data, loss, method, _PASSES, self.points, seed)
        ]

    def _row(self, task: Task, method: str, point: Point | None = None, note: str = "") -> Row:
        measured = point is not None and task.run is not None
        return {
            "data": task.data,
            "loss": task.loss,
            "method": method,
            "run": task.run,
            "passes": round(point.passes, 6) if point and measured else None,
            "seconds": round(point.seconds, 6) if point and measured and self.timed else None,
            "error": point.error if point else None,
            "cost": point.cost if point else None,
            "note": note,
        }

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What section 6.3 says."""
        return claims_of_benchmarks(rows)

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
        """Figure 3 in the first three columns, Figures 4 and 5 in the first and the last two."""
        table = table_of(rows)
        notes = {row["data"]: row["note"] for row in rows if row["method"] == OPTIMUM}
        draw_benchmarks(table, notes, figure)
        absent = f"; not at hand: {', '.join(table.skipped)}" if table.skipped else ""
        about = f"{self.paper}; means of {self.runs} runs; curves that leave a panel go on above it{absent}"
        figure.suptitle(f"{self.title}\n{about}", fontsize="large")


def _exponent(power_of_ten: float) -> str:
    return str(round(np.log10(power_of_ten))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
