"""Fits over partitions: how far from the optimum, in how many rounds, and with how many bytes.

Run as ``python benchmarks/cluster.py``; ``--rows 100000 --partitions 1 16`` takes about a minute. Generated logistic
data, dense with 50 columns and sparse with 20,000, are divided into partitions in random order, sorted by class and
sorted by a feature. Partitions are computed one after the other in this process: no engine takes part, and seconds are
those of one thread.

The excess is that of the training objective over its minimum at the same penalty, in units of the estimation noise
p/(2n). The minimum of dense rows is found by scikit-learn, that of sparse ones by a fit to one partition with a smaller
tolerance. Test losses are less that of `LinearClassifier`. Bytes sent are those of an engine that keeps nothing at its
workers, new ones those of an engine that keeps what it has sent.
"""

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from sgdone import LinearClassifier
from sgdone.cluster import ClusterFit, Partition, fit_partitions, run_here

ORDERS = ("random", "by class", "by a feature")
TEST_ROWS = 50_000
#: Decrement of the reference for sparse rows.
SMALL = 1e-13


@dataclass(frozen=True)
class Data:
    """Training and test rows."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    def order(self, name: str) -> np.ndarray:
        """Row numbers in one of the `ORDERS`."""
        if name == "random":
            return np.random.default_rng(1).permutation(self.y.size)
        column = self.X[:, [0]].toarray().ravel() if sparse.issparse(self.X) else self.X[:, 0]
        return np.argsort(self.y if name == "by class" else column, kind="stable")


def dense_data(n_rows: int, n_features: int = 50) -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows + TEST_ROWS, n_features)) * np.logspace(-1, 1, n_features) + 3.0
    return divided("dense", X, (X - 3.0) @ (rng.standard_normal(n_features) / 4 / np.logspace(-1, 1, n_features)), rng)


def sparse_data(n_rows: int, n_features: int = 20_000, length: int = 20) -> Data:
    """Columns whose frequencies fall as their number."""
    rng = np.random.default_rng(0)
    lengths = rng.poisson(length, n_rows + TEST_ROWS)
    shares = 1.0 / (10.0 + np.arange(n_features))
    columns = rng.choice(n_features, size=lengths.sum(), p=shares / shares.sum())
    X = sparse.csr_array((np.ones(columns.size), columns, np.append(0, np.cumsum(lengths))), (lengths.size, n_features))
    X.sum_duplicates()
    return divided("sparse", X, X @ (0.5 * rng.standard_normal(n_features)), rng)


def divided(name: str, X: Any, scores: np.ndarray, rng: np.random.Generator) -> Data:
    y = (rng.random(scores.size) < 1.0 / (1.0 + np.exp(-scores))).astype(np.int64)
    return Data(name, X[TEST_ROWS:], y[TEST_ROWS:], X[:TEST_ROWS], y[:TEST_ROWS])


def mean_loss(X: Any, y: np.ndarray, coef: np.ndarray, intercept: float) -> float:
    return float(np.logaddexp(0.0, -np.where(y == 1, 1.0, -1.0) * (X @ coef + intercept)).mean())


def objective(data: Data, fit: ClusterFit, coef: np.ndarray, intercept: float) -> float:
    scaled = coef * fit.units.scale
    return mean_loss(data.X, data.y, coef, intercept) + 0.5 * fit.objective.penalty * float(scaled @ scaled)


def minimum(data: Data, fit: ClusterFit) -> tuple[np.ndarray, float]:
    """Coefficients and intercept at the minimum, with the penalty of a fit."""
    alpha = fit.objective.penalty
    if sparse.issparse(data.X):
        exact = fit_partitions(run_here([Partition(0, data.X, data.y)]), alpha=alpha, tol=SMALL).model
        return exact.coef[0], float(exact.intercept[0])
    scale, shift = fit.units.scale, fit.units.shift
    found = LogisticRegression(C=1.0 / (alpha * data.y.size), tol=1e-8, solver="newton-cholesky")
    found.fit((data.X - shift) / scale, data.y)
    coef = found.coef_[0] / scale
    return coef, float(found.intercept_[0] - coef @ shift)


def compare(data: Data, partitions: list[int], console: Console) -> None:
    began = time.perf_counter()
    single = LinearClassifier(random_state=0).fit(data.X, data.y)
    seconds = time.perf_counter() - began
    test = mean_loss(data.X_test, data.y_test, single.coef_[0], single.intercept_[0])
    title = (
        f"{data.name}, {data.X.shape[0]:,} × {data.X.shape[1]:,}; one machine: {seconds:.1f} s, test loss {test:.5f}"
    )
    table = Table(
        "partitions", "order", "excess / noise", "coef", "test loss", "rounds", "MB sent", "MB new", "MB back", "s"
    )
    table.title = title
    known: dict[float, tuple[np.ndarray, float]] = {}
    for count in partitions:
        for name in ORDERS:
            parts = [Partition(k, data.X[i], data.y[i]) for k, i in enumerate(np.array_split(data.order(name), count))]
            began = time.perf_counter()
            fit = fit_partitions(run_here(parts))
            seconds = time.perf_counter() - began
            alpha = fit.objective.penalty
            if alpha not in known:
                known[alpha] = minimum(data, fit)
            own = fit.model.coef[0], float(fit.model.intercept[0])
            excess = objective(data, fit, *own) - objective(data, fit, *known[alpha])
            noise = data.X.shape[1] / (2.0 * data.y.size)
            far = np.abs((own[0] - known[alpha][0]) * fit.units.scale).max()
            gained = mean_loss(data.X_test, data.y_test, *own) - test
            cells = count, name, f"{excess / noise:.1e}", f"{far:.1e}", f"{gained:+.5f}", len(fit.rounds)
            megabytes = (f"{size / 1e6:.2f}" for size in (fit.bytes_sent, fit.bytes_new, fit.bytes_received))
            table.add_row(*map(str, cells), *megabytes, f"{seconds:.1f}")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--data", nargs="+", choices=("dense", "sparse"), default=["dense", "sparse"])
    given = parser.parse_args()
    for name in given.data:
        made = dense_data(given.rows) if name == "dense" else sparse_data(given.rows)
        compare(made, given.partitions, Console(width=120))


if __name__ == "__main__":
    main()
