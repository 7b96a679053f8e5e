"""How much a default fit depends on its seed: one split of each raw table, fitted with several seeds.

Run as ``SGDONE_DATA=FOLDER python benchmarks/seeds.py --out FILE.json``. A quarter of the rows are test rows, the same
for all seeds. For each table: the largest test loss over the median of the seeds, the number of different ``alpha_``
and their range, the share of fits that converged, passes and seconds of the processor, and the phase that ended the
fit. The loss is the log loss, or the mean squared error. Tables are fitted in worker processes with one thread each.
"""

import argparse
import json
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

import tables_data
from sgdone import LinearClassifier, LinearRegressor


@dataclass(frozen=True)
class SeedFit:
    """One fit: test loss, penalty, verdict, and seconds of the processor."""

    seed: int
    loss: float
    alpha: float
    status: str
    rule: str
    passes: float
    cpu: float
    verdict: str


def fit(split: tables_data.Split, seed: int) -> SeedFit:
    """Fit the training rows with a seed."""
    model: Any = (LinearRegressor if split.is_regression else LinearClassifier)(random_state=seed)
    began = time.process_time()
    model.fit(split.X, split.y)
    cpu = time.process_time() - began
    if split.is_regression:
        loss = float(np.mean((model.predict(split.X_test) - split.y_test) ** 2))
    else:
        loss = float(log_loss(split.y_test, model.predict_proba(split.X_test), labels=model.classes_))
    verdict = model.verdict_
    alpha, passes = float(model.alpha_), float(verdict.passes)
    return SeedFit(seed, loss, alpha, str(verdict.status), verdict.rule, passes, cpu, str(verdict))


def row(name: str, fits: list[SeedFit]) -> list[str]:
    """The line of a table."""
    losses, alphas = np.array([one.loss for one in fits]), [one.alpha for one in fits]
    different = len({float(f"{alpha:.6g}") for alpha in alphas})
    converged = sum(one.status == "converged" for one in fits)
    rules = ", ".join(f"{rule or '–'} {count}" for rule, count in Counter(one.rule for one in fits).items())
    passes, cpu = np.array([one.passes for one in fits]), np.array([one.cpu for one in fits[1:] or fits])
    return [
        name,
        f"{np.median(losses):.5g}",
        f"{losses.max() / np.median(losses):.4f}",
        f"{different}",
        f"{min(alphas):.2g} … {max(alphas):.2g}",
        f"{converged}/{len(fits)}",
        f"{np.median(passes):.3g} ({passes.max():.3g})",
        f"{np.median(cpu):.2f} ({cpu.max():.2f})",
        rules,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=list(tables_data.ALL_TABLES), default=None)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, help="a random sample of so many rows of each table")
    parser.add_argument("--out", type=Path, help="all numbers as JSON")
    arguments = parser.parse_args()
    console, found = Console(width=150), dict[str, list[SeedFit]]()
    headings = "table", "median loss", "largest/median", "alphas", "range", "converged", "passes", "CPU s", "rules"
    lines = Table(*headings, title=f"{arguments.seeds} seeds")
    for name in arguments.data or tables_data.ALL_TABLES:
        split = next(tables_data.splits(*tables_data.load(name, arguments.rows), 1))
        with threadpool_limits(1):
            found[name] = [fit(split, seed) for seed in range(arguments.seeds)]
        line = row(name, found[name])
        console.print("  ".join(line), highlight=False)
        lines.add_row(*line)
        if arguments.out is not None:
            arguments.out.write_text(json.dumps({key: [asdict(one) for one in fits] for key, fits in found.items()}))
    console.print(lines)


if __name__ == "__main__":
    main()
