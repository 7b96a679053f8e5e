"""What the step sizes of averaged SGD mean for the number of samples it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from sgdone.kernels.jit import compiled
from sgdone.papers.averaging.curves import BATCH, Curve, RiskCurves, expectation_claim, ratio_claims, settles_below
from sgdone.papers.averaging.theory import Schedule, asymptotic_samples, asymptotic_samples_as_printed, expected_errors
from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Row
from sgdone.papers.tables import Array, Points

GOOD, BAD, PLAIN = "ASGD", "ASGD_BAD", "SGD"
SCHEDULES = {GOOD: Schedule(1.0, 0.02, 2 / 3), BAD: Schedule(1.0, 1.0, 1 / 2), PLAIN: Schedule(1.0, 0.02, 1.0)}
EIGENVALUES = np.array([1.0] * 3 + [0.02] * 97)
_ROWS_IN_BLOCK = 1024


@final
@dataclass(frozen=True)
class AsgdSchedule(RiskCurves):
    """Figure 1: min E[(θ − x)ᵀA(θ − x)], x ~ N(0, I) in 100 features, A with the eigenvalues 1 (three) and 0.02.

    The gradient is taken as A(θ − x), without the factor 2, and θ₀ as the vector of ones in the eigenvectors of A,
    in which all is computed; the paper gives neither. All methods of a trial see the same samples. The asymptotic
    region begins where the excess risk is twice the batch method's: the criterion of Corollary 4's proof.
    """

    trials: int = 200
    methods = (*SCHEDULES, BATCH)
    #: By a recursion of moments written independently of this one.
    independent: ClassVar = {
        GOOD: {1000: 4.27, 10_000: 1.38, 100_000: 1.05},
        BAD: {1000: 88.2, 10_000: 56.7, 100_000: 7.77},
        PLAIN: {1000: 16.2, 10_000: 15.8, 100_000: 15.7},
    }
    name = "asgd-schedule"
    title = "Averaged SGD with recommended and with arbitrary step sizes"
    paper = "Xu (2011), Fig. 1"
    quick: ClassVar = {"trials": 100, "samples": 100_000}
    smoke: ClassVar = {"trials": 6, "samples": 2000}

    def expected_risks(self, method: str, points: Points) -> Array:
        """By the recursion of second moments."""
        if method == BATCH:
            return np.asarray(EIGENVALUES.sum() / points)
        A, start = np.diag(EIGENVALUES), np.ones(EIGENVALUES.size)
        errors = expected_errors(points, A=A, S=A @ A, start_error=start, **SCHEDULES[method]._asdict())
        return errors.last if method == PLAIN else errors.averaged

    def trial_risks(self, points: Points, seed: np.random.SeedSequence) -> dict[str, Array]:
        """Excess risk θᵀAθ. The gradient A(θ − x) is not that of a linear model: the methods are written out here."""
        rng = np.random.default_rng(seed)
        iterates = {method: np.ones(EIGENVALUES.size) for method in SCHEDULES}
        totals = {method: np.zeros(EIGENVALUES.size) for method in (*SCHEDULES, BATCH)}
        risks = {method: np.empty(points.size) for method in (*SCHEDULES, BATCH)}
        used = 0
        for k, point in enumerate(points):
            while used < point:
                x = rng.standard_normal((min(_ROWS_IN_BLOCK, point - used), EIGENVALUES.size))
                for method, schedule in SCHEDULES.items():
                    steps = schedule(np.arange(used + 1, used + 1 + len(x)))
                    advance(iterates[method], totals[method], x, steps, EIGENVALUES)
                totals[BATCH] += x.sum(axis=0)
                used += len(x)
            for method, total in totals.items():
                theta = iterates[PLAIN] if method == PLAIN else total / used
                risks[method][k] = EIGENVALUES @ theta**2
        return risks

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """The ratios to the batch method at three points, and the paper's sentences."""
        curves = self.curves(rows)
        ratios = {method: curves[method].over(curves[BATCH]) for method in SCHEDULES}
        source = "by an independent recursion of moments"
        claims = [c for m, ratio in ratios.items() for c in ratio_claims(m, ratio, self.independent[m], source)]
        claims.append(expectation_claim(curves))
        if self.samples >= 1_000_000:
            claims += [
                _region_claim(GOOD, ratios[GOOD], 1000, "a few thousands example"),
                _region_claim(BAD, ratios[BAD], 100_000, "hundreds of thousands of examples"),
                *(_beats_plain_claim(method, ratios) for method in (GOOD, BAD)),
            ]
        return claims


@compiled()
def advance(theta: Array, total: Array, x: Array, steps: Array, eigenvalues: Array) -> None:
    """Make the steps θ ← θ − γA(θ − x), A diagonal, and add every θ to the total.

    Examples
    --------
    >>> theta, total = np.ones(1), np.zeros(1)
    >>> advance(theta, total, np.zeros((2, 1)), np.array([0.5, 0.5]), np.ones(1))
    >>> theta, total
    (array([0.25]), array([0.75]))
    """
    for i in range(x.shape[0]):
        for j in range(theta.size):
            theta[j] -= steps[i] * eigenvalues[j] * (theta[j] - x[i, j])
            total[j] += theta[j]


def _region_claim(method: str, ratio: Curve, least: int, paper: str) -> Claim:
    """Where the excess risk is twice the batch method's; the paper's number is read as ``least`` to ten times that."""
    found, exact = (settles_below(ratio.samples, values, 2.0) for values in (ratio.means, ratio.expected))
    given = {"lambda0": float(EIGENVALUES.min()), **SCHEDULES[method]._asdict()}
    theory = f"Theorem 1's bound has {asymptotic_samples(**given):,.0f}, Corollary 4 as printed "
    theory += f"{asymptotic_samples_as_printed(**given):,.0f}"
    return Claim(
        f"{method} is within twice the batch method's expected excess risk after {least:,} to {10 * least:,} samples",
        f"it takes {paper} to get to the asymptotic region",
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
