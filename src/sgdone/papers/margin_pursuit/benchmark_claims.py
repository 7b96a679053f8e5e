"""What Holland (2018), section 4, says about Figures 3 and 4."""

from collections.abc import Sequence

import numpy as np

from sgdone.papers.claims import Claim, every
from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.courses import PEGASOS, READINGS
from sgdone.papers.margin_pursuit.tables import Best, bests_of

#: An error within this factor of another is competitive with it.
COMPETITIVE = 1.1
#: A course rises if it never falls below its highest value so far by more than this share of the way that it goes.
_RISES = 0.05
#: A course has peaked if it ends below this share of its highest value.
_PEAKED = 0.9

Bests = dict[tuple[str, str], Best]


def claims_of_benchmarks(rows: Sequence[Row]) -> list[Claim]:
    """Each sentence once for every reading of the step size."""
    bests = bests_of(rows)
    sets = list(dict.fromkeys(data for data, _ in bests))
    return [
        *(_competitive(bests, sets, steps) for steps in READINGS),
        *(_less_spread(bests, sets, steps) for steps in READINGS),
        *(_more_symmetric(bests, sets, steps) for steps in READINGS),
        *(_rising(bests, sets, steps) for steps in READINGS),
        _peaking(bests, sets),
    ]


def _competitive(bests: Bests, sets: Sequence[str], steps: str) -> Claim:
    pairs = {data: (bests[data, steps], bests[data, PEGASOS]) for data in sets}
    return every(
        f"steps {steps}: the lowest test error is within a factor of {COMPETITIVE:g} of that of Pegasos",
        "highly competitive with the best setting of Pegasos",
        {data: ours.error() <= COMPETITIVE * theirs.error() for data, (ours, theirs) in pairs.items()},
        "; "
        + "; ".join(
            f"{data} {_error(ours)} (λ = {ours.alpha:g}), Pegasos {_error(theirs)} (λ = {theirs.alpha:g})"
            for data, (ours, theirs) in pairs.items()
        ),
    )


def _less_spread(bests: Bests, sets: Sequence[str], steps: str) -> Claim:
    pairs = {data: (_variance(bests[data, steps]), _variance(bests[data, PEGASOS])) for data in sets}
    return every(
        f"steps {steps}: at the end the variance of the margins is below that of Pegasos",
        "a much more symmetrical distribution, with smaller variance",
        {data: ours < theirs for data, (ours, theirs) in pairs.items()},
        "; " + "; ".join(f"{data} {ours:.3g}, Pegasos {theirs:.3g}" for data, (ours, theirs) in pairs.items()),
    )


def _more_symmetric(bests: Bests, sets: Sequence[str], steps: str) -> Claim:
    pairs = {data: (bests[data, steps].end("skew"), bests[data, PEGASOS].end("skew")) for data in sets}
    return every(
        f"steps {steps}: at the end the mean skew of the margins is nearer to 0 than that of Pegasos",
        "a much more symmetrical distribution, with smaller variance",
        {data: abs(ours) < abs(theirs) for data, (ours, theirs) in pairs.items()},
        "; " + "; ".join(f"{data} {ours:.2f}, Pegasos {theirs:.2f}" for data, (ours, theirs) in pairs.items()),
    )


def _rising(bests: Bests, sets: Sequence[str], steps: str) -> Claim:
    falls = {}
    for data in sets:
        mean = bests[data, steps].mean("mean")
        way = float(mean.max() - mean.min())
        falls[data] = float(np.max(np.maximum.accumulate(mean) - mean)) / way if way > 0 else 0.0
    return every(
        f"steps {steps}: the mean margin never falls by more than {_RISES:.0%} of the way that it goes in all",
        "pushes the margin location up in a monotonic fashion",
        {data: fall <= _RISES for data, fall in falls.items()},
        "; largest falls " + ", ".join(f"{data} {fall:.1%}" for data, fall in falls.items()),
    )


def _peaking(bests: Bests, sets: Sequence[str]) -> Claim:
    told, words = {}, []
    for data in sets:
        best = bests[data, PEGASOS]
        mean = best.mean("mean")
        top = int(np.argmax(mean))
        told[data] = bool(mean[-1] <= _PEAKED * mean[top] and best.gradients[top] <= 0.5 * best.gradients[-1])
        words.append(
            f"{data} {mean[top]:.3g} after {best.gradients[top]:,.0f} of {best.gradients[-1]:,.0f}, "
            f"{mean[-1]:.3g} at the end"
        )
    return every(
        f"Pegasos: the mean margin peaks in the first half and ends below {_PEAKED:.0%} of the peak",
        "Pegasos, whose empirical distribution peaks early and slowly settles down over time",
        told,
        "; " + "; ".join(words),
    )


def _error(best: Best) -> str:
    return f"{best.error():.2%} ± {best.standard_error():.2%}"


def _variance(best: Best) -> float:
    return float(np.mean(best.values["standard_deviation"][:, -1] ** 2))
