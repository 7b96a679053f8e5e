"""Margin pursuit with far too small a penalty, and a scale from the data that makes up for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim, Sentence, pooled
from sgdone.papers.drawing import Figure, grid_lines, legend_below
from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.runs import (
    AS_PEGASOS,
    PRINTED,
    ComparedMethod,
    MarginExperiment,
    Pool,
    Task,
    errors_of,
    points_of,
    weights_along,
)
from sgdone.papers.tables import Array, by_run, distinct, grouped

#: λ of the benchmarks' grid among which the best is found on every set, with all step sizes.
GRID = (1e-1, 1e-2, 1e-3)
#: The penalty is this share of the best one: "less than 1/100th", a power of ten.
SHARE = 1e-3
#: Ways to set s, as the CSV file has them.
PLAIN, FOLLOWS, KEEPS = "s = 1", "s reset, steps with it", "s reset, steps as before"
#: The test error has caught up if it ends within this factor of the best-regularised one.
_CAUGHT_UP = 1.1
_WANDERS = Sentence(
    "When highly under-regularized, and without scaling, the learning algorithm just wanders about", "section 4"
)
_ACCELERATED = Sentence(
    "using the simple data-driven scaling procedure …, the learning algorithm is almost immediately accelerated",
    "section 4",
)
_CATCHES_UP = Sentence(
    "in less time essentially catches up with the performance achieved under the best regularization possible",
    "section 4",
)
_WEAK_DIRECTIONS = (
    "it is on its way: a direction of variance μ is put right as t^(−μ/√λ), and what the first steps, 1/√λ long, left "
    "in directions of little variance is still there at the end"
)
_COLOURS = {FOLLOWS: "tab:orange", KEEPS: "tab:red"}


@final
@dataclass(frozen=True)
class MarginScaling(MarginExperiment):
    """Figure 5: the test error along a run with λ a thousandth of the best, with and without resetting s once.

    All else is as in `MarginBenchmarks`. The reset is s = √(n·v/(2λ·log(1/δ))), v the 75th percentile of |yᵢ⟨w, xᵢ⟩|
    and δ = 0.05, after a fifth of the run; the paper gives neither δ nor when. Nor does it say whether the s in
    the step size 1/(s√λ(1+t)) is reset too: both are run. The file has every penalty of the grid and its thousandth.
    """

    #: Passes after which the scale is reset.
    reset: int = 4
    points: int = 24
    test_rows: int | None = 20_000
    grid: tuple[float, ...] = GRID
    name = "margin-scaling"
    title = "Too small a penalty, with and without a scale from the data"
    paper = "Holland (2018), Fig. 5"
    quick: ClassVar = {"trials": 2, "passes": 5, "reset": 1, "points": 12, "test_rows": 1000}
    smoke: ClassVar = {
        "trials": 3, "passes": 5, "reset": 1, "points": 10, "sets": ("digits5", "breast-cancer"), "grid": (1e-1, 1e-2),
    }  # fmt: skip
    figure_size = (16.0, 7.5)

    def measure(self, task: Task, prepared: dict[str, Pool], seed: np.random.SeedSequence) -> list[Row]:
        """Every penalty and its thousandth, on one draw."""
        for_rows, for_runs = seed.spawn(2)
        sample = prepared[task.data].draw(np.random.default_rng(for_rows), self.test_rows)
        points, reset = points_of(sample.n_rows, self.passes, self.points), self.reset * sample.n_rows
        runs = []
        for steps in (PRINTED, AS_PEGASOS):
            small = [SHARE * alpha for alpha in self.grid]
            runs += [(PLAIN, ComparedMethod(steps, alpha)) for alpha in sorted({*self.grid, *small}, reverse=True)]
            runs += [(KEEPS, ComparedMethod(steps, alpha, reset, follows=False)) for alpha in small]
            if steps == PRINTED:
                runs += [(FOLLOWS, ComparedMethod(steps, alpha, reset)) for alpha in small]
        weights = np.concatenate([weights_along(sample, method, points, for_runs) for _, method in runs])
        errors = errors_of(sample.X_test, sample.labels_test, weights).reshape(len(runs), points.size)
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
        """Claims of section 4 about Figure 5, with steps 1/(s√λ(1+t)) whose s is not reset."""
        return claims_of_scaling(rows, self.grid)

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """A reset of the s in the step size too, and steps 1/(λ(1+t))."""
        return tried_on_scaling(rows, self.grid)

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """A column per set, a row of panels per reading of the step size."""
        panels = panels_of(rows, self.grid)
        sets = list(dict.fromkeys(data for data, _ in panels))
        readings = list(dict.fromkeys(steps for _, steps in panels))
        axes = figure.subplots(len(readings), len(sets), squeeze=False, sharex="col")
        for (data, steps), panel in panels.items():
            axis = axes[readings.index(steps), sets.index(data)]
            axis.plot(panel.gradients, panel.best.mean(axis=0), color="tab:blue", label="best λ, s = 1")
            # Before the reset the coloured curves are the same as this one: it is wide and lies behind them.
            axis.plot(
                panel.gradients,
                panel.under.mean(axis=0),
                color="0.6",
                linewidth=5.0,
                solid_capstyle="round",
                zorder=1,
                label="best λ/1000, s = 1",
            )
            for scale, errors in panel.rescaled.items():
                axis.plot(panel.gradients, errors.mean(axis=0), color=_COLOURS[scale], label=f"best λ/1000, {scale}")
            axis.axvline(panel.reset, color="black", linewidth=1.0)
            axis.set_title(f"{data}, steps {steps}\nbest λ = {panel.alpha:g}", fontsize="medium")
            axis.set_xscale("log")
            axis.set_ylim(0.0, 0.6)
            grid_lines(axis)
        for axis in axes[-1]:
            axis.set_xlabel("gradients computed")
        for line in axes:
            line[0].set_ylabel("test error")
        legend_below(figure, axes[0, 0])
        return f"means of {self.trials} trials"


@final
@dataclass(frozen=True, eq=False)
class Panel:
    """One set and reading: test errors, trials × points, of the best λ, of its thousandth, and of that with a reset."""

    alpha: float
    small: float
    reset: float
    gradients: Array
    best: Array
    under: Array
    rescaled: dict[str, Array]


def panels_of(rows: Sequence[Row], grid: Sequence[float]) -> dict[tuple[str, str], Panel]:
    """Panels by data set and reading of the step size; the best λ has the lowest mean test error at any point."""
    panels = {}
    for (data, steps), own in grouped(rows, "data", "steps").items():
        errors = {key: by_run(runs, "trial", "test_error") for key, runs in grouped(own, "scale", "lambda").items()}
        alpha = min(grid, key=lambda each: float(errors[PLAIN, float(f"{each:.6g}")].mean(axis=0).min()))
        small = min((key[1] for key in errors), key=lambda each: abs(np.log(each / (SHARE * alpha))))
        panels[data, steps] = Panel(
            float(alpha),
            small,
            float(own[0]["reset_at"]),
            np.array(sorted(distinct(own, "gradients")), dtype=np.float64),
            errors[PLAIN, float(f"{alpha:.6g}")],
            errors[PLAIN, small],
            {scale: errors[scale, small] for scale in (KEEPS, FOLLOWS) if (scale, small) in errors},
        )
    return panels


def claims_of_scaling(
    rows: Sequence[Row], grid: Sequence[float], steps: str = PRINTED, scale: str = KEEPS
) -> list[Claim]:
    """Each sentence once, under one reading."""
    panels = {data: panel for (data, reading), panel in panels_of(rows, grid).items() if reading == steps}
    shown = "; " + "; ".join(
        f"{data} {_words(panel.rescaled[scale])}, without {_words(panel.under)}, best {_words(panel.best)}"
        for data, panel in panels.items()
    )

    def ends(agrees: Callable[[float, float, float], bool]) -> dict[tuple[str, int], bool]:
        """Whether errors at the end agree, by trial: of the small penalty, of that with a reset, of the best one."""
        return {
            (data, k): bool(agrees(*(errors[k, -1] for errors in (panel.under, panel.rescaled[scale], panel.best))))
            for data, panel in panels.items()
            for k in range(len(panel.best))
        }

    why = _why_no_faster(scale, steps)
    return [
        pooled(
            _WANDERS,
            f"λ a thousandth of the best, s = 1: in a trial the error ends above {_CAUGHT_UP:g} times the best λ's",
            ends(lambda under, reset, best: under > _CAUGHT_UP * best),
            shown,
            of="trials",
        ),
        pooled(
            _ACCELERATED,
            "s reset: in a trial the error ends below that without the reset",
            ends(lambda under, reset, best: reset < under),
            shown,
            why,
            of="trials",
        ),
        pooled(
            _CATCHES_UP,
            f"s reset: in a trial the error ends within a factor of {_CAUGHT_UP:g} of that of the best λ",
            ends(lambda under, reset, best: reset <= _CAUGHT_UP * best),
            shown,
            why or _WEAK_DIRECTIONS,
            of="trials",
        ),
    ]


def tried_on_scaling(rows: Sequence[Row], grid: Sequence[float]) -> list[AlsoTried]:
    """The other readings."""
    return [
        AlsoTried(f"steps {steps}, {scale}: {claim.reading}", f"{'yes' if claim.holds else 'no'}, {claim.measured}")
        for steps, scale in ((PRINTED, FOLLOWS), (AS_PEGASOS, KEEPS))
        for claim in claims_of_scaling(rows, grid, steps, scale)[1:]
    ]


def _why_no_faster(scale: str, steps: str) -> str:
    """Why a reset does not help; of that which helps, nothing."""
    if scale == FOLLOWS:
        return (
            "with s in the step size an update is ψ(u/s)/(√λ·t), about u/(s√λ·t): s·√λ = √(n·v/(2·log(1/δ))) makes all "
            "steps after the reset small, and the error stays about where it is"
        )
    if "√" not in steps:
        return "steps of 1/(λt) times slopes that s no longer cuts are too long until t is of the size of ‖x‖²/λ"
    return ""


def _end(errors: Array) -> float:
    return float(errors[:, -1].mean())


def _words(errors: Array) -> str:
    last = errors[:, -1]
    spread = last.std(ddof=1) / np.sqrt(last.size) if last.size > 1 else 0.0
    return f"{last.mean():.2%} ± {spread:.2%}"
