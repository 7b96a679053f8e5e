"""How far the bounds of Baghal et al. (2021) are from what the margin test does.

Run as ``python benchmarks/termination_bounds.py``. Algorithm 1 with the test on a fresh sample, 200 runs a row on
N(μ, σ²I) in 20 features, where the variance is low: the mean stopping time T beside Theorem 5's bound, and the mean
of |vᵀθ_T| over the unit vectors v along the axes orthogonal to μ beside Theorem 7's bound at the simulated E[T].
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from sgdone.papers.termination.theory import angle_bound, expected_stop_bound

RUNS, DIM, MEAN_NORM = 200, 20, 1.0
RATIOS = {"logistic": (0.05, 0.1, 0.2, 0.33), "hinge": (0.05, 0.2, 0.4, 0.75)}
STEPS = (0.001, 0.01, 0.1, 1.0)

Array = NDArray[Any]
SLOPES: dict[str, Callable[[Array], Array]] = {
    "logistic": lambda margin: -1.0 / (1.0 + np.exp(margin)),
    "hinge": lambda margin: -1.0 * (margin <= 1.0),
}


def simulate(loss: str, sigma: float, step: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Stopping times and last weights of all runs, μ along the first axis."""
    mean = np.zeros(DIM)
    mean[0] = MEAN_NORM
    stops, weights, running = np.zeros(RUNS), np.zeros((RUNS, DIM)), np.arange(RUNS)
    k = 0
    while len(running):
        k += 1
        theta = weights[running]
        sample, fresh = mean + sigma * rng.standard_normal((2, len(running), DIM))
        theta -= step * SLOPES[loss](np.sum(sample * theta, axis=1))[:, None] * sample
        weights[running] = theta
        stopped = np.sum(fresh * theta, axis=1) >= 1.0
        stops[running[stopped]] = k
        running = running[~stopped]
    return stops, weights


def main() -> None:
    headings = ("loss", "σ/‖μ‖", "step", "mean T", "± s.e.", "bound", "T/bound", "mean |vᵀθ|", "bound at E[T]", "ratio")
    table = Table(title=f"Bounds beside {RUNS} runs of Algorithm 1, d = {DIM}, ‖μ‖ = {MEAN_NORM:g}")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "loss" else "right")
    rng = np.random.default_rng(0)
    for loss, ratios in RATIOS.items():
        for ratio in ratios:
            for step in STEPS:
                sigma = ratio * MEAN_NORM
                stops, weights = simulate(loss, sigma, step, rng)
                stop, angle = float(stops.mean()), float(np.abs(weights[:, 1:]).mean())
                bound = expected_stop_bound(loss, MEAN_NORM, sigma, step)
                angle_limit = angle_bound(sigma, step, stop)
                table.add_row(
                    loss,
                    f"{ratio:g}",
                    f"{step:g}",
                    f"{stop:.1f}",
                    f"{stops.std(ddof=1) / np.sqrt(RUNS):.1f}",
                    f"{bound:.3g}",
                    f"{stop / bound:.1e}",
                    f"{angle:.4f}",
                    f"{angle_limit:.4f}",
                    f"{angle / angle_limit:.3f}",
                )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
