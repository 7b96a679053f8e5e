"""Rows with few positives for `calibration`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy.optimize import brentq
from scipy.special import expit

from sgdone import datasets


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to learn from and to be judged by; ``truth`` holds the test rows' true probabilities where known."""

    name: str
    X: NDArray[Any]
    y: NDArray[np.bool_]
    X_test: NDArray[Any]
    y_test: NDArray[np.bool_]
    truth: NDArray[Any] | None = None


def generated(seed: int, n_rows: int = 100_000, n_features: int = 20, rate: float = 0.01) -> Rows:
    """A logistic model with 1 % positives; features of any unit and any zero."""
    rng = np.random.default_rng(seed)
    standard = rng.standard_normal((2 * n_rows, n_features))
    units = 10.0 ** rng.permutation(np.linspace(-6, 6, n_features))
    scores = standard @ (rng.standard_normal(n_features) * 2.0 / np.sqrt(n_features))
    truth = expit(scores + brentq(lambda b: expit(scores + b).mean() - rate, -50.0, 50.0))
    y = rng.random(2 * n_rows) < truth
    X = units * (standard + 3.0 * rng.standard_normal(n_features))
    train, test = slice(None, n_rows), slice(n_rows, None)
    return Rows("generated, 1 % positive", X[train], y[train], X[test], y[test], truth[test])


def problems(seed: int, small: bool) -> Iterator[Rows]:
    """Generated rows and, where it is at hand, covertype."""
    yield generated(seed, 10_000 if small else 100_000)
    if small:
        return
    try:
        train, test = (datasets.load("covertype-4-vs-rest", subset=subset) for subset in ("train", "test"))
    except datasets.DatasetNotFound as absent:
        Console().print(f"covertype: skipped, {absent}")
        return
    yield Rows("covertype, class 4 v rest", train.X, train.y > 0, test.X, test.y > 0)
