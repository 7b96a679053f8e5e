"""Averages stay right when scales are folded into their vectors often, and over very many samples."""

import numpy as np
import pytest

from problems import random_problem
from running import run
from sgdone import losses, solvers, steps, stopping
from sgdone.kernels.model import AVERAGE_FLOOR
from sgdone.papers import sgd_reference
from sgdone.papers.averaging import reference as slow
from sgdone.rows import ArraySource

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("as_csr", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("shrink", [0.35, 0.9, -0.5, -1.3])
@pytest.mark.parametrize(
    ("decay", "dtype", "digits"), [(0.0, "float64", 1e-12), (3.0, "float64", 1e-12), (0.0, "float32", 1e-5)]
)
def test_scales_folded_in_every_few_samples_change_nothing(shrink, decay, dtype, digits, as_csr):
    """w ← shrink·w − …: a scale leaves its bounds after log(100)/|log|shrink|| samples."""
    gamma = 0.3
    alpha = (1.0 - shrink) / gamma
    # Steps that overshoot by more than they shrink grow until a float is full.
    n_rows = 120 if shrink < -1 else 4000
    assert n_rows * abs(np.log(abs(shrink))) > 5 * abs(np.log(AVERAGE_FLOOR))
    problem = random_problem(3, losses.Logistic(), n_rows=n_rows, n_features=6)
    problem.X = problem.X.astype(dtype)
    result = run(
        problem.source(as_csr=as_csr, shuffle=False),
        losses.Logistic(),
        solvers.Averaged(solvers.SGD(), after=10, decay=decay),
        stopping.MaxPasses(1),
        alpha=alpha,
        step=steps.Constant(gamma),
    )
    update = sgd_reference.explicit(losses.Logistic(), alpha, True)
    path = sgd_reference.sgd(problem.X.astype(np.float64), problem.y, problem.weights, lambda t: gamma, update)
    w, b = slow.average(path, 10, decay)
    assert np.max(np.abs(result.coef - w)) <= digits * np.max(np.abs(w))
    assert result.intercept == pytest.approx(b, rel=digits)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_ten_million_samples_leave_the_mean_that_algebra_gives(form):
    """Rows x = 1, y = 1, squared loss: w_t = w∞(1 − ρ^t), so that the mean over t samples is known."""
    gamma, alpha, samples = 1e-6, 0.5, 10_000_000
    X = np.ones((1000, 1))
    if form == "csr":
        from scipy import sparse

        X = sparse.csr_array(X)
    result = run(
        ArraySource(X, np.ones(1000), shuffle=False),
        losses.Squared(),
        solvers.Averaged(solvers.SGD(), after=0),
        stopping.MaxSamples(samples),
        alpha=alpha,
        step=steps.Constant(gamma),
        fit_intercept=False,
        task="regression",
        block_size=1_000_000,
    )
    limit, rate = 1.0 / (1.0 + alpha), -np.expm1(-samples * -np.log1p(-gamma * (1.0 + alpha)))
    keep = 1.0 - gamma * (1.0 + alpha)
    mean = limit * (1.0 - keep * rate / (gamma * (1.0 + alpha)) / samples)
    assert result.coef[0] == pytest.approx(mean, rel=1e-9)
