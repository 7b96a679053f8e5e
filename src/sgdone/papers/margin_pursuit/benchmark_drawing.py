"""Figures 3 and 4 of Holland (2018): errors and margins along the course, margin pursuit above Pegasos."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.courses import PEGASOS, READINGS
from sgdone.papers.margin_pursuit.tables import Best, bests_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_benchmarks(rows: Sequence[Row], figure: "Figure") -> str:
    """A column a set, with the reading of the step size whose test errors are lowest on the whole, which is returned.

    Parameters
    ----------
    rows : sequence of dict
        Of the CSV file.
    figure : Figure
        Empty.
    """
    bests = bests_of(rows)
    sets = list(dict.fromkeys(data for data, _ in bests))
    shown = min(READINGS, key=lambda steps: float(np.mean([np.log(bests[data, steps].error()) for data in sets])))
    axes = figure.subplots(4, len(sets), sharex="col", squeeze=False)
    for column, data in enumerate(sets):
        ours, theirs = bests[data, shown], bests[data, PEGASOS]
        for row, (best, name) in enumerate(((ours, "margin pursuit"), (theirs, PEGASOS))):
            _draw_errors(axes[row, column], best)
            _draw_margins(axes[2 + row, column], best)
            axes[row, column].set_title(f"{data}: {name}, λ = {best.alpha:g}", fontsize="medium")
            axes[2 + row, column].set_title(f"{data}: {name}", fontsize="medium")
        highest = max(float(best.mean("test_error").max()) for best in (ours, theirs))
        for row in range(2):
            axes[row, column].set_ylim(0.0, min(0.6, 1.05 * highest))
        axes[-1, column].set_xlabel("gradients computed")
    for line in range(4):
        axes[line, 0].set_ylabel("error" if line < 2 else "margin")
    for axis in axes.flat:
        axis.set_xscale("log")
        axis.grid(color="0.93")
        axis.set_axisbelow(True)
    for line, place in ((0, "errors"), (2, "margins of the training rows")):
        axes[line, -1].legend(fontsize="small", frameon=False, title=place, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return shown


def _draw_errors(axis: "Axes", best: Best) -> None:
    for quantity, colour, name in (("training_error", "tab:blue", "training"), ("test_error", "tab:red", "test")):
        mean, spread = best.mean(quantity), best.values[quantity].std(axis=0)
        axis.plot(best.gradients, mean, color=colour, label=name, linewidth=1.5)
        axis.fill_between(best.gradients, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)


def _draw_margins(axis: "Axes", best: Best) -> None:
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
    # The first steps, 1/√λ long and more, would leave the rest a line.
    settled = slice(best.gradients.size // 3, None)
    ends = np.concatenate([lower[settled], upper[settled], best.mean("skew")[settled]])
    low, high = float(ends.min()), float(ends.max())
    axis.set_ylim(min(low, 0.0) - 0.1 * (high - low), high + 0.1 * (high - low))
