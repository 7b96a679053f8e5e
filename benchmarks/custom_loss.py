"""A loss of one's own, two Python functions, beside the built-in it imitates.

Run as ``python benchmarks/custom_loss.py``. Thirty alternating pairs of one averaged pass each; the ratio of medians,
and beside it the ratio of the built-in to itself, which is the noise.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import problems
from sgdone import CustomLoss, LinearClassifier


def value(z: float, y: float) -> float:
    m = y * z
    return max(-m, 0.0) + math.log1p(math.exp(-abs(m)))


def slope(z: float, y: float) -> float:
    m = y * z
    e = math.exp(-abs(m))
    return -y * (e if m > 0.0 else 1.0) / (1.0 + e)


def ratio(first: Callable[[], Any], second: Callable[[], Any], pairs: int = 30) -> float:
    """Median time of the first over that of the second, taken in turn."""
    times = np.empty((pairs, 2))
    for pair in range(pairs):
        for k in (0, 1) if pair % 2 else (1, 0):
            start = time.perf_counter()
            (first, second)[k]()
            times[pair, k] = time.perf_counter() - start
    return float(np.median(times[:, 0]) / np.median(times[:, 1]))


def main() -> None:
    own = CustomLoss(value, slope, name="own_logistic", smoothness=0.25)
    table = Table(title="Time of a pass with a loss of one's own over that of the built-in")
    for heading in ("data", "own / built-in", "built-in / itself", "same coefficients"):
        table.add_column(heading, justify="left" if heading == "data" else "right")
    sets = {
        "sparse 90k×47k": problems.rcv1_like(np.float64, 90_000),
        "dense 200k×54": problems.dense(np.float64, 200_000, 54),
    }
    for name, (X, y) in sets.items():
        mine, builtin = (LinearClassifier(loss=loss, stop=1, random_state=0).fit(X, y) for loss in (own, "logistic"))
        fits = [lambda model=model, X=X, y=y: model.fit(X, y) for model in (mine, builtin)]
        close = np.max(np.abs(mine.coef_ - builtin.coef_))
        table.add_row(name, f"{ratio(*fits):.3f}", f"{ratio(fits[1], fits[1]):.3f}", f"to {close:.1e}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
