"""The default fit on raw tables of numbers, categories, dates and text, beside skrub, LightGBM and Vowpal Wabbit.

Run as ``SGDONE_DATA=FOLDER python benchmarks/tables.py --out FILE.json --plot FILE.png`` after ``pip install skrub
lightgbm vowpalwabbit``. Each table is split at random five times, a quarter of the rows for testing. Ours is fitted
with nothing set. skrub is what ``skrub.tabular_pipeline`` puts before ``LogisticRegression`` or ``Ridge``, with five
penalties, the best of which is chosen by the test rows. LightGBM and Vowpal Wabbit (one pass over its text format, a
namespace for each column) have their defaults.

Seconds are those from the raw frame to the model, in one thread, the encoding counted in each of skrub's fits. Compiled
code is warm; ``--cold`` says what it costs when it is not.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from threadpoolctl import threadpool_limits

import tables_data
from tables_cold import cold
from tables_data import Split
from tables_fit import Fit
from tables_ours import ours
from tables_peers import lightgbm, skrub, vowpal
from tables_report import Outcome, report

METHODS: dict[str, Callable[[Split], list[Fit]]] = {"ours": ours, "skrub": skrub, "LightGBM": lightgbm, "VW": vowpal}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", action="append", choices=list(tables_data.TABLES), help="may be given several times")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--splits", type=int, default=5, help="at least 2")
    parser.add_argument("--rows", type=int, help="a random sample of so many rows of each table")
    parser.add_argument("--out", type=Path, help="all numbers as JSON")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--cold", action="store_true", help="also time first fits, in processes of their own")
    arguments = parser.parse_args()
    console = Console(width=130)
    outcomes = []
    for name in arguments.data or tables_data.TABLES:
        outcomes.append(_fitted(name, arguments, console))
        if arguments.out is not None:
            arguments.out.write_text(json.dumps([asdict(one) for one in outcomes], indent=1))
    for table in report(outcomes):
        console.print(table)
    if arguments.cold:
        console.print(cold())
    if arguments.plot is not None:
        from tables_plot import draw

        draw(outcomes, arguments.plot)


def _fitted(name: str, arguments: argparse.Namespace, console: Console) -> Outcome:
    frame, y = tables_data.load(name, arguments.rows)
    outcome = Outcome(name, len(frame), bool(y.dtype.kind == "f"), {method: [] for method in arguments.methods})
    for split in tables_data.splits(frame, y, arguments.splits):
        for method in arguments.methods:
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fits = METHODS[method](split)
            if fits:
                outcome.fits[method].append(fits)
                best = min(fits, key=lambda fit: fit.loss)
                told = f"{best.setting} {best.cpu:.3g} s, of which {best.encoding:.3g} s encoding; loss {best.loss:.5g}"
                console.print(
                    f"{name} {split.seed} {method}: {told}, error {best.error:.4g} {best.note}", highlight=False
                )
    return outcome


if __name__ == "__main__":
    main()
