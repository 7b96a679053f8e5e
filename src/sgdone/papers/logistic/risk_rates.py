"""How fast the risk falls, with SGD on separable data and with gradient descent on any."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.logistic.descent import STEPS, descend, mean_loss, perceptron_course
from sgdone.papers.logistic.problems import PROBLEMS
from sgdone.papers.logistic.risk_claims import risk_claims
from sgdone.papers.logistic.risk_drawing import draw_risks
from sgdone.papers.logistic.theory import gd_risk_bound, sgd_risk_bound
from sgdone.papers.tables import checkpoints

SGD = "sgd"
#: With a confidence of 1 − DELTA.
DELTA = 0.05


class Task(NamedTuple):
    """Gradient descent on a problem, or one run of SGD on the separable one."""

    problem: str
    steps: str
    run: int | None


@final
@dataclass(frozen=True)
class LogisticRiskRates(Experiment[Task, None]):
    """Theorems 1.1 and 1.2, part 1: the logistic risk above its infimum, which is known exactly, beside the bounds.

    SGD with steps of 1 draws the seven rows of the separable problem, each as likely as the others, so that the
    expected loss is a mean over them; the mean of its iterates is looked at. The bound holds with probability 1 − δ at
    each t. Gradient descent runs on separable, strongly convex and mixed data.
    """

    runs: int = 200
    samples: int = 100_000
    steps: int = 1_000_000
    name: ClassVar[str] = "logistic-risk-rates"
    title: ClassVar[str] = "The logistic risk above its infimum, and its bounds"
    paper: ClassVar[str] = "Ji, Telgarsky (2018), Theorems 1.1 and 1.2, part 1"
    quick: ClassVar[Mapping[str, Any]] = {"runs": 60, "samples": 30_000, "steps": 300_000}
    smoke: ClassVar[Mapping[str, Any]] = {"runs": 10, "samples": 1000, "steps": 3000}
    figure_size: ClassVar[tuple[float, float]] = (15.0, 9.0)

    def prepare(self, seed: np.random.SeedSequence) -> None:
        """Rows are drawn as they are needed."""

    def tasks(self) -> Sequence[Task]:
        """Descents, then runs."""
        descents = [Task(problem, steps, None) for problem in PROBLEMS for steps in STEPS]
        return descents + [Task("separable", SGD, k) for k in range(self.runs)]

    def measure(self, task: Task, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """Risk above the infimum, bound and norm, at each look."""
        problem = PROBLEMS[task.problem]
        if task.steps == SGD:
            points = checkpoints(1, self.samples)
            picks = np.random.default_rng(seed).integers(len(problem.rows), size=self.samples)
            iterates, looked_at = perceptron_course(problem.rows, picks, points)
            bound = sgd_risk_bound(points, problem.margin, DELTA)
        else:
            points = checkpoints(1, self.steps)
            course = descend(problem.rows, task.steps, points)
            iterates = looked_at = course.iterates
            v_norm = float(np.linalg.norm(problem.v()))
            bound = gd_risk_bound(points, course.step_sums, v_norm, problem.margin)
        excess = mean_loss(problem.rows, looked_at) - problem.infimum()
        norms = np.linalg.norm(iterates, axis=1)
        return [
            {
                "problem": task.problem,
                "steps": task.steps,
                "run": task.run,
                "t": int(t),
                "excess_risk": float(excess[k]),
                "bound": float(bound[k]),
                "norm": float(norms[k]),
            }
            for k, t in enumerate(points)
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Bounds, rates and norms."""
        return risk_claims(rows, DELTA)

    def draw(self, rows: Sequence[Row], figure: Any) -> None:
        """A panel a problem, and one of SGD."""
        draw_risks(rows, figure, DELTA)
        figure.suptitle(f"{self.title}\n{self.paper}; {self.runs} runs of SGD", fontsize="large")
