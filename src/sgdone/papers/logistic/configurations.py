"""Four configurations of rows, what Theorem 3.1 makes of them, and where gradient descent goes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from sgdone.diagnose import separation
from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.logistic.configurations_drawing import draw_configurations
from sgdone.papers.logistic.descent import STEPS, descend, mean_loss
from sgdone.papers.logistic.problems import PLANE, PROBLEMS, Array, Problem
from sgdone.papers.tables import checkpoints

#: How well the diagnosis must know what is known by construction.
_EXACT = 1e-8


@final
@dataclass(frozen=True)
class LogisticConfigurations(Experiment[str, None]):
    """Figure 1 (a)–(d), with numbers of our own: the paper's are not given.

    The rows are chosen so that S, ū, γ and v̄ are known exactly; `sgdone.diagnose.separation` finds them anew from the
    data, and gradient descent with steps 1 and 1/√(j + 1) runs on the logistic loss from 0.
    """

    steps: int = 1_000_000
    name: ClassVar[str] = "logistic-configurations"
    title: ClassVar[str] = "Four configurations of data, and the path of gradient descent"
    paper: ClassVar[str] = "Ji, Telgarsky (2018), Fig. 1"
    quick: ClassVar[Mapping[str, Any]] = {"steps": 100_000}
    smoke: ClassVar[Mapping[str, Any]] = {"steps": 2000}
    figure_size: ClassVar[tuple[float, float]] = (16.0, 8.4)

    def prepare(self, seed: np.random.SeedSequence) -> None:
        """Nothing is random, and nothing shared."""

    def tasks(self) -> Sequence[str]:
        """One a configuration."""
        return [problem.name for problem in PLANE]

    def measure(self, task: str, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """Data, what was found of them, and the two paths."""
        problem = PROBLEMS[task]
        found = separation(problem.rows * problem.labels[:, None], problem.labels, fit_intercept=False)
        rows = [
            _row(task, "separable row" if apart else "row of S", None, k, point)
            for k, (point, apart) in enumerate(zip(problem.rows, found.separable_rows, strict=True))
        ]
        rows.append(_row(task, "direction", None, 0, found.direction.coef, found.margin))
        rows.append(_row(task, "finite part", None, 0, found.finite_part.coef, found.infimum))
        rows += [_row(task, "basis of S", None, k, axis) for k, axis in enumerate(found.subspace.basis.T)]
        points = np.append(0, checkpoints(1, self.steps))
        for steps in STEPS:
            course = descend(problem.rows, steps, points)
            risks = mean_loss(problem.rows, course.iterates)
            seen = zip(points.tolist(), course.iterates, risks, strict=True)
            rows += [_row(task, "path", steps, t, point, float(risk)) for t, point, risk in seen]
        return rows

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """The structure found beside the known one, and the limits of the paths."""
        return [
            *(_structure_claim(problem, rows) for problem in PLANE),
            *(_finite_part_claim(problem, rows) for problem in PLANE if problem.axes),
            *(_direction_claim(problem, rows) for problem in PLANE if problem.direction),
        ]

    def draw(self, rows: Sequence[Row], figure: Any) -> None:
        """The data above, the parameters below."""
        draw_configurations(rows, figure)
        figure.suptitle(f"{self.title}\n{self.paper}; {self.steps:,} steps", fontsize="large")


def _row(problem: str, what: str, steps: str | None, t: int, point: Array, value: float | None = None) -> Row:
    return {
        "configuration": problem,
        "what": what,
        "steps": steps,
        "t": t,
        "x1": float(point[0]),
        "x2": float(point[1]),
        "value": value,
    }


def points_of(rows: Sequence[Row], problem: str, what: str, steps: str | None = None) -> Array:
    """Coordinates of the rows of one kind."""
    here = [r for r in rows if (r["configuration"], r["what"], r["steps"]) == (problem, what, steps)]
    return np.array([(row["x1"], row["x2"]) for row in here]).reshape(-1, 2)


def _structure_claim(problem: Problem, rows: Sequence[Row]) -> Claim:
    """Theorem 3.1's partition, ū and v̄."""
    separable = points_of(rows, problem.name, "separable row")
    direction, finite = (points_of(rows, problem.name, what)[0] for what in ("direction", "finite part"))
    known = np.zeros(2) if problem.u is None else problem.u
    errors = float(np.linalg.norm(direction - known)), float(np.linalg.norm(finite - problem.v()))
    right = np.array_equal(separable, problem.rows[problem.separable_rows])
    return Claim(
        f"{problem.name}: the diagnosis finds the {len(problem.separable)} separable rows, ū and v̄ of the construction",
        "Theorem 3.1: a unique partition, direction and finite part",
        f"{len(separable)} rows; ū to {errors[0]:.1e}, v̄ to {errors[1]:.1e}",
        bool(right and max(errors) < _EXACT),
    )


def _finite_part_claim(problem: Problem, rows: Sequence[Row]) -> Claim:
    ends = {s: points_of(rows, problem.name, "path", s)[-1] @ problem.subspace for s in STEPS}
    away = {s: float(np.linalg.norm(end - problem.v() @ problem.subspace)) for s, end in ends.items()}
    start = float(np.linalg.norm(problem.v()))
    return Claim(
        f"{problem.name}: both paths end within a tenth of ‖v̄‖ of v̄ along S",
        "Π_S w_t → v̄",
        "; ".join(f"{distance:.2e} with steps {s}" for s, distance in away.items()) + f", ‖v̄‖ = {start:.3f}",
        max(away.values()) < 0.1 * start,
    )


def _direction_claim(problem: Problem, rows: Sequence[Row]) -> Claim:
    u = np.asarray(problem.u)
    degrees = {}
    for steps in STEPS:
        path = points_of(rows, problem.name, "path", steps)[1:]
        cosines = path @ u / np.linalg.norm(path, axis=1)
        degrees[steps] = np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
    return Claim(
        f"{problem.name}: the angle between w_t and ū ends below half of what it was after one step, and is falling",
        "w_t/‖w_t‖ → ū",
        "; ".join(f"from {angle[0]:.1f}° to {angle[-1]:.2f}° with steps {s}" for s, angle in degrees.items()),
        all(angle[-1] < angle[0] / 2 and angle[-1] < angle[-5] for angle in degrees.values()),
    )
