"""The table of honesty: a row for each kind of problem."""

import numpy as np

from .comparison import ERRORS, OBJECTIVE_SHARE, SHARE, compare
from .problems import KINDS, problem_of


def print_table(count: int) -> None:
    """Compare ``count`` problems of each kind, and print a row a kind."""
    print(f"Losses of fresh rows over that of the exact optimum with the same penalty; {count} problems of each kind.")
    print("The errors of a named method are those over a constant prediction's.")
    print(f"Worse: by more than {SHARE:.0%} and {ERRORS:g} standard errors.")
    print("Objective: the training objective over its minimum at the penalty stated, the largest; one that is called")
    print(f"minimised must not exceed it by more than {OBJECTIVE_SHARE:.0e}.")
    heading = (
        f"{'kind':24} {'median':>7} {'largest':>8} {'objective':>10} {'minimised':>10} {'converged':>10} {'worse':>6}"
    )
    print(f"{heading} {'dishonest':>10}")
    dishonest = 0
    for kind in KINDS:
        found = [compare(problem_of(kind, number)) for number in range(count)]
        ratios = sorted(result.loss / result.reference for result in found)
        objective = np.max([result.objective for result in found])
        minimised = sum(result.claims_minimum for result in found)
        converged = sum(result.status == "converged" for result in found)
        worse = sum(result.is_worse for result in found)
        both = sum(result.is_dishonest for result in found)
        dishonest += both
        shown = "" if np.isnan(objective) else f"{objective:.4f}"
        numbers = f"{ratios[count // 2]:7.3f} {ratios[-1]:8.3f} {shown:>10} {minimised:10} {converged:10} {worse:6}"
        print(f"{kind:24} {numbers} {both:10}", flush=True)
    print(f"Called converged while worse, or minimised while it is not: {dishonest} of {count * len(KINDS)}.")
