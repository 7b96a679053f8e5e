"""Margin pursuit compared with Pegasos on real data: errors and margins along their runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim
from sgdone.papers.drawing import Axes, Figure, grid_lines, line_with_band
from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.benchmark_claims import Best, bests_of, claims_of_benchmarks, tried_on_benchmarks
from sgdone.papers.margin_pursuit.runs import (
    AS_PEGASOS,
    PEGASOS,
    READINGS,
    ComparedMethod,
    MarginExperiment,
    Pool,
    Task,
    errors_of,
    margins_of,
    points_of,
    weights_along,
)

#: The grid of λ: powers of ten.
GRID = tuple(10.0**-k for k in range(7))
#: Colour and range of the axis of the skew.
_SKEW, _SKEW_RANGE = "tab:orange", (-3.0, 3.0)


@final
@dataclass(frozen=True)
class MarginBenchmarks(MarginExperiment):
    """Figures 3 and 4: training error, test error and margins of the training rows against gradients computed.

    Stochastic projected gradients of margin pursuit (γ = 1, s = 1) with each reading of the step size, and Pegasos,
    both without intercept, from weights uniform in ±0.05. Rows are balanced: see `SETS`. A trial draws
    rows, which all methods see in the same order, passes of random order where the paper draws with
    replacement. Claims and pictures are of the steps 1/(λ(1+t)), as Pegasos has them; other readings are also tried.
    λ is that of the lowest mean test error at any point of the run, as in the paper: chosen on the test rows, for all
    methods alike.
    """

    grid: tuple[float, ...] = GRID
    name = "margin-benchmarks"
    title = "Margin pursuit and Pegasos: errors and margins"
    paper = "Holland (2018), Figs. 3 and 4"
    quick: ClassVar = {"trials": 2, "passes": 3, "test_rows": 1000, "grid": (1e-1, 1e-2, 1e-3)}
    smoke: ClassVar = {
        "trials": 3, "passes": 4, "points": 10, "sets": ("digits5", "breast-cancer"), "grid": (1e-1, 1e-2, 1e-3),
    }  # fmt: skip
    figure_size = (16.0, 12.0)

    def measure(self, task: Task, prepared: dict[str, Pool], seed: np.random.SeedSequence) -> list[Row]:
        """All methods with every λ on one draw."""
        for_rows, for_runs = seed.spawn(2)
        sample = prepared[task.data].draw(np.random.default_rng(for_rows), self.test_rows)
        points = points_of(sample.n_rows, self.passes, self.points)
        methods = [ComparedMethod(steps, alpha) for steps in (*READINGS, PEGASOS) for alpha in self.grid]
        weights = np.concatenate([weights_along(sample, method, points, for_runs) for method in methods])
        train, test = (
            errors_of(X, labels, weights)
            for X, labels in ((sample.X, sample.labels), (sample.X_test, sample.labels_test))
        )
        margins = margins_of(sample, weights)
        cases = [(method, int(step)) for method in methods for step in points]
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
            for k, (method, step) in enumerate(cases)
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Claims of section 4 about Figures 3 and 4, with steps 1/(λ(1+t))."""
        return claims_of_benchmarks(rows)

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """The other readings of the step size."""
        return tried_on_benchmarks(rows)

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """A column per set: errors of margin pursuit and of Pegasos, then margins of both; steps 1/(λ(1+t))."""
        bests = bests_of(rows)
        sets = list(dict.fromkeys(data for data, _ in bests))
        axes = figure.subplots(4, len(sets), sharex="col", squeeze=False)
        for k, data in enumerate(sets):
            ours, theirs = bests[data, AS_PEGASOS], bests[data, PEGASOS]
            for row, (best, name) in enumerate(((ours, "margin pursuit"), (theirs, PEGASOS))):
                _draw_errors(axes[row, k], best)
                _draw_margins(axes[2 + row, k], best)
                axes[row, k].set_title(f"{data}: {name}, λ = {best.alpha:g}", fontsize="medium")
                axes[2 + row, k].set_title(f"{data}: {name}", fontsize="medium")
            highest = max(float(best.mean("test_error").max()) for best in (ours, theirs))
            for row in range(2):
                axes[row, k].set_ylim(0.0, min(0.6, 1.05 * highest))
            axes[-1, k].set_xlabel("gradients computed")
        for line in range(4):
            axes[line, 0].set_ylabel("error" if line < 2 else "margin")
        for axis in axes.flat:
            axis.set_xscale("log")
            grid_lines(axis)
        for line, place in ((0, "errors"), (2, "margins of the training rows")):
            axes[line, -1].legend(
                fontsize="small", frameon=False, title=place, loc="upper left", bbox_to_anchor=(1.0, 1.0)
            )
        return f"means of {self.trials} trials, steps of margin pursuit {AS_PEGASOS}"


def _short(value: float) -> float:
    """Six digits: the file has a line for every point of every run."""
    return float(f"{value:.6g}")


def _draw_errors(axis: Axes, best: Best) -> None:
    for quantity, colour, name in (("training_error", "tab:blue", "training"), ("test_error", "tab:red", "test")):
        mean, spread = best.mean(quantity), best.values[quantity].std(axis=0)
        line_with_band(axis, best.gradients, np.array([mean - spread, mean, mean + spread]), colour, name)


def _draw_margins(axis: Axes, best: Best) -> None:
    axis.axhline(0.0, color="0.6", linewidth=0.8)
    lower, upper = best.mean("lower_quartile"), best.mean("upper_quartile")
    axis.fill_between(best.gradients, lower, upper, color="0.85", linewidth=0, label="middle half")
    styles: tuple[tuple[str, dict[str, Any]], ...] = (
        ("mean", {"color": "black", "linestyle": "-"}),
        ("median", {"color": "tab:green", "linestyle": "--"}),
        ("standard_deviation", {"color": "tab:purple", "linestyle": "-."}),
    )
    for quantity, style in styles:
        axis.plot(best.gradients, best.mean(quantity), label=quantity.replace("_", " "), linewidth=1.5, **style)
    # The first steps, 1/√λ long and more, would flatten the rest to a line.
    settled = slice(best.gradients.size // 3, None)
    ends = np.concatenate([lower[settled], upper[settled]])
    low, high = float(ends.min()), float(ends.max())
    axis.set_ylim(min(low, 0.0) - 0.1 * (high - low), high + 0.1 * (high - low))
    _draw_skew(axis, best)


def _draw_skew(axis: Axes, best: Best) -> None:
    """Draw the skew on an axis of its own at the right, because it has no unit and margins have one."""
    skew = axis.twinx()
    skew.plot(best.gradients, best.mean("skew"), color=_SKEW, linestyle=":", linewidth=1.7)
    axis.plot([], [], color=_SKEW, linestyle=":", linewidth=1.7, label="skew (right axis)")
    skew.set_ylim(*_SKEW_RANGE)
    skew.tick_params(axis="y", labelcolor=_SKEW, labelsize="small")
