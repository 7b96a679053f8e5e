"""Margin pursuit beside Pegasos on real data: errors and margins along their runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from sgdone.papers.claims import Claim, every
from sgdone.papers.drawing import Axes, Figure, grid_lines, line_with_band
from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.runs import (
    PEGASOS,
    READINGS,
    MarginExperiment,
    Method,
    Pool,
    Task,
    errors_of,
    margins_of,
    points_of,
    weights_along,
)
from sgdone.papers.tables import Array, by_run, column, grouped

#: The grid of λ: powers of ten.
GRID = tuple(10.0**-k for k in range(7))
#: An error within this factor of another is competitive with it.
COMPETITIVE = 1.1
#: A curve rises if it never falls below its highest value so far by more than this share of its range.
_RISES = 0.05
#: A curve has peaked if it ends below this share of its highest value.
_PEAKED = 0.9
#: What is measured along a run.
QUANTITIES = (
    "training_error",
    "test_error",
    "mean",
    "median",
    "standard_deviation",
    "lower_quartile",
    "upper_quartile",
    "skew",
)


@final
@dataclass(frozen=True, eq=False)
class Best:
    """A method with the λ of its lowest mean test error: trials × points for each quantity."""

    alpha: float
    gradients: Array
    values: dict[str, Array]

    def mean(self, quantity: str) -> Array:
        """The mean over trials at each point."""
        return np.asarray(self.values[quantity].mean(axis=0))

    @property
    def errors(self) -> Array:
        """The test errors of the trials at the point where their mean is lowest."""
        return np.asarray(self.values["test_error"][:, int(np.argmin(self.mean("test_error")))])

    def error(self) -> float:
        """The lowest mean test error."""
        return float(self.errors.mean())

    def standard_error(self) -> float:
        """The standard error of the lowest mean test error."""
        return float(self.errors.std(ddof=1) / np.sqrt(self.errors.size)) if self.errors.size > 1 else 0.0

    def end(self, quantity: str) -> float:
        """The mean over trials at the end."""
        return float(self.mean(quantity)[-1])


def bests_of(rows: Sequence[Row]) -> dict[tuple[str, str], Best]:
    """By set and method."""
    found: dict[tuple[str, str], Best] = {}
    for (data, method, alpha), own in grouped(rows, "data", "method", "lambda").items():
        gradients = column(own, "gradients", trial=own[0]["trial"])
        tried = Best(alpha, gradients, {name: by_run(own, "trial", name) for name in QUANTITIES})
        best = found.setdefault((data, method), tried)
        if tried.mean("test_error").min() < best.mean("test_error").min():
            found[data, method] = tried
    return found


@final
@dataclass(frozen=True)
class MarginBenchmarks(MarginExperiment):
    """Figures 3 and 4: training error, test error and margins of the training rows against gradients computed.

    Stochastic projected gradients of margin pursuit (γ = 1, s = 1) with each reading of the step size, and Pegasos,
    both without intercept, from weights uniform in ±0.05. Rows are balanced: see `SETS`. A trial draws
    rows, which all methods see in the same order, passes of random order where the paper draws with
    replacement. λ is that of the lowest mean test error at any point of the run, as in the paper: chosen on the test
    rows, for all methods alike.
    """

    grid: tuple[float, ...] = GRID
    name = "margin-benchmarks"
    title = "Margin pursuit and Pegasos: errors and margins"
    paper = "Holland (2018), Figs. 3 and 4"
    quick: ClassVar = {"trials": 3, "passes": 8, "test_rows": 10_000}
    smoke: ClassVar = {
        "trials": 3, "passes": 4, "points": 10, "sets": ("digits5", "breast-cancer"), "grid": (1e-1, 1e-2, 1e-3),
    }  # fmt: skip
    figure_size = (16.0, 12.0)

    def measure(self, task: Task, prepared: dict[str, Pool], seed: np.random.SeedSequence) -> list[Row]:
        """All methods with every λ on one draw."""
        for_rows, for_runs = seed.spawn(2)
        sample = prepared[task.data].draw(np.random.default_rng(for_rows), self.test_rows)
        points = points_of(sample.n_rows, self.passes, self.points)
        methods = [Method(steps, alpha) for steps in (*READINGS, PEGASOS) for alpha in self.grid]
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
        """What section 4 says about Figures 3 and 4."""
        return claims_of_benchmarks(rows)

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """A column per set: errors of margin pursuit and of Pegasos, then margins of both.

        The reading of the step size is the one whose test errors are lowest on the whole.
        """
        bests = bests_of(rows)
        sets = list(dict.fromkeys(data for data, _ in bests))
        shown = min(READINGS, key=lambda steps: float(np.mean([np.log(bests[data, steps].error()) for data in sets])))
        axes = figure.subplots(4, len(sets), sharex="col", squeeze=False)
        for k, data in enumerate(sets):
            ours, theirs = bests[data, shown], bests[data, PEGASOS]
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
        return f"means of {self.trials} trials, steps of margin pursuit {shown}"


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
        ("skew", {"color": "tab:orange", "linestyle": ":"}),
    )
    for quantity, style in styles:
        axis.plot(best.gradients, best.mean(quantity), label=quantity.replace("_", " "), linewidth=1.5, **style)
    # The first steps, 1/√λ long and more, would flatten the rest to a line.
    settled = slice(best.gradients.size // 3, None)
    ends = np.concatenate([lower[settled], upper[settled], best.mean("skew")[settled]])
    low, high = float(ends.min()), float(ends.max())
    axis.set_ylim(min(low, 0.0) - 0.1 * (high - low), high + 0.1 * (high - low))


#: By set and method.
Bests = dict[tuple[str, str], Best]


def claims_of_benchmarks(rows: Sequence[Row]) -> list[Claim]:
    """Each sentence once for every reading of the step size."""
    bests = bests_of(rows)
    sets = list(dict.fromkeys(data for data, _ in bests))
    return [
        *(_competitive(bests, sets, steps) for steps in READINGS),
        *(_less_spread(bests, sets, steps) for steps in READINGS),
        *(_more_symmetric(bests, sets, steps) for steps in READINGS),
        *(_rising(bests, sets, steps) for steps in READINGS),
        _peaking(bests, sets),
    ]


def _competitive(bests: Bests, sets: Sequence[str], steps: str) -> Claim:
    pairs = {data: (bests[data, steps], bests[data, PEGASOS]) for data in sets}
    return every(
        f"steps {steps}: the lowest test error is within a factor of {COMPETITIVE:g} of that of Pegasos",
        "highly competitive with the best setting of Pegasos",
        {data: ours.error() <= COMPETITIVE * theirs.error() for data, (ours, theirs) in pairs.items()},
        "; "
        + "; ".join(
            f"{data} {_error(ours)} (λ = {ours.alpha:g}), Pegasos {_error(theirs)} (λ = {theirs.alpha:g})"
            for data, (ours, theirs) in pairs.items()
        ),
    )


def _less_spread(bests: Bests, sets: Sequence[str], steps: str) -> Claim:
    pairs = {data: (_variance(bests[data, steps]), _variance(bests[data, PEGASOS])) for data in sets}
    return every(
        f"steps {steps}: at the end the variance of the margins is below that of Pegasos",
        "a much more symmetrical distribution, with smaller variance",
        {data: ours < theirs for data, (ours, theirs) in pairs.items()},
        "; " + "; ".join(f"{data} {ours:.3g}, Pegasos {theirs:.3g}" for data, (ours, theirs) in pairs.items()),
    )


def _more_symmetric(bests: Bests, sets: Sequence[str], steps: str) -> Claim:
    pairs = {data: (bests[data, steps].end("skew"), bests[data, PEGASOS].end("skew")) for data in sets}
    return every(
        f"steps {steps}: at the end the mean skew of the margins is nearer to 0 than that of Pegasos",
        "a much more symmetrical distribution, with smaller variance",
        {data: abs(ours) < abs(theirs) for data, (ours, theirs) in pairs.items()},
        "; " + "; ".join(f"{data} {ours:.2f}, Pegasos {theirs:.2f}" for data, (ours, theirs) in pairs.items()),
    )


def _rising(bests: Bests, sets: Sequence[str], steps: str) -> Claim:
    falls = {}
    for data in sets:
        mean = bests[data, steps].mean("mean")
        way = float(mean.max() - mean.min())
        falls[data] = float(np.max(np.maximum.accumulate(mean) - mean)) / way if way > 0 else 0.0
    return every(
        f"steps {steps}: the mean margin never falls by more than {_RISES:.0%} of the way that it goes in all",
        "pushes the margin location up in a monotonic fashion",
        {data: fall <= _RISES for data, fall in falls.items()},
        "; largest falls " + ", ".join(f"{data} {fall:.1%}" for data, fall in falls.items()),
    )


def _peaking(bests: Bests, sets: Sequence[str]) -> Claim:
    peaked, shown = {}, []
    for data in sets:
        best = bests[data, PEGASOS]
        mean = best.mean("mean")
        top = int(np.argmax(mean))
        peaked[data] = bool(mean[-1] <= _PEAKED * mean[top] and best.gradients[top] <= 0.5 * best.gradients[-1])
        shown.append(
            f"{data} {mean[top]:.3g} after {best.gradients[top]:,.0f} of {best.gradients[-1]:,.0f}, "
            f"{mean[-1]:.3g} at the end"
        )
    return every(
        f"Pegasos: the mean margin peaks in the first half and ends below {_PEAKED:.0%} of the peak",
        "Pegasos, whose empirical distribution peaks early and slowly settles down over time",
        peaked,
        "; " + "; ".join(shown),
    )


def _error(best: Best) -> str:
    return f"{best.error():.2%} ± {best.standard_error():.2%}"


def _variance(best: Best) -> float:
    return float(np.mean(best.values["standard_deviation"][:, -1] ** 2))
