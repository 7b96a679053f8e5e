"""Seconds that a fit uses over those that `MaxSeconds` allows, where Newton's method stalls and with five classes.

Run as ``python benchmarks/seconds_allowed.py``. Each row is the median and the largest of several fits after a first
one that compiles. The seconds are those of the whole call of ``fit``, what comes after training included.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier
from sgdone.stopping import MaxSeconds

FITS = 5


def few_rows(n_rows: int) -> tuple[Any, Any]:
    """A regression with fewer rows than columns: without a penalty Newton's method stalls on a robust loss."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 4 * n_rows // 3))
    return X, X[:, 0] + rng.standard_t(1.2, n_rows)


def stalling(stop: MaxSeconds) -> LinearRegressor:
    return LinearRegressor(loss="huber", alpha=0, stop=stop, tol=0)


def five_classes(n_rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_rows, 40))
    return X, np.digitize(X[:, 0] + rng.logistic(size=n_rows), [-2, -1, 1, 2])


def heavy_tails(n_rows: int) -> tuple[Any, Any]:
    """A regression with a robust loss."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n_rows, 40))
    return X, X[:, 0] + rng.standard_t(1.2, n_rows)


CASES: dict[str, tuple[Callable[[int], tuple[Any, Any]], int, Callable[[MaxSeconds], Any]]] = {
    "Newton's method stalls": (few_rows, 300, stalling),
    "Newton's method stalls, more rows": (few_rows, 1_200, stalling),
    "five classes, default": (five_classes, 200_000, lambda stop: LinearClassifier(stop=stop, tol=0)),
    "five classes, one model each": (five_classes, 200_000, lambda stop: SGDClassifier(solver="asgd", stop=stop)),
    "huber": (heavy_tails, 200_000, lambda stop: LinearRegressor(loss="huber", stop=stop, tol=0)),
}


def main() -> None:
    """Print the table."""
    table = Table(title=f"seconds used over seconds allowed, {FITS} fits each")
    for column in ("problem", "allowed", "median", "largest", "verdict"):
        table.add_column(column)
    for name, (make, n_rows, estimator) in CASES.items():
        X, y = make(n_rows)
        estimator(MaxSeconds(1)).fit(X, y)
        for allowed in (1.0, 3.0):
            ratios = []
            for _ in range(FITS):
                start = time.perf_counter()
                model = estimator(MaxSeconds(allowed)).fit(X, y)
                ratios.append((time.perf_counter() - start) / allowed)
            verdict = f"{model.verdict_.status} by {model.verdict_.rule}"
            table.add_row(name, f"{allowed:g}", f"{np.median(ratios):.2f}", f"{max(ratios):.2f}", verdict)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
