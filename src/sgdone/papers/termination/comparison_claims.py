"""Claims of Baghal et al. (2021) about the margin test and small validation sets, figure by figure.

Each sentence is counted once per figure and loss. Pairs are the margin test and a small validation set (SVS) on the
same random run; standard deviations are compared panel by panel.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim, Sentence, pooled, share_with_interval, span
from sgdone.papers.experiment import Row
from sgdone.papers.termination.comparison_pairs import LARGE, MAIN, SMALL, Pair, pairs_of, runs_of, spreads_of
from sgdone.papers.termination.runs import LONGER, MARGIN

#: Accuracies closer than this count as equal; up to this many times the iterations count as comparable.
EQUAL, COMPARABLE = 0.01, 1.5

_CONCLUSIONS = "main text, experimental conclusions"
_ACCURACY = Sentence("(7) achieves accuracy equal to or better than SVS", _CONCLUSIONS)
_ITERATIONS = Sentence(
    "In the cases when the accuracy is equal, the iteration count for (7) is comparable or better.", _CONCLUSIONS
)
_BEYOND = Sentence(
    "Iterating beyond the step for which (7) holds does not significantly improve accuracy.", _CONCLUSIONS
)
_CONSISTENT_K = Sentence("the number of iterations is more consistent across random trials", "supplement, section 6")
_CONSISTENT = Sentence(
    "its behavior (in terms of number of iterations and accuracy) is more consistent across random trials", _CONCLUSIONS
)
_MORE_ACCURATE = Sentence("(12) is more accurate than SVS", "supplement, section 5.1")
_BY_STEP = Sentence(
    "for a large α̃, (12) requires fewer iterations than SVS with p=512, while the opposite relationship holds for a "
    "small α̃",
    "supplement, section 5.1",
)
_FASTER = Sentence("(12) achieves low accuracy but is faster than SVS for α̃=1/10", "supplement, section 6")
_SLOWER = Sentence("it achieves higher accuracy with more iterations when α̃=1/200", "supplement, section 6")
_SMALLER_STEP = Sentence("the accuracy is overall higher for α̃=1/200 than for α̃=1/10", "supplement, section 5.2")
_SENSITIVE = Sentence(
    "SVS is only mildly sensitive to α̃, according to our testing", "supplement, section 5, parameter settings"
)


@final
@dataclass(frozen=True)
class Reasons:
    """Why some claims do not hold on some data, where that is known."""

    accuracy: str = ""
    iterations: str = ""
    spread: str = ""


def claims_on_all_data(rows: Sequence[Row], loss: str, reasons: Reasons) -> list[Claim]:
    """The conclusions of the main text at α̃ = 1/16, and of both texts at all α̃."""
    runs = runs_of(rows, loss)
    main = pairs_of(runs, MAIN)
    equal = [pair for pair in main if abs(pair.gain) <= EQUAL]
    gains = [
        tests[LONGER]["accuracy"] - tests[MARGIN]["accuracy"]
        for tests in runs.values()
        if {LONGER, MARGIN} <= set(tests)
    ]
    return [
        pooled(
            _ACCURACY,
            f"{loss}, α̃ = 1/16: in a run the accuracy of (12) is better than SVS's or less than {EQUAL} below",
            _numbered(pair.gain > -EQUAL for pair in main),
            _median(", median difference ", [pair.gain for pair in main], "+.3f"),
            reasons.accuracy,
        ),
        pooled(
            _ITERATIONS,
            f"{loss}, α̃ = 1/16: where accuracies are within {EQUAL}, (12) takes at most {COMPARABLE} times the samples",
            _numbered(pair.more <= COMPARABLE for pair in equal),
            _median(", median ratio ", [pair.more for pair in equal], ".2f"),
        ),
        pooled(
            _BEYOND,
            f"{loss}: in a run the accuracy after 1.5k iterations is less than {EQUAL} above that after k",
            _numbered(gain < EQUAL for gain in gains),
            _median(", median gain ", gains, "+.4f"),
            of="runs",
        ),
        _consistent(
            _CONSISTENT_K, f"{loss}: the iterations of (12) vary less than those of SVS", rows, loss, "iterations",
            reasons.spread or _early_stops(rows), (MAIN, LARGE, SMALL),
        ),
        _consistent(
            _CONSISTENT, f"{loss}, α̃ = 1/16: the accuracy of (12) varies less than that of SVS", rows, loss, "accuracy",
            reasons.spread, (MAIN,),
        ),
    ]  # fmt: skip


def claims_on_generated_data(rows: Sequence[Row], loss: str, reasons: Reasons) -> list[Claim]:
    """Section 5.1 of the supplement, on α̃ = 1/10 and 1/200."""
    runs = runs_of(rows, loss)
    pairs = pairs_of(runs, LARGE, SMALL)
    against = pairs_of(runs, LARGE, SMALL, largest=True)
    shares = {
        step: f"{sum((pair.more < 1) == (step == LARGE) for pair in own)} of {len(own)} at {step}"
        for step in (LARGE, SMALL)
        if (own := [pair for pair in against if pair.step == step])
    }
    return [
        pooled(
            _MORE_ACCURATE,
            f"{loss}, α̃ = 1/10 and 1/200: in a run (12) is more accurate than SVS",
            _numbered(pair.gain > 0 for pair in pairs),
            _median(", median difference ", [pair.gain for pair in pairs], "+.3f"),
            reasons.accuracy,
        ),
        pooled(
            _BY_STEP,
            f"{loss}: in a run (12) takes fewer iterations than SVS with p = 512 at α̃ = 1/10, and more at 1/200",
            _numbered((pair.more < 1) == (pair.step == LARGE) for pair in against),
            f" ({', '.join(shares.values())})",
            reasons.iterations,
        ),
    ]


def claims_on_images(rows: Sequence[Row], loss: str, reasons: Reasons) -> list[Claim]:
    """Sections 5.2 and 6 of the supplement; SVS is that with p = 512, which section 5.1 names."""
    runs = runs_of(rows, loss)
    large, small = (pairs_of(runs, step, largest=True) for step in (LARGE, SMALL))
    gains = [
        tests[MARGIN]["accuracy"] - runs[data, LARGE, trial][MARGIN]["accuracy"]
        for (data, step, trial), tests in runs.items()
        if step == SMALL and MARGIN in tests and MARGIN in runs.get((data, LARGE, trial), {})
    ]
    return [
        pooled(
            _FASTER,
            f"{loss}, α̃ = 1/10: in a run (12) takes fewer iterations than SVS with p = 512, and is less accurate",
            _numbered(pair.more < 1 and pair.gain < 0 for pair in large),
            _both(large),
            reasons.iterations,
        ),
        pooled(
            _SLOWER,
            f"{loss}, α̃ = 1/200: in a run (12) takes more iterations than SVS with p = 512, and is more accurate",
            _numbered(pair.more > 1 and pair.gain > 0 for pair in small),
            _both(small),
            reasons.iterations,
        ),
        pooled(
            _SMALLER_STEP,
            f"{loss}: in a run (12) is more accurate with α̃ = 1/200 than with 1/10",
            _numbered(gain > 0 for gain in gains),
            _median(", median difference ", gains, "+.3f"),
            of="runs",
        ),
    ]


def sensitivity_claim(rows: Sequence[Row], loss: str) -> Claim:
    """Growth of the iterations from α̃ = 1/10 to 1/200."""
    runs = runs_of(rows, loss)
    growth = [
        [runs[data, SMALL, trial][which]["iterations"] / tests[which]["iterations"] for which in (test, MARGIN)]
        for (data, step, trial), tests in runs.items()
        if step == LARGE
        for test in tests
        if test.startswith("SVS") and {test, MARGIN} <= set(tests) & set(runs.get((data, SMALL, trial), {}))
    ]
    return pooled(
        _SENSITIVE,
        f"{loss}: from α̃ = 1/10 to 1/200 the iterations of SVS change by a smaller factor than those of (12)",
        _numbered(abs(np.log(theirs)) < abs(np.log(ours)) for theirs, ours in growth),
        _median(", median factors ", [theirs for theirs, _ in growth], ".2f")
        + _median(" and ", [ours for _, ours in growth], ".1f"),
    )


def tried_on_images(rows: Sequence[Row], loss: str) -> list[AlsoTried]:
    """The sentences of section 6 against all three validation sets, and each half of them."""
    runs = runs_of(rows, loss)
    found = []
    for step, word, sign in ((LARGE, "fewer", -1), (SMALL, "more", 1)):
        pairs = pairs_of(runs, step)
        if pairs:
            faster, better = (
                share_with_interval(sign * value > 0 for value in values).words
                for values in ([np.log(pair.more) for pair in pairs], [pair.gain for pair in pairs])
            )
            found.append(AlsoTried(f"{loss}, α̃ = {step}: {word} iterations than any of the three SVS", faster))
            found.append(AlsoTried(f"{loss}, α̃ = {step}: {'less' if sign < 0 else 'more'} accurate than them", better))
    return found


def _consistent(
    sentence: Sentence, what: str, rows: Sequence[Row], loss: str, column: str, reason: str, steps: Sequence[str]
) -> Claim:
    """Standard deviations over the runs of a panel, (12) compared with each SVS."""
    panels = spreads_of(rows, loss, column, steps).values()
    spreads = [
        (tests[MARGIN], spread)
        for tests in panels
        for test, spread in tests.items()
        if test.startswith("SVS") and MARGIN in tests
    ]
    return pooled(
        sentence,
        f"{what} (standard deviation over the runs of a panel{', over the mean' if column == 'iterations' else ''})",
        _numbered(ours < theirs for ours, theirs in spreads),
        _median(", medians ", [ours for ours, _ in spreads], ".3g")
        + _median(" and ", [svs for _, svs in spreads], ".3g"),
        reason,
    )


def _early_stops(rows: Sequence[Row]) -> str:
    """Share of runs in which SVS stops as soon as it can: after two checks of 2p samples each."""
    small = [row for row in rows if row["test"].startswith("SVS")]
    early = np.mean([row["fired"] and row["iterations"] == 4 * int(row["test"].rpartition(" ")[2]) for row in small])
    return f"SVS stops at its second check, the earliest it can, in {early:.0%} of its runs: these do not differ in k"


def _both(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return ""
    fewer, lower = sum(pair.more < 1 for pair in pairs), sum(pair.gain < 0 for pair in pairs)
    return (
        f"; fewer iterations in {fewer}, less accurate in {lower}, differences {span([p.gain for p in pairs], '+.3f')}"
    )


def _numbered(outcomes: Iterable[bool]) -> dict[int, bool]:
    return {k: bool(outcome) for k, outcome in enumerate(outcomes)}


def _median(words: str, values: Sequence[float], form: str) -> str:
    return f"{words}{np.median(values):{form}}" if len(values) else ""
