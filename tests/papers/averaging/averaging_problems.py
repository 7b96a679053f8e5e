"""Linear equations with noise on three spectra, for the bounds of Xu (2011)."""

import numpy as np


def _turned(eigenvalues, rng):
    turn, _ = np.linalg.qr(rng.standard_normal((len(eigenvalues), len(eigenvalues))))
    return turn * eigenvalues @ turn.T


def _problems():
    rng = np.random.default_rng(42)
    two_levels = np.diag([1.0] * 3 + [0.02] * 97)
    spread = np.diag(np.linspace(0.01, 1.0, 20))
    halving = _turned(2.0 ** -np.arange(8), rng)
    root = rng.standard_normal((8, 8))
    return {
        # Section 6.1: the gradient A(θ − x) with x ~ N(0, I).
        "two levels": {"A": two_levels, "S": two_levels @ two_levels, "start_error": np.ones(100)},
        # The noise of a regression, at its optimum.
        "evenly spread": {"A": spread, "S": spread, "start_error": np.linspace(-2.0, 3.0, 20)},
        # Noise along other axes than the curvature's.
        "halving": {"A": halving, "S": root @ root.T / 8, "start_error": 5.0 * rng.standard_normal(8)},
    }


PROBLEMS = _problems()


def smallest(name):
    """λ₀ of a problem."""
    return float(np.linalg.eigvalsh(PROBLEMS[name]["A"])[0])


def simulated(name, steps, times, runs, rng):
    """Errors ‖θ_t − θ*‖²_A and ‖θ̄_t − θ*‖²_A of independent runs of eqs. (5) and (6), (times, runs) each."""
    A, S, start = (PROBLEMS[name][key] for key in ("A", "S", "start_error"))
    root = np.linalg.cholesky(S)
    error, total = np.tile(start, (runs, 1)), np.zeros((runs, len(start)))
    last, averaged = [], []
    for t, gamma in enumerate(steps, 1):
        error = error - gamma * (error @ A + rng.standard_normal(error.shape) @ root.T)
        total += error
        if t in times:
            last.append(np.einsum("ri,ij,rj->r", error, A, error))
            averaged.append(np.einsum("ri,ij,rj->r", total, A, total) / t**2)
    return np.array(last), np.array(averaged)
