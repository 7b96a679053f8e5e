"""Plot of a separation."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sgdone.diagnose.separability.separation_result import Separation

_MOST_BARS = 20
_COLOURS = {0: "0.6", 1: "tab:red", -1: "tab:blue", 2: "tab:purple"}
_MEANINGS = {0: "finite", 1: "tends to +∞", -1: "tends to −∞", 2: "sign not determined"}


def draw(separation: "Separation") -> "NDArray[Any]":
    """Draw the margins of the rows along ū on the left, and the coefficients of ū on the right."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting a separation needs matplotlib: pip install 'sgdone[plot]'") from error
    if separation.kind not in ("complete", "quasi-complete"):
        raise ValueError(f"the kind of separation is {separation.kind!r}: there is no separating direction to plot")
    _, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    _draw_margins(axes[0], separation)
    _draw_coefficients(axes[1], separation)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return np.asarray(axes)


def _draw_margins(axis: Any, separation: "Separation") -> None:
    margins = separation.margins
    separable = separation.separable_rows
    still = np.isfinite(margins) & ~separable
    edges = np.linspace(0.0, float(margins[separable].max()), 31)
    if still.any():
        axis.hist(np.zeros(still.sum()), edges, color="0.75", label=f"overlapping: {still.sum():,} rows at 0")
    axis.hist(margins[separable], edges, color="tab:orange", label=f"separable: {separable.sum():,} rows")
    axis.axvline(
        separation.margin, color="0.25", linestyle="--", linewidth=1.2, label=f"margin γ = {separation.margin:.3g}"
    )
    axis.set_xlabel("margin along the unit direction ū")
    axis.set_ylabel("rows")
    axis.set_title(f"{separation.kind} separation", fontsize="medium")
    axis.legend(frameon=False, fontsize="small")


def _draw_coefficients(axis: Any, separation: "Separation") -> None:
    direction = separation.direction
    values = np.append(direction.coef, [direction.intercept] * separation.fit_intercept)
    names = [*separation.feature_names, *(["intercept"] * separation.fit_intercept)]
    shown = np.argsort(-np.abs(values), kind="stable")[:_MOST_BARS]
    signs = separation.infinite_of(shown)
    places = np.arange(shown.size)[::-1]
    for code in (1, -1, 2, 0):
        here = signs == code
        if here.any():
            axis.barh(places[here], values[shown[here]], color=_COLOURS[code], label=_MEANINGS[code])
            axis.plot(values[shown[here]], places[here], "o", color=_COLOURS[code], markersize=4)
    axis.set_yticks(places, [names[j] for j in shown])
    axis.axvline(0.0, color="0.25", linewidth=0.8)
    axis.set_xlabel("coefficient of the unit direction ū")
    more = values.size - shown.size
    axis.set_title(f"the {shown.size} largest of {values.size:,}" if more else "coefficients", fontsize="medium")
    axis.legend(frameon=False, fontsize="small")
