"""How long it takes to find out whether an optimum exists, and how much memory.

Run as ``python benchmarks/separation.py``; ``--small`` takes a twentieth of the rows, ``--only NAME`` one problem.
First beside ``firthmodels.detect_separation`` (pip install firthmodels) on dense 20,000 × 50 in alternating pairs; then
alone, each problem in a process of its own, so that the peak of its memory is its own: data, then data and diagnosis.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse

from sgdone.diagnose import separation

KINDS = ("none", "quasi-complete", "complete")
SHAPES = {"dense": (1_000_000, 50), "sparse": (200_000, 20_000)}
PER_ROW = 50


def dense(kind: str, n: int, d: int) -> tuple[Any, NDArray[np.bool_]]:
    """Gaussian rows; one in a thousand has two more features, which decide its class, mixed into all columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d)
    scores = X @ w
    if kind == "complete":
        return X, scores > 0
    y = rng.random(n) < 1 / (1 + np.exp(-scores))
    if kind == "quasi-complete":
        rare = rng.random(n) < max(1e-3, 20 / n)
        X[~rare, :2] = 0.0
        y = np.where(rare, X[:, 0] + 0.3 * X[:, 1] > 0, y)
        X = X @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    return X, y


def thin(kind: str, n: int, d: int) -> tuple[Any, NDArray[np.bool_]]:
    """Text-like rows; one in twenty has some of 200 more features, a combination of which decides its class."""
    rng = np.random.default_rng(0)
    own = d - 200 if kind == "quasi-complete" else d
    frequency = np.cumsum(1.0 / np.arange(1, own + 1) ** 0.7)
    columns = np.searchsorted(frequency / frequency[-1], rng.random(n * PER_ROW)).clip(0, own - 1)
    starts = np.arange(0, n * PER_ROW + 1, PER_ROW)
    X = sparse.csr_array((rng.exponential(size=n * PER_ROW), columns, starts), (n, own))
    X.sum_duplicates()
    scores = X @ rng.standard_normal(own)
    scores -= np.median(scores)
    if kind == "complete":
        return X, scores > 0
    y = np.where(rng.random(n) < 0.1, scores <= 0, scores > 0)
    if kind == "none":
        return X, y
    rare = np.flatnonzero(rng.random(n) < 0.05)
    extra = sparse.random_array((rare.size, 200), density=0.05, rng=rng, data_sampler=rng.standard_normal).tocsr()
    decided = extra @ rng.standard_normal(200)
    y[rare] = np.where(decided == 0.0, y[rare], decided > 0)
    place = sparse.csr_array((np.ones(rare.size), (rare, np.arange(rare.size))), (n, rare.size))
    return sparse.csr_array(sparse.hstack([X, place @ extra], format="csr")), y


def peak() -> float:
    """Largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def measure(storage: str, kind: str, n: int, d: int) -> dict[str, Any]:
    separation(np.array([[1.0], [2.0]]), [0, 1])
    X, y = dense(kind, n, d) if storage == "dense" else thin(kind, n, d)
    bytes_of_data = X.nbytes if storage == "dense" else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    before, start = peak(), time.perf_counter()
    shape = separation(X, y)
    seconds = time.perf_counter() - start
    after, start = peak(), time.perf_counter()
    holds = shape.certificate is not None and bool(shape.certificate.check(X, y))
    return {
        "kind": shape.kind,
        "rows": int(shape.separable_rows.sum()),
        "seconds": seconds,
        "check": time.perf_counter() - start,
        "holds": holds,
        "data": bytes_of_data / 1e6,
        "before": before,
        "after": after,
    }


def beside_firthmodels(n: int, pairs: int) -> Table | None:
    try:
        from firthmodels import detect_separation
    except ImportError:
        return None
    table = Table(title=f"dense {n:,} × 50 beside firthmodels.detect_separation, {pairs} alternating pairs, medians")
    for column in ("kind", "firthmodels says", "firthmodels, s", "sgdone, s", "with signs, ū, v̄, s", "ratio"):
        table.add_column(column, justify="right")
    for kind in KINDS:
        X, y = dense(kind, n, 50)
        times: dict[str, list[float]] = {"theirs": [], "ours": [], "all": []}
        said = None
        for k in range(pairs + 1):
            for name in ("theirs", "ours", "all") if k % 2 else ("all", "ours", "theirs"):
                start = time.perf_counter()
                if name == "theirs":
                    said = detect_separation(X, y.astype(int)).separation
                else:
                    shape = separation(X, y)
                    if name == "all":
                        _ = shape.infinite, shape.direction, shape.infimum
                if k:
                    times[name].append(time.perf_counter() - start)
        theirs, ours, everything = (float(np.median(times[name])) for name in ("theirs", "ours", "all"))
        table.add_row(kind, str(said), f"{theirs:.3f}", f"{ours:.3f}", f"{everything:.3f}", f"{theirs / ours:.1f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a twentieth of the rows")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", choices=("firthmodels", *SHAPES))
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        storage, kind, n, d = arguments.measure
        print(json.dumps(measure(storage, kind, int(n), int(d))))
        return
    part = 20 if arguments.small else 1
    console = Console(width=130)
    if arguments.only in (None, "firthmodels"):
        console.print(beside_firthmodels(20_000 // part, arguments.pairs) or "firthmodels is not installed")
    table = Table(title="alone: seconds and peak memory")
    for column in (
        "data",
        "found",
        "rows",
        "seconds",
        "check, s",
        "holds",
        "data, MB",
        "peak before, MB",
        "peak after, MB",
    ):
        table.add_column(column, justify="right")
    for storage, (n, d) in SHAPES.items():
        for kind in KINDS if arguments.only in (None, storage) else ():
            rows, columns = n // part, d if storage == "dense" else max(2500, d // part)
            command = [sys.executable, __file__, "--measure", storage, kind, str(rows), str(columns)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            numbers = [f"{found[name]:,.0f}" for name in ("data", "before", "after")]
            times = f"{found['seconds']:.2f}", f"{found['check']:.2f}"
            name = f"{storage} {rows:,} × {columns:,}, {kind}"
            table.add_row(name, found["kind"], f"{found['rows']:,}", *times, str(found["holds"]), *numbers)
    console.print(table)


if __name__ == "__main__":
    main()
