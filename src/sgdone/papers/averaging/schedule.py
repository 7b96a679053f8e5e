"""What the step sizes of averaged SGD mean for the samples it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.papers.averaging.claims import expectation_claim, ratio_claims
from sgdone.papers.averaging.curves import BATCH, Curve, curve_of, rows_of, settles_below
from sgdone.papers.averaging.drawing import draw_curves
from sgdone.papers.averaging.quadratic import BAD, EIGENVALUES, GOOD, PLAIN, SCHEDULES, courses, expected_risks
from sgdone.papers.averaging.theory import asymptotic_samples, asymptotic_samples_as_printed
from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Experiment, Row
from sgdone.papers.tables import checkpoints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Expected excess risk over the batch method's, by a recursion of moments written independently of this one.
INDEPENDENT = {
    GOOD: {1000: 4.27, 10_000: 1.38, 100_000: 1.05},
    BAD: {1000: 88.2, 10_000: 56.7, 100_000: 7.77},
    PLAIN: {1000: 16.2, 10_000: 15.8, 100_000: 15.7},
}


class Task(NamedTuple):
    """A trial of all methods, or the expectation of one."""

    method: str | None
    trial: int | None


@final
@dataclass(frozen=True)
class AsgdSchedule(Experiment[Task, None]):
    """Figure 1: min E[(θ − x)ᵀA(θ − x)], x ~ N(0, I) in 100 features, A with the eigenvalues 1 (three) and 0.02.

    The gradient is taken as A(θ − x), without the factor 2, and θ₀ as the vector of ones in the eigenvectors of A,
    in which all is computed; the paper gives neither. All methods of a trial see the same samples. The asymptotic
    region begins where the excess risk is twice the batch method's: the criterion of Corollary 4's proof.
    """

    trials: int = 200
    samples: int = 1_000_000
    name: ClassVar[str] = "asgd-schedule"
    title: ClassVar[str] = "Averaged SGD with recommended and with arbitrary step sizes"
    paper: ClassVar[str] = "Xu (2011), Fig. 1"
    quick: ClassVar[Mapping[str, Any]] = {"trials": 100, "samples": 100_000}
    smoke: ClassVar[Mapping[str, Any]] = {"trials": 6, "samples": 2000}
    figure_size: ClassVar[tuple[float, float]] = (13.0, 6.0)

    def prepare(self, seed: np.random.SeedSequence) -> None:
        """Samples are drawn as they are needed."""

    def tasks(self) -> Sequence[Task]:
        """Expectations, then trials."""
        return [Task(method, None) for method in (*SCHEDULES, BATCH)] + [Task(None, k) for k in range(self.trials)]

    def measure(self, task: Task, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """One of them."""
        points = checkpoints(1, self.samples)
        if task.method is not None:
            return rows_of(task.method, points, None, expected_risks(task.method, points))
        measured = courses(points, np.random.default_rng(seed))
        return [row for method, risks in measured.items() for row in rows_of(method, points, task.trial, risks)]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """The ratios to the batch method at three points, and the paper's sentences."""
        curves = _curves(rows)
        ratios = {method: curves[method].over(curves[BATCH]) for method in SCHEDULES}
        source = "by an independent recursion of moments"
        claims = [c for m, ratio in ratios.items() for c in ratio_claims(m, ratio, INDEPENDENT[m], source)]
        claims.append(expectation_claim(curves))
        if self.samples >= 1_000_000:
            claims += [
                _region_claim(GOOD, ratios[GOOD], 1000, "a few thousands example"),
                _region_claim(BAD, ratios[BAD], 100_000, "hundreds of thousands of examples"),
                *(_beats_plain_claim(method, ratios) for method in (GOOD, BAD)),
            ]
        return claims

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
        """Excess risk, and its ratio to the batch method's."""
        known = {m: {t: v for t, v in values.items() if t <= self.samples} for m, values in INDEPENDENT.items()}
        draw_curves(_curves(rows), figure, known)
        figure.suptitle(f"{self.title}\n{self.paper}; {self.trials} trials", fontsize="large")


def _curves(rows: Sequence[Row]) -> dict[str, Curve]:
    return {method: curve_of(rows, method) for method in (*SCHEDULES, BATCH)}


def _region_claim(method: str, ratio: Curve, least: int, words: str) -> Claim:
    """Where the excess risk is twice the batch method's; ``words`` means from ``least`` to ten times that."""
    found, exact = (settles_below(ratio.samples, values, 2.0) for values in (ratio.means, ratio.expected))
    given = {"lambda0": float(EIGENVALUES.min()), **SCHEDULES[method]._asdict()}
    theory = f"Theorem 1's bound has {asymptotic_samples(**given):,.0f}, Corollary 4 as printed "
    theory += f"{asymptotic_samples_as_printed(**given):,.0f}"
    return Claim(
        f"{method} is within twice the batch method's expected excess risk after {least:,} to {10 * least:,} samples",
        f"it takes {words} to get to the asymptotic region",
        f"after {found:,.0f} (expected: {exact:,.0f}); {theory}",
        least <= found <= 10 * least,
    )


def _beats_plain_claim(method: str, ratios: Mapping[str, Curve]) -> Claim:
    quotient = ratios[method].means / ratios[PLAIN].means
    last = int(ratios[method].samples[-1])
    return Claim(
        f"{method} ends below SGD, within twice the batch method's expected excess risk",
        "both ASGD and ASGD_BAD eventually outperforms SGD and come close to the batch method",
        f"below SGD from sample {settles_below(ratios[method].samples, quotient, 1.0):,.0f} on; at {last:,} "
        f"{ratios[method].means[-1]:.3g} beside SGD's {ratios[PLAIN].means[-1]:.3g}, in units of the batch method's",
        bool(quotient[-1] < 1 and ratios[method].means[-1] < 2),
    )
