"""One averaged logistic pass, end to end through ``fit``, beside scikit-learn's and beside a bare pass of dot products.

Run as ``python benchmarks/throughput.py``. Times are the best of five, taken in turn; rows are shuffled. The bare pass
reads the same rows in the same order and does nothing but their dot products with one vector, once as a plain loop and
once with the training loop's prefetching. The last column, accuracy, shows that both did the work. The lines below the
table have the ratios to scikit-learn's time for sparse and for dense rows, and the machine.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import SGDClassifier

import problems
import sgdone
from files_process import machine
from sgdone.kernels.instructions import AHEAD
from sgdone.kernels.jit import compiled
from sgdone.kernels.rows import RowAccess
from sgdone.rows.rows import Rows
from sgdone.rows.source import shuffled

COLD = """
import time; start = time.perf_counter()
import numpy as np
from sgdone import SGDClassifier
imported = time.perf_counter()
X = np.random.default_rng(0).standard_normal((1000, 54))
SGDClassifier(stop=1).fit(X, X[:, 0] > 0)
print(imported - start, time.perf_counter() - imported)
"""


def plain_dots(access: RowAccess) -> Callable[..., None]:
    """Dot products of rows with one vector, one row after the other."""
    dot = access.dot

    @compiled(dot)
    def loop(rows: Any, order: Any, upcoming: Any, weights: Any, offsets: Any, out: Any) -> None:
        for position in range(order.size):
            out[position], _ = dot(rows, order[position], weights, offsets)

    return loop


def prefetched_dots(access: RowAccess) -> Callable[..., None]:
    """The same with rows prefetched as the training loop prefetches them."""
    dot, fetch = access.dot, access.fetch

    @compiled(dot)
    def loop(rows: Any, order: Any, upcoming: Any, weights: Any, offsets: Any, out: Any) -> None:
        for position in range(order.size):
            fetch(rows, upcoming[position])
            if position + AHEAD < order.size:
                fetch(rows, order[position + AHEAD])
            out[position], _ = dot(rows, order[position], weights, offsets)

    return loop


def bare(X: Any, make_loop: Callable[[RowAccess], Callable[..., None]]) -> Callable[[], None]:
    """A whole bare pass over shuffled rows; the order is made outside the clock."""
    rows = Rows.of(X)
    orders = list(shuffled(rows.n_rows, np.random.default_rng(0)))
    shape = (1, rows.n_features) if rows.access.vectors_first else (rows.n_features, 1)
    weights, offsets, out = np.ones(shape, X.dtype), np.zeros((1, 2)), np.empty(rows.n_rows)
    loop = make_loop(rows.access)

    def run() -> None:
        for order in orders:
            loop(rows.arrays, order.rows, order.upcoming, weights, offsets, out)

    return run


def best_of(repeats: int, *contenders: Callable[[], Any]) -> list[float]:
    """The best time of each, taken in turn."""
    times = np.empty((repeats, len(contenders)))
    for repeat in range(repeats):
        for k, contender in enumerate(contenders):
            start = time.perf_counter()
            contender()
            times[repeat, k] = time.perf_counter() - start
    return list(times.min(axis=0))


def cold_lines(console: Console) -> None:
    """Import and first fit in a new process, with an empty and with a warm disk cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for what in ("first fit ever (empty disk cache)", "first fit of a process (warm disk cache)"):
            done = subprocess.run(
                [sys.executable, "-c", COLD], env=environment, capture_output=True, text=True, check=True
            )
            imported, fitted = map(float, done.stdout.split())
            console.print(f"cold: {what}: import {imported:.2f} s, fit of 1000 × 54 {fitted:.2f} s")


def compare(X: Any, y: Any, repeats: int) -> tuple[list[float], list[float]]:
    """Times of sgdone, scikit-learn and the two bare passes; accuracies of the two models."""
    ours = sgdone.SGDClassifier(solver="asgd", stop=1, random_state=0)
    theirs = SGDClassifier(loss="log_loss", average=True, max_iter=1, tol=None, random_state=0)
    contenders = [
        lambda: ours.fit(X, y),
        lambda: theirs.fit(X, y),
        bare(X, plain_dots),
        bare(X, prefetched_dots),
    ]
    best_of(1, *contenders)
    return best_of(repeats, *contenders), [ours.score(X, y), theirs.score(X, y)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    arguments = parser.parse_args()
    share = 10 if arguments.quick else 1
    makers: dict[str, Callable[[Any], tuple[Any, Any]]] = {
        "sparse 360k×47k": lambda dtype: problems.rcv1_like(dtype, 360_000 // share),
        "dense 500k×54": lambda dtype: problems.dense(dtype, 500_000 // share, 54),
        "dense 60k×784": lambda dtype: problems.dense(dtype, 60_000 // share, 784),
    }
    table = Table(title="One averaged logistic pass: seconds (best of five, in turn) and ratios")
    for heading in (
        "data",
        "dtype",
        "sgdone",
        "sklearn",
        "ours/theirs",
        "bare dots",
        "ratio",
        "prefetched",
        "ratio",
        "accuracy",
    ):
        table.add_column(heading, justify="left" if heading in ("data", "dtype") else "right", no_wrap=True)
    ratios: dict[str, list[float]] = {"sparse": [], "dense": []}
    for name, make in makers.items():
        for dtype in (np.float32, np.float64):
            (ours, theirs, plain, prefetched), accuracy = compare(*make(dtype), arguments.repeats)
            ratios[name.split()[0]].append(ours / theirs)
            table.add_row(
                name,
                np.dtype(dtype).name,
                f"{ours:.4f}",
                f"{theirs:.4f}",
                f"[bold]{ours / theirs:.2f}[/]",
                f"{plain:.4f}",
                f"[bold]{ours / plain:.2f}[/]",
                f"{prefetched:.4f}",
                f"{ours / prefetched:.2f}",
                f"{accuracy[0]:.3f} / {accuracy[1]:.3f}",
            )
    console = Console(width=130)
    console.print(table)
    for kind, found in ratios.items():
        console.print(f"time of sgdone / time of scikit-learn, {kind} rows: {min(found):.2f} to {max(found):.2f}")
    console.print(machine())
    cold_lines(console)


if __name__ == "__main__":
    main()
