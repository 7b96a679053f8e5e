"""The table of honesty: a row for each kind of problem."""

from .comparison import ERRORS, SHARE, compare
from .problems import KINDS, problem_of


def print_table(count: int) -> None:
    """Compare ``count`` problems of each kind, and print a row a kind."""
    print(f"Losses on fresh rows over that of the exact optimum with the same penalty; {count} problems of each kind.")
    print(f"Worse: by more than {SHARE:.0%} and {ERRORS:g} standard errors.")
    print(f"{'kind':24} {'median':>7} {'largest':>8} {'converged':>10} {'worse':>6} {'converged and worse':>20}")
    dishonest = 0
    for kind in KINDS:
        found = [compare(problem_of(kind, number)) for number in range(count)]
        ratios = sorted(result.loss / result.optimum for result in found)
        converged = sum(result.status == "converged" for result in found)
        worse = sum(result.is_worse for result in found)
        both = sum(result.is_dishonest for result in found)
        dishonest += both
        print(f"{kind:24} {ratios[count // 2]:7.3f} {ratios[-1]:8.3f} {converged:10} {worse:6} {both:20}")
    print(f"Called converged while worse: {dishonest} of {count * len(KINDS)}.")
