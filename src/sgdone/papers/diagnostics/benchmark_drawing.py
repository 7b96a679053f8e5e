"""Figure 3 of Chee & Toulis (2018): test errors of four methods along their courses."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sgdone.papers.diagnostics.benchmark_claims import QUARTER, courses_of
from sgdone.papers.diagnostics.courses import VARIANCE_REDUCED
from sgdone.papers.diagnostics.simulated_drawing import COLOURS
from sgdone.papers.experiment import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_benchmarks(rows: Sequence[Row], names: Mapping[str, str], figure: "Figure") -> None:
    """A panel for each set, the passes on a logarithmic scale; the start, at 0, is left out.

    Parameters
    ----------
    rows : sequence of dict
        Of the CSV file.
    names : mapping
        What each set is in full.
    figure : Figure
        Empty.
    """
    courses, passes = courses_of(rows)
    sets = list(dict.fromkeys(data for data, _ in courses))
    for axis, data in zip(figure.subplots(1, len(sets)), sets, strict=True):
        shown = []
        for (where, method), errors in courses.items():
            if where == data:
                low, middle, high = np.quantile(errors, (0.25, 0.5, 0.75), axis=0)
                axis.plot(passes[1:], middle[1:], color=COLOURS[method], label=method, linewidth=1.4)
                axis.fill_between(passes[1:], low[1:], high[1:], color=COLOURS[method], alpha=0.2, linewidth=0)
                # While SVRG reads its first anchor it is where it started, far above all others.
                begun = passes > (1.1 if method == VARIANCE_REDUCED else 0.0)
                shown += [low[begun], high[begun]]
        bottom, top = np.min(np.concatenate(shown)), np.quantile(np.concatenate(shown), 0.985)
        axis.axvline(QUARTER, color="0.6", linestyle=":", linewidth=1.0)
        axis.set_xscale("log")
        axis.set_ylim(bottom - 0.05 * (top - bottom), top + 0.1 * (top - bottom))
        ticks = [tick for tick in (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 6) if tick <= passes[-1]]
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
        axis.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        axis.set(xlabel="passes", ylabel="error on the test set", title=f"{data} ({names[data]})")
        axis.grid(color="0.93")
        axis.set_axisbelow(True)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
