"""The margin test compared with small validation sets on heavy-tailed data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from sgdone.papers.claims import Claim, Sentence, pooled
from sgdone.papers.drawing import Figure
from sgdone.papers.experiment import Row
from sgdone.papers.termination.comparison import SVS_SIZES, TerminationComparison, Trial
from sgdone.papers.termination.comparison_claims import Reasons, claims_on_all_data, claims_on_generated_data
from sgdone.papers.termination.comparison_pairs import spreads_of
from sgdone.papers.termination.runs import MARGIN, Accuracy
from sgdone.papers.termination.two_classes import gaussian_accuracy, student_t, two_classes
from sgdone.rows.source import Source
from sgdone.stopping import MaxSamples, StopRule

#: Rows of the validation set on which the accuracy is counted.
_VALIDATION_ROWS = 20_000
_MORE_SPREAD = Sentence(
    "the accuracy achieved by our termination test (12) is more spread out presumably because of the heavy-tailed "
    "nature of the data set",
    "supplement, section 5.1",
)


@final
@dataclass(frozen=True)
class TerminationHeavyTails(TerminationComparison[NDArray[np.float64]]):
    """Figure 3: βη against e₁ + βη in 500 dimensions, the entries of η of Student's t with two degrees of freedom.

    The paper's β are printed only within its plots. The accuracy is counted on 20,000 rows of each class. For each
    β the same is done with normal data whose classes overlap as much, to compare spreads; it is not drawn.
    """

    betas: tuple[float, ...] = (0.1, 0.25, 0.5)
    n_features: int = 500
    name = "termination-heavy-tails"
    title = "Margin test against small validation sets on Student's t with 2 degrees of freedom, d = 500"
    paper = "Baghal, Paquette, Vavasis (2021), Fig. 3 (Fig. 2 of the main text)"
    reasons = Reasons(
        spread="the variance is infinite: σ̃² of 100 rows, and with it the step, differs by a third between trials, "
        "and it is mostly one of the largest rows that brings the margin to 1. With one step size for all trials "
        "the spread of k falls, but does not go"
    )
    quick: ClassVar = {"trials": 3, "betas": (0.1,)}
    smoke: ClassVar = {"trials": 2, "betas": (0.25,), "n_features": 20}

    @property
    def data(self) -> Sequence[str]:
        """Values of β."""
        return [f"β = {beta:g}" for beta in self.betas]

    @property
    def limit(self) -> StopRule:
        """Far beyond where any test fires."""
        return MaxSamples(2_000_000)

    def prepare(self, seed: np.random.SeedSequence) -> NDArray[np.float64]:
        """Noise of the validation set, to be scaled by β and put about either mean."""
        return student_t(np.random.default_rng(seed), (_VALIDATION_ROWS, self.n_features))

    def tasks(self) -> Sequence[Trial]:
        """Every random run of every panel, and the same on normal data."""
        drawn = super().tasks()
        return [*drawn, *(trial._replace(data=_normal_counterpart(trial.data)) for trial in drawn)]

    def sizes(self, data: str) -> Mapping[int, tuple[int, ...]]:
        """Sizes of SVS; none on normal data, where only the margin test runs."""
        return dict.fromkeys(SVS_SIZES, ()) if _is_normal(data) else SVS_SIZES

    def rows_and_accuracy(self, data: str, prepared: NDArray[np.float64]) -> tuple[Source, Accuracy]:
        """A stream, and the fraction correct on the validation set; for normal data the exact accuracy."""
        scale = _scale_of(data)
        if _is_normal(data):
            return two_classes(self.n_features, scale), partial(gaussian_accuracy, sigma=scale)
        return two_classes(self.n_features, scale, student_t), partial(_fraction_correct, prepared, scale)

    def claims_of_loss(self, rows: Sequence[Row], loss: str) -> list[Claim]:
        """The conclusions, "similar trends as in the normally distributed case", and a larger spread."""
        heavy = [row for row in rows if not _is_normal(row["data"])]
        return [
            *claims_on_all_data(heavy, loss, self.reasons),
            *claims_on_generated_data(heavy, loss, self.reasons),
            _spread_claim(rows, loss),
        ]

    def draw(self, rows: Sequence[Row], figure: Figure) -> str:
        """Student's t only."""
        return super().draw([row for row in rows if not _is_normal(row["data"])], figure)


def _scale_of(data: str) -> float:
    return float(data.partition("= ")[2])


def _is_normal(data: str) -> bool:
    return data.startswith("normal")


def _normal_counterpart(data: str) -> str:
    """Normal data on whose first entry the best threshold is as often right as on that of Student's t.

    Examples
    --------
    >>> _normal_counterpart("β = 0.25")
    'normal, σ = 0.3759'
    """
    accuracy = special.stdtr(2, 0.5 / _scale_of(data))
    return f"normal, σ = {0.5 / special.ndtri(accuracy):.4g}"


def _spread_claim(rows: Sequence[Row], loss: str) -> Claim:
    panels = spreads_of(rows, loss, "accuracy", tuple(f"1/{inverse}" for inverse in SVS_SIZES))
    spreads = {
        (data, step): (tests[MARGIN], panels[_normal_counterpart(data), step][MARGIN])
        for (data, step), tests in panels.items()
        if not _is_normal(data) and MARGIN in tests and MARGIN in panels.get((_normal_counterpart(data), step), {})
    }
    medians = [f"{np.median(values):.4f}" for values in zip(*spreads.values(), strict=True)]
    return pooled(
        _MORE_SPREAD,
        f"{loss}: the accuracy of (12) has a larger standard deviation over the runs of a panel than on normal data "
        "whose classes overlap as much",
        {panel: ours > other for panel, (ours, other) in spreads.items()},
        f", medians {' and '.join(medians)}" if medians else "",
        of="panels",
    )


def _fraction_correct(noise: NDArray[np.float64], beta: float, coef: NDArray[np.float64], intercept: float) -> float:
    """Mean over both classes, the same noise serving for either."""
    scores = beta * (noise @ coef) + intercept
    return 0.5 * float(np.mean(scores <= 0) + np.mean(scores + coef[0] > 0))
