"""Claims of Holland (2018), section 4, about Figures 3 and 4."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim, Sentence, every, pooled
from sgdone.papers.experiment import Row
from sgdone.papers.margin_pursuit.runs import AS_PEGASOS, PEGASOS, READINGS
from sgdone.papers.tables import Array, by_run, column, grouped

#: An error within this factor of another is competitive with it.
COMPETITIVE = 1.1
#: A curve rises if it never falls below its highest value so far by more than this share of its range.
_RISES = 0.05
#: A curve has peaked if it ends below this share of its highest value.
_PEAKED = 0.9
#: Measurements along a run.
QUANTITIES = (
    "training_error",
    "test_error",
    "mean",
    "median",
    "standard_deviation",
    "lower_quartile",
    "upper_quartile",
    "skew",
)

_COMPETITIVE = Sentence("our proposed procedure is highly competitive with the best setting of Pegasos", "section 4")
_SYMMETRIC = Sentence("On the whole, we see a much more symmetrical distribution", "section 4")
_VARIANCE = Sentence("with smaller variance", "section 4")
_MONOTONIC = Sentence("over iterations pushes the margin location up in a monotonic fashion", "section 4")
_PEAKS = Sentence("Pegasos, whose empirical distribution peaks early and slowly settles down over time", "section 4")
_FIRST_STEPS = (
    "the first steps, 1/λ long, throw the margins far to either side: their mean falls again before it rises slowly"
)
_SKEW = "the margins have the longer tail to the left; why is not known"


@final
@dataclass(frozen=True, eq=False)
class Best:
    """A method with the λ of its lowest mean test error: trials × points for each quantity."""

    alpha: float
    gradients: Array
    values: dict[str, Array]

    def mean(self, quantity: str) -> Array:
        """The mean over trials at each point."""
        return np.asarray(self.values[quantity].mean(axis=0))

    @property
    def errors(self) -> Array:
        """The test errors of the trials at the point where their mean is lowest."""
        return np.asarray(self.values["test_error"][:, int(np.argmin(self.mean("test_error")))])

    def error(self) -> float:
        """The lowest mean test error."""
        return float(self.errors.mean())

    def standard_error(self) -> float:
        """The standard error of the lowest mean test error."""
        return float(self.errors.std(ddof=1) / np.sqrt(self.errors.size)) if self.errors.size > 1 else 0.0

    def end(self, quantity: str) -> float:
        """The mean over trials at the end."""
        return float(self.mean(quantity)[-1])


def bests_of(rows: Sequence[Row]) -> dict[tuple[str, str], Best]:
    """Runs with the best λ of each data set and method."""
    found: dict[tuple[str, str], Best] = {}
    for (data, method, alpha), own in grouped(rows, "data", "method", "lambda").items():
        gradients = column(own, "gradients", trial=own[0]["trial"])
        tried = Best(alpha, gradients, {name: by_run(own, "trial", name) for name in QUANTITIES})
        best = found.setdefault((data, method), tried)
        if tried.mean("test_error").min() < best.mean("test_error").min():
            found[data, method] = tried
    return found


#: By set and method.
Bests = dict[tuple[str, str], Best]


def claims_of_benchmarks(rows: Sequence[Row], steps: str = AS_PEGASOS) -> list[Claim]:
    """Each sentence once, under one reading of the step size."""
    bests = bests_of(rows)
    sets = list(dict.fromkeys(data for data, _ in bests))
    ours, theirs = ({data: bests[data, method] for data in sets} for method in (steps, PEGASOS))
    return [
        _competitive(ours, theirs),
        pooled(
            _SYMMETRIC,
            "at the end of a trial the skew of the margins is nearer to 0 than that of Pegasos",
            _by_trial(ours, theirs, lambda us, them: abs(us["skew"]) < abs(them["skew"])),
            f"; mean skews {_ends(ours, theirs, 'skew')}",
            _SKEW,
            of="trials",
        ),
        pooled(
            _VARIANCE,
            "at the end of a trial the variance of the margins is below that of Pegasos",
            _by_trial(ours, theirs, lambda us, them: us["standard_deviation"] < them["standard_deviation"]),
            f"; mean standard deviations {_ends(ours, theirs, 'standard_deviation')}",
            of="trials",
        ),
        pooled(
            _MONOTONIC,
            f"in a trial the mean margin never falls by more than {_RISES:.0%} of the way that it goes in all",
            {(data, k): _fall(curve) <= _RISES for data, best in ours.items() for k, curve in _means(best)},
            "; median falls "
            + ", ".join(f"{d} {np.median([_fall(c) for _, c in _means(b)]):.0%}" for d, b in ours.items()),
            _FIRST_STEPS,
            of="trials",
        ),
        pooled(
            _PEAKS,
            f"in a trial the mean margin of Pegasos peaks in the first half and ends below {_PEAKED:.0%} of the peak",
            {(data, k): _peaked(best.gradients, curve) for data, best in theirs.items() for k, curve in _means(best)},
            of="trials",
        ),
    ]


def tried_on_benchmarks(rows: Sequence[Row]) -> list[AlsoTried]:
    """The other readings of the step size."""
    return [
        AlsoTried(f"steps {steps}: {claim.reading}", f"{'yes' if claim.holds else 'no'}, {claim.measured}")
        for steps in READINGS
        if steps != AS_PEGASOS
        for claim in claims_of_benchmarks(rows, steps)[:-1]
    ]


def _competitive(ours: Mapping[str, Best], theirs: Mapping[str, Best]) -> Claim:
    return every(
        _COMPETITIVE,
        f"the lowest mean test error is within a factor of {COMPETITIVE:g} of that of Pegasos, on every set",
        {data: best.error() <= COMPETITIVE * theirs[data].error() for data, best in ours.items()},
        "; "
        + "; ".join(
            f"{data} {_error(best)} (λ = {best.alpha:g}), Pegasos {_error(theirs[data])} (λ = {theirs[data].alpha:g})"
            for data, best in ours.items()
        ),
    )


def _by_trial(
    ours: Mapping[str, Best], theirs: Mapping[str, Best], agrees: Callable[[dict[str, float], dict[str, float]], bool]
) -> dict[tuple[str, int], bool]:
    """Compare what is measured at the end of each trial."""
    return {
        (data, k): bool(
            agrees(*({name: values[k, -1] for name, values in b.values.items()} for b in (best, theirs[data])))
        )
        for data, best in ours.items()
        for k in range(len(best.values["mean"]))
    }


def _means(best: Best) -> list[tuple[int, Array]]:
    """The mean margin along each trial."""
    return list(enumerate(best.values["mean"]))


def _fall(curve: Array) -> float:
    """The largest fall from the highest value so far, in units of the range."""
    way = float(curve.max() - curve.min())
    return float(np.max(np.maximum.accumulate(curve) - curve)) / way if way > 0 else 0.0


def _peaked(gradients: Array, curve: Array) -> bool:
    top = int(np.argmax(curve))
    return bool(curve[-1] <= _PEAKED * curve[top] and gradients[top] <= 0.5 * gradients[-1])


def _ends(ours: Mapping[str, Best], theirs: Mapping[str, Best], quantity: str) -> str:
    return ", ".join(f"{d} {b.end(quantity):.2f} (Pegasos {theirs[d].end(quantity):.2f})" for d, b in ours.items())


def _error(best: Best) -> str:
    return f"{best.error():.2%} ± {best.standard_error():.2%}"
