"""The cubic equations that the best prediction solves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.papers.claims import Claim, Sentence
from sgdone.papers.drawing import Axes, Figure, legend_below
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.margin_pursuit.theory import Cubic, conditional_risk_minimiser, cubic_condition, cubic_roots
from sgdone.papers.tables import Array

_ROOT2 = float(np.sqrt(2.0))
_STEEPEST = 2.0 * _ROOT2 / 3.0
#: γ of Figure 6 and of Figure 7, and the η drawn here; the paper does not give its own.
FIGURE_6, FIGURE_7 = _ROOT2 / 2, 2 * _ROOT2 + 0.5
_DRAWN = {"(14)": (FIGURE_6, 0.75), "(16)": (FIGURE_7, 0.75), "(17)": (FIGURE_7, 0.25)}
_TOLERANCE = 1e-9
_SOLUTION = Sentence("for any γ > 0 and any η ∈ [0, 1], we can find a solution u*", "proof of Lemma 8")
_ONE_ROOT = Sentence(
    "there will not be more than one root in the range of (δ, γ) (η > 1/2 case) or (−γ, −δ) (η < 1/2 case)",
    "proof of Lemma 8, footnote 3",
)
_DISCRIMINANT = Sentence(
    "as long as Δ < 0, the function P(u) has only one real root, which can be computed analytically", "proof of Lemma 8"
)
_CONSTANTS = Sentence("d = −6(γ + ρ′(√2)/α − γ³/6) … d = 6(γ + αρ′(√2) − γ³/6)", "eqs. (16) and (17)")


class Task(NamedTuple):
    """A margin level."""

    gamma: float


@final
@dataclass(frozen=True)
class MarginCubics(Experiment[Task, None]):
    """Figures 6 and 7: polynomials of the double-cube condition (14) and of the single-cube ones (16) and (17).

    For a grid of margin levels and probabilities the CSV file has the condition that applies, its discriminant, its
    roots in the range where the condition holds, the minimiser of the expected loss, and the root with the constants d
    as they are printed.
    """

    etas: int = 199
    levels: int = 40
    name = "margin-cubics"
    title = "The cubic conditions for the best prediction"
    paper = "Holland (2018), Figs. 6 and 7"
    quick: ClassVar = {"etas": 99, "levels": 20}
    smoke: ClassVar = {"etas": 19, "levels": 8}
    random = False
    figure_size = (13.0, 4.6)

    def tasks(self) -> Sequence[Task]:
        """Margin levels of all three cases, those of the figures among them."""
        grid = np.geomspace(0.1, 5.0, self.levels)
        return [Task(float(gamma)) for gamma in np.sort(np.append(grid, [FIGURE_6, FIGURE_7]))]

    def measure(self, task: Task, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """All probabilities but ½, at which 0 is best."""
        etas = np.linspace(0.0, 1.0, self.etas + 2)[1:-1]
        return [_row(task.gamma, float(eta)) for eta in etas if abs(eta - 0.5) > 1e-12]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Claims of the proof of Lemma 8."""
        double = [row for row in rows if row["condition"] == "(14)"]
        single = [row for row in rows if row["condition"] != "(14)"]
        off = max(abs(row["root"] - row["minimiser"]) for row in rows)
        negative = sum(row["discriminant"] < 0 for row in double)
        printed = [row for row in single if abs(row["printed_root"] - row["minimiser"]) <= _TOLERANCE]
        unique = sum(row["roots_inside"] == 1 for row in rows)
        return [
            Claim(
                _SOLUTION,
                "the root of the chosen condition in its range is the minimiser of the expected loss",
                f"largest difference {off:.1e} at {len(rows):,} pairs of γ and η, constants d as they should be",
                off <= _TOLERANCE,
            ),
            Claim(
                _ONE_ROOT,
                "there is one root in that range: (δ, γ) of (16), (−γ, −δ) of (17), up to δ and γ of (14)",
                f"at {unique:,} of {len(rows):,}",
                unique == len(rows),
            ),
            Claim(
                _DISCRIMINANT,
                "(14) has a negative discriminant, and so one real root",
                f"Δ < 0 at {negative:,} of {len(double):,}",
                negative == len(double),
                "it has three real roots, of which the middle one is wanted: Cardano's formula does not apply",
            ),
            Claim(
                _CONSTANTS,
                "the constants d of (16) and (17) as printed give the minimiser",
                f"at {len(printed):,} of {len(single):,}",
                len(printed) == len(single),
                "the two constants are swapped in print",
            ),
        ]

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """The three polynomials, ±γ, ±δ and the root."""
        conditions = {"(14)": "double-cube condition", "(16)": "minus single-cube", "(17)": "plus single-cube"}
        for axis, (name, (gamma, eta)) in zip(figure.subplots(1, 3), _DRAWN.items(), strict=True):
            _draw(axis, gamma, eta)
            axis.set_title(f"{conditions[name]} {name}\nγ = {gamma:.3f}, η = {eta:g}", fontsize="medium")
        legend_below(figure, figure.axes[1])
        return ""


def _row(gamma: float, eta: float) -> Row:
    cubic = cubic_condition(eta, gamma)
    name = "(14)" if cubic.a != 1.0 else "(16)" if eta > 0.5 else "(17)"
    inside = _inside(cubic, name, gamma)
    wanted = float(conditional_risk_minimiser(eta, gamma, 1.0))
    return {
        "gamma": gamma,
        "eta": eta,
        "condition": name,
        "discriminant": cubic.discriminant,
        "roots_inside": inside.size,
        "root": _nearest(inside, wanted),
        "minimiser": wanted,
        "printed_root": _nearest(_inside(_as_printed(cubic, name, eta, gamma), name, gamma), wanted),
    }


def _inside(cubic: Cubic, name: str, gamma: float) -> Array:
    """Roots where the condition holds."""
    delta = abs(_ROOT2 - gamma)
    inner = min(delta, gamma)
    low, high = {"(14)": (-inner, inner), "(16)": (delta, gamma), "(17)": (-gamma, -delta)}[name]
    roots = cubic_roots(*cubic)
    return roots[(roots >= low - 1e-12) & (roots <= high + 1e-12)]


def _nearest(roots: Array, wanted: float) -> float:
    """Infinite if there is none."""
    return float(roots[np.argmin(np.abs(roots - wanted))]) if roots.size else float("inf")


def _as_printed(cubic: Cubic, name: str, eta: float, gamma: float) -> Cubic:
    """Cubic with the constant d of (16) or (17) as printed in the paper; (14) is printed correctly."""
    alpha, rest = (eta - 1.0) / eta, gamma - gamma**3 / 6
    if name == "(14)":
        return cubic
    return cubic._replace(d=-6 * (rest + _STEEPEST / alpha) if name == "(16)" else 6 * (rest + alpha * _STEEPEST))


def _draw(axis: Axes, gamma: float, eta: float) -> None:
    cubic = cubic_condition(eta, gamma)
    roots = cubic_roots(*cubic)
    low, high = min(roots[0], -gamma), max(roots[-1], gamma)
    room = 0.08 * (high - low)
    u = np.linspace(low - room, high + room, 400)
    axis.axhline(0.0, color="0.6", linewidth=0.8)
    values = np.array([cubic(at) for at in u])
    axis.plot(u, values, color="black", linewidth=1.6, label="P(u)")
    tallest = 1.8 * float(np.abs(values[(u >= roots[0]) & (u <= roots[-1])]).max())
    axis.set_ylim(-tallest, tallest)
    delta = abs(_ROOT2 - gamma)
    marks: tuple[tuple[tuple[float, float], dict[str, Any], str], ...] = (
        ((-gamma, gamma), {"color": "tab:blue", "linestyle": "-"}, "±γ"),
        ((-delta, delta), {"color": "tab:green", "linestyle": "--"}, "±δ"),
    )
    for places, style, name in marks:
        for k, place in enumerate(places):
            axis.axvline(place, linewidth=1.2, label=name if k == 0 else None, **style)
    wanted = float(conditional_risk_minimiser(eta, gamma, 1.0))
    axis.axvline(wanted, color="tab:pink", linewidth=1.6, label="best prediction u*")
    axis.plot(roots, np.zeros(roots.size), "o", color="black", markersize=4, label="real roots")
    axis.set_xlabel("u")
