"""A run that diverges ends with the last finite weights; bad rows are found by the loop itself."""

import re

import numpy as np
import pytest
from scipy import sparse

from running import run
from sgdone import losses, solvers, steps, stopping
from sgdone.interfaces.stop_rule import Status
from sgdone.rows import ArraySource
from sgdone.rows.faults import BadRowError
from tiers import fast_first, interpreted

STOP = stopping.MaxPasses(50)


@interpreted
@pytest.mark.parametrize("dtype", fast_first(1, [np.float64, np.float32]))
@pytest.mark.parametrize("solver", fast_first(1, [solvers.SGD(), solvers.Averaged(solvers.SGD(), 0), solvers.asgd()]))
def test_too_large_a_step_diverges_and_says_so(dtype, solver, rng):
    X = rng.standard_normal((500, 5)).astype(dtype)
    result = run(
        ArraySource(X, X[:, 0].astype(float)),
        losses.Squared(),
        solver,
        STOP,
        alpha=0.0,
        step=steps.Constant(10.0),
        task="regression",
    )
    assert result.verdict.status is Status.DIVERGED
    assert np.all(np.isfinite(result.coef))
    assert np.isfinite(result.intercept)
    assert "step" in result.verdict.advice
    assert result.verdict.step > 0


@interpreted
def test_the_implicit_step_does_not_diverge(rng):
    X = rng.standard_normal((500, 5))
    result = run(ArraySource(X, X[:, 0]), losses.Squared(), solvers.ISGD(), STOP, alpha=0.0, step=steps.Constant(1e6))
    assert np.allclose(result.coef, [1, 0, 0, 0, 0], atol=1e-5)


def test_a_bad_target_is_named(rng):
    y = np.ones(40)
    y[5] = np.nan
    with pytest.raises(BadRowError, match="the label of row 5 is nan"):
        run(ArraySource(rng.standard_normal((40, 3)), y), losses.Squared(), solvers.SGD(), STOP, alpha=0.1)
    # The slope of the hinge at a label of NaN is 0: no number shows that something is wrong.
    with pytest.raises(BadRowError, match="the label of row 5 is nan"):
        run(ArraySource(rng.standard_normal((40, 3)), y), losses.Hinge(), solvers.SGD(), STOP, alpha=0.1)
    weight = np.ones(40)
    weight[5] = 0.0
    ArraySource(rng.standard_normal((40, 3)), y, weight)  # a row that is not read may hold anything


@interpreted
@pytest.mark.parametrize("index", [3, 99, 2**31 - 1, -1])
def test_a_csr_row_that_points_outside_is_an_error_not_a_crash(index, rng):
    X = sparse.csr_matrix(rng.standard_normal((40, 3)))
    X.indices[X.indptr[8] - 2] = index
    X.has_canonical_format = True
    message = f"row 7 of the CSR matrix X has the column index {index}, but X has 3 columns: rebuild it"
    with pytest.raises(ValueError, match=message):
        run(ArraySource(X, np.ones(40)), losses.Logistic(), solvers.asgd(), STOP, alpha=0.1)


@pytest.mark.slow
def test_exponential_loss_overflows_into_a_verdict(rng):
    X = 100.0 * rng.standard_normal((200, 3))
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    result = run(ArraySource(X, y), losses.Exponential(), solvers.SGD(), STOP, alpha=0.0, step=steps.Constant(1.0))
    assert result.verdict.status is Status.DIVERGED
    assert np.all(np.isfinite(result.coef))


@pytest.mark.slow
def test_an_average_that_overflows_falls_back_to_the_start():
    """A late row whose step is finite, but not times the steps since the average was last computed afresh."""
    X = np.zeros((3000, 1), np.float32)
    y = np.zeros(3000)
    X[-1], y[-1] = 1.8e19, -9.5e17
    source = ArraySource(X, y, shuffle=False)
    solver, start = solvers.Averaged(solvers.SGD(), 0), np.array([0.001])
    options = {"alpha": 0.0, "step": steps.Constant(1.0), "fit_intercept": False, "task": "regression", "coef": start}
    result = run(source, losses.Squared(), solver, stopping.MaxPasses(1), **options)
    assert result.verdict.status is Status.DIVERGED
    assert result.coef[0] == np.float32(0.001)


def test_a_rule_that_asks_for_a_pause_in_the_past_is_an_error(rng):
    class Stuck(stopping.StopRule):
        def start(self, n_rows):
            return None

        def next_pause(self, state):
            return stopping.Pause(step=0)

        def observe(self, state, progress):
            return None

    with pytest.raises(RuntimeError, match="did not fire there"):
        run(ArraySource(rng.standard_normal((5, 2)), np.ones(5)), losses.Logistic(), solvers.SGD(), Stuck(), alpha=0.1)


@interpreted
@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e20), (np.float64, 1e160)])
@pytest.mark.parametrize("row", [5, 2500])
def test_a_row_whose_norm_overflows_is_named(dtype, size, row, rng):
    X = rng.standard_normal((3000, 3)).astype(dtype)
    X[row] = size
    source = ArraySource(X, np.where(X[:, 0] > 0, 1.0, -1.0), shuffle=False)
    message = f"row {row} of X is too large: ‖x‖² overflows {np.dtype(dtype)}. Scale the features"
    with pytest.raises(BadRowError, match=re.escape(message)):
        run(source, losses.Logistic(), solvers.asgd(), STOP, alpha=0.01)


@pytest.mark.parametrize("solver", fast_first(1, [solvers.SGD(), solvers.Averaged(solvers.SGD(), 0)]))
def test_a_shrinkage_that_grows_ends_as_diverged(solver, rng):
    """γα > 2 makes every step a growth: the scale is folded, so that the weights themselves tell."""
    X = rng.standard_normal((400, 3))
    source = ArraySource(X, np.where(X[:, 0] > 0, 1.0, -1.0))
    result = run(source, losses.Logistic(), solver, STOP, alpha=1.0, step=steps.Constant(10.0))
    assert result.verdict.status is Status.DIVERGED
    assert np.all(np.isfinite(result.coef))
    assert result.verdict.step > 100


def test_arrays_that_do_not_fit_are_refused(rng):
    X = rng.standard_normal((10, 2))
    for arrays, message in (
        ((X, np.ones(3)), "labels must be a float64 array of shape \\(10,\\): found float64 of shape \\(3,\\)"),
        ((X, np.ones(10), np.ones(9)), "sample_weight must be a float64 array of shape \\(10,\\)"),
        ((X, np.ones(10, int)), "found int64"),
        ((X.astype(int), np.ones(10)), "X must be a CSR matrix, a C-contiguous array or a MixedMatrix"),
        ((np.asfortranarray(X), np.ones(10)), "X must be"),
        ((X[:0], np.ones(0)), "X has no rows"),
    ):
        with pytest.raises(ValueError, match=message):
            ArraySource(*arrays)


def test_a_resumed_run_wants_the_same_kind_of_rows(rng):
    X = rng.standard_normal((10, 2))
    first = run(ArraySource(X, np.ones(10)), losses.Logistic(), solvers.SGD(), stopping.MaxPasses(1), alpha=0.1)
    other = ArraySource(rng.standard_normal((10, 5)), np.ones(10))
    with pytest.raises(ValueError, match="had 2 features of float64, these rows have 5"):
        run(other, losses.Logistic(), solvers.SGD(), stopping.MaxPasses(1), alpha=0.1, resume=first)
