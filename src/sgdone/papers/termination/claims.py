"""What Baghal et al. (2021), section 5, say about their scatter plots."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from sgdone.papers.claims import Claim
from sgdone.papers.experiment import Row
from sgdone.papers.termination.accuracy_claims import equal_or_better, going_on, more_accurate, smaller_step
from sgdone.papers.termination.iteration_claims import (
    early_stops,
    equally_fast,
    iterations_against_largest,
    less_sensitive,
    spread_smaller,
)
from sgdone.papers.termination.panels import panels_of


@final
@dataclass(frozen=True)
class Reasons:
    """Why, on some data, a kind of claim does not hold: what was found out about it, if it was."""

    accuracy: str = ""
    step: str = ""
    spread: str = ""
    many_iterations: str = ""
    few_iterations: str = ""


def claims_of_comparison(rows: Sequence[Row], reasons: Reasons) -> list[Claim]:
    """The statements of the main text on α̃ = 1/16, of the supplement on 1/10 and 1/200, and of both on all panels."""
    panels = panels_of(rows)
    main, tenth, two_hundredth = ([p for p in panels if p.step == step] for step in ("1/16", "1/10", "1/200"))
    return [
        equal_or_better(main, reasons.accuracy),
        equally_fast(main),
        going_on(panels),
        spread_smaller(panels, "accuracy", "accuracy_spread", reasons.spread),
        spread_smaller(panels, "iterations over their mean", "iterations_spread", reasons.spread or early_stops(rows)),
        iterations_against_largest(
            tenth, "fewer", "supplement, section 5.1: fewer iterations for a large α̃", reasons.few_iterations
        ),
        iterations_against_largest(
            two_hundredth, "more", "supplement, section 5.1: the opposite for a small α̃", reasons.many_iterations
        ),
        more_accurate(
            tenth,
            "supplement: more accurate than SVS (section 5.1), low accuracy but faster (section 6)",
            "the paper's two sections differ on it: with large steps (12) holds early",
        ),
        more_accurate(
            two_hundredth,
            "supplement: more accurate than SVS (section 5.1), higher accuracy with more iterations (section 6)",
            reasons.accuracy,
        ),
        smaller_step(tenth, two_hundredth, reasons.step),
        less_sensitive(tenth, two_hundredth),
    ]
