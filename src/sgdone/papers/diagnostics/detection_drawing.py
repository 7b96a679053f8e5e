"""Table 1 of Chee & Toulis (2018) as a picture and as a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sgdone.papers.diagnostics.detection_claims import PRINTED, Line, lines_of, printed
from sgdone.papers.diagnostics.regression import Coefficient
from sgdone.papers.experiment import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("tab:red", "tab:blue")
_NAMES = ("τ/2", "2τ")


def draw_table(rows: Sequence[Row], figure: "Figure") -> None:
    """A panel for each burn-in, one scale for all, and the table below."""
    lines = lines_of(rows)
    burn_ins = list(dict.fromkeys(line.burn_in for line in lines))
    parts: Any = figure.subfigures(2, 1, height_ratios=(1.5, 1.0))
    above, below = parts
    panels = above.subplots(1, len(burn_ins), sharey=True, squeeze=False)[0]
    for axis, burn_in in zip(panels, burn_ins, strict=True):
        _draw_coefficients(axis, [line for line in lines if line.burn_in == burn_in])
        axis.set_title(f"burn-in {burn_in}", fontsize="medium")
    panels[0].set_ylabel("coefficient of E₀")
    panels[-1].legend(loc="upper right", fontsize="small")
    _write(below.subplots(), lines, burn_ins)


def _draw_coefficients(axis: "Axes", lines: Sequence[Line]) -> None:
    places = np.arange(len(lines))
    axis.axhline(0.0, color="0.6", linewidth=0.8)
    for column, (colour, name) in enumerate(zip(_COLOURS, _NAMES, strict=True)):
        ours = [(line.half, line.double)[column] for line in lines]
        estimates = np.array([coefficient.estimate for coefficient in ours])
        widths = np.array([coefficient.high - coefficient.estimate for coefficient in ours])
        shift = places + (-0.12, 0.12)[column]
        axis.errorbar(shift, estimates, widths, fmt="o", color=colour, capsize=3, label=f"at {name}, 95 % interval")
        theirs = [printed(line.gamma, column) for line in lines]
        axis.plot(shift, theirs, "x", color=colour, markersize=7, alpha=0.6, label=f"at {name}, as printed")
    axis.set_xticks(places, [f"{line.gamma:g}" for line in lines])
    axis.set_xlabel("γ")
    axis.grid(axis="y", color="0.93")
    axis.set_axisbelow(True)


def _write(axis: "Axes", lines: Sequence[Line], burn_ins: Sequence[int]) -> None:
    """The table, a line for each γ; stars as the paper's."""
    heads = ["γ", "τ/2, printed", "2τ, printed"]
    heads += [f"{what}\nburn-in {burn_in}" for burn_in in burn_ins for what in ("τ/2,", "2τ,", "median τ,")]
    cells = []
    for gamma in dict.fromkeys(line.gamma for line in lines):
        here = {line.burn_in: line for line in lines if line.gamma == gamma}
        cells.append([f"{gamma:g}", *PRINTED[gamma]])
        for burn_in in burn_ins:
            line = here[burn_in]
            cells[-1] += [_cell(line.half), _cell(line.double), f"{line.median_tau:,.0f}"]
    from matplotlib.transforms import Bbox

    axis.axis("off")
    table = axis.table(cells, colLabels=heads, cellLoc="center", edges="horizontal", bbox=Bbox.unit())
    table.auto_set_font_size(False)
    table.set_fontsize(9.5)
    for (line_number, _), cell in table.get_celld().items():
        cell.set_edgecolor("0.8")
        if line_number == 0:
            cell.set_height(2.0 * cell.get_height())


def _cell(coefficient: Coefficient) -> str:
    return f"{coefficient.estimate:.3f} {coefficient.stars:<3}"
