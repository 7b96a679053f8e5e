"""Figures 1 and 2 of Xu (2011): excess risk against samples."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sgdone.papers.averaging.curves import BATCH, Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {"ASGD": "tab:red", "ASGD_BAD": "tab:orange", "SGD": "tab:blue", BATCH: "black"}


def draw_curves(curves: Mapping[str, Curve], figure: "Figure", known: Mapping[str, Mapping[int, float]]) -> None:
    """The paper's panel, and the same in units of the batch method's expected excess risk.

    Parameters
    ----------
    curves : mapping
        By method, that of the batch method among them.
    figure : Figure
        Where to draw.
    known : mapping
        Values known from elsewhere of the second panel, by method and number of samples.
    """
    left, right = figure.subplots(1, 2)
    for method, curve in curves.items():
        _draw(left, curve, _COLOURS[method], method)
        _draw(right, curve.over(curves[BATCH]), _COLOURS[method], method)
    for method, values in known.items():
        right.plot(list(values), list(values.values()), "x", color=_COLOURS[method], markersize=9, markeredgewidth=1.5)
    right.plot([], [], "kx", markersize=9, markeredgewidth=1.5, label="known from elsewhere")
    left.plot([], [], ".", color="0.4", label="mean of the trials ± standard error")
    left.plot([], [], color="0.4", linewidth=0.6, alpha=0.6, label="one trial")
    right.axhline(2.0, color="0.7", linestyle="--", linewidth=0.8, zorder=0)
    for axis, what in ((left, "excess risk"), (right, "excess risk over the batch method's, expected")):
        axis.set(xscale="log", yscale="log", xlabel="samples t", ylabel=what)
        axis.grid(color="0.93")
        axis.set_axisbelow(True)
        axis.legend(fontsize="small")


def _draw(axis: "Axes", curve: Curve, colour: str, label: str) -> None:
    axis.plot(curve.samples, curve.risks[0], color=colour, linewidth=0.6, alpha=0.5)
    axis.plot(curve.samples, curve.expected, color=colour, linewidth=1.3, label=f"{label}, expected")
    axis.errorbar(
        curve.samples,
        curve.means,
        curve.standard_errors,
        color=colour,
        marker=".",
        markersize=5,
        linestyle="none",
        linewidth=1.0,
    )
