"""Averaged SGD beside plain SGD and least squares on a regression."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.papers.averaging.claims import expectation_claim, ratio_claims
from sgdone.papers.averaging.curves import BATCH, Curve, curve_of, rows_of
from sgdone.papers.averaging.drawing import draw_curves
from sgdone.papers.averaging.regression_claims import closeness_claims, quotient_claims
from sgdone.papers.averaging.regression_problem import (
    AVERAGED,
    PLAIN,
    SCHEDULES,
    course,
    expected_risks,
    least_squares_course,
)
from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.tables import checkpoints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Excess risk over the batch method's in five runs of an independent implementation.
INDEPENDENT = {AVERAGED: {10_000: 3.3, 100_000: 1.55}, PLAIN: {10_000: 19.0, 100_000: 26.0}}
INDEPENDENT_RUNS = 5
_FIRST_POINT = 200


class Task(NamedTuple):
    """A trial of all methods, or the expectation of one."""

    method: str | None
    trial: int | None


@final
@dataclass(frozen=True)
class AsgdRegression(Experiment[Task, None]):
    """Figure 2: y = xᵀθ* + ε in 100 features, the eigenvalues of A = E[xxᵀ] evenly spread from 0.01 to 1, θ* = 1.

    Both methods start at 0 with γ₀ = 1/tr(A) and a = λ₀; ASGD averages from the first sample. All is in the
    eigenvectors of A. The excess risk is ½‖θ − θ*‖²_A, that of least squares ½·100/(t − 101) in expectation. All
    methods of a trial see the same rows.
    """

    trials: int = 60
    samples: int = 1_000_000
    name: ClassVar[str] = "asgd-regression"
    title: ClassVar[str] = "Averaged SGD against SGD and least squares on a regression in 100 features"
    paper: ClassVar[str] = "Xu (2011), Fig. 2"
    quick: ClassVar[Mapping[str, Any]] = {"trials": 20, "samples": 100_000}
    smoke: ClassVar[Mapping[str, Any]] = {"trials": 4, "samples": 2000}
    figure_size: ClassVar[tuple[float, float]] = (13.0, 6.0)

    def prepare(self, seed: np.random.SeedSequence) -> None:
        """Rows are drawn as they are needed."""

    def tasks(self) -> Sequence[Task]:
        """Expectations, then trials."""
        return [Task(method, None) for method in (*SCHEDULES, BATCH)] + [Task(None, k) for k in range(self.trials)]

    def measure(self, task: Task, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """One of them."""
        points = checkpoints(_FIRST_POINT, self.samples)
        if task.method is not None:
            return rows_of(task.method, points, None, expected_risks(task.method, points))
        courses = {method: course(method, points, seed) for method in SCHEDULES} | {
            BATCH: least_squares_course(points, seed)
        }
        return [row for method, risks in courses.items() for row in rows_of(method, points, task.trial, risks)]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """The ratios to the batch method at two points, and the paper's sentence."""
        curves = _curves(rows)
        ratios = {method: curves[method].over(curves[BATCH]) for method in SCHEDULES}
        source = f"an independent implementation has, in {INDEPENDENT_RUNS} runs,"
        claims = [
            claim
            for method, ratio in ratios.items()
            for claim in ratio_claims(method, ratio, INDEPENDENT[method], source, INDEPENDENT_RUNS)
        ]
        claims.append(expectation_claim(curves))
        if self.samples >= 100_000:
            claims += [*closeness_claims(ratios[AVERAGED]), *quotient_claims(curves)]
        return claims

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
        """Excess risk, and its ratio to the batch method's."""
        known = {m: {t: v for t, v in values.items() if t <= self.samples} for m, values in INDEPENDENT.items()}
        draw_curves(_curves(rows), figure, known)
        figure.suptitle(f"{self.title}\n{self.paper}; {self.trials} trials", fontsize="large")


def _curves(rows: Sequence[Row]) -> dict[str, Curve]:
    return {method: curve_of(rows, method) for method in (*SCHEDULES, BATCH)}
