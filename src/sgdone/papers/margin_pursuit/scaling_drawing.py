"""Figure 5 of Holland (2018): test errors along the course, with and without a reset of the scale."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.scaling_claims import FOLLOWS, KEEPS, panels_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {FOLLOWS: "tab:orange", KEEPS: "tab:red"}


def draw_scaling(rows: Sequence[Row], grid: Sequence[float], figure: "Figure") -> None:
    """A column a set, a line a reading."""
    panels = panels_of(rows, grid)
    sets = list(dict.fromkeys(data for data, _ in panels))
    readings = list(dict.fromkeys(steps for _, steps in panels))
    axes = figure.subplots(len(readings), len(sets), squeeze=False, sharex="col")
    for (data, steps), panel in panels.items():
        axis = axes[readings.index(steps), sets.index(data)]
        axis.plot(panel.gradients, panel.best.mean(axis=0), color="tab:blue", label="best λ, s = 1")
        axis.plot(panel.gradients, panel.under.mean(axis=0), color="0.45", label="best λ/1000, s = 1")
        for scale, errors in panel.rescaled.items():
            axis.plot(panel.gradients, errors.mean(axis=0), color=_COLOURS[scale], label=f"best λ/1000, {scale}")
        axis.axvline(panel.reset, color="black", linewidth=1.0)
        axis.set_title(f"{data}, steps {steps}\nbest λ = {panel.alpha:g}", fontsize="medium")
        axis.set_xscale("log")
        axis.set_ylim(0.0, 0.6)
        axis.grid(color="0.93")
    for axis in axes[-1]:
        axis.set_xlabel("gradients computed")
    for line in axes:
        line[0].set_ylabel("test error")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
