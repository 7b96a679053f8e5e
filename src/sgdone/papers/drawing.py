"""Parts of pictures that several figures have."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    # matplotlib is optional, and slow to import.
    Axes = Figure = Any

__all__ = ["Axes", "Figure", "grid_lines", "legend_below", "line_with_band", "quartiles"]


def grid_lines(*axes: Axes, along: Any = "both") -> None:
    """Light grid lines behind the curves."""
    for axis in axes:
        axis.grid(axis=along, color="0.93")
        axis.set_axisbelow(True)


def line_with_band(axis: Axes, x: NDArray[Any], curves: NDArray[Any], colour: str, label: str) -> None:
    """A curve between two others, lower, middle and upper, and the region between these in a paler shade."""
    low, middle, high = curves
    axis.plot(x, middle, color=colour, label=label, linewidth=1.4)
    axis.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def quartiles(values: NDArray[Any]) -> NDArray[Any]:
    """Lower quartile, median and upper quartile over the first axis."""
    return np.asarray(np.quantile(values, (0.25, 0.5, 0.75), axis=0))


def legend_below(figure: Figure, *axes: Axes, columns: int | None = None) -> None:
    """One legend under all panels: every label of the axes once."""
    entries: dict[Any, Any] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    figure.legend(
        list(entries.values()), list(entries), loc="outside lower center", ncols=columns or len(entries), frameon=False
    )
