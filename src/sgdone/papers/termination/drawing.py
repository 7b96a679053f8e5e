"""Scatter plots of accuracy against iterations, in the colours of Baghal et al. (2021), Figs. 2–5."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sgdone.papers.experiment import Row
from sgdone.papers.termination.runs import LONGER, MARGIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Six rays.
ASTERISK = (6, 2, 0)
_CIRCLE = {"marker": "o", "fillstyle": "none", "markersize": 6}
#: SVS from the smallest validation set to the largest.
_SVS_COLOURS = ("red", "magenta", "cyan")
_LOOKS: dict[str, dict[str, Any]] = {
    MARGIN: {"marker": ASTERISK, "color": "blue", "markersize": 7},
    LONGER: {"marker": "+", "color": "green", "markersize": 8},
}
_LABELS = {MARGIN: "test (12), k iterations", LONGER: "1.5k iterations"}


def draw_comparison(rows: Sequence[Row], figure: "Figure") -> None:
    """A row of panels for each data and loss, a column for each α̃; a run whose test did not fire leaves no marker."""
    kinds = list(dict.fromkeys((row["data"], row["loss"]) for row in rows))
    steps = list(dict.fromkeys(row["step"] for row in rows))
    panels = figure.subplots(len(kinds), len(steps), sharex="row", sharey="row", squeeze=False)
    for (data, loss), line in zip(kinds, panels, strict=True):
        for step, axis in zip(steps, line, strict=True):
            here = [row for row in rows if (row["data"], row["loss"], row["step"]) == (data, loss, step)]
            _draw_panel(axis, here)
            axis.set_title(f"{data} ({loss[0]}/{step[2:]})", fontsize="medium")
        line[0].set_ylabel("accuracy")
    for step, axis in zip(steps, panels[0], strict=True):
        axis.legend(
            title=f"α̃ = {step}", loc="lower center", bbox_to_anchor=(0.5, 1.2), fontsize="small", frameon=False, ncol=2
        )
    for axis in panels[-1]:
        axis.set_xlabel("iterations")


def _draw_panel(axis: "Axes", rows: Sequence[Row]) -> None:
    circles = iter(_SVS_COLOURS)
    for test in dict.fromkeys(row["test"] for row in rows):
        look = _LOOKS.get(test) or _CIRCLE | {"color": next(circles)}
        fired = [row for row in rows if row["test"] == test and row["fired"]]
        iterations, accuracies = [row["iterations"] for row in fired], [row["accuracy"] for row in fired]
        axis.plot(iterations, accuracies, linestyle="none", label=_LABELS.get(test, test), **look)
    axis.set_xscale("log")
    axis.grid(color="0.93")
    axis.set_axisbelow(True)
