"""The direction, the finite part and the infimum against their definitions."""

from itertools import pairwise

import numpy as np
import pytest
from random_problems import random_problem
from scipy import sparse
from scipy.optimize import minimize, nnls

from sgdone import datasets
from sgdone.diagnose import separation
from sgdone.losses import Exponential, Logistic
from tiers import fast_first

LOSSES = {"logistic": Logistic(), "exponential": Exponential()}


def _problem(seed):
    X, y, fit_intercept = random_problem(seed)
    A = -np.where(y == y.max(), 1, -1)[:, None] * np.column_stack([X, np.ones((y.size, int(fit_intercept)))])
    return X, y, fit_intercept, A


def _rows(seed):
    return _problem(seed)[:2]


def _flat(weights, fit_intercept):
    return np.append(weights.coef, [weights.intercept] * fit_intercept)


@pytest.fixture(scope="module")
def endometrial():
    try:
        return datasets.load("endometrial", subset="all")
    except datasets.DatasetNotFound as reason:
        pytest.skip(str(reason))


def test_endometrial_data_are_as_published(endometrial):
    shape = separation(endometrial.X, endometrial.y, feature_names=endometrial.feature_names)
    assert shape.kind == "quasi-complete"
    assert (shape.infinite.tolist(), shape.infinite_intercept) == ([1, 0, 0], 0)
    np.testing.assert_array_equal(shape.separable_rows, endometrial.X[:, 0] == 1)
    assert shape.finite_part.intercept == pytest.approx(4.30452, abs=5e-6)
    np.testing.assert_allclose(shape.finite_part.coef, [0.0, -0.04218, -2.90261], atol=5e-6)
    assert shape.infimum == pytest.approx(0.35059, abs=5e-6)
    np.testing.assert_allclose(shape.direction.coef, [1.0, 0.0, 0.0], atol=1e-12)
    assert shape.margin == pytest.approx(1.0)
    assert shape.certificate.check(endometrial.X, endometrial.y).exact
    assert "separates 13 of 79 rows" in str(shape)
    assert "NV tends to +∞. The mean logistic loss tends to 0.35059." in str(shape)


@pytest.mark.parametrize("seed", fast_first(10, range(0, 120, 4)))
def test_the_direction_has_the_widest_margin(seed):
    X, y, fit_intercept, A = _problem(seed)
    shape = separation(X, y, fit_intercept=fit_intercept)
    u = _flat(shape.direction, fit_intercept)
    if shape.kind == "none":
        assert not u.any()
        assert shape.margin == 0.0
        return
    rows = shape.separable_rows
    assert np.linalg.norm(u) == pytest.approx(1.0)
    np.testing.assert_allclose(A[~rows] @ u, 0.0, atol=1e-10)
    assert (-A[rows] @ u).min() == pytest.approx(shape.margin, rel=1e-10)
    np.testing.assert_allclose(shape.margins[rows], -A[rows] @ u, atol=1e-10)
    # Theorem 3.1: ū = −A_⊥ᵀq̄/γ with weights q̄ ≥ 0 of sum 1 on the rows at the margin.
    basis = shape.subspace.basis
    inside = A[rows] - A[rows] @ basis @ basis.T
    tight = -inside @ u <= shape.margin * (1 + 1e-8)
    target = np.append(-shape.margin * u, 1.0)
    _, distance = nnls(np.vstack([inside[tight].T, np.ones(tight.sum())]), target)
    assert distance < 1e-8


@pytest.mark.parametrize("loss", fast_first(1, LOSSES))
@pytest.mark.parametrize("seed", fast_first(10, range(1, 121, 6)))
def test_the_finite_part_is_stationary_and_in_the_subspace(loss, seed):
    X, y, fit_intercept, A = _problem(seed)
    shape = separation(X, y, fit_intercept=fit_intercept, loss=loss)
    v, basis = _flat(shape.finite_part, fit_intercept), shape.subspace.basis
    still = A[~shape.separable_rows]
    assert shape.subspace.rank == (np.linalg.matrix_rank(still) if still.size else 0)
    np.testing.assert_allclose(basis.T @ basis, np.eye(shape.subspace.rank), atol=1e-12)
    np.testing.assert_allclose(basis @ (basis.T @ v), v, atol=1e-10)
    slopes = LOSSES[loss].slope(still @ v, -1.0)
    np.testing.assert_allclose(still.T @ slopes / y.size, 0.0, atol=1e-12)
    assert shape.infimum == pytest.approx(LOSSES[loss].value(still @ v, -1.0).sum() / y.size, abs=1e-13)


@pytest.mark.parametrize("loss", fast_first(1, LOSSES))
def test_the_infimum_is_approached_along_the_direction_and_not_passed(loss):
    X, y = next(problem for problem in map(_rows, range(200)) if separation(*problem).kind == "quasi-complete")
    shape = separation(X, y, loss=loss)
    A = -np.where(y == y.max(), 1, -1)[:, None] * np.column_stack([X, np.ones(y.size)])
    v, u = _flat(shape.finite_part, True), _flat(shape.direction, True)

    def risk(w):
        return LOSSES[loss].value(A @ w, -1.0).mean()

    far = [risk(v + t * u / shape.margin) for t in (1.0, 5.0, 20.0, 40.0)]
    assert all(a > b for a, b in pairwise(far))
    assert far[-1] == pytest.approx(shape.infimum, abs=1e-9)
    assert minimize(risk, np.zeros(v.size)).fun >= shape.infimum - 1e-12


def test_an_optimum_that_exists_is_found_to_ten_digits(rng):
    X = rng.standard_normal((500, 6))
    y = rng.random(500) < 1 / (1 + np.exp(-X @ np.arange(6) / 3))
    shape = separation(X, y)
    assert shape.kind == "none"
    D = np.column_stack([X, np.ones(500)])
    w = np.zeros(7)
    for _ in range(30):
        p = 1 / (1 + np.exp(-D @ w))
        w += np.linalg.solve(D.T @ ((p * (1 - p))[:, None] * D), D.T @ (y - p))
    np.testing.assert_allclose(_flat(shape.finite_part, True), w, rtol=1e-10)
    thin = separation(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.finite_part.coef, shape.finite_part.coef, rtol=1e-10)
