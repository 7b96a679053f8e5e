"""The margin test beside small validation sets on two Gaussians."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, final

import numpy as np

from sgdone.data.base import Source
from sgdone.papers.termination.claims import Reasons
from sgdone.papers.termination.comparison import TerminationComparison
from sgdone.papers.termination.runs import Accuracy
from sgdone.papers.termination.streams import TwoClassStream, gaussian_accuracy
from sgdone.stopping import MaxSamples
from sgdone.stopping.base import StopRule


@final
@dataclass(frozen=True)
class TerminationGaussian(TerminationComparison[None]):
    """Figure 2: N(0, σ²I) against N(e₁, σ²I) in 500 dimensions.

    The paper's σ are printed within its plots alone; these span its Fig. 1. The accuracy is exact, by the normal
    distribution function.
    """

    sigmas: tuple[float, ...] = (0.25, 0.5, 1.0)
    n_features: int = 500
    name: ClassVar[str] = "termination-gaussian"
    title: ClassVar[str] = "Margin test against small validation sets on two Gaussians, d = 500"
    paper: ClassVar[str] = "Baghal, Paquette, Vavasis (2021), Fig. 2"
    reasons: ClassVar[Reasons] = Reasons(
        few_iterations="k of (12) grows in proportion to σ (Fig. 1), that of SVS does not; the paper's σ are not known",
    )
    quick: ClassVar[Mapping[str, Any]] = {"trials": 3}
    smoke: ClassVar[Mapping[str, Any]] = {"trials": 2, "sigmas": (0.5,), "n_features": 20}

    @property
    def data(self) -> Sequence[str]:
        """Values of σ."""
        return [f"σ = {sigma:g}" for sigma in self.sigmas]

    @property
    def limit(self) -> StopRule:
        """Far beyond where any test fires."""
        return MaxSamples(2_000_000)

    def prepare(self, seed: np.random.SeedSequence) -> None:
        """Rows are drawn as they are needed."""

    def rows_and_accuracy(self, data: str, prepared: None) -> tuple[Source, Accuracy]:
        """A stream, and the exact accuracy on it."""
        sigma = float(data.removeprefix("σ = "))
        return TwoClassStream(self.n_features, sigma), partial(gaussian_accuracy, sigma=sigma)
