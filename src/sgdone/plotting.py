"""The course of a fit as a picture."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sgdone.trace import Trace, TraceRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Curves of up to this many blocks show each block.
_MARKED = 40
#: An axis is logarithmic if the largest value on it exceeds the smallest by this factor.
_RATIOS = {"step": 100.0, "loss": 10.0, "error": 10.0, "step_size": 3.0}
#: What exceeds the smallest value by this factor leaves the picture: a diverging fit soon would fill it.
_TALLEST = 1e12
_MOST_PASSES = 30
_MOST_CLASSES = 10


def plot_trace(trace: Trace) -> "NDArray[Any]":
    """Draw progressive loss, error and step size against the samples used, the stop marked.

    Nothing is smoothed: each point is one block of rows, drawn at its last sample. Thin lines end passes.

    Parameters
    ----------
    trace : Trace
        A fitted model's ``trace_``.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        The three panels from top to bottom; ``axes[0].figure.savefig("fit.png")`` stores them.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("a picture of a trace needs matplotlib: pip install 'sgdone[plot]'") from error
    if not len(trace):
        raise ValueError("the trace is empty, the fit ended before its first update: there is nothing to draw")
    _, axes = plt.subplots(3, 1, sharex=True, figsize=(7.5, 7.5), height_ratios=(3, 2, 2), layout="constrained")
    labels = trace.labels()
    few = len(labels) <= _MOST_CLASSES
    for k, label in enumerate(labels):
        colour = plt.colormaps["tab10"](k) if few else plt.colormaps["viridis"](k / (len(labels) - 1))
        _draw(axes, [row for row in trace if row.label == label], color=colour, label=str(label))
    share = trace.task == "classification"
    if share:
        axes[1].yaxis.set_major_formatter(lambda error, _: f"{100 * error:.3g}")
    names = "progressive loss", "error (%)" if share else "error (RMSE)", "step size"
    for axis, name in zip(axes, names, strict=True):
        axis.set_ylabel(name)
        axis.grid(axis="y", color="0.92")
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("samples")
    _scale(axes, trace)
    _mark_passes(axes, trace)
    _mark_stop(axes, trace)
    if few and len(labels) > 1:
        axes[0].legend(title="class", fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return np.asarray(axes)


def _draw(axes: "Sequence[Axes]", rows: list[TraceRow], **look: Any) -> None:
    """One model's three curves; a dot marks each block, or else the last."""
    every = 1 if len(rows) <= _MARKED else [-1]
    for axis, name in zip(axes, ("loss", "error", "step_size"), strict=True):
        values = np.array([getattr(row, name) for row in rows])
        lowest = np.nanmin(values, initial=np.inf, where=values > 0)
        values = np.minimum(values, 10 * _TALLEST * lowest)
        steps = [row.step for row in rows]
        axis.plot(steps, values, linewidth=1.4, marker="o", markersize=3.5, markevery=every, **look)


def _scale(axes: "Sequence[Axes]", trace: Trace) -> None:
    """Logarithmic axes where the values span more than a straight one shows."""
    if _is_wide(trace, "step"):
        axes[0].set_xscale("log")
    else:
        axes[0].set_xlim(left=0)
        axes[-1].xaxis.set_major_formatter("{x:,.0f}")
    for axis, name in zip(axes, ("loss", "error", "step_size"), strict=True):
        straight = name == "error" and trace.task == "classification"
        if _is_wide(trace, name) and not straight:
            axis.set_yscale("log")
            lowest, highest = np.nanmin(trace[name]), np.nanmax(trace[name])
            if highest > _TALLEST * lowest:
                axis.set_ylim(lowest / 2, _TALLEST * lowest)
        elif name == "error":
            axis.set_ylim(bottom=0)


def _is_wide(trace: Trace, name: str) -> bool:
    values = trace[name]
    values = values[np.isfinite(values)]
    return bool(values.size and values.min() > 0 and values.max() >= _RATIOS[name] * values.min())


def _mark_passes(axes: "Sequence[Axes]", trace: Trace) -> None:
    """A thin line at the end of each pass but the last."""
    longest = max(trace, key=lambda row: row.step).label
    rows = [row for row in trace if row.label == longest]
    ends = [row.step for row, after in pairwise(rows) if after.passes > row.passes == int(row.passes)]
    for axis in axes:
        for end in ends if len(ends) <= _MOST_PASSES else []:
            axis.axvline(end, color="0.88", linewidth=0.8, zorder=0)


def _mark_stop(axes: "Sequence[Axes]", trace: Trace) -> None:
    """A line where the fit ended (the last of its classes), with the status and the rule that ended it."""
    verdict = trace.verdict
    if verdict is None:
        return
    colour = "tab:red" if verdict.status == "diverged" else "0.25"
    for axis in axes:
        axis.axvline(verdict.step, color=colour, linewidth=1.2, linestyle="--", zorder=1)
    alike = sum(other.status == verdict.status for other in verdict.per_class.values())
    classes = f", {alike} of {len(verdict.per_class)} classes" if verdict.per_class else ""
    axes[0].annotate(
        verdict.status if verdict.rule == "divergence" else f"{verdict.status} ({verdict.rule}{classes})",
        (verdict.step, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(2, 5),
        textcoords="offset points",
        horizontalalignment="right",
        color=colour,
        fontsize="small",
    )
