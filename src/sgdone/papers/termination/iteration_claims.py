"""What Baghal et al. (2021), section 5, say about the iterations in their scatter plots, made measurable."""

from collections.abc import Sequence

import numpy as np

from sgdone.papers.claims import Claim, every
from sgdone.papers.experiment import Row
from sgdone.papers.termination.panels import EQUAL, Panel, pairs_of, span
from sgdone.papers.termination.runs import MARGIN, svs

#: Up to this many times the iterations count as comparable.
_COMPARABLE = 1.5


def equally_fast(panels: Sequence[Panel]) -> Claim:
    """At α̃ = 1/16, iterations where accuracies are equal."""
    ratios = {
        pair.label: pair.margin.iterations / pair.svs.iterations
        for pair in pairs_of(panels)
        if abs(pair.margin.accuracy - pair.svs.accuracy) <= EQUAL
    }
    return every(
        f"α̃ = 1/16: where mean accuracies are within {EQUAL}, (12) takes at most {_COMPARABLE} times the iterations",
        "main text, section 5.2: where the accuracy is equal, the iteration count is comparable or better",
        {label: ratio <= _COMPARABLE for label, ratio in ratios.items()},
        f", ratios {span(ratios, '.2f')}",
        f"what is comparable the paper leaves open; {_COMPARABLE} times is this check's reading",
    )


def spread_smaller(panels: Sequence[Panel], of_what: str, spread: str, reason: str) -> Claim:
    """How far random trials differ."""
    spreads = {pair.label: (getattr(pair.margin, spread), getattr(pair.svs, spread)) for pair in pairs_of(panels)}
    medians = [float(np.median(column)) for column in zip(*spreads.values(), strict=True)]
    return every(
        f"the standard deviation of the {of_what} is smaller for (12) than for SVS",
        "both texts: (12) is more consistent across random trials, apparent from all plots",
        {label: ours < theirs for label, (ours, theirs) in spreads.items()},
        f", medians {medians[0]:.3g} and {medians[1]:.3g}" if medians else "",
        reason,
    )


def early_stops(rows: Sequence[Row]) -> str:
    """How often SVS stops as soon as it can: after two checks, of 2p samples each."""
    small = [row for row in rows if row["test"].startswith("SVS")]
    early = np.mean([row["fired"] and row["iterations"] == 4 * int(row["test"].rpartition(" ")[2]) for row in small])
    return f"SVS stops at its second check, the earliest it can, in {early:.0%} of its runs: these do not differ in k"


def iterations_against_largest(panels: Sequence[Panel], word: str, paper: str, reason: str) -> Claim:
    """At one α̃ of the supplement, iterations beside those of the largest validation set."""
    large = svs(512)
    differences = {
        panel.label: panel.tests[MARGIN].iterations - panel.tests[large].iterations
        for panel in panels
        if {MARGIN, large} <= panel.tests.keys()
    }
    return every(
        f"α̃ = {panels[0].step}: (12) takes {word} iterations than SVS with p = 512, on average",
        paper,
        {label: (more > 0) == (word == "more") for label, more in differences.items()},
        f", differences {span(differences, '+,.0f')}",
        reason,
    )


def less_sensitive(tenth: Sequence[Panel], two_hundredth: Sequence[Panel]) -> Claim:
    """How the iterations grow from α̃ = 1/10 to 1/200."""
    growth = {
        f"{large.data} ({large.loss}) {test}": [
            small.tests[which].iterations / large.tests[which].iterations for which in (test, MARGIN)
        ]
        for large, small in zip(tenth, two_hundredth, strict=True)
        for test in large.tests
        if test.startswith("SVS") and {test, MARGIN} <= small.tests.keys() & large.tests.keys()
    }
    medians = [float(np.median(column)) for column in zip(*growth.values(), strict=True)]
    return every(
        "from α̃ = 1/10 to 1/200 the iterations of SVS change by a smaller factor than those of (12)",
        "supplement, section 5: SVS is only mildly sensitive to α̃, (12) is by design",
        {label: bool(abs(np.log(ours)) > abs(np.log(theirs))) for label, (theirs, ours) in growth.items()},
        f", median factors {medians[0]:.2f} and {medians[1]:.1f}" if medians else "",
    )
