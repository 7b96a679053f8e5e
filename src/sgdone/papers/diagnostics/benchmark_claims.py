"""What Chee & Toulis (2018), section 4.4, say about Figure 3."""

from collections.abc import Sequence

import numpy as np

from sgdone.papers.claims import Claim, every
from sgdone.papers.diagnostics.courses import AVERAGED, CLASSICAL, HALF, VARIANCE_REDUCED, Array
from sgdone.papers.experiment import Row

MNIST, COVERTYPE = "MNIST", "COVERTYPE"
#: Of the data, before which ISGD½ is said to have converged.
QUARTER = 0.25
#: A course has converged, or is flat, where its mean error is within this factor of that at the end.
CONVERGED = 1.05
#: Errors within this factor of each other are comparable; an error within it of the best performs well.
COMPARABLE = 1.1
#: A method is stable if the worst step size of its grid is within this factor of the best.
STABLE = 1.2
#: A course is unstable if its rises sum to so many times those of another.
UNSTABLE = 2.0
#: Passes from which on rises count: SVRG then makes its first steps.
_LATE = 1.0

_SAME_PLACE = "with features standardised and parameters tuned all methods come to the minimiser of the log loss"

#: Errors by data set and method: runs × passes.
Courses = dict[tuple[str, str], Array]


def courses_of(rows: Sequence[Row]) -> tuple[Courses, Array]:
    """Measured errors, and the passes at which they were measured."""
    gathered: dict[tuple[str, str], dict[int, list[float]]] = {}
    for row in rows:
        if row["stage"] == "measured":
            runs = gathered.setdefault((row["data"], row["method"]), {})
            runs.setdefault(row["run"], []).append(row["error"])
    passes = sorted({row["passes"] for row in rows if row["stage"] == "measured"})
    return {key: np.array(list(runs.values())) for key, runs in gathered.items()}, np.array(passes)


def claims_of_benchmarks(rows: Sequence[Row]) -> list[Claim]:
    """One claim a sentence."""
    courses, passes = courses_of(rows)
    ends = {key: float(errors[:, -1].mean()) for key, errors in courses.items()}
    sets = list(dict.fromkeys(data for data, _ in courses))
    return [
        *(_quickly(courses, passes, data) for data in sets),
        _best_of_all(ends, courses),
        every(
            f"SVRG's error at the end is within a factor of {COMPARABLE:g} of ISGD½'s",
            "SVRG performed comparably to ISGD½",
            {data: 1 / COMPARABLE <= ends[data, VARIANCE_REDUCED] / ends[data, HALF] <= COMPARABLE for data in sets},
            ", ratios " + ", ".join(f"{ends[data, VARIANCE_REDUCED] / ends[data, HALF]:.3f}" for data in sets),
        ),
        _fluctuation(courses, passes),
        _stable_steps(rows, sets),
        _careful_tuning(rows, sets),
        Claim(
            f"MNIST: averaged ISGD ends within a factor of {COMPARABLE:g} of the best method",
            "averaged SGD performed well on the MNIST data set",
            f"{ends[MNIST, AVERAGED]:.2%}; the best has {_least(ends, MNIST):.2%}",
            ends[MNIST, AVERAGED] <= COMPARABLE * _least(ends, MNIST),
        ),
        _flattened(ends, courses[COVERTYPE, AVERAGED], passes),
    ]


def _quickly(courses: Courses, passes: Array, data: str) -> Claim:
    means = {method: courses[data, method].mean(axis=0) for method in (HALF, CLASSICAL, AVERAGED)}
    there = {method: float(mean[passes >= QUARTER][0]) for method, mean in means.items()}
    ours = means[HALF]
    outside = passes[(ours > CONVERGED * ours[-1]) | (ours < ours[-1] / CONVERGED)]
    since = float(passes[passes > outside.max(initial=-1.0)].min())
    holds = since <= QUARTER
    others = (f"{method} has {there[method] / means[method][-1]:.2f} times" for method in (CLASSICAL, AVERAGED))
    return Claim(
        f"{data}: after {QUARTER:g} passes ISGD½'s mean error stays within a factor {CONVERGED:g} of that at the end",
        "ISGD½ converges very quickly, after going over less than a quarter of the data",
        f"{there[HALF]:.2%} after {QUARTER:g} passes, {ours[-1]:.2%} at the end; within it from {since:g} passes on",
        holds,
        ""
        if holds
        else f"so few rows do not tell more: after {QUARTER:g} passes {', '.join(others)} its error at the end",
    )


def _best_of_all(ends: dict[tuple[str, str], float], courses: Courses) -> Claim:
    here = {method: end for (data, method), end in ends.items() if data == COVERTYPE}
    spread = {method: courses[COVERTYPE, method][:, -1].std(ddof=1) for method in here}
    holds = min(here, key=lambda method: here[method]) == HALF
    return Claim(
        "COVERTYPE: ISGD½ has the lowest mean error at the end",
        "achieves best performance in the COVERTYPE data set",
        ", ".join(f"{method} {end:.2%} ± {spread[method]:.2%}" for method, end in here.items()),
        holds,
        "" if holds else f"{_SAME_PLACE}: they end within {max(here.values()) - min(here.values()):.2%} of each other",
    )


def _fluctuation(courses: Courses, passes: Array) -> Claim:
    """Rises alone: a method that is still on its way down is not unstable."""
    late = passes >= _LATE
    rises = {
        method: float(np.diff(courses[COVERTYPE, method][:, late], axis=1).clip(min=0.0).sum(axis=1).mean())
        / (passes[-1] - _LATE)
        for method in (HALF, VARIANCE_REDUCED)
    }
    return Claim(
        f"COVERTYPE: from pass {_LATE:g} on the rises of SVRG's error sum to at least {UNSTABLE:g} times ISGD½'s",
        "SVRG's performance was unstable, especially in the COVERTYPE data set",
        f"{rises[VARIANCE_REDUCED]:.2%} a pass, ISGD½ {rises[HALF]:.2%}",
        rises[VARIANCE_REDUCED] >= UNSTABLE * rises[HALF],
    )


def _stable_steps(rows: Sequence[Row], sets: Sequence[str]) -> Claim:
    worst = {data: _sensitivity(rows, data, HALF) for data in sets}
    return every(
        f"ISGD½'s validation error with the worst γ of its grid (1 : 300) is within a factor of {STABLE:g} of the best",
        "ISGD½ was very stable to specifications of the learning rate parameter",
        {data: ratio <= STABLE for data, ratio in worst.items()},
        ", ratios " + ", ".join(f"{ratio:.2f}" for ratio in worst.values()),
    )


def _careful_tuning(rows: Sequence[Row], sets: Sequence[str]) -> Claim:
    worst = {data: _sensitivity(rows, data, VARIANCE_REDUCED) for data in sets}
    return every(
        f"SVRG's validation error with the worst γ of its grid (1 : 300) exceeds {STABLE:g} times the best",
        "SVRG required careful fine tuning of the learning rate",
        {data: ratio > STABLE for data, ratio in worst.items()},
        ", ratios " + ", ".join(f"{ratio:.2f}" for ratio in worst.values()),
    )


def _sensitivity(rows: Sequence[Row], data: str, method: str) -> float:
    """The worst error over the best at the end, over all γ, the other parameter as chosen."""
    tried = [row for row in rows if (row["stage"], row["data"], row["method"]) == ("tuning", data, method)]
    other = next(row["parameters"].partition(", ")[2] for row in tried if row["chosen"])
    errors = [row["error"] for row in tried if row["parameters"].endswith(f", {other}")]
    return float(max(errors) / min(errors))


def _flattened(ends: dict[tuple[str, str], float], errors: Array, passes: Array) -> Claim:
    means = errors.mean(axis=0)
    early = float(means[passes >= QUARTER][0])
    flat = bool(early <= CONVERGED * means[-1])
    above = bool(means[-1] > ends[COVERTYPE, HALF])
    return Claim(
        f"COVERTYPE: averaged ISGD falls by less than a factor of {CONVERGED:g} after {QUARTER:g} passes, "
        "and ends above ISGD½",
        "averaged SGD flattened out very fast in the COVERTYPE data, possibly due to misspecification",
        f"{early:.2%} after {QUARTER:g} passes, {means[-1]:.2%} at the end; ISGD½ {ends[COVERTYPE, HALF]:.2%}",
        flat and above,
        f"flat it is, but not above: {_SAME_PLACE}" if flat and not above else "",
    )


def _least(ends: dict[tuple[str, str], float], data: str) -> float:
    return min(end for (where, _), end in ends.items() if where == data)
