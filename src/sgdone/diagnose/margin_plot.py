"""Histogram of margins."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sgdone.diagnose.margins import Margins

#: Margins further than 5 interquartile ranges from the quartiles are drawn at the edges.
_REACH = 5.0
_MOST_BINS = 60


def draw(margins: "Margins") -> Any:
    """Draw a histogram of the margins, with mean, median, location, quartiles and γ marked.

    Misclassified rows (margin ≤ 0) are red, margins below γ pale blue.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting margins needs matplotlib: pip install 'sgdone[plot]'") from error
    _, axis = plt.subplots(figsize=(8.0, 4.5), layout="constrained")
    low, high = _range(margins)
    values = np.clip(margins.values, low, high)
    outside = float(np.average(margins.values != values, weights=margins.weights))
    weights = np.ones(values.size) if margins.weights is None else margins.weights
    edges = _edges(values, low, high, margins.gamma)
    # A margin of 0 is misclassified: move it to the bar on the left of 0.
    placed = np.where(values <= 0, np.minimum(values, -1e-9 * (high - low)), values)
    shares = np.histogram(placed, edges, weights=weights / weights.sum())[0]
    middles = 0.5 * (edges[1:] + edges[:-1])
    colours = np.where(middles <= 0, "tab:red", np.where(middles < margins.gamma, "#a8c8e8", "tab:blue"))
    axis.bar(edges[:-1], 100 * shares, np.diff(edges), align="edge", color=colours, edgecolor="white", linewidth=0.3)
    axis.axvspan(margins.lower_quartile, margins.upper_quartile, color="0.92", zorder=0, label="middle half")
    marks: tuple[tuple[float, dict[str, Any], str], ...] = (
        (margins.mean, {"color": "black", "linestyle": "-"}, "mean"),
        (margins.location, {"color": "tab:orange", "linestyle": "--"}, "Catoni's location"),
        (margins.median, {"color": "magenta", "linestyle": ":"}, "median"),
        (margins.gamma, {"color": "0.45", "linestyle": "-."}, "level γ"),
    )
    for place, style, name in marks:
        if low <= place <= high:
            axis.axvline(place, linewidth=1.6, label=f"{name} {place:.3g}", **style)
    axis.plot([], [], " ", label=f"st. dev. {margins.standard_deviation:.3g}, skew {margins.skew:.2f}")
    axis.set_xlim(edges[0], edges[-1])
    axis.set_xlabel("margin" + (f"  ({outside:.2%} beyond the edges are drawn at them)" if outside else ""))
    axis.set_ylabel("share of rows (%)")
    axis.set_title(
        f"{margins.values.size:,} margins: {margins.wrong:.2%} wrong (red), {margins.below:.2%} below γ (red and pale)",
        fontsize="medium",
    )
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axis


def _range(margins: "Margins") -> tuple[float, float]:
    """Range of the axis: 0, γ and all margins except outliers."""
    lower, upper = margins.lower_quartile, margins.upper_quartile
    reach = _REACH * (upper - lower)
    inner = margins.values[(margins.values >= lower - reach) & (margins.values <= upper + reach)]
    low, high = min(0.0, float(inner.min())), max(0.0, margins.gamma, float(inner.max()))
    room = 0.03 * (high - low) or 1.0
    return low - room, high + room


def _edges(values: np.ndarray[Any, np.dtype[np.float64]], low: float, high: float, gamma: float) -> Any:
    """Edges of bins of equal width. 0 and γ are edges, so that each bin has one colour."""
    count = int(np.clip(np.ceil(2.0 * values.size ** (1 / 3)), 10, _MOST_BINS))
    width = (high - low) / count
    if 2 * _MOST_BINS * gamma >= high - low:
        width = gamma / max(1, round(gamma / width))
    first, last = np.floor(low / width), np.ceil(high / width)
    return np.arange(first, last + 1) * width
