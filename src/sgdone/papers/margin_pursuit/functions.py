"""The loss of margin pursuit, its slope and its curvature."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from sgdone.losses import MarginPursuit
from sgdone.papers.claims import AlsoTried, Claim, Sentence
from sgdone.papers.drawing import Figure
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.margin_pursuit.theory import psi, rho
from sgdone.papers.tables import Array, column

RHO, PSI, CURVATURE = "ρ", "ρ′", "ρ″"
_ROOT2 = float(np.sqrt(2.0))
_STEEPEST = 2.0 * _ROOT2 / 3.0
_FAR = 3.0
_SYMMETRIC = Sentence("This function satisfies ρ(u) ≥ 0, is symmetric about zero so ρ(u) = ρ(−u)", "section 2.2")
_DERIVATIVE = Sentence("ρ′(u) = ψ(u) for all u", "section 2.2")
_BOUNDED = Sentence("the absolute value of the slope is bounded by |ρ′(u)| ≤ 2√2/3", "section 2.2")
_CONVEX = Sentence("a new convex loss … the property that ρ′ is 1-Lipschitz", "section 1 and proof of Proposition 2")


@final
@dataclass(frozen=True)
class MarginFunctions(Experiment[str, None]):
    """Figure 1: ρ, ρ′ = ψ and ρ″ near 0, as the compiled loss has them; theory has its own, to compare with."""

    points: int = 1201
    name = "margin-functions"
    title = "The loss of margin pursuit, its slope and its curvature"
    paper = "Holland (2018), Fig. 1"
    quick: ClassVar = {"points": 601}
    smoke: ClassVar = {"points": 121}
    random = False
    figure_size = (12.0, 4.0)

    def tasks(self) -> Sequence[str]:
        """The three functions."""
        return [RHO, PSI, CURVATURE]

    def measure(self, task: str, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """One of them, on an even grid and at the joins ±√2."""
        u = np.sort(np.append(np.linspace(-_FAR, _FAR, self.points), [-_ROOT2, _ROOT2]))
        loss = MarginPursuit(gamma=1.0, scale=1.0)
        # u = γ − m: a slope in the margin is minus the slope in u.
        values = {RHO: loss.value, PSI: lambda z, y: -loss.slope(z, y), CURVATURE: loss.curvature}[task](1.0 - u, 1.0)
        theory = {RHO: rho, PSI: psi, CURVATURE: _second}[task](u)
        return [
            {"function": task, "u": float(at), "value": float(value), "theory": float(own)}
            for at, value, own in zip(u, values, theory, strict=True)
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Claims of section 2.2."""
        u, values, _ = _table(rows)
        steepest = float(np.abs(values[PSI]).max())
        middle = 0.5 * (values[PSI][1:] + values[PSI][:-1])
        wide = np.diff(u) > 1e-9
        slopes = np.diff(values[RHO])[wide] / np.diff(u)[wide]
        # The trapezium rule is off by h²/12·|ρ‴| at most, |ρ‴| ≤ √2, at a join by half as much again.
        bound = float(np.max(np.diff(u))) ** 2 * _ROOT2 / 8
        off = float(np.abs(slopes - middle[wide]).max())
        mirrored = float(max(np.abs(values[f] - sign * values[f][::-1]).max() for f, sign in ((RHO, 1), (PSI, -1))))
        return [
            Claim(
                _SYMMETRIC,
                "ρ ≥ 0, and ρ is even and ρ′ odd",
                f"least value {values[RHO].min():.1e}, largest difference of mirrored values {mirrored:.1e}",
                bool(values[RHO].min() >= 0) and mirrored <= 1e-12,
            ),
            Claim(
                _DERIVATIVE,
                "the mean of ρ′ over each step of the grid is the slope of ρ there",
                f"largest difference {off:.1e}, the trapezium rule allows {bound:.1e}",
                off <= bound,
            ),
            Claim(
                _BOUNDED,
                "|ρ′| ≤ 2√2/3",
                f"largest {steepest:.6f}, 2√2/3 = {_STEEPEST:.6f}",
                steepest <= _STEEPEST + 1e-15,
            ),
            Claim(
                _CONVEX,
                "0 ≤ ρ″ ≤ 1: ρ is convex and its slope 1-Lipschitz",
                f"between {values[CURVATURE].min():.3g} and {values[CURVATURE].max():.3g}",
                bool(values[CURVATURE].min() >= 0 and values[CURVATURE].max() <= 1),
            ),
        ]

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """The compiled loss compared with theory, and the join of ρ."""
        u, values, apart = _table(rows)
        join = float(np.max(np.abs(values[RHO][np.isclose(np.abs(u), _ROOT2)] - 5 / 6)))
        return [
            AlsoTried("the compiled loss beside the theory, eq. (3) and (4)", f"largest difference {apart:.1e}"),
            AlsoTried("ρ(±√2) beside 5/6, eq. (4)", f"off by {join:.1e}"),
        ]

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """A panel per function."""
        u, values, _ = _table(rows)
        for axis, (name, own) in zip(figure.subplots(1, 3), values.items(), strict=True):
            axis.axhline(0.0, color="0.6", linewidth=0.8)
            for join in (-_ROOT2, _ROOT2):
                axis.axvline(join, color="0.75", linestyle="--", linewidth=0.9)
            axis.plot(u, own, linewidth=1.8)
            axis.set_title(f"{name}(u)")
            axis.set_xticks([-_FAR, -_ROOT2, 0, _ROOT2, _FAR], ["−3", "−√2", "0", "√2", "3"])
            axis.set_xlabel("u")
        return ""


def _second(u: Array) -> Array:
    """1 − u²/2 between the joins, else 0: Remark 10."""
    return np.maximum(1.0 - 0.5 * u * u, 0.0)


def _table(rows: Sequence[Row]) -> tuple[Array, dict[str, Array], float]:
    """The grid, each function's values on it, and the largest difference from theory."""
    values = {name: column(rows, "value", function=name) for name in (RHO, PSI, CURVATURE)}
    return column(rows, "u", function=RHO), values, float(max(abs(row["value"] - row["theory"]) for row in rows))
