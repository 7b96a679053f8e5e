"""Random problems for the solvers with steps 1/(α(t + t₀)), seen by the fast and by the slow side."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from problems import random_problem
from running import run
from sgdone import losses, stopping
from sgdone.steps.bottou import Bottou
from tiers import examples

LOSSES = [losses.Logistic(), losses.SquaredHinge(), losses.Squared()]


def hundred_cases(test):
    """Call ``test(case)`` with a hundred random cases, always the same.

    SGD-QN divides by small differences: of some ten thousand cases one differs by more than 1e-10 from its slow twin.
    """
    options = {
        "seed": st.integers(0, 10**6),
        "loss": st.sampled_from(LOSSES),
        "as_csr": st.booleans(),
        "intercept": st.booleans(),
        "alpha": st.sampled_from([0.003, 0.05, 1.0]),
        "caution": st.floats(0.6, 100.0),
        "skip": st.integers(1, 40),
        "passes": st.integers(1, 3),
        "block_size": st.sampled_from([1, 7, 100, None]),
    }
    return examples(100, derandomize=True)(given(case=st.builds(Case, **options))(test))


class Case:
    """A problem read several times in order; t₀ such that the first step is stable for every row."""

    def __init__(self, seed, loss, as_csr, intercept, alpha, caution, skip, passes, block_size):
        self.problem = random_problem(seed, loss)
        self.loss, self.as_csr, self.intercept, self.alpha = loss, as_csr, intercept, alpha
        self.skip, self.passes, self.block_size = skip, passes, block_size
        energy = np.max(self.problem.weights * (np.sum(self.problem.X**2, axis=1) + 1.0))
        self.t0 = max(1.0, caution * loss.smoothness * energy / alpha)

    def fast(self, solver, step=None, stop=None, **options):
        options = {"block_size": self.block_size, "fit_intercept": self.intercept} | options
        return run(
            self.problem.source(as_csr=self.as_csr, shuffle=False),
            self.loss,
            solver,
            (stop or stopping.MaxPasses(self.passes)) | stopping.MaxPasses(self.passes),
            alpha=self.alpha,
            step=step or Bottou(self.t0),
            task="regression" if self.loss.name == "squared" else "classification",
            **options,
        )

    def rows(self, passes=None):
        """Rows, labels and weights of all passes, one after the other."""
        problem, passes = self.problem, passes or self.passes
        return np.tile(problem.X, (passes, 1)), np.tile(problem.y, passes), np.tile(problem.weights, passes)

    def slow(self, twin, t0=None, passes=None):
        return twin(*self.rows(passes), self.loss, self.alpha, t0 or self.t0, self.skip, self.intercept)

    def objective(self, w, b):
        """Over the first 1000 rows of positive weight."""
        used = np.flatnonzero(self.problem.weights)[:1000]
        X, y, v = self.problem.X[used], self.problem.y[used], self.problem.weights[used]
        return float(np.mean(v * self.loss.value(X @ w + b, y))) + 0.5 * self.alpha * float(w @ w)


def assert_same(result, expected):
    w, b = expected
    scale = max(1.0, np.max(np.abs(w)), abs(b))
    assert np.max(np.abs(result.coef - w)) <= 1e-10 * scale
    assert abs(result.intercept - b) <= 1e-10 * scale


def two_classes(n_rows=400, n_features=5):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_rows, n_features))
    return X, np.where(X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows) > -0.3, 1.0, -1.0)
