"""Fits over partitions: how far from the optimum, in how many rounds, and with how many bytes.

Run as ``python benchmarks/cluster.py``; ``--rows 100000 --partitions 1 16`` takes about a minute. Generated logistic
data, dense with 50 columns and sparse with 20,000, are divided into partitions in random order, sorted by class and
sorted by a feature. Partitions are computed one after the other in this process: no engine takes part, and seconds are
those of one thread.

The excess is that of the training objective over its minimum at the same penalty, in units of the estimation noise
p/(2n). The minimum is found by scikit-learn. Distances are the largest of a coefficient, times the unit of its column:
to the minimum ("to exact") and to `LinearClassifier` on one machine ("to single"), whose own excess is in the title;
its penalty differs. Test losses are less those of the minimum and of `LinearClassifier`. Bytes sent are those of an
engine that keeps nothing at its workers, new ones those of an engine that keeps what it has sent.
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
from sgdone.cluster import LocalEngine, Partition, PartitionedRows
from sgdone.fit.fit import fit
from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.options import FitOptions

ORDERS = ("random", "by class", "by a feature")
TEST_ROWS = 50_000


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


def objective(data: Data, scale: np.ndarray, alpha: float, coef: np.ndarray, intercept: float) -> float:
    scaled = coef * scale
    return mean_loss(data.X, data.y, coef, intercept) + 0.5 * alpha * float(scaled @ scaled)


class Minima:
    """Minima of the objective by penalty, each found once."""

    def __init__(self, data: Data, model: FittedModel) -> None:
        units = model.results[0].state.units
        # A column that never occurs has the coefficient 0, whatever its unit.
        scale, shift = np.where(units.scale > 0, units.scale, 1.0), units.shift
        self._data, self.scale, self._known = data, scale, dict[float, tuple[np.ndarray, float]]()
        self._shift = np.zeros(scale.size) if sparse.issparse(data.X) else shift
        self._rows = data.X @ sparse.diags_array(1.0 / scale) if sparse.issparse(data.X) else (data.X - shift) / scale
        self._last = np.zeros(scale.size), 0.0

    def at(self, alpha: float) -> tuple[np.ndarray, float]:
        """Coefficients and intercept, in the user's units."""
        if alpha not in self._known:
            solver = (
                {"solver": "lbfgs", "max_iter": 10_000}
                if sparse.issparse(self._rows)
                else {"solver": "newton-cholesky"}
            )
            found = LogisticRegression(C=1.0 / (alpha * self._data.y.size), tol=1e-9, warm_start=True, **solver)
            found.coef_, found.intercept_ = self._last[0][None].copy(), np.array([self._last[1]])
            found.fit(self._rows, self._data.y)
            self._last = found.coef_[0], float(found.intercept_[0])
            coef = found.coef_[0] / self.scale
            self._known[alpha] = coef, float(found.intercept_[0] - coef @ self._shift)
        return self._known[alpha]

    def excess(self, alpha: float, coef: np.ndarray, intercept: float) -> float:
        """That of the training objective over its minimum, in units of p/(2n)."""
        own = objective(self._data, self.scale, alpha, coef, intercept)
        best = objective(self._data, self.scale, alpha, *self.at(alpha))
        return (own - best) * 2.0 * self._data.y.size / self._data.X.shape[1]


def compare(data: Data, partitions: list[int], console: Console) -> None:
    began = time.perf_counter()
    single = LinearClassifier(random_state=0).fit(data.X, data.y)
    seconds = time.perf_counter() - began
    alone = single.coef_[0], float(single.intercept_[0])
    test = mean_loss(data.X_test, data.y_test, *alone)
    heads = ("to exact", "to single", "test − exact", "test − single", "rounds", "MB sent", "new", "back", "s")
    table = Table("parts", "order", "excess", *heads)
    minima: Minima | None = None
    for count in partitions:
        for name in ORDERS:
            parts = [Partition(k, data.X[i], data.y[i]) for k, i in enumerate(np.array_split(data.order(name), count))]
            began = time.perf_counter()
            rows = PartitionedRows(LocalEngine(parts))
            model = fit(rows, FitOptions.of("LinearClassifier", random_state=0))
            elapsed = time.perf_counter() - began
            del parts
            minima = minima or Minima(data, model)
            alpha, own = model.alpha_, (model.coef_[0], float(model.intercept_[0]))
            exact = minima.at(alpha)
            far = [np.abs((own[0] - other[0]) * minima.scale).max() for other in (exact, alone)]
            found = mean_loss(data.X_test, data.y_test, *own)
            gained = found - mean_loss(data.X_test, data.y_test, *exact), found - test
            names = ("bytes_sent", "bytes_new", "bytes_received")
            megabytes = (f"{sum(getattr(own, name) for own in rows.rounds) / 1e6:.1f}" for name in names)
            table.add_row(
                str(count),
                name,
                f"{minima.excess(alpha, *own):.1e}",
                *(f"{distance:.1e}" for distance in far),
                *(f"{loss:+.1e}" for loss in gained),
                str(len(rows.rounds)),
                *megabytes,
                f"{elapsed:.1f}",
            )
            console.print(f"{data.name}, {count} partitions {name}: penalty {alpha:.3g}, {elapsed:.1f} s", style="dim")
    assert minima is not None
    table.title = (
        f"{data.name}, {data.X.shape[0]:,} × {data.X.shape[1]:,}; one machine: {seconds:.1f} s, penalty "
        f"{single.alpha_:.3g}, excess {minima.excess(single.alpha_, *alone):.1e}, test loss {test:.5f}"
    )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--data", nargs="+", choices=("dense", "sparse"), default=["dense", "sparse"])
    given = parser.parse_args()
    for name in given.data:
        made = dense_data(given.rows) if name == "dense" else sparse_data(given.rows)
        compare(made, given.partitions, Console(width=140))


if __name__ == "__main__":
    main()
