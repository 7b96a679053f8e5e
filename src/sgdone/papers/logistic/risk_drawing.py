"""Risk above the infimum against steps, beside its bounds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sgdone.papers.experiment import Row
from sgdone.papers.logistic.descent import STEPS
from sgdone.papers.logistic.problems import PROBLEMS
from sgdone.papers.logistic.risk_courses import ROUNDING, RiskCourse, course_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = dict(zip(STEPS, ("tab:red", "tab:orange"), strict=True))


def draw_risks(rows: Sequence[Row], figure: "Figure", delta: float) -> None:
    """SGD first, then gradient descent on each problem."""
    panels: Any = figure.subplots(2, 3, sharex=False)
    first, *others = panels.ravel()
    _draw_sgd(first, course_of(rows, "separable", "sgd"), delta)
    for axis, name in zip(others, PROBLEMS, strict=True):
        lowest = np.inf
        for steps, colour in _COLOURS.items():
            course = course_of(rows, name, steps)
            shown = np.where(course.excess[0] > ROUNDING, course.excess[0], np.nan)
            axis.plot(course.t, shown, color=colour, linewidth=1.6, label=f"gradient descent, η = {steps}")
            axis.plot(course.t, course.bound, "--", color=colour, linewidth=1.1, label="Theorem 3.2")
            lowest = min(lowest, float(np.nanmin(shown)))
        axis.set(title=f"gradient descent, {name}", ylim=(lowest / 3, None))
    for axis in panels.ravel():
        axis.set(xscale="log", yscale="log")
        axis.grid(color="0.93")
        axis.set_axisbelow(True)
        axis.minorticks_off()
    for axis in (first, others[0]):
        axis.legend(fontsize="small", loc="lower left")
    for axis in panels[:, 0]:
        axis.set_ylabel("risk above its infimum")
    for axis in panels[1]:
        axis.set_xlabel("t")


def _draw_sgd(axis: "Axes", course: RiskCourse, delta: float) -> None:
    median, high = np.quantile(course.excess, [0.5, 1.0 - delta], axis=0)
    axis.fill_between(course.t, course.excess.min(axis=0), course.excess.max(axis=0), color="tab:blue", alpha=0.15)
    axis.plot(course.t, median, color="tab:blue", linewidth=1.6, label="SGD, mean iterate: median (and all runs)")
    axis.plot(course.t, high, ":", color="tab:blue", linewidth=1.4, label=f"{1 - delta:.0%} of the runs are below")
    axis.plot(course.t, course.bound, "--", color="tab:blue", linewidth=1.1, label=f"Theorem 2.1 over t, δ = {delta:g}")
    rate = np.log(course.t) ** 2 / course.t
    late = course.t >= 100
    axis.plot(
        course.t[late], (rate * median[-1] / rate[-1])[late], color="0.6", linewidth=1.0, label="ln(t)²/t, scaled"
    )
    axis.set(title="SGD with steps of 1, separable")
