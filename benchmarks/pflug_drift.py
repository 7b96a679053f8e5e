"""What Chee & Toulis (2018) say of the drift of Pflug's sum beside simulated pairs of steps.

Run as ``python benchmarks/pflug_drift.py``. y = xᵀθ* + ε, x ~ N(0, I) or N(0, diag(2, 1, ½, ¼, ⅛)) in 5 features,
2,000,000 pairs a row: the mean inner product of two successive gradients at θ, explicit beside Theorem 3 and implicit
beside the exact drift and Theorem 4 as printed. A star marks what is more than three standard errors off.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from sgdone.papers.diagnostics.theory import (
    gaussian_design,
    gaussian_shrinkage,
    pflug_drift,
    pflug_drift_implicit,
    pflug_drift_implicit_as_printed,
)

FEATURES, NOISE, BATCHES, BATCH = 5, 2.25, 10, 200_000
DESIGNS = {"I": np.ones(FEATURES), "diag 2…⅛": 2.0 ** (1.0 - np.arange(FEATURES))}
STEPS = (0.01, 0.05, 0.2, 1.0)
DISTANCES = (0.0, 0.7, 3.0)

Array = NDArray[Any]


def simulate(error: Array, gamma: float, variances: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Means and standard errors of the inner product, explicit and implicit."""
    sums, squares = np.zeros(2), np.zeros(2)
    for _ in range(BATCHES):
        x1, x2 = np.sqrt(variances) * rng.standard_normal((2, BATCH, FEATURES))
        noise1, noise2 = np.sqrt(NOISE) * rng.standard_normal((2, BATCH))
        along = np.sum(x1 * x2, axis=1)
        for implicit in (0, 1):
            shrink1, shrink2 = (1.0 / (1.0 + implicit * gamma * np.sum(x * x, axis=1)) for x in (x1, x2))
            first = shrink1 * (noise1 - x1 @ error)
            product = first * shrink2 * (noise2 - x2 @ error - gamma * first * along) * along
            sums[implicit] += product.sum()
            squares[implicit] += product @ product
    pairs = BATCHES * BATCH
    mean = sums / pairs
    return mean, np.sqrt((squares / pairs - mean**2) / pairs)


def main() -> None:
    table = Table(title=f"Drift of Pflug's sum, {FEATURES} features, σ² = {NOISE:g}")
    headings = ("design", "γ", "‖θ−θ*‖", "explicit", "Theorem 3", "implicit", "exact", "Theorem 4 as printed")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "design" else "right")
    rng = np.random.default_rng(0)
    for design, variances in DESIGNS.items():
        covariance = np.diag(variances)
        moments = gaussian_design(covariance)._asdict()
        for gamma in STEPS:
            for distance in DISTANCES:
                error = np.full(FEATURES, distance / np.sqrt(FEATURES))
                mean, spread = simulate(error, gamma, variances, rng)
                shrinkage = gaussian_shrinkage(covariance, gamma)
                theorems = (
                    pflug_drift(error, gamma, noise=NOISE, **moments),
                    pflug_drift_implicit(error, gamma, covariance=covariance, noise=NOISE),
                    pflug_drift_implicit_as_printed(error, gamma, noise=NOISE, shrinkage=shrinkage, **moments),
                )
                measured = (0, 1, 1)
                shown = [
                    f"{value:+.5f}{'*' if abs(value - mean[which]) > 3 * spread[which] else ' '}"
                    for value, which in zip(theorems, measured, strict=True)
                ]
                explicit, implicit = (f"{m:+.5f} ± {s:.5f}" for m, s in zip(mean, spread, strict=True))
                table.add_row(design, f"{gamma:g}", f"{distance:g}", explicit, shown[0], implicit, *shown[1:])
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
