"""A picture of what came out: losses relative to the best of five C, and seconds, a line a set."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contenders.contender import MissingError
from no_knobs_criteria import LOSS_EXCESS
from no_knobs_outcome import FIVE, OURS, Outcome
from no_knobs_report import HEADINGS

_MARKS = {
    OURS: ("o", "black"),
    FIVE: ("D", "tab:orange"),
    "cv": ("s", "tab:green"),
    "newton-cholesky": ("P", "tab:olive"),
    "glum": ("<", "tab:brown"),
    "snapml": (">", "tab:pink"),
    "sgd": ("v", "tab:red"),
    "sgd-scaled": ("^", "tab:purple"),
    "vw": ("X", "tab:blue"),
}
#: Where the axis of relative losses ends; what is beyond stands at its end with its number.
_MOST = 10.0


def drawing() -> Any:
    """Matplotlib's functions, asked for before hours are spent on what is to be drawn."""
    try:
        import matplotlib as mpl

        mpl.use("agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingError("matplotlib is not installed: pip install 'sgdone[bench]'") from error
    return plt


def draw(outcomes: Sequence[Outcome], methods: Sequence[str], path: Path) -> None:
    """Losses on the left and seconds on the right, both on logarithmic axes; ours is filled."""
    plt = drawing()
    figure, (losses, times) = plt.subplots(
        1, 2, figsize=(12, 1.8 + 0.42 * len(outcomes)), sharey=True, layout="constrained"
    )
    lines, least = np.arange(len(outcomes)), 1.0
    for method in methods:
        relative = np.array([one.least(method, "loss") / one.least(FIVE, "loss") for one in outcomes])
        least = float(np.nanmin(relative, initial=least))
        _scatter(losses, np.minimum(relative, _MOST), lines, method)
        _scatter(times, [one.seconds(method) for one in outcomes], lines, method)
        for k in np.flatnonzero(relative > _MOST):
            # Two methods' numbers at the same end: one above its line, one below.
            side = 4 if method == "sgd" else -10
            losses.annotate(
                _times_more(relative[k]),
                (_MOST, k),
                (6, side),
                textcoords="offset points",
                fontsize=7,
                color=_MARKS[method][1],
            )
    losses.axvspan(1.0, 1.0 + LOSS_EXCESS, color="0.8", zorder=0, label=f"within {100 * LOSS_EXCESS:.0f} % of the best")
    losses.set_xscale("log")
    losses.set_xlim(0.95 * least, 1.6 * _MOST)
    losses.set_xticks([1, 1.2, 1.5, 2, 3, 5, _MOST], ["1", "1.2", "1.5", "2", "3", "5", f"≥ {_MOST:g}"])
    losses.set_xticks([], minor=True)
    losses.set_title("Loss of the test rows / that of the best of five C", loc="left", fontsize=11)
    times.set_xscale("log")
    times.set_title("Seconds of the fit", loc="left", fontsize=11)
    for axis in (losses, times):
        axis.grid(axis="x", color="0.92")
        axis.set_axisbelow(True)
        axis.tick_params(axis="y", length=0)
        axis.spines[["top", "right", "left"]].set_visible(False)
        for k in lines:
            axis.axhline(k, color="0.9", zorder=1)
    losses.set_yticks(lines, [one.name for one in outcomes])
    losses.invert_yaxis()
    legend = losses.get_legend_handles_labels()
    figure.legend(*legend, loc="outside lower center", ncols=(len(legend[0]) + 1) // 2, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _scatter(axis: Any, numbers: Any, lines: Any, method: str) -> None:
    marker, colour = _MARKS[method]
    axis.scatter(
        numbers,
        lines,
        color=colour if method == OURS else "white",
        edgecolor=colour,
        marker=marker,
        s=50,
        linewidths=1.5,
        label="five fits, best C" if method == FIVE else HEADINGS[method],
        zorder=4 if method == OURS else 3,
    )


def _times_more(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio < 1e4 else f"10^{np.log10(ratio):.0f}"
