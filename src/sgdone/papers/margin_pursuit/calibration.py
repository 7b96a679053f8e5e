"""From the surrogate risk of margin pursuit to the error rate."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple, final

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim, Sentence, every
from sgdone.papers.drawing import Figure, grid_lines
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.margin_pursuit.theory import conditional_risk_minimum, psi_inverse, psi_transform, rho
from sgdone.papers.tables import Array, column, grouped

#: γ of the two leftmost panels, as the caption has them.
LEVELS = tuple(float(np.sqrt(2.0)) * a + b for a, b in ((0.5, 0.0), (1.0, -0.4), (1.0, -0.11), (1.0, 0.11), (2.0, 0.0)))
#: a of the third panel, and ε of the fourth; the paper gives only ε.
RISKS = (0.01, 0.05, 0.1, 0.2)
EPSILON = 0.5
#: γ of the third panel from the level at which the largest a is Ψ(1), and s of the fourth.
_FIRST_LEVEL, _LAST_LEVEL = 0.66, 6.0
_FIRST_SCALE, _LAST_SCALE = 0.1, 1e4
#: Points of the paper's grid for the inverse.
PAPER_GRID = 2500
#: Rounding of second differences of a curve.
_ROUNDING = 1e-13
#: One step of the paper's grid.
_GRID_STEP = 1 / 2499
#: A curve has bottomed out at a positive value if over the last decade it falls by less than this share.
_LEVEL = 0.05
_CONCAVE = Sentence("a concave function H_{s,γ}(·) defined on [0, 1]", "Lemma 8")
_CONVEX = Sentence("Convexity of Ψ_{s,γ} and its monotonic dependence on γ can be clearly observed.", "section 4")
_ENDS = Sentence("Ψ_{s,γ}(0) = 0 and Ψ_{s,γ}(1) = s²ρ(γ/s)", "Remark 9")
_LARGER_LEVEL = Sentence(
    "achieving a better excess surrogate risk (corresponding to a smaller a value) for a larger γ value leads to "
    "smaller excess misclassification risk",
    "section 4",
)
_DIMINISHES = Sentence("this positive impact diminishes quickly as γ gets large", "section 4")
_BOTTOM = Sentence(
    "In the limit as s gets large, we find that this quantity bottoms out quickly at a positive value.", "section 4"
)


class Task(NamedTuple):
    """A panel, and the curve in it: γ, or a."""

    panel: str
    curve: float


@final
@dataclass(frozen=True)
class MarginCalibration(Experiment[Task, None]):
    """Figure 2: H and Ψ for five levels γ; Ψ⁻¹(a) against γ; Ψ⁻¹(ε/s) and Ψ⁻¹(ε), ε = ½, against s.

    All are closed forms of the theory. Where ε is beyond Ψ(1), no error rate is excluded and 1 is shown. The paper
    reads inverses off a grid of 2500 points: the CSV file has that value and the exact one.
    """

    points: int = 400
    name = "margin-calibration"
    title = "What excess surrogate risk says about excess error, by level γ and scale s"
    paper = "Holland (2018), Fig. 2"
    quick: ClassVar = {"points": 200}
    smoke: ClassVar = {"points": 40}
    random = False
    figure_size = (17.0, 4.8)

    def tasks(self) -> Sequence[Task]:
        """All curves of all panels."""
        by_level = [Task(panel, level) for panel in ("H", "Ψ", "ε/s", "ε") for level in LEVELS]
        return by_level + [Task("Ψ⁻¹", risk) for risk in RISKS]

    def measure(self, task: Task, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """One curve."""
        x, values, read_off = self._curve(task)
        return [
            {
                "panel": task.panel,
                "curve": task.curve,
                "x": float(at),
                "value": float(value),
                "on_grid": "" if read_off is None else float(read_off[k]),
            }
            for k, (at, value) in enumerate(zip(x, values, strict=True))
        ]

    def _curve(self, task: Task) -> tuple[Array, Array, Array | None]:
        if task.panel == "H":
            eta = np.linspace(0.0, 1.0, self.points)
            return eta, conditional_risk_minimum(eta, task.curve, 1.0), None
        if task.panel == "Ψ":
            u = np.linspace(0.0, 1.0, self.points)
            return u, psi_transform(u, task.curve, 1.0), None
        if task.panel == "Ψ⁻¹":
            gamma = np.linspace(_FIRST_LEVEL, _LAST_LEVEL, self.points)
            risks, scales = np.full(gamma.size, task.curve), np.ones(gamma.size)
            return gamma, *_inverses(risks, gamma, scales)
        scales = np.geomspace(_FIRST_SCALE, _LAST_SCALE, self.points)
        risks = EPSILON / scales if task.panel == "ε/s" else np.full(scales.size, EPSILON)
        return scales, *_inverses(risks, np.full(scales.size, task.curve), scales)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Claims of Lemma 8, Remark 9 and section 4."""
        curves = curves_of(rows)
        transforms = curves["Ψ"]
        levels = sorted(transforms)
        inverses = [values for _, (_, values) in sorted(curves["Ψ⁻¹"].items())]
        ends = max(max(abs(values[0]), abs(values[-1] - rho(gamma))) for gamma, (_, values) in transforms.items())
        gains = [
            (float(values[0] - values[values.size // 2]), float(values[values.size // 2] - values[-1]))
            for values in inverses
        ]
        shapes = {f"γ = {gamma:.3f}": bool(np.all(np.diff(v, 2) >= -_ROUNDING)) for gamma, (_, v) in transforms.items()}
        growth = {
            f"γ = {low:.3f} and {high:.3f}": bool(np.all(transforms[low][1][1:] < transforms[high][1][1:]))
            for low, high in pairwise(levels)
        }
        return [
            every(
                _CONCAVE,
                "H is concave",
                {f"γ = {gamma:.3f}": bool(np.all(np.diff(v, 2) <= _ROUNDING)) for gamma, (_, v) in curves["H"].items()},
            ),
            every(_CONVEX, "Ψ is convex, and grows with γ at every u", shapes | growth),
            Claim(_ENDS, "Ψ(0) = 0 and Ψ(1) = ρ(γ) at s = 1", f"off by {ends:.1e} at most", ends <= 1e-12),
            Claim(
                _LARGER_LEVEL,
                "Ψ⁻¹(a) falls as γ grows and as a falls",
                f"{len(inverses)} curves, least fall between neighbours "
                f"{min(float(-np.diff(values).max()) for values in inverses):.1e}",
                all(bool(np.all(np.diff(values) < 0)) for values in inverses)
                and all(bool(np.all(low < high)) for low, high in pairwise(inverses)),
            ),
            Claim(
                _DIMINISHES,
                "Ψ⁻¹(a) falls more over the first half of the range of γ than over the second, for each a",
                ", ".join(f"{first:.3f} and {second:.3f}" for first, second in gains),
                all(first > second for first, second in gains),
            ),
            every(
                _BOTTOM,
                f"Ψ⁻¹(ε/s) falls by less than {_LEVEL:.0%} over the last decade of s, to 10⁴",
                *_bottom(curves["ε/s"]),
                "Ψ tends to ½γ²u² as s grows, and its inverse at ε/s to √(2ε/s)/γ: to 0",
            ),
        ]

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """Ψ⁻¹(ε) as s grows, and the paper's way to invert."""
        level, shown = _bottom(curves_of(rows)["ε"])
        grid = max(abs(row["value"] - row["on_grid"]) for row in rows if row["on_grid"] != "")
        return [
            AlsoTried(
                f"Ψ⁻¹(ε), without the division by s, falls by less than {_LEVEL:.0%} over the last decade of s",
                f"in {sum(level.values())} of {len(level)}{shown}",
            ),
            AlsoTried(
                "inverses read off the paper's grid of 2500 points beside exact ones",
                f"largest difference {grid:.2e}, a step is {_GRID_STEP:.2e}",
            ),
        ]

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """Four panels from left to right."""
        import matplotlib as mpl

        curves = curves_of(rows)
        axes = figure.subplots(1, 4)
        for axis, panel, symbol, (x_label, y_label, title) in (
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
            axis.set(xlabel=x_label, ylabel=y_label)
            axis.set_title(title, fontsize="medium")
            axis.legend(fontsize="small", frameon=False)
            grid_lines(axis)
        axes[3].set_xscale("log")
        return ""


def _inverses(risks: Array, gamma: Array, scales: Array) -> tuple[Array, Array]:
    """Ψ⁻¹, exact and read off the paper's grid; 1 where the risk is beyond Ψ(1)."""
    most = scales * scales * rho(gamma / scales)
    exact = np.where(risks < most, psi_inverse(np.minimum(risks, most), gamma, scales), 1.0)
    grid = np.linspace(0.0, 1.0, PAPER_GRID)
    read_off = [
        grid[np.searchsorted(psi_transform(grid, level, scale), risk, side="right") - 1]
        for risk, level, scale in zip(risks, gamma, scales, strict=True)
    ]
    return exact, np.array(read_off)


def curves_of(rows: Sequence[Row]) -> dict[str, dict[float, tuple[Array, Array]]]:
    """Points (x, y) of each curve, by panel and curve."""
    return {
        panel: {curve: (column(one, "x"), column(one, "value")) for curve, one in grouped(own, "curve").items()}
        for panel, own in grouped(rows, "panel").items()
    }


def _bottom(curves: dict[float, tuple[Array, Array]]) -> tuple[dict[str, bool], str]:
    """Whether each curve bottoms out at a positive value, and what it does in the last decade."""
    level, shown = {}, []
    for gamma, (scales, values) in sorted(curves.items()):
        before = float(np.interp(np.log(scales[-1] / 10), np.log(scales), values))
        level[f"γ = {gamma:.3f}"] = bool(values[-1] > 0 and values[-1] >= (1 - _LEVEL) * before)
        shown.append(f"{before:.3g} to {values[-1]:.3g}")
    return level, f" ({', '.join(shown)})"
