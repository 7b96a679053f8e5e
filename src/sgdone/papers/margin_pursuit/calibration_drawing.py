"""Figure 2 of Holland (2018)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.calibration_claims import curves_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_calibration(rows: Sequence[Row], figure: "Figure") -> None:
    """H, Ψ, Ψ⁻¹ against γ, and Ψ⁻¹ against s.

    Parameters
    ----------
    rows : sequence of dict
        Of the CSV file.
    figure : Figure
        Empty.
    """
    import matplotlib as mpl

    curves = curves_of(rows)
    axes = figure.subplots(1, 4)
    for axis, panel, symbol, words in (
        (axes[0], "H", "γ", ("η", "H(η)", "least expected loss, s = 1")),
        (axes[1], "Ψ", "γ", ("u", "Ψ(u)", "the Ψ-transform, s = 1")),
        (axes[2], "Ψ⁻¹", "a", ("γ", "Ψ⁻¹(a)", "excess error that a leaves, s = 1")),
        (axes[3], "ε/s", "γ", ("s", "Ψ⁻¹", "excess error that ε/s leaves, ε = ½\n(dotted: that ε leaves)")),
    ):
        colours = mpl.colormaps["viridis"]
        for k, (curve, (x, values)) in enumerate(sorted(curves[panel].items())):
            colour = colours(0.9 * k / max(1, len(curves[panel]) - 1))
            axis.plot(x, values, color=colour, linewidth=1.5, label=f"{symbol} = {curve:.3g}")
            if panel == "ε/s":
                axis.plot(*curves["ε"][curve], color=colour, linewidth=1.1, linestyle=":")
        axis.set(xlabel=words[0], ylabel=words[1])
        axis.set_title(words[2], fontsize="medium")
        axis.legend(fontsize="small", frameon=False)
        axis.grid(color="0.93")
    axes[3].set_xscale("log")
