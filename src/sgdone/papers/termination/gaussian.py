"""The margin test compared with small validation sets on two Gaussians."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Row
from sgdone.papers.termination.comparison import TerminationComparison
from sgdone.papers.termination.comparison_claims import (
    Reasons,
    claims_on_all_data,
    claims_on_generated_data,
    sensitivity_claim,
)
from sgdone.papers.termination.runs import Accuracy
from sgdone.papers.termination.two_classes import gaussian_accuracy, two_classes
from sgdone.rows.source import Source
from sgdone.stopping import MaxSamples, StopRule


@final
@dataclass(frozen=True)
class TerminationGaussian(TerminationComparison[None]):
    """Figure 2: N(0, σ²I) against N(e₁, σ²I) in 500 dimensions.

    The paper's σ are printed only within its plots; these span its Fig. 1. The accuracy is exact, by the normal
    distribution function.
    """

    sigmas: tuple[float, ...] = (0.25, 0.5, 1.0)
    n_features: int = 500
    name = "termination-gaussian"
    title = "Margin test against small validation sets on two Gaussians, d = 500"
    paper = "Baghal, Paquette, Vavasis (2021), Fig. 2"
    reasons = Reasons(
        iterations="k of (12) grows in proportion to σ (Fig. 1), that of SVS does not; the paper's σ are not known"
    )
    quick: ClassVar = {"trials": 2, "sigmas": (0.25, 0.5)}
    smoke: ClassVar = {"trials": 2, "sigmas": (0.5,), "n_features": 20}

    @property
    def data(self) -> Sequence[str]:
        """Values of σ."""
        return [f"σ = {sigma:g}" for sigma in self.sigmas]

    @property
    def limit(self) -> StopRule:
        """Far beyond where any test fires."""
        return MaxSamples(2_000_000)

    def rows_and_accuracy(self, data: str, prepared: None) -> tuple[Source, Accuracy]:
        """A stream, and the exact accuracy on it."""
        sigma = float(data.removeprefix("σ = "))
        return two_classes(self.n_features, sigma), partial(gaussian_accuracy, sigma=sigma)

    def claims_of_loss(self, rows: Sequence[Row], loss: str) -> list[Claim]:
        """The conclusions, section 5.1 on these data, and how sensitive SVS is to α̃."""
        return [
            *claims_on_all_data(rows, loss, self.reasons),
            *claims_on_generated_data(rows, loss, self.reasons),
            sensitivity_claim(rows, loss),
        ]
