"""Forest plot of a summary: coefficients with their intervals."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from sgdone.inference.summary import INTERCEPT, Summary
from sgdone.inference.summary_table import largest_first
from sgdone.message_text import enumerate_names, shorten
from sgdone.run.trace_plot import class_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Longest names of features and classes, in characters.
_LONGEST_FEATURE, _LONGEST_CLASS = 40, 24
#: Distance between the coefficients of a feature if there are several classes; that of features is 1.
_CLASS_DISTANCE = 0.45
#: Inches of a feature's height, of the rest of the height, of a character of a name, of a legend, and of the axis.
_FEATURE, _REST, _CHARACTER, _LEGEND, _AXIS = 0.3, 1.2, 0.085, 1.6, 5.0
#: Characters of a line beneath the axis.
_LINE = 80


def draw(summary: Summary, columns: Sequence[str] | None, top: int, ax: "Axes | None") -> "Axes":
    """Draw coefficients and their intervals, one line each, with the names at the left: see `Summary.plot`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plotting a summary needs matplotlib: pip install 'sgdone[plot]'") from error
    groups = _largest(summary, top) if columns is None else _chosen(summary, columns)
    names = [_text(summary.features[group[0]], _LONGEST_FEATURE) for group in groups]
    places = _places(groups)
    if ax is None:
        width = _AXIS + _CHARACTER * max(map(len, names)) + (0.0 if summary.classes is None else _LEGEND)
        height = _REST + _FEATURE * (max(places.values()) + 1)
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.axvline(0.0, color="0.4", linewidth=1.0, zorder=1)
    _draw_intervals(ax, summary, places)
    _mark_refused(ax, summary, places)
    centres = [float(np.mean([places[k] for k in group])) for group in groups]
    ax.set_yticks(centres, names)
    ax.set_ylim(max(places.values()) + 0.7, -0.7)
    ax.grid(axis="x", color="0.92")
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    label = f"coefficient and {100 * summary.level:.6g} % interval"
    ax.set_xlabel("\n".join([label, *(_not_drawn(summary, places) if columns is None else [])]))
    return ax


def _largest(summary: Summary, top: int) -> list[list[int]]:
    """Positions of the coefficients with the largest |z|, by feature."""
    if top < 1:
        raise ValueError(f"top={top!r} is not a positive number of coefficients")
    drawable = [k for k in range(len(summary)) if k not in summary.refused and summary.features[k] != INTERCEPT]
    if not drawable:
        raise _nothing(summary, [k for k in range(len(summary)) if summary.features[k] != INTERCEPT])
    features = _by_feature(summary, largest_first(summary, drawable))
    counts = np.cumsum([len(group) for group in features])
    return [sorted(group) for group in features[: int(np.searchsorted(counts, top)) + 1]]


def _chosen(summary: Summary, columns: Sequence[str]) -> list[list[int]]:
    """Positions of the coefficients that are named, by feature."""
    if not len(columns):
        raise ValueError("columns is empty: name at least one feature")
    found: dict[int, None] = {}
    for name in [columns] if isinstance(columns, str) else columns:
        found |= dict.fromkeys(summary.positions(name))
    if all(k in summary.refused for k in found):
        raise _nothing(summary, list(found))
    return [sorted(group) for group in _by_feature(summary, found)]


def _nothing(summary: Summary, wanted: list[int]) -> ValueError:
    """Say why none of the wanted coefficients can be drawn."""
    if not wanted:
        return ValueError(
            f"nothing to plot: the summary has no coefficient but the intercept; draw it with columns=[{INTERCEPT!r}]"
        )
    reasons = dict.fromkeys(summary.refused[k].reason for k in wanted)
    names = enumerate_names([summary.names[k] for k in wanted])
    return ValueError(f"nothing to plot, because all are refused ({names}). {' '.join(reasons)}")


def _by_feature(summary: Summary, positions: Iterable[int]) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for k in positions:
        groups.setdefault(summary.features[k], []).append(k)
    return list(groups.values())


def _places(groups: list[list[int]]) -> dict[int, float]:
    """The height of each coefficient, counted from the top."""
    places: dict[int, float] = {}
    height = 0.0
    for group in groups:
        places |= {k: height + _CLASS_DISTANCE * number for number, k in enumerate(group)}
        height = places[group[-1]] + 1.0
    return places


def _draw_intervals(axis: "Axes", summary: Summary, places: dict[int, float]) -> None:
    classes = [None] if summary.classes is None else list(dict.fromkeys(summary.classes))
    drawn = [k for k in places if k not in summary.refused]
    for label, colour in zip(classes, class_colours(len(classes)), strict=True):
        here = [k for k in drawn if summary.classes is None or summary.classes[k] == label]
        coef = summary.coef[here]
        axis.errorbar(
            coef,
            [places[k] for k in here],
            xerr=[coef - summary.low[here], summary.high[here] - coef],
            fmt="o",
            color=colour,
            markersize=4.5,
            elinewidth=1.4,
            capsize=2.5,
            label=_text(f"class {label}", _LONGEST_CLASS),
        )
    if summary.classes is not None:
        axis.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _mark_refused(axis: "Axes", summary: Summary, places: dict[int, float]) -> None:
    """Write "refused" next to the line at 0, on the side that has more room."""
    left, right = axis.get_xlim()
    side, offset = ("left", 6) if left + right > 0 else ("right", -6)
    for k in places.keys() & summary.refused.keys():
        label = "" if summary.classes is None else f"class {summary.classes[k]}: "
        sign = {1: ": +∞", -1: ": −∞", 0: ""}[summary.refused[k].sign]
        axis.annotate(
            _text(f"{label}refused{sign}", _LONGEST_FEATURE),
            (0.0, places[k]),
            xytext=(offset, 0),
            textcoords="offset points",
            horizontalalignment=side,
            verticalalignment="center",
            color="0.5",
            fontsize="small",
        )


def _not_drawn(summary: Summary, places: dict[int, float]) -> Iterator[str]:
    """Number of coefficients that are left out, and names of those that are refused."""
    others = [k for k in range(len(summary)) if k not in places and summary.features[k] != INTERCEPT]
    refused = [summary.names[k] for k in others if k in summary.refused]
    smaller = len(others) - len(refused)
    if smaller:
        yield f"not drawn: {smaller:,} with smaller z"
    if refused:
        yield fill(f"refused: {enumerate_names(refused)}", _LINE).replace("$", r"\$")


def _text(text: str, width: int) -> str:
    """A name that matplotlib does not take for a formula."""
    return shorten(text, width).replace("$", r"\$")
