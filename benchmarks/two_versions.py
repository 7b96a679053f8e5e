"""Time of one version of the package over another, from alternating pairs of processes' fits.

Run as ``python benchmarks/two_versions.py BEFORE AFTER`` with two folders that contain ``sgdone`` (``src`` of two
checkouts). Each version is a process of its own that stays alive; fits alternate between them, after a first one that
compiles. The ratio of BEFORE to itself stands beside the others: it is the noise. ``--cold`` adds the first fit ever,
with an empty compile cache.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

SETS = ["a9a", "covertype-2-vs-rest", "mnist-7-vs-9", "reuters-money-fx", "breast-cancer", "digits"]
SETS += ["asgd-dense", "asgd-sparse"]

WORKER = r"""
import json, sys, time, warnings
import numpy as np
import sgdone
from sgdone import datasets
warnings.simplefilter("ignore")
named = getattr(sgdone, "SGDClassifier", sgdone.LinearClassifier)


def load(name):
    if name in ("asgd-dense", "asgd-sparse"):
        rng = np.random.default_rng(0)
        if name == "asgd-dense":
            X = rng.standard_normal((200_000, 54))
        else:
            from scipy import sparse
            X = sparse.random_array((60_000, 47_000), density=70 / 47_000, format="csr", rng=rng)
        return X, (np.asarray(X[:, [0]].sum(axis=1)).ravel() + rng.standard_normal(X.shape[0]) > 0).astype(int)
    data = datasets.load(name)
    return data.X, data.y


sets = {}
for line in sys.stdin:
    name, seed = json.loads(line)
    if name not in sets:
        sets[name] = load(name)
    X, y = sets[name]
    if name.startswith("asgd"):
        model = named(solver="asgd", stop=1, random_state=seed)
    else:
        model = sgdone.LinearClassifier(random_state=seed)
    start = time.perf_counter()
    model.fit(X, y)
    print(json.dumps(time.perf_counter() - start), flush=True)
"""

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

    def __init__(self, path: str) -> None:
        self.environment = os.environ | {"PYTHONPATH": os.path.abspath(path)}  # noqa: PTH100
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=tempfile.gettempdir(),
        )

    def seconds(self, name: str, seed: int) -> float:
        """Time of a fit of a data set."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, seed]) + "\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline()))

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
    parser.add_argument(
        "--sets",
        nargs="*",
        default=SETS,
    )
    options = parser.parse_args()
    before, after = Version(options.before), Version(options.after)
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
    Console(width=110).print(table)


def _three(before: Version, after: Version, name: str, seed: int) -> list[float]:
    """Before, after and before again, in an order that alternates."""
    if seed % 2:
        second, first = after.seconds(name, seed), before.seconds(name, seed)
    else:
        first, second = before.seconds(name, seed), after.seconds(name, seed)
    return [first, second, before.seconds(name, seed)]


if __name__ == "__main__":
    main()
