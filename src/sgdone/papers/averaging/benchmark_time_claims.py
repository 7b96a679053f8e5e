"""What Xu (2011), section 6.3, says about time."""

from collections.abc import Sequence

import numpy as np

from sgdone.papers.averaging.benchmark_runs import ASGD, L2SVM, LIBLINEAR, ONLINE_LBFGS
from sgdone.papers.averaging.benchmark_tables import Table
from sgdone.papers.averaging.benchmark_words import GOOD, listed, not_in, points
from sgdone.papers.claims import Claim, every

#: Similar times, here: within this factor.
SIMILAR = 2.0

_DENSE = (
    "its update of 100 rows costs some 50 operations on all features: half of one more for each dense row, but many "
    "times what a sparse row takes"
)


def claims_of_time(table: Table, sets: Sequence[str]) -> list[Claim]:
    """Of a pass, and until an error is reached.

    Parameters
    ----------
    table : Table
        What was measured, with a clock.
    sets : sequence of str
        Those on which an error can be reached.
    """
    return [_pass_time(table), _olbfgs_time(table), *(_less_time(table, loss, sets) for loss in table.losses)]


def _pass_time(table: Table) -> Claim:
    left_out = (ASGD, ONLINE_LBFGS, LIBLINEAR)
    ratios = {m: _median_time(table, m) for m in table.methods(L2SVM) if m not in left_out}
    both = [
        np.median(table.courses[data, L2SVM, LIBLINEAR].seconds[:, -1])
        / np.median(table.courses[data, L2SVM, ASGD].seconds[:, -1])
        for data in table.sets
    ]
    return every(
        f"{L2SVM}: the second pass takes SGD2, SGDQN, Pegasos 1/{SIMILAR:g} to {SIMILAR:g} times as long as ASGD "
        "(our threshold, median over the sets); LIBLINEAR's cannot be told from scikit-learn's copying of the rows",
        "in terms of time spent on one pass of data, ASGD is similar to the other methods except oLBFGS",
        {method: 1 / SIMILAR <= ratio <= SIMILAR for method, ratio in ratios.items()},
        f": {listed(ratios, '{:.2f}')}; LIBLINEAR's two passes with the copying {np.median(both):.1f} times ASGD's",
    )


def _olbfgs_time(table: Table) -> Claim:
    ratio = _median_time(table, ONLINE_LBFGS)
    each = {data: _time(table, data, ONLINE_LBFGS) for data in table.sets}
    return Claim(
        f"{L2SVM}: the second pass takes oLBFGS more than {SIMILAR:g} times as long as ASGD (median over the sets)",
        "similar … except oLBFGS",
        f"{ratio:.2f} times; {listed(each, '{:.1f}')}",
        ratio > SIMILAR,
        "" if ratio > SIMILAR else _DENSE,
    )


def _less_time(table: Table, loss: str, sets: Sequence[str]) -> Claim:
    first, never, lost = 0, 0, {}
    for data in sets:
        goal = table.optima[data, loss][0] + GOOD
        seconds = {m: table.courses[data, loss, m].seconds_to(goal) for m in table.methods(loss)}
        best = min(seconds, key=lambda method, seconds=seconds: seconds[method])  # type: ignore[misc]  # its default
        first += np.isfinite(seconds[ASGD]) and best == ASGD
        never += not np.isfinite(seconds[best])
        if np.isfinite(seconds[best]) and best != ASGD:
            lost[data] = f"{data} ({best} {_seconds(seconds[best])}, ASGD {_seconds(seconds[ASGD])})"
    return Claim(
        f"{loss}: in more than half of the sets ASGD is the first in time to be within {points(GOOD)} of the exact "
        "minimiser's error",
        "ASGD needs less time to reach similar test performance compared to the other methods",
        f"in {first} of {len(sets)}, and nobody within two passes in {never}{not_in(lost)}",
        first > len(sets) / 2,
    )


def _median_time(table: Table, method: str) -> float:
    return float(np.median([_time(table, data, method) for data in table.sets]))


def _time(table: Table, data: str, method: str) -> float:
    return table.courses[data, L2SVM, method].pass_seconds() / table.courses[data, L2SVM, ASGD].pass_seconds()


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if np.isfinite(seconds) else "never"
