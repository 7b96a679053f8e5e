"""Print the table of honesty, or how often the verdict's error covers the true loss.

``python -m tests.honesty table [--count N]`` and ``python -m tests.honesty errors [--fits N] [--fresh ROWS]``.
"""

import argparse

from .coverage import print_coverage
from .table import print_table


def main() -> None:
    """Read the arguments, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.honesty", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    table = commands.add_parser("table", help="fits against the exact optimum, by kind of problem")
    table.add_argument("--count", type=int, default=9, help="problems of each kind")
    errors = commands.add_parser("errors", help="how often the true loss lies within 1.96 standard errors")
    errors.add_argument("--fits", type=int, default=200)
    errors.add_argument("--fresh", type=int, default=1_000_000, help="fresh rows for the true loss")
    given = parser.parse_args()
    if given.command == "table":
        print_table(given.count)
    else:
        print_coverage(given.fits, given.fresh)


if __name__ == "__main__":
    main()
