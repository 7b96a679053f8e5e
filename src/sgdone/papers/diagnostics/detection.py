"""Whether iterates have forgotten the start when Pflug's diagnostic fires."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from sgdone.data import ArraySource
from sgdone.losses import Squared
from sgdone.papers.claims import Claim
from sgdone.papers.diagnostics.detection_claims import claims_of_table
from sgdone.papers.diagnostics.detection_drawing import draw_table
from sgdone.papers.diagnostics.models import Array, GaussianModel, decaying, normal
from sgdone.papers.experiment import Experiment, Row
from sgdone.run import Result, run
from sgdone.solvers import ISGD
from sgdone.steps import Constant
from sgdone.stopping import MaxPasses, MaxSamples, Pflug
from sgdone.stopping.base import StopRule
from sgdone.verdict import Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIGMA = 3.0
#: Standard deviation of the entries of θ₀ − θ*.
START = 2.0


class Trial(NamedTuple):
    """One run of Algorithm 1."""

    burn_in: int
    gamma: float
    number: int


@final
@dataclass(frozen=True)
class DiagnosticsDetection(Experiment[Trial, None]):
    """Table 1: E_n = ‖θ_n − θ*‖² at half and at twice the sample τ where the diagnostic fires, regressed on E₀ and τ.

    p = 20, N = 5000, σ = 3, θ₀ ~ N(θ*, 4I), data and start drawn anew for each run, rows in passes of random order,
    implicit updates: the paper does not say which, and explicit ones diverge at the larger γ. The burn-in is
    0.1·N as printed, and 0.01·N. A run in which the diagnostic does not fire in 100 passes is left out.
    """

    trials: int = 100
    n_rows: int = 5000
    n_features: int = 20
    gammas: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
    #: Burn-ins as fractions of the rows.
    burn_ins: tuple[float, ...] = (0.1, 0.01)
    name: ClassVar[str] = "diagnostics-detection"
    title: ClassVar[str] = (
        "Does the error at τ/2 and at 2τ depend on that at the start? τ is where Pflug's diagnostic fires"
    )
    paper: ClassVar[str] = "Chee, Toulis (2018), Table 1"
    quick: ClassVar[Mapping[str, Any]] = {"trials": 40}
    smoke: ClassVar[Mapping[str, Any]] = {"trials": 8, "n_rows": 1000}
    figure_size: ClassVar[tuple[float, float]] = (11.5, 9.0)

    def prepare(self, seed: np.random.SeedSequence) -> None:
        """Each run has data of its own."""

    def tasks(self) -> Sequence[Trial]:
        """Every run."""
        return [
            Trial(round(share * self.n_rows), gamma, number)
            for share in self.burn_ins
            for gamma in self.gammas
            for number in range(self.trials)
        ]

    def measure(self, task: Trial, prepared: None, seed: np.random.SeedSequence) -> list[Row]:
        """Find τ, then go to τ/2 and to 2τ through the same rows in the same order."""
        for_data, order = seed.spawn(2)
        rng = np.random.default_rng(for_data)
        optimum = decaying(self.n_features)
        source = ArraySource(*GaussianModel(optimum, np.eye(optimum.size), normal(SIGMA)).draw(rng, self.n_rows))
        start = optimum + START * rng.standard_normal(optimum.size)

        def error(coef: Array) -> float:
            return float(np.sum((coef - optimum) ** 2))

        def course(stop: StopRule) -> Result:
            return _run(source, task.gamma, start, stop, np.random.default_rng(order))

        detected = course(Pflug(task.burn_in) | MaxPasses(100)).verdict
        return [
            {
                "burn_in": task.burn_in,
                "gamma": task.gamma,
                "trial": task.number,
                "fired": int(detected.status is Status.CONVERGED),
                "tau": detected.step,
                "E_0": error(start),
                "E_half": error(course(MaxSamples(detected.step // 2)).coef),
                "E_double": error(course(MaxSamples(2 * detected.step)).coef),
            }
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """The sentences about the table, for either burn-in."""
        return claims_of_table(rows, self.n_rows)

    def draw(self, rows: Sequence[Row], figure: "Figure") -> None:
        """Coefficients with 95 % intervals beside the printed ones, and the table."""
        draw_table(rows, figure)
        figure.suptitle(f"{self.title}\n{self.paper}; {self.trials} runs a γ, implicit updates", fontsize="large")


def _run(source: ArraySource, gamma: float, start: Array, stop: StopRule, rng: np.random.Generator) -> Result:
    return run(
        source,
        Squared(),
        ISGD(),
        stop,
        alpha=0.0,
        step=Constant(gamma),
        fit_intercept=False,
        task="regression",
        rng=rng,
        coef=start,
    )
