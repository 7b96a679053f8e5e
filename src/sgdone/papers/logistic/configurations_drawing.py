"""The data of each configuration, and gradient descent among the level lines of its risk."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sgdone.papers.experiment import Row
from sgdone.papers.logistic.descent import STEPS, mean_loss
from sgdone.papers.logistic.problems import PLANE, Array, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PATHS = dict(zip(STEPS, ("tab:red", "tab:orange"), strict=True))
_IN_S, _APART = "tab:blue", "tab:green"


def draw_configurations(rows: Sequence[Row], figure: "Figure") -> None:
    """Two panels a configuration."""
    panels: Any = figure.subplots(2, len(PLANE))
    for letter, problem, (above, below) in zip("abcd", PLANE, panels.T, strict=True):
        here = [row for row in rows if row["configuration"] == problem.name]
        _draw_data(above, problem, here)
        above.set_title(f"({letter}) {problem.name}", fontsize="medium")
        _draw_paths(below, problem, here)
    panels[0, 0].set(xlabel="x₁", ylabel="x₂")
    panels[1, 0].set(xlabel="w₁", ylabel="w₂")
    _legend(figure)


def _points(rows: Sequence[Row], what: str, steps: str | None = None) -> Array:
    here = [(row["x1"], row["x2"]) for row in rows if row["what"] == what and row["steps"] == steps]
    return np.array(here).reshape(-1, 2)


def _draw_data(axis: "Axes", problem: Problem, rows: Sequence[Row]) -> None:
    """The points x of both classes, S shaded, and ū."""
    reach = 1.1
    basis = _points(rows, "basis of S")
    if len(basis) == 2:
        axis.set_facecolor("#eaf1fb")
    elif len(basis) == 1:
        axis.plot(*(np.array([-3, 3])[:, None] * basis[0]).T, color=_IN_S, linewidth=9, alpha=0.15, zorder=0)
    labels = problem.labels.tolist()
    places: Counter[tuple[float, float, bool]] = Counter()
    for k, (point, label) in enumerate(zip(problem.rows, labels, strict=True)):
        x, y = (point * label).tolist()
        apart = bool(problem.separable_rows[k])
        colour = _APART if apart else _IN_S
        style = {"markersize": 7} if label > 0 else {"markersize": 12, "fillstyle": "none", "markeredgewidth": 1.5}
        axis.plot(x, y, "o", color=colour, zorder=3, **style)
        places[(round(x, 9), round(y, 9), label > 0)] += 1
    for (x, y, positive), count in places.items():
        if count > 1:
            side = (8, 6) if positive else (8, -12)
            axis.annotate(f"×{count}", (x, y), side, textcoords="offset points", fontsize="small")
    direction = _points(rows, "direction")[0]
    if direction.any():
        axis.annotate("", direction, (0, 0), arrowprops={"arrowstyle": "-|>", "color": "black", "linewidth": 1.8})
        axis.annotate("ū", direction, (5, 0), textcoords="offset points", fontsize="large")
        across = np.array([-direction[1], direction[0]])
        axis.plot(*(np.array([-3, 3])[:, None] * across).T, "k:", linewidth=1.0, zorder=1)
    axis.plot(0, 0, "k+", zorder=2)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")


def _draw_paths(axis: "Axes", problem: Problem, rows: Sequence[Row]) -> None:
    """Level lines of the risk above its infimum, the two paths, v̄ and the ray that they follow."""
    paths = {steps: _points(rows, "path", steps) for steps in STEPS}
    v, direction = _points(rows, "finite part")[0], _points(rows, "direction")[0]
    corners = np.vstack([*paths.values(), v])
    low, high = corners.min(axis=0), corners.max(axis=0)
    size = 1.25 * float((high - low).max()) + 0.5
    centre = (low + high) / 2
    lines = [np.linspace(c - size / 2, c + size / 2, 161) for c in centre]
    grid = np.stack(np.meshgrid(*lines), axis=-1)
    excess = mean_loss(problem.rows, grid.reshape(-1, 2)).reshape(161, 161) - problem.infimum()
    shown = np.log10(np.maximum(excess, 1e-12))
    levels = np.linspace(max(float(shown.min()), -6.0), float(shown.max()), 14)
    axis.contour(*lines, shown, levels=levels, colors="0.8", linewidths=0.8, linestyles="solid", zorder=0)
    if direction.any():
        ray = v + np.array([0.0, 3 * size])[:, None] * direction
        axis.plot(*ray.T, "k--", linewidth=1.0, zorder=1)
    if len(_points(rows, "basis of S")):
        axis.plot(*v, "*", color="black", markersize=13, zorder=4)
        axis.annotate("v̄", v, (8, -4), textcoords="offset points", fontsize="large")
    for steps, path in paths.items():
        axis.plot(*path.T, color=_PATHS[steps], linewidth=1.6, zorder=3)
        axis.plot(*path[-1], "s", color=_PATHS[steps], markersize=5, zorder=3)
    axis.plot(0, 0, "k+", zorder=2)
    axis.set(
        xlim=(centre[0] - size / 2, centre[0] + size / 2),
        ylim=(centre[1] - size / 2, centre[1] + size / 2),
        aspect="equal",
    )


def _legend(figure: "Figure") -> None:
    from matplotlib.lines import Line2D

    def line(label: str, **style: Any) -> Line2D:
        return Line2D([], [], label=label, **style)

    figure.legend(
        handles=[
            line("row of A_S (y = 1 filled, −1 a ring)", color=_IN_S, marker="o", linestyle="none"),
            line("row of A_c", color=_APART, marker="o", linestyle="none"),
            line("S", color=_IN_S, linewidth=9, alpha=0.15),
            line("separating line", color="black", linestyle=":"),
            *(line(f"gradient descent, η = {steps}", color=colour) for steps, colour in _PATHS.items()),
            line("v̄ + ρ·ū", color="black", linestyle="--"),
            line("levels of the risk", color="0.8"),
        ],
        loc="outside lower center",
        ncols=8,
        fontsize="small",
    )
