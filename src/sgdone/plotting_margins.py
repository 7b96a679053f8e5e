"""The course of the margins of a fit as a picture."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sgdone.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CLASSES = 10


def plot_margins(trace: Trace) -> "NDArray[Any]":
    """Draw the margins of each block against the samples used: Holland (2018), Figs. 3 and 4.

    On top mean, median and quartiles of the margins, each row predicted before it was learnt from; below their
    standard deviation and their skew. Of several classes each has a curve of its own, its quartiles left out.

    Parameters
    ----------
    trace : Trace
        The ``trace_`` of a model fitted with ``monitors=["margins"]``.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        The three panels from top to bottom.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("a picture of margins needs matplotlib: pip install 'sgdone[plot]'") from error
    if not trace.has_margins:
        raise ValueError("the trace holds no margins: fit with monitors=['margins']")
    _, axes = plt.subplots(3, 1, sharex=True, figsize=(7.5, 7.5), height_ratios=(3, 2, 2), layout="constrained")
    labels = trace.labels()
    few = len(labels) <= _MOST_CLASSES
    for k, label in enumerate(labels):
        colour = plt.colormaps["tab10"](k) if few else plt.colormaps["viridis"](k / (len(labels) - 1))
        rows = [row for row in trace if row.label == label and row.margins is not None]
        _draw(axes, rows, colour, str(label), alone=len(labels) == 1)
    for axis, name in zip(axes, ("margin", "standard deviation", "skew"), strict=True):
        axis.set_ylabel(name)
        axis.grid(axis="y", color="0.92")
        axis.spines[["top", "right"]].set_visible(False)
    for axis in (axes[0], axes[2]):
        axis.axhline(0.0, color="0.6", linewidth=0.8)
    axes[1].set_ylim(bottom=0)
    steps = trace["step"]
    if steps.max() >= 100 * steps.min():
        axes[0].set_xscale("log")
    else:
        axes[-1].xaxis.set_major_formatter("{x:,.0f}")
    axes[-1].set_xlabel("samples")
    if few:
        title = "class" if len(labels) > 1 else None
        axes[0].legend(title=title, fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return np.asarray(axes)


def _draw(axes: "list[Axes]", rows: list[Any], colour: Any, label: str, *, alone: bool) -> None:
    steps = [row.step for row in rows]
    look = {"color": colour, "linewidth": 1.4, "marker": "o" if len(rows) == 1 else None}

    def values(name: str) -> list[float]:
        return [getattr(row.margins, name) for row in rows]

    axes[0].plot(steps, values("mean"), label="mean" if alone else label, **look)
    if alone:
        axes[0].plot(steps, values("median"), label="median", **(look | {"color": "tab:green", "linestyle": "--"}))
        lower, upper = values("lower_quartile"), values("upper_quartile")
        axes[0].fill_between(steps, lower, upper, color=colour, alpha=0.18, linewidth=0, label="middle half")
    axes[1].plot(steps, values("standard_deviation"), **look)
    axes[2].plot(steps, values("skew"), **look)
