"""ISGD½ beside SVRG, classical and averaged implicit SGD on MNIST and Covertype."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.losses import Logistic
from sgdone.papers.claims import Claim
from sgdone.papers.diagnostics.benchmark_claims import COVERTYPE, MNIST, claims_of_benchmarks
from sgdone.papers.diagnostics.benchmark_data import METHODS, Benchmark, Rows
from sgdone.papers.diagnostics.benchmark_drawing import draw_benchmarks
from sgdone.papers.diagnostics.courses import Array, Setting, best, course
from sgdone.papers.experiment import Experiment, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Points of a course in a pass.
_POINTS = 20


class Task(NamedTuple):
    """One method on one data set."""

    data: str
    method: str


@final
@dataclass(frozen=True)
class DiagnosticsBenchmarks(Experiment[Task, dict[str, Benchmark]]):
    """Figure 3: error on the test set against passes, logistic regression with an intercept and without penalty.

    The paper does not say how MNIST is made binary: here it is 9 against the other digits, as in Xu (2011), pixels
    divided by 255. COVERTYPE is class 2 against the others, features standardised. Parameters are those of a grid
    with the lowest mean error over the course on a fifth of the training rows; the CSV file has the grids
    ("tuning"). An SVRG pass counts the rows read for the anchor.
    """

    runs: int = 10
    passes: int = 6
    #: Training rows of each set at most.
    limit: int | None = None
    mnist: str = "mnist-9-vs-rest"
    covertype: str = "covertype-2-vs-rest"
    name: ClassVar[str] = "diagnostics-benchmarks"
    title: ClassVar[str] = "ISGD½ against SVRG, classical and averaged implicit SGD on benchmark data"
    paper: ClassVar[str] = "Chee, Toulis (2018), Fig. 3"
    quick: ClassVar[Mapping[str, Any]] = {"runs": 3, "limit": 10_000}
    smoke: ClassVar[Mapping[str, Any]] = {
        "runs": 2, "passes": 4, "mnist": "digits-9-vs-rest", "covertype": "breast-cancer",
    }  # fmt: skip
    figure_size: ClassVar[tuple[float, float]] = (12.0, 5.5)

    def prepare(self, seed: np.random.SeedSequence) -> dict[str, Benchmark]:
        """Load and scale both sets."""
        rng = np.random.default_rng(seed)
        return {
            MNIST: Benchmark.load(self.mnist, self.limit, standardise=False, rng=rng),
            COVERTYPE: Benchmark.load(self.covertype, self.limit, standardise=True, rng=rng),
        }

    def tasks(self) -> Sequence[Task]:
        """Every method on both sets."""
        return [Task(data, method) for data in (MNIST, COVERTYPE) for method in METHODS]

    def measure(self, task: Task, prepared: dict[str, Benchmark], seed: np.random.SeedSequence) -> list[Row]:
        """Choose the parameters, then measure in as many orders of the rows as there are runs."""
        data = prepared[task.data]
        for_tuning, *for_runs = seed.spawn(self.runs + 1)
        candidates = data.settings(task.method, len(data.fit.y))
        courses = np.array([[self._course(data.fit, data.validation, c, for_tuning)] for c in candidates])
        chosen = best(courses)
        rows = list(self._tuning_rows(task, candidates, courses, chosen))
        setting = data.settings(task.method, len(data.train.y))[chosen]
        for k, own in enumerate(for_runs):
            errors = self._course(data.train, data.test, setting, own)
            rows += [
                self._row(task, "measured", setting.words, True, k, passes, error)
                for passes, error in zip(self._grid, errors, strict=True)
            ]
        return rows

    @property
    def _grid(self) -> Array:
        return np.linspace(0.0, self.passes, self.passes * _POINTS + 1)

    def _course(self, train: Rows, test: Rows, setting: Setting, seed: np.random.SeedSequence) -> Array:
        return course(
            train.source(),
            Logistic(),
            setting,
            test.error(),
            self._grid,
            seed,
            task="classification",
            fit_intercept=True,
        )

    def _tuning_rows(self, task: Task, candidates: Sequence[Setting], courses: Array, chosen: int) -> Iterator[Row]:
        """The error at the end of the course, by setting."""
        for i, setting in enumerate(candidates):
            yield self._row(task, "tuning", setting.words, i == chosen, 0, self._grid[-1], courses[i, 0, -1])

    @staticmethod
    def _row(task: Task, stage: str, words: str, chosen: bool, run: int, passes: float, error: float) -> Row:
        return {
            "data": task.data,
            "method": task.method,
            "stage": stage,
            "parameters": words,
            "chosen": int(chosen),
            "run": run,
            "passes": round(float(passes), 6),
            "error": float(error),
        }

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What section 4.4 says."""
        return claims_of_benchmarks(rows)

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
        """MNIST on the left, COVERTYPE on the right."""
        draw_benchmarks(rows, {MNIST: self.mnist, COVERTYPE: self.covertype}, figure)
        figure.suptitle(f"{self.title}\n{self.paper}; medians and quartiles of {self.runs} runs", fontsize="large")
