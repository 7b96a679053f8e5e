"""Averaged SGD compared with five other methods on benchmark data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np

from sgdone.datasets import DatasetNotFound
from sgdone.papers.averaging.benchmark_claims import claims_of_benchmarks, tried_on_benchmarks
from sgdone.papers.averaging.benchmark_runs import (
    ASGD,
    L2SVM,
    LIBLINEAR,
    LOGISTIC,
    LOSSES,
    ONLINE_LBFGS,
    PEGASOS,
    SETS,
    SVM,
    Benchmark,
    compile_on,
    follow,
    methods_for,
)
from sgdone.papers.averaging.benchmark_table import OPTIMUM, SKIPPED, BenchmarkTable, table_of
from sgdone.papers.claims import AlsoTried, Claim
from sgdone.papers.drawing import Axes, Figure, grid_lines, legend_below
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.tables import where

_COLOURS = {
    ASGD: "tab:red",
    "SGD2": "tab:blue",
    "SGDQN": "tab:green",
    ONLINE_LBFGS: "tab:purple",
    PEGASOS: "tab:orange",
    LIBLINEAR: "0.25",
}
#: Loss, what is drawn, and against what.
_COLUMNS = (
    (L2SVM, "error", "passes"),
    (L2SVM, "error", "seconds"),
    (L2SVM, "cost", "passes"),
    (LOGISTIC, "error", "passes"),
    (SVM, "error", "passes"),
)
_TITLES = {"error": "test error (%)", "cost": "test cost"}
#: Share of the values of a panel that is below its upper edge, as ASGD's curve is.
_SHOWN = 0.7
_ROW_HEIGHT, _MARGIN, _WIDTH = 2.0, 1.6, 17.0
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

    The challenge's sets and RCV1 are not available: sets drawn to the same size of rows, two other collections of
    texts and a9a stand in for them; see `SETS`. Each run is an order of the rows, the same for all methods but
    LIBLINEAR, which draws its own; seeds differ in these orders, not in the sets. Intercepts are not penalised, but
    Pegasos' and LIBLINEAR's are: they are weights of a constant feature. Step sizes are the methods' own, none is
    tuned; ASGD's decay with a = λ, as in the paper.
    """

    runs: int = 1
    #: Evaluations per pass.
    points: int = 10
    sets: tuple[str, ...] = tuple(name for name in SETS if name != "digits9")
    #: Training rows of each set at most; rows and features of the generated ones.
    limit: int | None = 100_000
    rows: int = 20_000
    features: int = 500
    #: Whether seconds are measured: they are not the same again with the same seed.
    timed: bool = True
    prepares_once = True
    name = "asgd-benchmarks"
    title = "Averaged SGD against SGD2, SGD-QN, online L-BFGS, Pegasos and LIBLINEAR in two passes"
    paper = "Xu (2011), Figs. 3–5"
    quick: ClassVar = {
        "limit": 3000, "rows": 3000, "features": 50, "sets": ("covtype", "alpha-like", "beta-like", "gamma-like"),
    }  # fmt: skip
    smoke: ClassVar = {
        "runs": 2, "rows": 400, "features": 10, "sets": ("digits9", "alpha-like", "beta-like"), "timed": False,
    }  # fmt: skip

    def prepare(self, seed: np.random.SeedSequence) -> dict[str, Benchmark | str]:
        """Load, draw and scale the sets; for one that is not available, why."""
        prepared: dict[str, Benchmark | str] = {}
        for name, own in zip(self.sets, seed.spawn(len(self.sets)), strict=True):
            rng = np.random.default_rng(own)
            try:
                prepared[name] = Benchmark.load(name, self.limit, (self.rows, self.features), rng)
            except DatasetNotFound as error:
                prepared[name] = str(error)
        available = [data for data in prepared.values() if isinstance(data, Benchmark)]
        # Before the tasks, so that none waits for a compiler while its clock is running.
        for data in {type(data.X): data for data in available}.values():
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
            exact = data.minimiser(loss)
            return [self._row(task, OPTIMUM, data.evaluate(loss, exact.coef, exact.intercept), note=size)]
        return [
            self._row(task, method, values, passes, seconds)
            for method in methods_for(task.loss)
            for passes, seconds, values in zip(*follow(data, loss, method, _PASSES, self.points, seed), strict=True)
        ]

    def _row(
        self,
        task: Task,
        method: str,
        values: Sequence[float] = (),
        passes: float | None = None,
        seconds: float | None = None,
        note: str = "",
    ) -> Row:
        error, cost = map(float, values) if len(values) else (None, None)
        return {
            "data": task.data,
            "loss": task.loss,
            "method": method,
            "run": task.run,
            "passes": None if passes is None else round(float(passes), 6),
            "seconds": round(float(seconds), 6) if seconds is not None and self.timed else None,
            "error": error,
            "cost": cost,
            "note": note,
        }

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Claims of section 6.3."""
        return claims_of_benchmarks(rows)

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """Errors after one pass, costs, and the step size as printed."""
        return tried_on_benchmarks(rows)

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """Figure 3 in the first three columns, Figures 4 and 5 in the first and the last two."""
        table = table_of(rows)
        _draw(table, {row["data"]: row["note"] for row in where(rows, method=OPTIMUM)}, figure)
        runs = "one run" if self.runs == 1 else f"means of {self.runs} runs"
        absent = f"; not available: {', '.join(table.skipped)}" if table.skipped else ""
        return f"{runs}; curves that leave a panel go on above it{absent}"


def _exponent(power_of_ten: float) -> str:
    return str(round(np.log10(power_of_ten))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _draw(table: BenchmarkTable, notes: Mapping[str, str], figure: Figure) -> None:
    """Means over the runs; seconds are medians. A curve that leaves its panel goes on above it."""
    figure.set_size_inches(_WIDTH, _MARGIN + _ROW_HEIGHT * len(table.sets))
    axes = figure.subplots(len(table.sets), len(_COLUMNS), squeeze=False)
    for i, data in enumerate(table.sets):
        for j, (loss, what, against) in enumerate(_COLUMNS):
            axis = axes[i, j]
            _draw_panel(axis, table, data, loss, what, against)
            if i == 0:
                axis.set_title(f"{loss}: {_TITLES[what]}", fontsize="medium")
            if i == len(table.sets) - 1:
                axis.set_xlabel("seconds of work" if against == "seconds" else against)
        axes[i, 0].set_ylabel(f"{data}\n{notes[data]}", fontsize="small")
    legend_below(figure, axes[0, 0])


def _draw_panel(axis: Axes, table: BenchmarkTable, data: str, loss: str, what: str, against: str) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    factor = 100.0 if what == "error" else 1.0
    exact = factor * table.optima[data, loss][0 if what == "error" else 1]
    shown = [np.array([exact])]
    for method in table.methods(loss):
        curve = table.curves[data, loss, method]
        x = curve.passes if against == "passes" else np.median(curve.seconds, axis=0)
        y = factor * (curve.errors if what == "error" else curve.costs).mean(axis=0)
        if np.isnan(x).any():
            axis.text(0.5, 0.5, "no clock", transform=axis.transAxes, ha="center", color="0.5")
            axis.set(xticks=[], yticks=[])
            return
        points = method == LIBLINEAR
        axis.plot(
            x,
            y,
            color=_COLOURS[method],
            linewidth=2.0 if method == ASGD else 1.1,
            zorder=3 if method == ASGD else 2,
            linestyle="none" if points else "-",
            marker="o" if points else "",
            markersize=5,
            label=method,
        )
        shown.append(y[np.isfinite(y)])
        if method == ASGD:
            ours = y[min(1, y.size - 1) :]
    axis.axhline(exact, color="black", linestyle="--", linewidth=0.9, zorder=1, label="exact minimiser")
    values = np.concatenate(shown)
    bottom, top = float(values.min()), max(float(np.quantile(values, _SHOWN)), float(ours.max()))
    room = max(top - bottom, 1e-3 * abs(top))
    axis.set_ylim(bottom - 0.06 * room, top + 0.08 * room)
    if against == "seconds":
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter(NullFormatter())
    else:
        axis.set(xlim=(0.0, 1.03 * float(x[-1])), xticks=np.arange(0.0, float(x[-1]) + 0.1, 0.5))
    grid_lines(axis)
    axis.tick_params(labelsize="small")
