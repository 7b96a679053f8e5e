"""Averaged SGD compared with plain SGD and least squares on a regression."""

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
    expectations_tried,
    power_of_ten,
    ratios_tried,
    settles_below,
)
from sgdone.papers.averaging.theory import Schedule, expected_regression_errors
from sgdone.papers.claims import AlsoTried, Claim, Sentence
from sgdone.papers.experiment import Row
from sgdone.papers.runs import iterates
from sgdone.papers.streams import GeneratedStream
from sgdone.papers.tables import Array, Points
from sgdone.solvers import SGD, Averaged, SingleModel
from sgdone.steps import Xu

AVERAGED, PLAIN = "ASGD", "SGD"
EIGENVALUES = np.linspace(0.01, 1.0, 100)
OPTIMUM = np.ones(EIGENVALUES.size)
_FIRST_STEP = 1.0 / float(EIGENVALUES.sum())
SCHEDULES = {AVERAGED: Schedule(_FIRST_STEP, 0.01, 2 / 3), PLAIN: Schedule(_FIRST_STEP, 0.01, 1.0)}
SOLVERS: dict[str, SingleModel] = {AVERAGED: Averaged(SGD(), 0), PLAIN: SGD()}
#: "About 10⁴": nearer to 10⁴ than to any other power of ten.
_ABOUT = (3162, 31_623)
_CLOSE = Sentence("after about 10⁴ examples, the accuracy of ASGD starts to be close to batch solution", "section 6.2")
_TEN_TIMES = Sentence("while the solution of SGD remains more than 10 times worse than ASGD", "section 6.2")
_OPTIMALITY = Sentence(
    "Our second experiment is used to show the asymptotic optimality of ASGD for linear regression.", "section 6.2"
)
#: Runs of the independent implementation.
INDEPENDENT_RUNS = 5


def regression_rows(ends: Points) -> GeneratedStream:
    """Independent rows y = xᵀθ* + ε, x ~ N(0, A), ε ~ N(0, 1), in blocks that end at given numbers of rows."""

    def draw(rng: np.random.Generator, n_rows: int) -> tuple[Array, Array]:
        X = rng.standard_normal((n_rows, EIGENVALUES.size))
        X *= np.sqrt(EIGENVALUES)
        return X, X @ OPTIMUM + rng.standard_normal(n_rows)

    return GeneratedStream(EIGENVALUES.size, draw, ends)


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

    trials: int = 5
    methods = (*SCHEDULES, BATCH)
    #: Means of five runs of an independent implementation.
    independent: ClassVar = {AVERAGED: {10_000: 3.3, 100_000: 1.55}, PLAIN: {10_000: 19.0, 100_000: 26.0}}
    first_point = 200
    name = "asgd-regression"
    title = "Averaged SGD against SGD and least squares on a regression in 100 features"
    paper = "Xu (2011), Fig. 2"
    quick: ClassVar = {"trials": 4, "samples": 100_000}
    smoke: ClassVar = {"trials": 4, "samples": 2000}

    def expected_risks(self, method: str, points: Points) -> Array:
        """Expected excess risks, by the recursion of second moments."""
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
        """Claims of section 6.2."""
        curves = self.curves(rows)
        ratio = curves[AVERAGED].over(curves[BATCH])
        return [_close_claim(ratio), _ten_times_claim(curves), _optimal_claim(ratio)]

    def also_tried(self, rows: Sequence[Row]) -> list[AlsoTried]:
        """Ratios to the batch method, those of an independent implementation, and expectations."""
        curves = self.curves(rows)
        source = f"an independent implementation has, in {INDEPENDENT_RUNS} runs,"
        ratios = [
            tried
            for method in SCHEDULES
            for tried in ratios_tried(
                method, curves[method].over(curves[BATCH]), self.independent[method], source, INDEPENDENT_RUNS
            )
        ]
        return [*ratios, expectations_tried(curves)]


def _close_claim(ratio: Curve) -> Claim:
    found, exact = (settles_below(ratio.samples, values, 2.0) for values in (ratio.means, ratio.expected))
    return Claim(
        _CLOSE,
        f"ASGD is within twice the batch method's expected excess risk from {_ABOUT[0]:,} to {_ABOUT[1]:,} samples on",
        f"from {found:,.0f} samples on (expected: {exact:,.0f}); {_decades(ratio)}",
        _ABOUT[0] <= found <= _ABOUT[1],
        _why_not_yet(10_000),
    )


def _ten_times_claim(curves: Mapping[str, Curve]) -> Claim:
    averaged = curves[AVERAGED]
    quotient = curves[PLAIN].means / averaged.means
    late = averaged.samples >= min(_ABOUT[1], averaged.samples[-1])
    since = settles_below(averaged.samples, 1.0 / quotient, 0.1)
    return Claim(
        _TEN_TIMES,
        f"from {_ABOUT[1]:,} samples on SGD's mean excess risk is more than 10 times ASGD's",
        f"at least {quotient[late].min():.3g} times there; more than 10 times from {since:,.0f} samples on",
        bool(np.all(quotient[late] > 10)),
        _why_not_yet(_ABOUT[1]),
    )


def _optimal_claim(ratio: Curve) -> Claim:
    means = [float(ratio.means[place]) for t in DECADES if t >= 10_000 and (place := ratio.at(t)) is not None]
    return Claim(
        _OPTIMALITY,
        "from 10⁴ samples on the ratio of ASGD's excess risk to the batch method's falls from decade to decade",
        _decades(ratio),
        means == sorted(means, reverse=True) and len(means) > 1,
    )


def _decades(ratio: Curve) -> str:
    places = {t: place for t in DECADES if t >= 10_000 and (place := ratio.at(t)) is not None}
    shown = (f"{ratio.means[place]:.3g} at {power_of_ten(t)}" for t, place in places.items())
    return f"{', '.join(shown)} times the batch method's"


def _why_not_yet(samples: int) -> str:
    """The part of ASGD's excess risk that its start causes, compared with the batch method's."""
    points, schedule = np.array([samples]), SCHEDULES[AVERAGED]
    silent = expected_regression_errors(
        points, A=np.diag(EIGENVALUES), noise=0.0, start_error=-OPTIMUM, **schedule._asdict()
    )
    share = 0.5 * silent.averaged[0] / expected_risks(BATCH, points)[0]
    return (
        f"1/(λ₀γ₀) is {1 / (EIGENVALUES[0] * schedule.gamma0):,.0f} samples, and the start is not forgotten soon "
        f"after: without the noise ε, ASGD's excess risk at {samples:,} samples would be {share:.2f} times the "
        "batch method's already"
    )
