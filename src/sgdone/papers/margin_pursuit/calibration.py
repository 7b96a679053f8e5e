"""From the surrogate risk of margin pursuit to the error rate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.margin_pursuit.calibration_claims import claims_of_calibration
from sgdone.papers.margin_pursuit.calibration_drawing import draw_calibration
from sgdone.papers.margin_pursuit.theory import conditional_risk_minimum, psi_inverse, psi_transform, rho

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: γ of the two leftmost panels, as the caption has them.
LEVELS = tuple(float(np.sqrt(2.0)) * a + b for a, b in ((0.5, 0.0), (1.0, -0.4), (1.0, -0.11), (1.0, 0.11), (2.0, 0.0)))
#: a of the third panel, and ε of the fourth; the paper tells ε alone.
RISKS = (0.01, 0.05, 0.1, 0.2)
EPSILON = 0.5
#: γ of the third panel from the level at which the largest a is Ψ(1), and s of the fourth.
_FIRST_LEVEL, _LAST_LEVEL = 0.66, 6.0
_FIRST_SCALE, _LAST_SCALE = 0.1, 1e4
#: Points of the paper's grid for the inverse.
PAPER_GRID = 2500

Array = NDArray[np.float64]


class Task(NamedTuple):
    """A panel, and the curve in it: γ, or a."""

    panel: str
    curve: float


@final
@dataclass(frozen=True)
class MarginCalibration(Experiment[Task, None]):
    """Figure 2: H and Ψ for five levels γ; Ψ⁻¹(a) against γ; Ψ⁻¹(ε/s) and Ψ⁻¹(ε), ε = ½, against s.

    All are closed forms of the theory. Where ε is beyond Ψ(1), no error rate is excluded and 1 is shown. The paper
    reads inverses off a grid of 2500 points: the CSV file has that value beside the exact one.
    """

    points: int = 400
    name: ClassVar[str] = "margin-calibration"
    title: ClassVar[str] = "What excess surrogate risk says about excess error, by level γ and scale s"
    paper: ClassVar[str] = "Holland (2018), Fig. 2"
    quick: ClassVar[Mapping[str, Any]] = {"points": 200}
    smoke: ClassVar[Mapping[str, Any]] = {"points": 40}
    figure_size: ClassVar[tuple[float, float]] = (17.0, 4.8)

    def prepare(self, seed: np.random.SeedSequence) -> None:
        """Nothing is drawn."""

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
        """What Lemma 8, Remark 9 and section 4 say."""
        return claims_of_calibration(rows)

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
        """Four panels from left to right."""
        draw_calibration(rows, figure)
        figure.suptitle(f"{self.title}\n{self.paper}", fontsize="large")


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
