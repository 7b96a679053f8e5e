"""ISGD½ compared with SVRG and classical implicit SGD on simulated data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim
from sgdone.papers.diagnostics.simulated_claims import (
    NAMES,
    Curves,
    claims_of_simulations,
    curves_of,
    tried_on_simulations,
)
from sgdone.papers.diagnostics.simulated_problems import LOGISTIC, NORMAL, SCALED, SimulatedProblem
from sgdone.papers.diagnostics.tuning import (
    CLASSICAL,
    COLOURS,
    HALF,
    VARIANCE_REDUCED,
    Setting,
    follow,
    tune_and_measure,
)
from sgdone.papers.drawing import Axes, Figure, grid_lines, line_with_band, quartiles
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.tables import Array
from sgdone.rows import ArraySource

#: Name of the exact minimiser of the mean loss in the CSV file.
MINIMISER = "minimiser"
#: Evaluations per pass.
_POINTS = 10

METHODS = (HALF, VARIANCE_REDUCED, CLASSICAL)


class Draw(NamedTuple):
    """Seeds of a data set and of the order in which its rows are read, shared by the methods."""

    data: np.random.SeedSequence
    order: np.random.SeedSequence


class Task(NamedTuple):
    """One method on one problem."""

    panel: SimulatedProblem
    method: str


#: Draws to choose parameters on, and draws to measure on, by problem.
Draws = dict[SimulatedProblem, tuple[list[Draw], list[Draw]]]


@final
@dataclass(frozen=True)
class DiagnosticsSimulated(Experiment[Task, Draws]):
    """Figure 2: ‖θ − θ*‖² against passes over N = 5000 rows, for two models, two signal-to-noise ratios, two p.

    Each method's parameters are those of a grid whose mean of log ‖θ − θ*‖² over the run is the lowest on draws
    of their own; the CSV file has the grids ("tuning") and the choice. In the normal model σ² = 1/SNR. In the logistic
    one x ~ N(0, I) and θ* settle the ratio, so that there is one problem for each p; features scaled to the ratio are
    also tried. All start at 0. The rows that SVRG reads for its anchors do not count as passes.
    """

    draws: int = 6
    tuning_draws: int = 1
    n_rows: int = 5000
    passes: int = 12
    ratios: tuple[float, ...] = (5.0, 2.0)
    sizes: tuple[int, ...] = (10, 150)
    #: Whether features scaled to the ratio are also tried.
    tried: bool = True
    name = "diagnostics-simulated"
    title = "ISGD½ against SVRG and classical implicit SGD on simulated data"
    paper = "Chee, Toulis (2018), Fig. 2"
    quick: ClassVar = {"draws": 2, "tuning_draws": 1, "passes": 5, "n_rows": 1000, "tried": False}
    smoke: ClassVar = {
        "draws": 2, "tuning_draws": 1, "n_rows": 400, "passes": 4, "sizes": (3, 10),
    }  # fmt: skip
    figure_size = (14.0, 7.5)

    @property
    def panels(self) -> list[SimulatedProblem]:
        """Four normal and two logistic problems, and four that are also tried."""
        models = (NORMAL, SCALED) if self.tried else (NORMAL,)
        return [
            *(SimulatedProblem(LOGISTIC, None, p) for p in self.sizes),
            *(SimulatedProblem(model, snr, p) for model in models for snr in self.ratios for p in self.sizes),
        ]

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
        return tune_and_measure(
            self._head(task),
            NAMES,
            self._grid,
            settings,
            lambda setting: self._errors(task.panel, for_tuning, setting),
            settings,
            lambda setting: self._errors(task.panel, for_measuring, setting),
            score=np.log,
        )

    @property
    def _grid(self) -> Array:
        return np.linspace(0.0, self.passes, self.passes * _POINTS + 1)

    @staticmethod
    def _head(task: Task) -> Row:
        return {**task.panel._asdict(), "method": task.method}

    def _errors(self, panel: SimulatedProblem, draws: Sequence[Draw], setting: Setting) -> Array:
        """Squared errors, draws × passes."""
        model = panel.data_model()

        def one(draw: Draw) -> Array:
            return follow(
                ArraySource(*model.draw(np.random.default_rng(draw.data), self.n_rows)),
                panel.loss,
                setting,
                lambda coef, _: float(np.sum((coef - model.optimum) ** 2)),
                self._grid,
                draw.order,
                count_anchors=False,
                task="classification" if panel.logistic else "regression",
                fit_intercept=False,
            )

        return np.array([one(draw) for draw in draws])

    def _minimisers(self, task: Task, draws: Sequence[Draw]) -> Iterator[Row]:
        model = task.panel.data_model()
        for k, draw in enumerate(draws):
            X, y = model.draw(np.random.default_rng(draw.data), self.n_rows)
            error = float(np.sum((task.panel.minimiser(X, y) - model.optimum) ** 2))
            for passes in (0.0, float(self._grid[-1])):
                tail = {"chosen": 1, "draw": k, "passes": round(passes, 6), "squared_error": error}
                yield self._head(task) | {"stage": "measured", "parameters": ""} | tail

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Claims of section 4.3."""
        return claims_of_simulations(rows)

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """The logistic model with features scaled to the ratio."""
        return tried_on_simulations(rows)

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """The normal model in the left four panels, the logistic one in the right two."""
        curves = curves_of(rows)
        parts: Any = figure.subfigures(1, 2, wspace=0.03, width_ratios=(2, 1))
        for model, part in zip((NORMAL, LOGISTIC), parts, strict=True):
            here = list(dict.fromkeys(panel for panel, _ in curves if panel.model == model))
            columns = 2 if model == NORMAL else 1
            axes = part.subplots(len(here) // columns, columns, squeeze=False, sharex=True)
            part.suptitle(f"{model} model", fontsize="medium")
            for panel, axis in zip(here, axes.ravel(), strict=True):
                _draw(axis, panel, curves)
            for line in axes:
                line[0].set_ylabel("‖θ − θ*‖²")
            for axis in axes[-1]:
                axis.set_xlabel("passes, those for SVRG's anchors not counted")
                axis.xaxis.get_major_locator().set_params(integer=True)
            if model == NORMAL:
                axes[0, 0].legend(fontsize="small", loc="upper right")
        return f"N = {self.n_rows}, medians and quartiles of {self.draws} data sets"


def _draw(axis: Axes, panel: SimulatedProblem, curves: Curves) -> None:
    for method in METHODS:
        passes, errors = curves[panel, method]
        line_with_band(axis, passes, quartiles(errors), COLOURS[method], method)
    floor = float(np.median(curves[panel, MINIMISER][1]))
    axis.axhline(floor, color="0.4", linestyle="--", linewidth=0.9, label="minimiser of the mean loss")
    axis.set_yscale("log")
    axis.set_title(panel.label, fontsize="medium")
    grid_lines(axis)
