"""Margin pursuit with far too small a penalty, and a scale from the data that makes up for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.margin_pursuit.courses import AS_PEGASOS, PRINTED, Method, course, errors_of, points_of
from sgdone.papers.margin_pursuit.data import Pool
from sgdone.papers.margin_pursuit.scaling_claims import FOLLOWS, KEEPS, PLAIN, SHARE, claims_of_scaling
from sgdone.papers.margin_pursuit.scaling_drawing import draw_scaling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: λ of the benchmarks' grid among which the best is found on every set, whatever the steps.
GRID = (1e-1, 1e-2, 1e-3)


class Task(NamedTuple):
    """One draw of rows of one set."""

    data: str
    trial: int


@final
@dataclass(frozen=True)
class MarginScaling(Experiment[Task, dict[str, Pool]]):
    """Figure 5: the course of the test error with λ a thousandth of the best, with and without resetting s once.

    All else is as in `MarginBenchmarks`. The reset is s = √(n·v/(2λ·log(1/δ))), v the 75th percentile of |yᵢ⟨w, xᵢ⟩|
    and δ = 0.05, after a fifth of the run; the paper tells neither δ nor when. It does not tell either whether the s in
    the step size 1/(s√λ(1+t)) is reset too: both are run. The file has every penalty of the grid and its thousandth.
    """

    trials: int = 25
    passes: int = 20
    #: Passes after which the scale is reset.
    reset: int = 4
    points: int = 24
    sets: tuple[str, ...] = ("COV", "DIGIT5", "a9a", "money-fx")
    test_rows: int | None = 20_000
    grid: tuple[float, ...] = GRID
    name: ClassVar[str] = "margin-scaling"
    title: ClassVar[str] = "Too small a penalty, with and without a scale from the data"
    paper: ClassVar[str] = "Holland (2018), Fig. 5"
    quick: ClassVar[Mapping[str, Any]] = {"trials": 3, "passes": 10, "reset": 2, "test_rows": 5000}
    smoke: ClassVar[Mapping[str, Any]] = {
        "trials": 3, "passes": 5, "reset": 1, "points": 10, "sets": ("digits5", "breast-cancer"), "grid": (1e-1, 1e-2),
    }  # fmt: skip
    figure_size: ClassVar[tuple[float, float]] = (16.0, 7.5)

    def prepare(self, seed: np.random.SeedSequence) -> dict[str, Pool]:
        """Load and scale the sets."""
        return {name: Pool.load(name) for name in self.sets}

    def tasks(self) -> Sequence[Task]:
        """Every trial of every set."""
        return [Task(data, trial) for data in self.sets for trial in range(self.trials)]

    def measure(self, task: Task, prepared: dict[str, Pool], seed: np.random.SeedSequence) -> list[Row]:
        """Every penalty and its thousandth, on one draw."""
        for_rows, for_runs = seed.spawn(2)
        sample = prepared[task.data].draw(np.random.default_rng(for_rows), self.test_rows)
        points, reset = points_of(sample.n_rows, self.passes, self.points), self.reset * sample.n_rows
        runs = []
        for steps in (PRINTED, AS_PEGASOS):
            small = [SHARE * alpha for alpha in self.grid]
            runs += [(PLAIN, Method(steps, alpha)) for alpha in sorted({*self.grid, *small}, reverse=True)]
            runs += [(KEEPS, Method(steps, alpha, reset, follows=False)) for alpha in small]
            if steps == PRINTED:
                runs += [(FOLLOWS, Method(steps, alpha, reset)) for alpha in small]
        courses = np.concatenate([course(sample, method, points, for_runs) for _, method in runs])
        errors = errors_of(sample.X_test, sample.labels_test, courses).reshape(len(runs), points.size)
        return [
            {
                "data": task.data,
                "steps": method.steps,
                "lambda": float(f"{method.alpha:.6g}"),
                "scale": scale,
                "trial": task.trial,
                "reset_at": reset,
                "gradients": int(step),
                "test_error": float(f"{errors[k, point]:.6g}"),
            }
            for k, (scale, method) in enumerate(runs)
            for point, step in enumerate(points)
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What section 4 says about Figure 5."""
        return claims_of_scaling(rows, self.grid)

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
        """A column a set, a line a reading of the step size."""
        draw_scaling(rows, self.grid, figure)
        figure.suptitle(f"{self.title}\n{self.paper}; means of {self.trials} trials", fontsize="large")
