"""ISGD½ compared with SVRG, classical and averaged implicit SGD on MNIST and Covertype."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np

from sgdone.losses import Logistic
from sgdone.papers.claims import AlsoTried, Claim
from sgdone.papers.diagnostics.benchmark_claims import (
    COVERTYPE,
    MNIST,
    NAMES,
    QUARTER,
    STANDARDISED,
    claims_of_benchmarks,
    errors_of,
    tried_on_benchmarks,
)
from sgdone.papers.diagnostics.benchmark_data import Benchmark, BenchmarkRows
from sgdone.papers.diagnostics.tuning import (
    AVERAGED,
    CLASSICAL,
    COLOURS,
    HALF,
    VARIANCE_REDUCED,
    Setting,
    follow,
    tune_and_measure,
)
from sgdone.papers.drawing import Axes, Figure, grid_lines, legend_below, line_with_band, quartiles
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.tables import Array

METHODS = (HALF, VARIANCE_REDUCED, CLASSICAL, AVERAGED)
#: Evaluations per pass.
_POINTS = 16


class Task(NamedTuple):
    """One method on one data set."""

    data: str
    method: str


@final
@dataclass(frozen=True)
class DiagnosticsBenchmarks(Experiment[Task, dict[str, Benchmark]]):
    """Figure 3: error on the test set against passes, logistic regression with an intercept and without penalty.

    The paper does not say how MNIST is made binary: here it is 9 against the other digits, as in Xu (2011), pixels
    divided by 255. COVERTYPE is class 2 against the others. The paper mentions no scaling: its features are divided by
    one constant and γ chosen from a wider grid; standardised features are also tried. Parameters are those of a grid
    with the lowest mean error over the run on a fifth of the training rows; the CSV file has the grids
    ("tuning"). An SVRG pass counts the rows read for the anchor. Each seed draws its training rows.
    """

    runs: int = 2
    passes: int = 6
    #: Training rows of each set at most.
    limit: int = 50_000
    mnist: str = "mnist-9-vs-rest"
    covertype: str = "covertype-2-vs-rest"
    name = "diagnostics-benchmarks"
    title = "ISGD½ against SVRG, classical and averaged implicit SGD on benchmark data"
    paper = "Chee, Toulis (2018), Fig. 3"
    quick: ClassVar = {"passes": 3, "limit": 1000}
    smoke: ClassVar = {
        "runs": 2, "passes": 4, "mnist": "digits-9-vs-rest", "covertype": "breast-cancer",
    }  # fmt: skip
    figure_size = (15.0, 5.8)

    def prepare(self, seed: np.random.SeedSequence) -> dict[str, Benchmark]:
        """Load and scale the sets."""
        rng = np.random.default_rng(seed)
        return {
            MNIST: Benchmark.load(self.mnist, self.limit, standardise=False, rng=rng),
            COVERTYPE: Benchmark.load(self.covertype, self.limit, standardise=False, rng=rng),
            STANDARDISED: Benchmark.load(self.covertype, self.limit, standardise=True, rng=rng),
        }

    def tasks(self) -> Sequence[Task]:
        """Every method on every set."""
        return [Task(data, method) for data in (MNIST, COVERTYPE, STANDARDISED) for method in METHODS]

    def measure(self, task: Task, prepared: dict[str, Benchmark], seed: np.random.SeedSequence) -> list[Row]:
        """Choose the parameters, then measure in as many orders of the rows as there are runs."""
        data, wide = prepared[task.data], task.data == COVERTYPE
        for_tuning, *for_runs = seed.spawn(self.runs + 1)
        passes = np.linspace(0.0, self.passes, self.passes * _POINTS + 1)

        def errors(train: BenchmarkRows, test: BenchmarkRows, setting: Setting, order: np.random.SeedSequence) -> Array:
            source, quantity = train.source(), test.error()
            return follow(
                source, Logistic(), setting, quantity, passes, order,
                count_anchors=True, task="classification", fit_intercept=True,
            )  # fmt: skip

        return tune_and_measure(
            {"data": task.data, "method": task.method},
            NAMES,
            passes,
            data.settings(task.method, len(data.fit.y), wide),
            lambda setting: np.array([errors(data.fit, data.validation, setting, for_tuning)]),
            data.settings(task.method, len(data.train.y), wide),
            lambda setting: np.array([errors(data.train, data.test, setting, order) for order in for_runs]),
        )

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Claims of section 4.4."""
        return claims_of_benchmarks(rows)

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """COVERTYPE with standardised features."""
        return tried_on_benchmarks(rows)

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """A panel for each set, the passes on a logarithmic scale without the start; MNIST on the left."""
        passes, curves = errors_of(rows)
        names = {MNIST: self.mnist, COVERTYPE: self.covertype, STANDARDISED: self.covertype}
        for axis, data in zip(figure.subplots(1, len(names)), names, strict=True):
            _draw(axis, passes, {method: errors for (where, method), errors in curves.items() if where == data})
            axis.set(xlabel="passes", ylabel="error on the test set", title=f"{data}\n({names[data]})")
        legend_below(figure, figure.axes[0])
        return f"medians and quartiles of {self.runs} runs"


def _draw(axis: Axes, passes: Array, curves: Mapping[str, Array]) -> None:
    shown = []
    for method, errors in curves.items():
        bands = quartiles(errors)
        line_with_band(axis, passes[1:], bands[:, 1:], COLOURS[method], method)
        begun = passes > (1.1 if method == VARIANCE_REDUCED else 0.0)
        shown += [bands[0, begun], bands[2, begun]]
    bottom, top = np.min(np.concatenate(shown)), np.quantile(np.concatenate(shown), 0.985)
    # While SVRG reads an anchor it makes no steps: the first time it is where it started, above the panel.
    axis.axvspan(passes[1], 1.0, ymin=0.9, color=COLOURS[VARIANCE_REDUCED], alpha=0.15, linewidth=0)
    note = "SVRG reads its first anchor: no step yet. Later plateaus are anchors too"
    axis.text(0.02, 0.95, note, transform=axis.transAxes, fontsize="x-small", va="center")
    axis.axvline(QUARTER, color="0.6", linestyle=":", linewidth=1.0)
    axis.set_xscale("log")
    room = max(float(top - bottom), 1e-3)
    axis.set_ylim(bottom - 0.05 * room, top + 0.1 * room)
    ticks = [tick for tick in (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 6) if tick <= passes[-1]]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
    grid_lines(axis)
