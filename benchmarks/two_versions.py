"""Time of one version of the package over another, from alternating pairs of processes' fits.

Run as ``python benchmarks/two_versions.py BEFORE AFTER`` with two folders that contain ``sgdone`` (``src`` of two
checkouts). Each version is a process of its own that stays alive; fits alternate between them, after a first one that
compiles. They are default fits to data sets, a raw table, a file and partitions of Dask, passes of a named method, and
summaries. The ratio of BEFORE to itself stands beside the others: it is the noise. ``--cold`` adds the first fit ever,
with an empty compile cache.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

#: Data sets of the default fit, and jobs of `two_versions_worker`.
SETS = ["a9a", "covertype-2-vs-rest", "mnist-7-vs-9", "reuters-money-fx", "breast-cancer", "digits"]
SETS += ["asgd-dense", "asgd-sparse", "adult-table", "file", "dask", "summary"]

#: Rows and columns of ``big.csv``.
BIG = 200_000, 20

COLD = """
import time
import numpy as np
start = time.perf_counter()
from sgdone import LinearClassifier
rng = np.random.default_rng(0)
X = rng.standard_normal((500, 20))
LinearClassifier(random_state=0).fit(X, X[:, 0] > 0)
print(time.perf_counter() - start)
"""


class Version:
    """A process that fits with one version."""

    def __init__(self, path: str, folder: str) -> None:
        self.environment = os.environ | {"PYTHONPATH": str(Path(path).resolve())}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve().with_name("two_versions_worker.py")), folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=tempfile.gettempdir(),
        )

    def seconds(self, name: str, seed: int) -> float:
        """Time of a job."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, seed]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{name} has failed with {self.environment['PYTHONPATH']}")
        return float(json.loads(answer))

    def cold_seconds(self) -> float:
        """Time of a first fit ever, import included."""
        with tempfile.TemporaryDirectory() as cache:
            environment = self.environment | {"NUMBA_CACHE_DIR": cache}
            command = [sys.executable, "-c", COLD]
            ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=cache)
        return float(ran.stdout)


def row(name: str, times: Any) -> list[str]:
    before, after, again = np.array(times).T
    ratio, noise = after / before, again / before
    low, middle, high = np.quantile(ratio, [0.25, 0.5, 0.75])
    means = f"{after.sum() / before.sum():.3f}"
    return [
        name,
        f"{np.median(before):.4f}",
        f"{middle:.3f}",
        f"{low:.3f} … {high:.3f}",
        means,
        f"{np.median(noise):.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--cold", type=int, default=0, metavar="N", help="pairs of first fits ever")
    parser.add_argument("--sets", nargs="*", default=SETS, help="data sets and jobs; all by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if "file" in options.sets:
            write_big(Path(folder) / "big.csv")
        Console(width=110).print(measured(options, Version(options.before, folder), Version(options.after, folder)))


def write_big(path: Path) -> None:
    """A file that both versions read."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(BIG)
    y = (X @ rng.standard_normal(BIG[1]) / 3 + rng.logistic(size=BIG[0]) > 0).astype(int)
    header = ",".join([*(f"x{number}" for number in range(BIG[1])), "y"])
    np.savetxt(path, np.column_stack([X, y]), fmt=["%.6g"] * BIG[1] + ["%d"], delimiter=",", header=header, comments="")


def measured(options: argparse.Namespace, before: Version, after: Version) -> Table:
    """A row for each job."""
    table = Table(title=f"time after over time before, {options.pairs} alternating pairs; each pair has its own seed")
    for column in ("set", "before, s", "median", "quartiles", "of sums", "before over itself"):
        table.add_column(column, justify="right")
    for name in options.sets:
        for version in (before, after):
            version.seconds(name, 0)
            version.seconds(name, 1)
        table.add_row(*row(name, [_three(before, after, name, seed) for seed in range(options.pairs)]))
    if options.cold:
        times = [[v.cold_seconds() for v in (before, after, before)] for _ in range(options.cold)]
        table.add_row(*row("first fit ever", times))
    return table


def _three(before: Version, after: Version, name: str, seed: int) -> list[float]:
    """Before, after and before again, in an order that alternates."""
    if seed % 2:
        second, first = after.seconds(name, seed), before.seconds(name, seed)
    else:
        first, second = before.seconds(name, seed), after.seconds(name, seed)
    return [first, second, before.seconds(name, seed)]


if __name__ == "__main__":
    main()
