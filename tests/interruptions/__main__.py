"""The command."""

import argparse
import sys
import tempfile
from pathlib import Path

from .cases import run_cases, table


def main() -> int:
    """Run the cases, and print a table; 1 if one of them was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.interruptions",
        description="Fits from files that are killed, or sent a signal, at random moments, and resumed.",
    )
    parser.add_argument("--kills", type=int, default=100, help="fits that are sent SIGKILL")
    parser.add_argument("--signals", type=int, default=100, help="fits that are sent SIGINT or SIGTERM")
    parser.add_argument("--seed", type=int, default=0, help="decides all moments but for the speed of the machine")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="interruptions-") as folder:
        outcomes = []
        for outcome in run_cases(Path(folder), given.kills, given.signals, given.seed):
            outcomes.append(outcome)
            if not outcome.is_right:
                print(outcome, flush=True)
    print(table(outcomes))
    wrong = sum(not outcome.is_right for outcome in outcomes)
    print(f"{len(outcomes)} fits ended at random moments; {wrong} lost something, or left something behind")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
