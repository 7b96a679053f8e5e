"""Where the parameters go, and how fast: to v̄ along S, and in direction to ū."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from sgdone.diagnose import constrained_optimum
from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.logistic.descent import descend, mean_loss
from sgdone.papers.logistic.parameter_claims import parameter_claims
from sgdone.papers.logistic.parameter_drawing import draw_parameters
from sgdone.papers.logistic.problems import PROBLEMS, Array, Problem
from sgdone.papers.logistic.theory import direction_bound, finite_part_bound
from sgdone.papers.tables import checkpoints

#: Those of Theorem 3.6.
STEPS = "1/√(j+1)"
DESCENT, OPTIMAL = "w_t", "optimal iterate"


@final
@dataclass(frozen=True)
class LogisticParameterRates(Experiment[str, None]):
    """Theorem 1.2, part 2: the squares of ‖Π_S w_t − v̄‖ and ‖w_t/‖w_t‖ − ū‖ with steps 1/√(j + 1), logistic loss.

    S, v̄ and ū are known exactly. Beside gradient descent's w_t there is the optimal iterate, the minimiser over
    ‖w‖ ≤ ‖w_t‖. Bounds with known constants are Lemmas D.1 and D.5; the theorem itself gives rates.
    """

    steps: int = 1_000_000
    name: ClassVar[str] = "logistic-parameter-rates"
    title: ClassVar[str] = "Parameters of gradient descent with steps 1/√(j + 1): distances to v̄ and ū, and their rates"
    paper: ClassVar[str] = "Ji, Telgarsky (2018), Theorem 1.2, part 2"
    quick: ClassVar[Mapping[str, Any]] = {"steps": 100_000}
    smoke: ClassVar[Mapping[str, Any]] = {"steps": 3000}
    figure_size: ClassVar[tuple[float, float]] = (16.0, 11.0)

    def prepare(self, seed: np.random.SeedSequence) -> None:
        """Nothing is random, and nothing shared."""

    def tasks(self) -> Sequence[str]:
        """One a problem."""
        return list(PROBLEMS)

    def measure(self, task: str, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """Both distances, both bounds, and norms, at each look."""
        problem = PROBLEMS[task]
        points = checkpoints(1, self.steps)
        iterates = descend(problem.rows, STEPS, points).iterates
        radii = np.linalg.norm(iterates, axis=1)
        best = constrained_optimum(problem.rows * problem.labels[:, None], problem.labels, radii)
        finite_bound = self._finite_bound(problem, points)
        rows = []
        for who, places in ((DESCENT, iterates), (OPTIMAL, best.coef)):
            inside = places @ problem.subspace
            across = np.linalg.norm(places - inside @ problem.subspace.T, axis=1)
            finite = np.sum((inside - problem.v() @ problem.subspace) ** 2, axis=1)
            excess = mean_loss(problem.rows, places) - problem.infimum()
            direction, bound = _directions(problem, places, np.linalg.norm(inside, axis=1), excess)
            rows += [
                {
                    "problem": task,
                    "who": who,
                    "t": int(t),
                    "norm": float(radii[k]),
                    "norm_across_S": float(across[k]),
                    "norm_in_S": float(np.linalg.norm(inside[k])),
                    "finite_part_squared": float(finite[k]) if problem.axes else None,
                    "finite_part_bound": float(finite_bound[k]) if problem.axes else None,
                    "direction_squared": float(direction[k]) if problem.direction else None,
                    "direction_bound": float(bound[k]) if problem.direction else None,
                }
                for k, t in enumerate(points)
            ]
        return rows

    @staticmethod
    def _finite_bound(problem: Problem, points: Any) -> Array:
        if not problem.axes:
            return np.full(len(points), math.nan)
        v_norm = float(np.linalg.norm(problem.v()))
        return np.asarray(finite_part_bound(points, v_norm, problem.margin, problem.modulus()))

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Bounds, rates, norms, and when the theorem's condition holds."""
        return parameter_claims(rows, self.steps)

    def draw(self, rows: Sequence[Row], figure: Any) -> None:
        """Distances to v̄ above, to ū in the middle, norms below."""
        draw_parameters(rows, figure)
        figure.suptitle(f"{self.title}\n{self.paper}", fontsize="large")


def _directions(problem: Problem, places: Array, inside: Array, excess: Array) -> tuple[Array, Array]:
    """Squared distances to ū, and Lemma D.5's bound on them where its assumption holds, else 4."""
    if problem.u is None:
        nothing = np.full(len(places), math.nan)
        return nothing, nothing
    norms = np.linalg.norm(places, axis=1)
    bound = np.full(len(places), 4.0)
    near = excess <= 1.0 / len(problem.rows)
    if near.any():
        bound[near] = direction_bound(norms[near], excess[near], len(problem.rows), problem.margin, inside[near])
    return np.sum((places / norms[:, None] - problem.u) ** 2, axis=1), bound
