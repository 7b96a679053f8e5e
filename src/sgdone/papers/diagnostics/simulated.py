"""ISGD½ beside SVRG and classical implicit SGD on simulated data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.data import ArraySource
from sgdone.papers.claims import Claim
from sgdone.papers.diagnostics.courses import Setting, best, course
from sgdone.papers.diagnostics.models import Array
from sgdone.papers.diagnostics.panels import METHODS, Panel
from sgdone.papers.diagnostics.simulated_claims import claims_of_panels
from sgdone.papers.diagnostics.simulated_drawing import draw_panels
from sgdone.papers.experiment import Experiment, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What the CSV calls the exact minimiser of the mean loss.
MINIMISER = "minimiser"
#: Points of a course in a pass.
_POINTS = 10


class Draw(NamedTuple):
    """Seeds of a data set and of the order in which its rows are read, shared by the methods."""

    data: np.random.SeedSequence
    order: np.random.SeedSequence


class Task(NamedTuple):
    """One method on one problem."""

    panel: Panel
    method: str


#: Draws to choose parameters on, and draws to measure on, by problem.
Draws = dict[Panel, tuple[list[Draw], list[Draw]]]


@final
@dataclass(frozen=True)
class DiagnosticsSimulated(Experiment[Task, Draws]):
    """Figure 2: ‖θ − θ*‖² against passes over N = 5000 rows, for two models, two signal-to-noise ratios, two p.

    Each method's parameters are those of a grid whose mean of log ‖θ − θ*‖² over the course is the lowest on draws
    of their own; the CSV file has the grids ("tuning") and the choice. The ratio is that of the paper's formula: the
    normal model has σ² = 1/SNR, the logistic one features scaled to it, as θ* is given. All start at 0. An SVRG
    pass counts the rows read for the anchor.
    """

    draws: int = 20
    tuning_draws: int = 5
    n_rows: int = 5000
    passes: int = 12
    ratios: tuple[float, ...] = (5.0, 2.0)
    sizes: tuple[int, ...] = (10, 150)
    name: ClassVar[str] = "diagnostics-simulated"
    title: ClassVar[str] = "ISGD½ against SVRG and classical implicit SGD on simulated data"
    paper: ClassVar[str] = "Chee, Toulis (2018), Fig. 2"
    quick: ClassVar[Mapping[str, Any]] = {"draws": 5, "tuning_draws": 1}
    smoke: ClassVar[Mapping[str, Any]] = {
        "draws": 2, "tuning_draws": 1, "n_rows": 400, "passes": 4, "sizes": (3, 10),
    }  # fmt: skip
    figure_size: ClassVar[tuple[float, float]] = (14.0, 7.5)

    @property
    def panels(self) -> list[Panel]:
        """The eight problems."""
        return [Panel(model, snr, p) for model in ("normal", "logistic") for snr in self.ratios for p in self.sizes]

    def prepare(self, seed: np.random.SeedSequence) -> Draws:
        """Seeds of all draws."""
        seeds = iter(seed.spawn(2 * (self.tuning_draws + self.draws) * len(self.panels)))

        def some(count: int) -> list[Draw]:
            return [Draw(next(seeds), next(seeds)) for _ in range(count)]

        return {panel: (some(self.tuning_draws), some(self.draws)) for panel in self.panels}

    def tasks(self) -> Sequence[Task]:
        """Every method on every problem."""
        return [Task(panel, method) for panel in self.panels for method in (*METHODS, MINIMISER)]

    def measure(self, task: Task, prepared: Draws, seed: np.random.SeedSequence) -> list[Row]:
        """Choose the parameters, then measure."""
        for_tuning, for_measuring = prepared[task.panel]
        if task.method == MINIMISER:
            return list(self._minimisers(task, for_measuring))
        settings = task.panel.settings(task.method, self.n_rows)
        courses = np.array([self._courses(task.panel, for_tuning, setting) for setting in settings])
        chosen = best(np.log(courses))
        rows = list(self._tuning_rows(task, settings, courses, chosen))
        for k, errors in enumerate(self._courses(task.panel, for_measuring, settings[chosen])):
            rows += [
                self._row(task, "measured", settings[chosen].words, True, k, passes, error)
                for passes, error in zip(self._grid, errors, strict=True)
            ]
        return rows

    @property
    def _grid(self) -> Array:
        return np.linspace(0.0, self.passes, self.passes * _POINTS + 1)

    def _courses(self, panel: Panel, draws: Sequence[Draw], setting: Setting) -> Array:
        """The squared error along the course, by draw."""
        model = panel.data_model()
        courses = []
        for draw in draws:
            source = ArraySource(*model.draw(np.random.default_rng(draw.data), self.n_rows))
            courses.append(
                course(
                    source,
                    panel.loss,
                    setting,
                    lambda coef, _: float(np.sum((coef - model.optimum) ** 2)),
                    self._grid,
                    draw.order,
                    task="classification" if panel.logistic else "regression",
                    fit_intercept=False,
                )
            )
        return np.array(courses)

    def _tuning_rows(self, task: Task, settings: Sequence[Setting], courses: Array, chosen: int) -> Iterator[Row]:
        """The error at the end of the course, by setting and draw."""
        for i, setting in enumerate(settings):
            for k, errors in enumerate(courses[i]):
                yield self._row(task, "tuning", setting.words, i == chosen, k, self._grid[-1], errors[-1])

    def _minimisers(self, task: Task, draws: Sequence[Draw]) -> Iterator[Row]:
        model = task.panel.data_model()
        for k, draw in enumerate(draws):
            X, y = model.draw(np.random.default_rng(draw.data), self.n_rows)
            error = float(np.sum((task.panel.minimiser(X, y) - model.optimum) ** 2))
            for passes in (0.0, self._grid[-1]):
                yield self._row(task, "measured", "", True, k, passes, error)

    @staticmethod
    def _row(task: Task, stage: str, words: str, chosen: bool, draw: int, passes: float, error: float) -> Row:
        return {
            "model": task.panel.model,
            "snr": task.panel.snr,
            "n_features": task.panel.n_features,
            "method": task.method,
            "stage": stage,
            "parameters": words,
            "chosen": int(chosen),
            "draw": draw,
            "passes": round(float(passes), 6),
            "squared_error": float(error),
        }

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What section 4.3 says."""
        return claims_of_panels(rows)

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
        """The left four panels with the normal model, the right four with the logistic one."""
        draw_panels(rows, figure)
        figure.suptitle(
            f"{self.title}\n{self.paper}; N = {self.n_rows}, medians and quartiles of {self.draws} data sets",
            fontsize="large",
        )
