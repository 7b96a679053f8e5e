"""Averaged SGD beside plain SGD and least squares on a regression."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from sgdone.losses import Squared
from sgdone.papers.averaging.curves import (
    BATCH,
    DECADES,
    Curve,
    RiskCurves,
    expectation_claim,
    power_of_ten,
    ratio_claims,
    settles_below,
)
from sgdone.papers.averaging.theory import Schedule, expected_regression_errors
from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Row
from sgdone.papers.runs import iterates
from sgdone.papers.streams import Stream
from sgdone.papers.tables import Array, Points
from sgdone.solvers import SGD, Averaged, SingleModel
from sgdone.steps import Xu

AVERAGED, PLAIN = "ASGD", "SGD"
EIGENVALUES = np.linspace(0.01, 1.0, 100)
OPTIMUM = np.ones(EIGENVALUES.size)
_FIRST_STEP = 1.0 / float(EIGENVALUES.sum())
SCHEDULES = {AVERAGED: Schedule(_FIRST_STEP, 0.01, 2 / 3), PLAIN: Schedule(_FIRST_STEP, 0.01, 1.0)}
SOLVERS: dict[str, SingleModel] = {AVERAGED: Averaged(SGD(), 0), PLAIN: SGD()}
#: Runs of the independent implementation.
INDEPENDENT_RUNS = 5


def regression_rows(ends: Points) -> Stream:
    """Independent rows y = xᵀθ* + ε, x ~ N(0, A), ε ~ N(0, 1), in blocks that end at given numbers of rows."""

    def draw(rng: np.random.Generator, n_rows: int) -> tuple[Array, Array]:
        X = rng.standard_normal((n_rows, EIGENVALUES.size))
        X *= np.sqrt(EIGENVALUES)
        return X, X @ OPTIMUM + rng.standard_normal(n_rows)

    return Stream(EIGENVALUES.size, draw, ends)


def expected_risks(method: str, points: Points) -> Array:
    """Expected excess risk at the points."""
    if method == BATCH:
        # E[(XᵀX)⁻¹] = A⁻¹/(t − d − 1): the mean of an inverse Wishart matrix.
        return np.asarray(0.5 * EIGENVALUES.size / (points - EIGENVALUES.size - 1.0))
    errors = expected_regression_errors(
        points, A=np.diag(EIGENVALUES), noise=1.0, start_error=-OPTIMUM, **SCHEDULES[method]._asdict()
    )
    return 0.5 * (errors.averaged if method == AVERAGED else errors.last)


def least_squares(points: Points, seed: np.random.SeedSequence) -> Array:
    """Solutions of the normal equations at the points, one line each."""
    gram, moments = np.zeros((EIGENVALUES.size, EIGENVALUES.size)), np.zeros(EIGENVALUES.size)
    found, used, wanted = [], 0, set(points.tolist())
    for X, y in regression_rows(points).arrays(np.random.default_rng(seed)):
        gram += X.T @ X
        moments += X.T @ y
        used += len(y)
        if used in wanted:
            found.append(np.linalg.solve(gram, moments))
    return np.array(found)


@final
@dataclass(frozen=True)
class AsgdRegression(RiskCurves):
    """Figure 2: y = xᵀθ* + ε in 100 features, the eigenvalues of A = E[xxᵀ] evenly spread from 0.01 to 1, θ* = 1.

    Both methods start at 0 with γ₀ = 1/tr(A) and a = λ₀; ASGD averages from the first sample. All is in the
    eigenvectors of A. The excess risk is ½‖θ − θ*‖²_A, that of least squares ½·100/(t − 101) in expectation. All
    methods of a trial see the same rows.
    """

    trials: int = 60
    methods = (*SCHEDULES, BATCH)
    #: Means of five runs of an independent implementation.
    independent: ClassVar = {AVERAGED: {10_000: 3.3, 100_000: 1.55}, PLAIN: {10_000: 19.0, 100_000: 26.0}}
    first_point = 200
    name = "asgd-regression"
    title = "Averaged SGD against SGD and least squares on a regression in 100 features"
    paper = "Xu (2011), Fig. 2"
    quick: ClassVar = {"trials": 20, "samples": 100_000}
    smoke: ClassVar = {"trials": 4, "samples": 2000}

    def expected_risks(self, method: str, points: Points) -> Array:
        """By the recursion of second moments."""
        return expected_risks(method, points)

    def trial_risks(self, points: Points, seed: np.random.SeedSequence) -> dict[str, list[float]]:
        """Excess risks in one pass over the same rows."""
        settings = {"fit_intercept": False, "task": "regression"}
        weights = {
            method: iterates(
                regression_rows(points), Squared(), solver, points, seed, step=Xu(*SCHEDULES[method]), **settings
            )
            for method, solver in SOLVERS.items()
        } | {BATCH: least_squares(points, seed)}
        return {
            method: [float(0.5 * (coef - OPTIMUM) ** 2 @ EIGENVALUES) for coef in found]
            for method, found in weights.items()
        }

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """The ratios to the batch method at two points, and the paper's sentence."""
        curves = self.curves(rows)
        ratios = {method: curves[method].over(curves[BATCH]) for method in SCHEDULES}
        source = f"an independent implementation has, in {INDEPENDENT_RUNS} runs,"
        claims = [
            claim
            for method, ratio in ratios.items()
            for claim in ratio_claims(method, ratio, self.independent[method], source, INDEPENDENT_RUNS)
        ]
        claims.append(expectation_claim(curves))
        if self.samples >= 100_000:
            claims += [*_closeness_claims(ratios[AVERAGED]), *_quotient_claims(curves)]
        return claims


def _closeness_claims(ratio: Curve) -> list[Claim]:
    """How close ASGD is to least squares, decade by decade."""
    found, exact = (settles_below(ratio.samples, values, 2.0) for values in (ratio.means, ratio.expected))
    decades = [(t, place) for t in DECADES if t >= 10_000 and (place := ratio.at(t)) is not None]
    means = [float(ratio.means[place]) for _, place in decades]
    shown = ", ".join(f"{mean:.3g} at {power_of_ten(t)}" for (t, _), mean in zip(decades, means, strict=True))
    return [
        Claim(
            "at 10⁴ samples ASGD is within twice the batch method's expected excess risk",
            "after about 10⁴ examples, the accuracy of ASGD starts to be close to batch solution",
            f"{shown} times it; within twice after {found:,.0f} samples (expected: {exact:,.0f})",
            found <= 10_000,
            _why_not_yet(10_000),
        ),
        Claim(
            "the ratio of ASGD's excess risk to the batch method's falls from decade to decade from 10⁴ on",
            "asymptotic optimality of ASGD",
            shown,
            means == sorted(means, reverse=True),
        ),
    ]


def _quotient_claims(curves: Mapping[str, Curve]) -> list[Claim]:
    """How much worse SGD is than ASGD."""
    averaged = curves[AVERAGED]
    quotient = curves[PLAIN].means / averaged.means
    exact = curves[PLAIN].expected / averaged.expected
    since = settles_below(averaged.samples, 1.0 / quotient, 0.1)
    claims = []
    for samples in DECADES:
        place = averaged.at(samples)
        if samples < 10_000 or place is None:
            continue
        claims.append(
            Claim(
                f"at {power_of_ten(samples)} samples SGD's mean excess risk is more than 10 times ASGD's",
                "after about 10⁴ examples … SGD remains more than 10 times worse than ASGD",
                f"{quotient[place]:.3g} times (expected: {exact[place]:.3g}); more than 10 times from {since:,.0f} on",
                bool(quotient[place] > 10),
                _why_not_yet(samples),
            )
        )
    return claims


def _why_not_yet(samples: int) -> str:
    """The part of ASGD's excess risk that its start causes, beside the batch method's."""
    points, schedule = np.array([samples]), SCHEDULES[AVERAGED]
    silent = expected_regression_errors(
        points, A=np.diag(EIGENVALUES), noise=0.0, start_error=-OPTIMUM, **schedule._asdict()
    )
    share = 0.5 * silent.averaged[0] / expected_risks(BATCH, points)[0]
    return (
        f"1/(λ₀γ₀) is {1 / (EIGENVALUES[0] * schedule.gamma0):,.0f} samples, and the start is not forgotten soon "
        f"after: without the noise ε, ASGD's excess risk at {power_of_ten(samples)} would be {share:.2f} times the "
        "batch method's already"
    )
