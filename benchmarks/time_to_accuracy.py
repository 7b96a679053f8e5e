"""How long each method needs until the held-out loss is within 1 % of the exact optimum's.

Run as ``python benchmarks/time_to_accuracy.py --out DIRECTORY`` after ``pip install '.[bench]'``. All minimise the same
objective, mean loss + ½·alpha·‖w‖² with alpha = 1/rows, the default here, which is scikit-learn's default C = 1. Each
method has one number that says how much it may do: rows (of sgdone and of SGDClassifier), passes or iterations. The
least one that gets there with each of three seeds is found by doubling and then halving the bracket; the time is the
median of five fits, whole calls of ``fit`` each, one thread, compiled code warm, evaluation outside the clock.
"""

import argparse
from pathlib import Path

from rich.console import Console
from threadpoolctl import threadpool_limits

import accuracy_data
from accuracy_report import draw, tables, write
from accuracy_search import Outcome, time_to_reach
from contenders import contenders


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="where to put the table (CSV, Markdown) and the picture")
    parser.add_argument("--sets", nargs="+", default=list(accuracy_data.SETS), help="which data sets")
    parser.add_argument("--losses", nargs="+", default=["logistic", "squared_hinge"], help="which losses")
    parser.add_argument("--only", nargs="+", help="methods whose name contains one of these")
    parser.add_argument("--patience", type=float, default=5.0, help="seconds a fit may take before its method gives up")
    arguments = parser.parse_args()
    console = Console(width=150)
    outcomes: list[Outcome] = []
    for name in arguments.sets:
        for loss in arguments.losses:
            try:
                data, target = accuracy_data.load(name, loss)
            except accuracy_data.AbsentError as absent:
                console.print(f"{name}: skipped, {absent}")
                continue
            console.print(f"{name}, {loss}: {data.X.shape}, alpha {data.alpha:g}, optimum's held-out loss {target:.5f}")
            for contender in contenders(loss):
                if arguments.only and not any(part in contender.name for part in arguments.only):
                    continue
                with threadpool_limits(1):
                    outcome = time_to_reach(contender, data, loss, 1.01 * target, arguments.patience)
                console.print(f"  {outcome}")
                outcomes.append(outcome)
    for table in tables(outcomes):
        console.print(table)
    if arguments.out:
        write(outcomes, arguments.out)
        draw(outcomes, arguments.out / "time_to_accuracy.png")


if __name__ == "__main__":
    main()
