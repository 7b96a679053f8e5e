"""Margin pursuit beside Pegasos on real data: errors and margins along their courses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.margin_pursuit.benchmark_claims import claims_of_benchmarks
from sgdone.papers.margin_pursuit.benchmark_drawing import draw_benchmarks
from sgdone.papers.margin_pursuit.courses import PEGASOS, READINGS, Method, course, errors_of, margins_of, points_of
from sgdone.papers.margin_pursuit.data import Pool

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The grid of λ: powers of ten.
GRID = tuple(10.0**-k for k in range(7))


class Task(NamedTuple):
    """One draw of rows of one set."""

    data: str
    trial: int


@final
@dataclass(frozen=True)
class MarginBenchmarks(Experiment[Task, dict[str, Pool]]):
    """Figures 3 and 4: training error, test error and margins of the training rows against gradients computed.

    Stochastic projected gradients of margin pursuit (γ = 1, s = 1) with each reading of the step size, and Pegasos,
    both without intercept, from weights uniform in ±0.05. Rows are balanced: see `margin_data.SETS`. A trial draws
    rows, and all methods learn from the same ones in the same order, passes of random order where the paper draws with
    replacement. λ is that of the lowest mean test error at any point of the course, as in the paper: chosen on the test
    rows, for all methods alike.
    """

    trials: int = 25
    passes: int = 20
    points: int = 20
    sets: tuple[str, ...] = ("COV", "DIGIT5", "a9a", "money-fx")
    #: Test rows at most; all there are if ``None``.
    test_rows: int | None = None
    grid: tuple[float, ...] = GRID
    name: ClassVar[str] = "margin-benchmarks"
    title: ClassVar[str] = "Margin pursuit and Pegasos: errors and margins"
    paper: ClassVar[str] = "Holland (2018), Figs. 3 and 4"
    quick: ClassVar[Mapping[str, Any]] = {"trials": 3, "passes": 8, "test_rows": 10_000}
    smoke: ClassVar[Mapping[str, Any]] = {
        "trials": 3, "passes": 4, "points": 10, "sets": ("digits5", "breast-cancer"), "grid": (1e-1, 1e-2, 1e-3),
    }  # fmt: skip
    figure_size: ClassVar[tuple[float, float]] = (16.0, 12.0)

    def prepare(self, seed: np.random.SeedSequence) -> dict[str, Pool]:
        """Load and scale the sets."""
        return {name: Pool.load(name) for name in self.sets}

    def tasks(self) -> Sequence[Task]:
        """Every trial of every set."""
        return [Task(data, trial) for data in self.sets for trial in range(self.trials)]

    def measure(self, task: Task, prepared: dict[str, Pool], seed: np.random.SeedSequence) -> list[Row]:
        """All methods with every λ on one draw."""
        for_rows, for_runs = seed.spawn(2)
        sample = prepared[task.data].draw(np.random.default_rng(for_rows), self.test_rows)
        points = points_of(sample.n_rows, self.passes, self.points)
        methods = [Method(steps, alpha) for steps in (*READINGS, PEGASOS) for alpha in self.grid]
        courses = np.concatenate([course(sample, method, points, for_runs) for method in methods])
        train, test = (
            errors_of(X, labels, courses)
            for X, labels in ((sample.X, sample.labels), (sample.X_test, sample.labels_test))
        )
        margins = margins_of(sample, courses)
        where = [(method, int(step)) for method in methods for step in points]
        return [
            {
                "data": task.data,
                "method": method.steps,
                "lambda": method.alpha,
                "trial": task.trial,
                "gradients": step,
                "training_error": _short(train[k]),
                "test_error": _short(test[k]),
                **{name: _short(value) for name, value in vars(margins[k]).items() if name not in ("wrong", "below")},
            }
            for k, (method, step) in enumerate(where)
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What section 4 says about Figures 3 and 4."""
        return claims_of_benchmarks(rows)

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
        """A column a set: errors and margins of margin pursuit, then those of Pegasos."""
        steps = draw_benchmarks(rows, figure)
        note = f"{self.paper}; means of {self.trials} trials, steps of margin pursuit {steps}"
        figure.suptitle(f"{self.title}\n{note}", fontsize="large")


def _short(value: float) -> float:
    """Six digits: the file has a line for every point of every run."""
    return float(f"{value:.6g}")
