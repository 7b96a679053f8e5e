"""What Baghal et al. (2021), section 5, say about the accuracy in their scatter plots, made measurable."""

from collections.abc import Sequence

from sgdone.papers.claims import Claim, every
from sgdone.papers.termination.panels import EQUAL, Panel, pairs_of, span
from sgdone.papers.termination.runs import LONGER, MARGIN


def _gains(panels: Sequence[Panel]) -> dict[str, float]:
    """Mean accuracy of (12) less that of SVS."""
    return {pair.label: pair.margin.accuracy - pair.svs.accuracy for pair in pairs_of(panels)}


def equal_or_better(panels: Sequence[Panel], reason: str) -> Claim:
    """At α̃ = 1/16, mean accuracies."""
    gains = _gains(panels)
    return every(
        f"α̃ = 1/16: mean accuracy of (12) is equal to (less than {EQUAL} below) or better than that of SVS",
        "main text, section 5.2: accuracy equal to or better than SVS, a consistent pattern",
        {label: gain > -EQUAL for label, gain in gains.items()},
        f", (12) less SVS {span(gains)}",
        reason,
    )


def going_on(panels: Sequence[Panel]) -> Claim:
    """What half as many samples more bring."""
    gains = {
        panel.label: panel.tests[LONGER].accuracy - panel.tests[MARGIN].accuracy
        for panel in panels
        if {LONGER, MARGIN} <= panel.tests.keys()
    }
    return every(
        f"going on to 1.5k iterations raises the mean accuracy by less than {EQUAL}",
        "both texts: running until 1.5k iterations does not significantly improve the solution",
        {label: gain < EQUAL for label, gain in gains.items()},
        f", gains {span(gains)}",
        f"what is significant the paper leaves open; {EQUAL} is this check's reading",
    )


def more_accurate(panels: Sequence[Panel], paper: str, reason: str) -> Claim:
    """At one α̃ of the supplement, mean accuracies."""
    gains = _gains(panels)
    return every(
        f"α̃ = {panels[0].step}: mean accuracy of (12) is higher than that of SVS",
        paper,
        {label: gain > 0 for label, gain in gains.items()},
        f", (12) less SVS {span(gains)}",
        reason,
    )


def smaller_step(tenth: Sequence[Panel], two_hundredth: Sequence[Panel], reason: str) -> Claim:
    """What a smaller α̃ brings."""
    gains = {
        f"{large.data} ({large.loss})": small.tests[MARGIN].accuracy - large.tests[MARGIN].accuracy
        for large, small in zip(tenth, two_hundredth, strict=True)
        if MARGIN in large.tests and MARGIN in small.tests
    }
    return every(
        "mean accuracy of (12) is higher for α̃ = 1/200 than for 1/10",
        "supplement, sections 5.2 and 6: accuracy is overall higher for 1/200",
        {label: gain > 0 for label, gain in gains.items()},
        f", gains {span(gains)}",
        reason,
    )
