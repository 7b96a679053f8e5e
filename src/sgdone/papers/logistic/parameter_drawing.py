"""Distances and norms of gradient descent's parameters against steps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sgdone.papers.experiment import Row
from sgdone.papers.logistic.parameter_claims import FROM, ROUNDING, WHO, series
from sgdone.papers.logistic.problems import PROBLEMS
from sgdone.papers.logistic.theory import parameter_rates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = {WHO[0]: ("-", "tab:red"), WHO[1]: ("-.", "tab:purple")}
_RATES = {"finite_part": "ln(t)²/√t", "direction": "ln(ln(t))/ln(t)"}


def draw_parameters(rows: Sequence[Row], figure: "Figure") -> None:
    """A column a problem."""
    panels: Any = figure.subplots(3, len(PROBLEMS), sharex=True)
    for name, column in zip(PROBLEMS, panels.T, strict=True):
        column[0].set_title(name)
        for axis, part in zip(column, _RATES, strict=False):
            _draw_distances(axis, rows, name, part)
        _draw_norms(column[2], rows, name)
        column[2].set_xlabel("t")
    for axis, label in zip(panels[:, 0], ("‖Π_S w − v̄‖²", "‖w/‖w_t‖ − ū‖²", "norms of w_t"), strict=True):
        axis.set_ylabel(label)
    for axis in panels.ravel():
        axis.set_xscale("log")
        axis.grid(color="0.93")
        axis.set_axisbelow(True)
        axis.minorticks_off()
    handles, labels = panels[0, -1].get_legend_handles_labels()
    extra, told = panels[1, -1].get_legend_handles_labels()
    norms, names = panels[2, -1].get_legend_handles_labels()
    known = dict(zip([*labels, *told, *names], [*handles, *extra, *norms], strict=True))
    figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=5, fontsize="small")


def _draw_distances(axis: "Axes", rows: Sequence[Row], name: str, part: str) -> None:
    """Both distances, the bound, and the rate through the largest ratio from t = 100 on."""
    t = series(rows, name, WHO[0], "t")
    found = {who: series(rows, name, who, f"{part}_squared") for who in WHO}
    if np.isnan(found[WHO[0]]).all():
        axis.text(
            0.5,
            0.5,
            "S = {0}" if part == "finite_part" else "no row is separable",
            ha="center",
            va="center",
            transform=axis.transAxes,
            color="0.4",
        )
        axis.set_yticks([])
        return
    for who, (line, colour) in _STYLES.items():
        shown = np.where(found[who] > ROUNDING, found[who], np.nan)
        axis.plot(t, shown, line, color=colour, linewidth=1.5, label=who)
    bound = series(rows, name, WHO[0], f"{part}_bound")
    lemma = "Lemma D.1" if part == "finite_part" else "Lemma D.5"
    axis.plot(t, bound, "--", color="black", linewidth=1.0, label=f"{lemma}, of w_t")
    late = t >= FROM
    rate = getattr(parameter_rates(t[late]), part)
    constant = float(np.max(found[WHO[0]][late] / rate))
    axis.plot(t[late], constant * rate, color="0.6", linewidth=1.2, label=f"{_RATES[part]}, scaled")
    if part == "direction":
        square = np.log(t[late]) ** -2.0
        axis.plot(t[late], square * found[WHO[0]][-1] / square[-1], ":", color="0.4", label="1/ln(t)², scaled")
    axis.set_yscale("log")


def _draw_norms(axis: "Axes", rows: Sequence[Row], name: str) -> None:
    t, across, inside = (series(rows, name, WHO[0], key) for key in ("t", "norm_across_S", "norm_in_S"))
    axis.plot(t, across, color="tab:green", linewidth=1.5, label="‖Π_⊥ w_t‖")
    axis.plot(t, inside, color="tab:blue", linewidth=1.5, label="‖Π_S w_t‖")
    axis.axhline(float(np.linalg.norm(PROBLEMS[name].v())), color="tab:blue", linestyle=":", linewidth=1.0, label="‖v̄‖")
