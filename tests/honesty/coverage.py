"""How often the true loss of the model returned lies within 1.96 of the verdict's standard errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone import LinearClassifier, LinearRegressor

SIZES = (60, 150, 400, 1000, 3000, 10_000, 40_000)
WIDTHS = (2, 8, 25)
KINDS = ("two classes", "two classes", "three classes", "target")
_CHUNK = 100_000

Rows = Callable[[int, int], tuple[NDArray[np.float64], NDArray[Any]]]


def generated(kind: str, n_features: int, number: int) -> Rows:
    """A sampler of rows of one problem: correlated features in odd units, and labels that depend on them."""
    rng = np.random.default_rng([number, 1])
    coef = rng.standard_normal((n_features, 3 if kind == "three classes" else 1))
    coef *= 1.5 * rng.choice([0.5, 1.0, 2.0]) / np.sqrt(n_features)
    mix = np.eye(n_features) + 0.3 / np.sqrt(n_features) * rng.standard_normal((n_features, n_features))
    units = 10.0 ** rng.uniform(-3.0, 3.0, n_features)

    def rows(count: int, seed: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        rng = np.random.default_rng([number, 2, seed])
        latent = rng.standard_normal((count, n_features)) @ mix
        scores = latent @ coef
        if kind == "target":
            return latent * units, scores[:, 0] + rng.standard_normal(count)
        if kind == "two classes":
            return latent * units, (rng.random(count) < 1.0 / (1.0 + np.exp(-scores[:, 0]))).astype(int)
        return latent * units, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)

    return rows


def error_in_errors(number: int, fresh: int) -> tuple[int, float]:
    """The rows of a fit, and the difference between verdict and true loss in the verdict's standard errors."""
    n_rows, n_features = SIZES[number % len(SIZES)], WIDTHS[number % len(WIDTHS)]
    kind = KINDS[(number // len(WIDTHS)) % len(KINDS)]
    rows = generated(kind, n_features, number)
    regression = kind == "target"
    model: Any = (LinearRegressor if regression else LinearClassifier)(random_state=number).fit(*rows(n_rows, 0))
    total = 0.0
    for part, first in enumerate(range(0, fresh, _CHUNK)):
        X, y = rows(min(_CHUNK, fresh - first), part + 1)
        if regression:
            total += float((0.5 * (model.predict(X) - y) ** 2).sum())
        else:
            total -= float(model.predict_log_proba(X)[np.arange(len(y)), y].sum())
    evidence = model.verdict_.evidence
    return n_rows, (evidence["loss"] - total / fresh) / evidence["standard_error"]


def print_coverage(fits: int, fresh: int) -> None:
    """Fit ``fits`` problems, and print the share covered: all, and by the number of rows."""
    found = [error_in_errors(number, fresh) for number in range(fits)]
    sizes, errors = np.array([n_rows for n_rows, _ in found]), np.array([error for _, error in found])
    print(f"{fits} fits; the true loss is that of {fresh:,} fresh rows.")
    print(f"{'rows':>8} {'fits':>5} {'within 1.96 errors':>19} {'mean':>6} {'spread':>7}")
    for name, chosen in [("all", sizes > 0)] + [(f"{size:,}", sizes == size) for size in SIZES]:
        if chosen.any():
            z = errors[chosen]
            print(f"{name:>8} {z.size:5} {np.mean(np.abs(z) < 1.96):19.1%} {z.mean():6.2f} {z.std():7.2f}")
