"""Figures 3 to 5 of Xu (2011) as one: a row for each set, five columns."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sgdone.papers.averaging.benchmark_runs import ASGD, L2SVM, LIBLINEAR, LOGISTIC, ONLINE_LBFGS, PEGASOS, SVM
from sgdone.papers.averaging.benchmark_tables import Array, Course, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {
    ASGD: "tab:red",
    "SGD2": "tab:blue",
    "SGDQN": "tab:green",
    ONLINE_LBFGS: "tab:purple",
    PEGASOS: "tab:orange",
    LIBLINEAR: "0.25",
}
#: Loss, what is drawn, and against what.
_COLUMNS = (
    (L2SVM, "error", "passes"),
    (L2SVM, "error", "seconds"),
    (L2SVM, "cost", "passes"),
    (LOGISTIC, "error", "passes"),
    (SVM, "error", "passes"),
)
_TITLES = {"error": "test error (%)", "cost": "test cost"}
#: Of all values of a panel this part is below its upper edge, if ASGD's curve is.
_SHOWN = 0.7
_ROW_HEIGHT, _MARGIN, _WIDTH = 2.0, 1.6, 17.0


def draw_benchmarks(table: Table, notes: Mapping[str, str], figure: "Figure") -> None:
    """Means over the runs; seconds are medians. A curve that leaves its panel goes on above it.

    Parameters
    ----------
    table : Table
        What was measured.
    notes : mapping
        What is said under the name of each set.
    figure : Figure
        Empty; its height is made to suit the number of sets.
    """
    figure.set_size_inches(_WIDTH, _MARGIN + _ROW_HEIGHT * len(table.sets))
    axes = figure.subplots(len(table.sets), len(_COLUMNS), squeeze=False)
    for i, data in enumerate(table.sets):
        for j, (loss, what, against) in enumerate(_COLUMNS):
            axis = axes[i, j]
            _draw_panel(axis, table, data, loss, what, against)
            if i == 0:
                axis.set_title(f"{loss}: {_TITLES[what]}", fontsize="medium")
            if i == len(table.sets) - 1:
                axis.set_xlabel("seconds of work" if against == "seconds" else against)
        axes[i, 0].set_ylabel(f"{data}\n{notes[data]}", fontsize="small")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)


def _draw_panel(axis: "Axes", table: Table, data: str, loss: str, what: str, against: str) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    factor = 100.0 if what == "error" else 1.0
    exact = factor * table.optima[data, loss][0 if what == "error" else 1]
    shown = [np.array([exact])]
    for method in table.methods(loss):
        course = table.courses[data, loss, method]
        x, y = _places(course, against), factor * _values(course, what).mean(axis=0)
        if np.isnan(x).any():
            axis.text(0.5, 0.5, "no clock", transform=axis.transAxes, ha="center", color="0.5")
            axis.set(xticks=[], yticks=[])
            return
        points = method == LIBLINEAR
        axis.plot(
            x,
            y,
            color=_COLOURS[method],
            linewidth=2.0 if method == ASGD else 1.1,
            zorder=3 if method == ASGD else 2,
            linestyle="none" if points else "-",
            marker="o" if points else "",
            markersize=5,
            label=method,
        )
        shown.append(y[np.isfinite(y)])
        if method == ASGD:
            ours = y[min(1, y.size - 1) :]
    axis.axhline(exact, color="black", linestyle="--", linewidth=0.9, zorder=1, label="exact minimiser")
    values = np.concatenate(shown)
    bottom, top = float(values.min()), max(float(np.quantile(values, _SHOWN)), float(ours.max()))
    room = max(top - bottom, 1e-3 * abs(top))
    axis.set_ylim(bottom - 0.06 * room, top + 0.08 * room)
    if against == "seconds":
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter(NullFormatter())
    else:
        axis.set(xlim=(0.0, 1.03 * float(x[-1])), xticks=np.arange(0.0, float(x[-1]) + 0.1, 0.5))
    axis.grid(color="0.93")
    axis.set_axisbelow(True)
    axis.tick_params(labelsize="small")


def _places(course: Course, against: str) -> Array:
    return course.passes if against == "passes" else np.asarray(np.median(course.seconds, axis=0))


def _values(course: Course, what: str) -> Array:
    return course.errors if what == "error" else course.costs
