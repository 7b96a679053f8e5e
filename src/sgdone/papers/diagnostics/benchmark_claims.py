"""Claims of Chee & Toulis (2018), section 4.4, about Figure 3."""

from collections.abc import Sequence

import numpy as np

from sgdone.papers.claims import AlsoTried, Claim, Sentence, every
from sgdone.papers.diagnostics.tuning import AVERAGED, CLASSICAL, HALF, VARIANCE_REDUCED, measured_curves
from sgdone.papers.experiment import Row
from sgdone.papers.tables import Array, where

#: The sets, as the CSV file has them; the last one is also tried.
MNIST, COVERTYPE, STANDARDISED = "MNIST", "COVERTYPE", "COVERTYPE, standardised"
#: Share of the data after which ISGD½ has converged, according to the paper.
QUARTER = 0.25
#: A curve has converged, or is flat, where its mean error is within this factor of that at the end.
CONVERGED = 1.05
#: Errors within this factor of each other are comparable; an error within it of the best performs well.
COMPARABLE = 1.1
#: A method is stable if its error is within this factor of the best for all γ within `NEAR` of the chosen one.
STABLE, NEAR = 1.2, 10.0
#: A curve is unstable if its rises sum to this many times those of another.
UNSTABLE = 2.0
#: Passes from which on rises count: SVRG then makes its first steps.
_LATE = 1.0
#: Columns of the CSV file: runs and errors.
NAMES = ("run", "error")

_PLACE = "section 4.4"
_QUICKLY = Sentence("ISGD½ convergences very quickly, after going over less than a quarter of the data", _PLACE)
_BEST = Sentence("achieves best performance in the COVERTYPE data set", _PLACE)
_STABLE = Sentence("ISGD½ was also very stable to specifications of the learning rate parameter", _PLACE)
_COMPARABLY = Sentence("SVRG performed comparably to ISGD½", _PLACE)
_UNSTABLE = Sentence("its performance was unstable, especially in the COVERTYPE data set", _PLACE)
_FINE_TUNING = Sentence("required careful fine tuning of the learning rate through trial and error", _PLACE)
_WELL = Sentence("Averaged SGD performed well on the MNIST data set", _PLACE)
_FLATTENED = Sentence("but flattened out very fast in the COVERTYPE data, possibly due to misspecification", _PLACE)

#: Errors by data set and method: runs × passes.
Curves = dict[tuple[str, str], Array]


def errors_of(rows: Sequence[Row]) -> tuple[Array, Curves]:
    """The passes, and the errors measured at them."""
    found = measured_curves(rows, NAMES, "data", "method")
    passes, _ = next(iter(found.values()))
    return passes, {key: errors for key, (_, errors) in found.items()}


def claims_of_benchmarks(rows: Sequence[Row], covertype: str = COVERTYPE) -> list[Claim]:
    """Each sentence once, with COVERTYPE in one of its two scalings."""
    passes, curves = errors_of(rows)
    sets = (MNIST, covertype)
    ends = {key: float(errors[:, -1].mean()) for key, errors in curves.items()}
    ratios = {data: ends[data, VARIANCE_REDUCED] / ends[data, HALF] for data in sets}
    sensitivity = {m: {data: _sensitivity(rows, data, m) for data in sets} for m in (HALF, VARIANCE_REDUCED)}
    return [
        _quickly(curves, passes, sets),
        _best_of_all(ends, curves, covertype),
        every(
            _STABLE,
            f"ISGD½'s validation error with any γ of the grid within a factor of {NEAR:g} of the chosen one is at most "
            f"{STABLE:g} times the best, on both sets",
            {data: ratio <= STABLE for data, ratio in sensitivity[HALF].items()},
            ", ratios " + ", ".join(f"{ratio:.2f}" for ratio in sensitivity[HALF].values()),
        ),
        every(
            _COMPARABLY,
            f"SVRG's error at the end is within a factor of {COMPARABLE:g} of ISGD½'s, on both sets",
            {data: 1 / COMPARABLE <= ratio <= COMPARABLE for data, ratio in ratios.items()},
            ", ratios " + ", ".join(f"{ratio:.3f}" for ratio in ratios.values()),
        ),
        _fluctuation(curves, passes, covertype),
        every(
            _FINE_TUNING,
            f"SVRG's validation error with some γ of the grid within a factor of {NEAR:g} of the chosen one exceeds "
            f"{STABLE:g} times the best, on both sets",
            {data: ratio > STABLE for data, ratio in sensitivity[VARIANCE_REDUCED].items()},
            ", ratios " + ", ".join(f"{ratio:.2f}" for ratio in sensitivity[VARIANCE_REDUCED].values()),
        ),
        Claim(
            _WELL,
            f"MNIST: averaged ISGD ends within a factor of {COMPARABLE:g} of the best method",
            f"{ends[MNIST, AVERAGED]:.2%}; the best has {_least(ends, MNIST):.2%}",
            ends[MNIST, AVERAGED] <= COMPARABLE * _least(ends, MNIST),
        ),
        _flattened(ends, curves[covertype, AVERAGED], passes, covertype),
    ]


def tried_on_benchmarks(rows: Sequence[Row]) -> list[AlsoTried]:
    """The sentences on COVERTYPE with standardised features, and the level of the error with either scaling."""
    _, curves = errors_of(rows)
    levels = [
        f"{_least({key: float(errors[:, -1].mean()) for key, errors in curves.items()}, data):.1%}"
        for data in (COVERTYPE, STANDARDISED)
    ]
    standardised = [
        AlsoTried(f"standardised: {claim.reading}", f"{'yes' if claim.holds else 'no'}, {claim.measured}")
        for claim in claims_of_benchmarks(rows, STANDARDISED)
        if "MNIST" not in claim.reading
    ]
    level = AlsoTried(
        "COVERTYPE: lowest error, features divided by one constant and standardised", " and ".join(levels)
    )
    return [level, *standardised]


def _quickly(curves: Curves, passes: Array, sets: Sequence[str]) -> Claim:
    since, shown, others = {}, [], []
    for data in sets:
        for method in (CLASSICAL, AVERAGED):
            other = curves[data, method].mean(axis=0)
            ratio = other[passes >= QUARTER][0] / other[-1]
            others.append(f"{method} has {ratio:.2f} times its error at the end ({data})")
        ours = curves[data, HALF].mean(axis=0)
        outside = passes[(ours > CONVERGED * ours[-1]) | (ours < ours[-1] / CONVERGED)]
        since[data] = float(passes[passes > outside.max(initial=-1.0)].min())
        there = float(ours[passes >= QUARTER][0])
        shown.append(f"{data} {there:.2%} after {QUARTER:g} passes, {ours[-1]:.2%} at the end, from {since[data]:g} on")
    return every(
        _QUICKLY,
        f"from {QUARTER:g} passes on ISGD½'s mean error is within a factor of {CONVERGED:g} of that at the end, on "
        "both sets",
        {data: begin <= QUARTER for data, begin in since.items()},
        f"; {'; '.join(shown)}",
        f"so few rows do not tell more: after {QUARTER:g} passes {', '.join(others)}",
    )


def _best_of_all(ends: dict[tuple[str, str], float], curves: Curves, covertype: str) -> Claim:
    here = {method: end for (data, method), end in ends.items() if data == covertype}
    spread = {method: curves[covertype, method][:, -1].std(ddof=1) for method in here}
    return Claim(
        _BEST,
        "COVERTYPE: ISGD½ has the lowest mean error at the end",
        ", ".join(f"{method} {end:.2%} ± {spread[method]:.2%}" for method, end in here.items()),
        min(here, key=lambda method: here[method]) == HALF,
        f"the methods end within {max(here.values()) - min(here.values()):.2%} of each other",
    )


def _fluctuation(curves: Curves, passes: Array, covertype: str) -> Claim:
    """Only rises count: a method that is still on its way down is not unstable."""
    late = passes >= _LATE
    rises = {
        method: float(np.diff(curves[covertype, method][:, late], axis=1).clip(min=0.0).sum(axis=1).mean())
        / (passes[-1] - _LATE)
        for method in (HALF, VARIANCE_REDUCED)
    }
    return Claim(
        _UNSTABLE,
        f"COVERTYPE: from pass {_LATE:g} on the rises of SVRG's error sum to more than {UNSTABLE:g} times ISGD½'s",
        f"{rises[VARIANCE_REDUCED]:.2%} a pass, ISGD½ {rises[HALF]:.2%}",
        rises[VARIANCE_REDUCED] > UNSTABLE * rises[HALF],
    )


def _sensitivity(rows: Sequence[Row], data: str, method: str) -> float:
    """The worst error at the end over the best, for γ near the chosen one, the other parameter as chosen."""
    tried = where(rows, stage="tuning", data=data, method=method)
    chosen, other = next(_parts(row) for row in tried if row["chosen"])
    errors = [
        row["error"]
        for row in tried
        for gamma, rest in [_parts(row)]
        if rest == other and 1 / NEAR <= gamma / chosen * (1 + 1e-9) <= NEAR * (1 + 1e-6)
    ]
    return float(max(errors) / min(errors))


def _parts(row: Row) -> tuple[float, str]:
    """γ, and the other parameter."""
    first, _, other = row["parameters"].partition(", ")
    return float(first.partition("= ")[2]), other


def _flattened(ends: dict[tuple[str, str], float], errors: Array, passes: Array, covertype: str) -> Claim:
    means = errors.mean(axis=0)
    early = float(means[passes >= QUARTER][0])
    return Claim(
        _FLATTENED,
        f"COVERTYPE: averaged ISGD falls by less than a factor of {CONVERGED:g} after {QUARTER:g} passes, and ends "
        "above ISGD½",
        f"{early:.2%} after {QUARTER:g} passes, {means[-1]:.2%} at the end; ISGD½ {ends[covertype, HALF]:.2%}",
        bool(early <= CONVERGED * means[-1] and means[-1] > ends[covertype, HALF]),
        "it is flat but not above ISGD½" if early <= CONVERGED * means[-1] else "it still falls after a quarter",
    )


def _least(ends: dict[tuple[str, str], float], data: str) -> float:
    return min(end for (where, _), end in ends.items() if where == data)
