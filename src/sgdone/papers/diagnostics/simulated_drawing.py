"""Figure 2 of Chee & Toulis (2018): errors of three methods along their courses."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sgdone.papers.diagnostics.courses import AVERAGED, CLASSICAL, HALF, VARIANCE_REDUCED
from sgdone.papers.diagnostics.panels import METHODS, Panel
from sgdone.papers.diagnostics.simulated_claims import Courses, courses_of
from sgdone.papers.experiment import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {HALF: "tab:red", VARIANCE_REDUCED: "tab:blue", CLASSICAL: "tab:green", AVERAGED: "tab:purple"}


def draw_panels(rows: Sequence[Row], figure: "Figure") -> None:
    """A block of panels for each model; in it a line for each signal-to-noise ratio, a column for each p."""
    courses, passes = courses_of(rows)
    models = list(dict.fromkeys(panel.model for panel, _ in courses))
    parts: Any = figure.subfigures(1, len(models), wspace=0.03)
    for model, part in zip(models, parts, strict=True):
        here = list(dict.fromkeys(panel for panel, _ in courses if panel.model == model))
        ratios = list(dict.fromkeys(panel.snr for panel in here))
        sizes = list(dict.fromkeys(panel.n_features for panel in here))
        axes = part.subplots(len(ratios), len(sizes), squeeze=False, sharex=True, sharey="col")
        part.suptitle(f"{model} model", fontsize="medium")
        for panel in here:
            axis = axes[ratios.index(panel.snr), sizes.index(panel.n_features)]
            _draw(axis, panel, courses, passes)
        for line in axes:
            line[0].set_ylabel("‖θ − θ*‖²")
        for axis in axes[-1]:
            axis.set_xlabel("passes")
            axis.xaxis.get_major_locator().set_params(integer=True)
        if model == models[0]:
            axes[0, 0].legend(fontsize="small", loc="upper right")


def _draw(axis: "Axes", panel: Panel, courses: Courses, passes: Courses) -> None:
    for method in METHODS:
        low, middle, high = np.quantile(courses[panel, method], (0.25, 0.5, 0.75), axis=0)
        axis.plot(passes[panel, method], middle, color=COLOURS[method], label=method, linewidth=1.4)
        axis.fill_between(passes[panel, method], low, high, color=COLOURS[method], alpha=0.2, linewidth=0)
    floor = float(np.median(courses[panel, "minimiser"]))
    axis.axhline(floor, color="0.4", linestyle="--", linewidth=0.9, label="minimiser of the mean loss")
    axis.set_yscale("log")
    axis.set_title(f"SNR {panel.snr:g}, p = {panel.n_features}", fontsize="medium")
    axis.grid(color="0.93")
    axis.set_axisbelow(True)
