"""Odd shapes and sizes: always a finite model and a verdict."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor
from tiers import examples, fast_first, interpreted

SOLVERS = ["sgd", "asgd", "isgd", "aisgd"]


def assert_finite(model):
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert str(model.verdict_)


@interpreted
@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize(
    "method", fast_first(1, [(solver, dtype) for dtype in (np.float64, np.float32) for solver in SOLVERS], upto=5)
)
def test_features_of_any_scale(method, scale, binary, numbers):
    solver, dtype = method
    X, y = binary
    model = SGDClassifier(solver=solver, random_state=0).fit((X * scale).astype(dtype), y)
    assert_finite(model)
    if scale > 1:
        assert model.score((X * scale).astype(dtype), y) > 0.9
    X, y = numbers
    assert_finite(SGDRegressor(solver=solver, random_state=0).fit((X * scale).astype(dtype), y))
    assert_finite(SGDRegressor(solver=solver, random_state=0).fit(X.astype(dtype), y * scale))


@interpreted
@pytest.mark.parametrize("solver", fast_first(1, SOLVERS, upto=2))
def test_features_of_very_different_scales(solver, binary):
    X, y = binary
    X = X * [1e-8, 1e-4, 1.0, 1e4, 1e8]
    assert_finite(SGDClassifier(solver=solver, random_state=0).fit(X, y))
    assert_finite(SGDClassifier("exponential", solver=solver, random_state=0).fit(sparse.csr_array(X), y))


@pytest.mark.parametrize("place", [0, 700, 2500])
@pytest.mark.slow
def test_one_row_a_million_times_larger(place, rng):
    X = rng.standard_normal((3000, 3))
    y = (X[:, 0] > 0).astype(int)
    X[place] *= 1e6
    for solver in SOLVERS:
        assert_finite(SGDClassifier(solver=solver, shuffle=False).fit(X, y))


@pytest.mark.parametrize("solver", fast_first(1, SOLVERS))
@pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
def test_one_row_a_class(form, solver):
    X = form(np.array([[-1.0, 0.0], [1.0, 0.5]]))
    model = SGDClassifier(solver=solver, random_state=0).fit(X, ["no", "yes"])
    assert model.predict(X).tolist() == ["no", "yes"]
    model = SGDClassifier(solver=solver, random_state=0).fit(form(10 * np.eye(4)), list("abcd"))
    assert model.predict(form(10 * np.eye(4))).tolist() == list("abcd")


def test_the_same_row_over_and_over():
    X = np.tile([[1.0, -2.0]], (200, 1))
    assert_finite(LinearClassifier(random_state=0).fit(X, np.tile([0, 1], 100)))
    model = LinearRegressor(random_state=0, alpha=0.0, tol=0, stop=50).fit(X, np.full(200, 4.0))
    assert model.predict(X[:1]) == pytest.approx([4.0], abs=0.05)


@pytest.mark.parametrize("solver", fast_first(1, SOLVERS))
def test_more_features_than_rows(solver, rng):
    X = rng.standard_normal((20, 500))
    y = (X[:, 0] > 0).astype(int)
    model = SGDClassifier(solver=solver, random_state=0).fit(X, y)
    assert_finite(model)
    assert model.score(X, y) == 1.0


@examples(60)
@given(
    seed=st.integers(0, 10**6),
    exponent=st.integers(-12, 12),
    dtype=st.sampled_from([np.float32, np.float64]),
    solver=st.sampled_from(SOLVERS),
    step=st.sampled_from(["auto", 1e-6, 1.0, 1e3, 1e100, "inverse_sqrt"]),
    alpha=st.sampled_from(["auto", 0.0, 1.0, 1e6]),
    weighted=st.booleans(),
)
@pytest.mark.slow
def test_never_nan(seed, exponent, dtype, solver, step, alpha, weighted):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((30, 3)) * 10.0**exponent * [1.0, 100.0, 0.01]).astype(dtype)
    weight = 10.0 ** rng.integers(-8, 9, 30) if weighted else None
    options = {"solver": solver, "step": step, "alpha": alpha, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert_finite(SGDClassifier(**options).fit(X, rng.permutation(30) < 15, sample_weight=weight))
        y = rng.standard_normal(30) * 10.0 ** rng.integers(-12, 13)
        assert_finite(SGDRegressor(**options).fit(X, y, sample_weight=weight))


@pytest.mark.parametrize("dtype", fast_first(1, [np.float64, np.float32]))
def test_a_column_too_small_for_its_coefficient(dtype, binary):
    X, y = binary
    size = 0.1 * np.finfo(dtype).tiny
    small = (X * [1.0, size, 1.0, 1.0, 1.0]).astype(dtype)
    message = (
        rf"column 1 of X varies by .* only: its coefficient could exceed the largest {np.dtype(dtype).name}. Multiply"
    )
    with pytest.raises(ValueError, match=message):
        LinearClassifier(random_state=0).fit(small, y)
