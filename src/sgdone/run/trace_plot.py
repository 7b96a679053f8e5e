"""Plots of a trace: losses and step sizes, or margins, during training."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sgdone.run.result import Trace, TraceRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Largest number of blocks for which each block is marked.
_MARKED = 40
#: An axis is logarithmic if its largest value exceeds the smallest by this factor.
_RATIOS = {"step": 100.0, "loss": 10.0, "error": 10.0, "step_size": 3.0}
#: Values larger than the smallest by this factor are cut off, so that a diverging fit stays readable.
_TALLEST = 1e12
_MOST_PASSES = 30
_MOST_CLASSES = 10


def plot_trace(trace: Trace) -> "NDArray[Any]":
    """Draw loss, error and step size against the number of samples or updates, with the stop marked.

    Each point is one block of rows, drawn at its last sample, without smoothing. Thin lines mark the ends of passes.
    For a fit on a cluster the points are evaluations, and the last panel has the bytes sent and received so far.

    Parameters
    ----------
    trace : Trace
        A fitted model's ``trace_``.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        The three panels; ``axes[0].figure.savefig("fit.png")`` saves them.
    """
    if not len(trace):
        raise ValueError(
            "the trace is empty, because the fit stopped before its first update: there is nothing to plot"
        )
    share = trace.task == "classification"
    updates = trace.verdict is not None and trace.verdict.counts == "update"
    error = "error (%)" if share else "error (RMSE)"
    axes = _panels("loss" if updates else "progressive loss", error, "step size")
    if trace.has_traffic:
        return _plot_rounds(trace, axes, share=share)
    labels = trace.labels()
    for label, colour in zip(labels, class_colours(len(labels)), strict=True):
        _draw(axes, [row for row in trace if row.label == label], color=colour, label=str(label))
    if share:
        axes[1].yaxis.set_major_formatter(lambda error, _: f"{100 * error:.3g}")
    _scale(axes, trace)
    _mark_passes(axes, trace)
    _mark_stop(axes, trace)
    if 1 < len(labels) <= _MOST_CLASSES:
        _legend(axes[0], "class")
    axes[2].set_xlabel("updates" if updates else "samples")
    if not np.isfinite(trace["step_size"]).any():  # an exact fit has none
        axes[2].set_visible(False)
        axes[1].tick_params(labelbottom=True)
        axes[1].set_xlabel(axes[2].get_xlabel())
    return axes


def _plot_rounds(trace: Trace, axes: "NDArray[Any]", *, share: bool) -> "NDArray[Any]":
    """Draw loss and error at the evaluations of a fit on a cluster, and the megabytes so far, against the rounds."""
    rounds = trace["passes"]
    evaluated = np.isfinite(trace["loss"])
    every = 1 if evaluated.sum() <= _MARKED else [-1]
    for axis, name in zip(axes, ("loss", "error"), strict=False):
        values = trace[name][evaluated] * (100.0 if name == "error" and share else 1.0)
        axis.plot(rounds[evaluated], values, linewidth=1.4, marker="o", markersize=3.5, markevery=every)
        if _is_wide(trace, name):
            axis.set_yscale("log")
    for name, text in (("bytes_sent", "sent"), ("bytes_received", "received")):
        axes[2].plot(rounds, np.cumsum(trace[name]) / 1e6, linewidth=1.4, label=text)
    axes[0].set_xlim(left=0)
    axes[2].set_ylim(bottom=0)
    axes[2].set_ylabel("megabytes")
    axes[2].set_xlabel("rounds")
    _legend(axes[2], None)
    if trace.verdict is not None:
        axes[0].set_title(f"{trace.verdict.status} ({trace.verdict.rule})", fontsize="small", loc="right")
    return axes


def plot_margins(trace: Trace) -> "NDArray[Any]":
    """Draw statistics of the margins of each block against the number of samples: Holland (2018), Figs. 3 and 4.

    The top panel has the mean, median and quartiles of the margins, each computed before the row was used for
    training; below are their standard deviation and skewness. With several classes each has its own curve, without
    quartiles.

    Parameters
    ----------
    trace : Trace
        The ``trace_`` of a model fitted with ``monitors=["margins"]``.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        The three panels.
    """
    if not trace.has_margins:
        raise ValueError("the trace has no margins: fit with monitors=['margins']")
    axes = _panels("margin", "standard deviation", "skew")
    labels = trace.labels()
    for label, colour in zip(labels, class_colours(len(labels)), strict=True):
        rows = [row for row in trace if row.label == label and row.margins is not None]
        _draw_margins(axes, rows, colour, str(label), alone=len(labels) == 1)
    for axis in (axes[0], axes[2]):
        axis.axhline(0.0, color="0.6", linewidth=0.8)
    axes[1].set_ylim(bottom=0)
    steps = trace["step"]
    if steps.max() >= _RATIOS["step"] * steps.min():
        axes[0].set_xscale("log")
    else:
        axes[-1].xaxis.set_major_formatter("{x:,.0f}")
    if len(labels) <= _MOST_CLASSES:
        _legend(axes[0], "class" if len(labels) > 1 else None)
    return axes


def _panels(*names: str) -> "NDArray[Any]":
    """Three empty panels that share the axis of samples."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting a trace needs matplotlib: pip install 'sgdone[plot]'") from error
    _, axes = plt.subplots(3, 1, sharex=True, figsize=(7.5, 7.5), height_ratios=(3, 2, 2), layout="constrained")
    for axis, name in zip(axes, names, strict=True):
        axis.set_ylabel(name)
        axis.grid(axis="y", color="0.92")
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("samples")
    return np.asarray(axes)


def class_colours(count: int) -> list[Any]:
    """One colour per class: distinct colours for up to ten classes, a colour map for more."""
    from matplotlib import colormaps

    if count <= _MOST_CLASSES:
        return [colormaps["tab10"](k) for k in range(count)]
    return [colormaps["viridis"](k / (count - 1)) for k in range(count)]


def _legend(axis: "Axes", title: str | None) -> None:
    axis.legend(title=title, fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _draw(axes: "NDArray[Any]", rows: list[TraceRow], **style: Any) -> None:
    """Draw the three curves of one model; each block is marked, or only the last if there are many."""
    every = 1 if len(rows) <= _MARKED else [-1]
    for axis, name in zip(axes, ("loss", "error", "step_size"), strict=True):
        values = np.array([getattr(row, name) for row in rows])
        lowest = np.nanmin(values, initial=np.inf, where=values > 0)
        values = np.minimum(values, 10 * _TALLEST * lowest)
        steps = [row.step for row in rows]
        axis.plot(steps, values, linewidth=1.4, marker="o", markersize=3.5, markevery=every, **style)


def _scale(axes: "NDArray[Any]", trace: Trace) -> None:
    """Use logarithmic axes for values of very different magnitudes."""
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


def _mark_passes(axes: "NDArray[Any]", trace: Trace) -> None:
    """Draw a thin line at the end of each pass but the last."""
    longest = max(trace, key=lambda row: row.step).label
    rows = [row for row in trace if row.label == longest]
    ends = [row.step for row, after in pairwise(rows) if after.passes > row.passes == int(row.passes)]
    for axis in axes:
        for end in ends if len(ends) <= _MOST_PASSES else []:
            axis.axvline(end, color="0.88", linewidth=0.8, zorder=0)


def _mark_stop(axes: "NDArray[Any]", trace: Trace) -> None:
    """Draw a line where the fit stopped (its last class), with the status and the stopping rule."""
    verdict = trace.verdict
    if verdict is None:
        return
    colour = "tab:red" if verdict.status == "diverged" else "0.25"
    for axis in axes:
        axis.axvline(verdict.step, color=colour, linewidth=1.2, linestyle="--", zorder=1)
    alike = sum(other.status == verdict.status for other in verdict.per_class.values())
    classes = f"{alike} of {len(verdict.per_class)} classes" if verdict.per_class else ""
    details = ", ".join(filter(None, (verdict.rule, classes)))
    axes[0].annotate(
        f"{verdict.status} ({details})" if details else str(verdict.status),
        (verdict.step, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(2, 5),
        textcoords="offset points",
        horizontalalignment="right",
        color=colour,
        fontsize="small",
    )


def _draw_margins(axes: "NDArray[Any]", rows: list[Any], colour: Any, label: str, *, alone: bool) -> None:
    steps = [row.step for row in rows]
    style = {"color": colour, "linewidth": 1.4, "marker": "o" if len(rows) == 1 else None}

    def values(name: str) -> list[float]:
        return [getattr(row.margins, name) for row in rows]

    axes[0].plot(steps, values("mean"), label="mean" if alone else label, **style)
    if alone:
        axes[0].plot(steps, values("median"), label="median", **(style | {"color": "tab:green", "linestyle": "--"}))
        lower, upper = values("lower_quartile"), values("upper_quartile")
        axes[0].fill_between(steps, lower, upper, color=colour, alpha=0.18, linewidth=0, label="middle half")
    axes[1].plot(steps, values("standard_deviation"), **style)
    axes[2].plot(steps, values("skew"), **style)
