"""Norm-constrained optima against the slow reference, exact solutions and the optimality conditions."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from sgdone.diagnose import constrained
from sgdone.diagnose.constrained import constrained_optimum
from sgdone.papers.logistic import reference
from sgdone.papers.logistic.problems import PROBLEMS
from tiers import fast_first

RADII = [0.3, 1.0, 3.0, 10.0, 20.0]
LOSSES = ["logistic", "exponential"]


def ones(problem):
    return np.ones(len(problem.rows))


def mean_loss(X, y, coef, intercept, loss):
    margins = y * (X @ coef + intercept)
    return float(np.mean(np.logaddexp(0, -margins) if loss == "logistic" else np.exp(np.minimum(-margins, 700.0))))


def gradient(X, y, coef, intercept, loss):
    margins = y * (X @ coef + intercept)
    slopes = -y * (1 / (1 + np.exp(margins)) if loss == "logistic" else np.exp(-margins)) / len(y)
    return X.T @ slopes, slopes


def data(rng, n=60, d=4, separable=False, shift=0.0):
    X = rng.standard_normal((n, d)) * 2 + shift
    noise = 0 if separable else 2 * rng.standard_normal(n)
    return X, np.where((X - shift) @ np.ones(d) + noise > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", fast_first(1, PROBLEMS))
def test_it_agrees_with_the_slow_twin(name, loss):
    problem = PROBLEMS[name]
    found = constrained_optimum(problem.rows, ones(problem), RADII, loss)
    for k, radius in enumerate(RADII):
        slow = reference.constrained_optimum(-problem.rows, radius, loss)
        assert found.objective[k] == pytest.approx(reference.risk(-problem.rows, slow, loss), rel=1e-10)
        np.testing.assert_allclose(found.coef[k], slow, atol=2e-6 * radius)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("separable", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_the_conditions_of_a_minimum_hold(loss, separable, intercept, storage, rng):
    X, y = data(rng, separable=separable, shift=0.5)
    found = constrained_optimum(storage(X), y, RADII, loss, intercept)
    for k, radius in enumerate(RADII):
        coef, mu = found.coef[k], found.multiplier[k]
        slope, slopes = gradient(X, y, coef, found.intercept[k], loss)
        scale = np.abs(slopes).sum() * np.linalg.norm(X, axis=1).max()
        assert np.linalg.norm(slope + mu * coef) <= 1e-10 * scale
        assert np.linalg.norm(coef) <= radius * (1 + 1e-12)
        assert mu == 0 or np.linalg.norm(coef) == pytest.approx(radius, rel=1e-9)
        assert mu >= 0
        assert abs(slopes.sum()) <= 1e-10 * scale if intercept else found.intercept[k] == 0
        assert found.objective[k] == pytest.approx(mean_loss(X, y, coef, found.intercept[k], loss), rel=1e-12)
        assert found.log_objective[k] == pytest.approx(np.log(found.objective[k]), abs=1e-12)
    assert max(found.residual.max(), found.gap.max()) <= 1e-10


def test_no_point_of_the_ball_is_better_than_the_gap_says(rng):
    X, y = data(rng)
    found = constrained_optimum(X, y, 2.0)
    for direction in rng.standard_normal((200, 4)):
        other = 2.0 * direction / np.linalg.norm(direction) * rng.uniform() ** 0.25
        assert mean_loss(X, y, other, 0.0, "logistic") >= found.objective * (1 - found.gap)
    assert 0 <= found.gap <= 1e-10


@pytest.mark.slow
def test_products_with_the_hessian_lead_to_the_same_point(rng, monkeypatch):
    X, y = data(rng, n=80, d=30, shift=0.3)
    for intercept in (False, True):
        direct = constrained_optimum(X, y, RADII, fit_intercept=intercept)
        with monkeypatch.context() as patch:
            patch.setattr(constrained, "DIRECTLY", 0)
            products = constrained_optimum(sparse.csr_array(X), y, RADII, fit_intercept=intercept)
        np.testing.assert_allclose(products.objective, direct.objective, rtol=1e-10)
        np.testing.assert_allclose(products.coef, direct.coef, rtol=1e-7, atol=1e-9)


def test_a_small_basis_still_descends(rng, monkeypatch):
    X, y = data(rng, n=80, d=30)
    direct = constrained_optimum(X, y, 5.0)
    monkeypatch.setattr(constrained, "DIRECTLY", 0)
    monkeypatch.setattr(constrained, "_MOST", 6)
    np.testing.assert_allclose(constrained_optimum(X, y, 5.0).objective, direct.objective, rtol=1e-10)


def test_a_large_radius_gives_the_optimum_of_scikit_learn(rng):
    from sklearn.linear_model import LogisticRegression

    X, y = data(rng, n=200, shift=0.5)
    found = constrained_optimum(X, y, 100.0, fit_intercept=True)
    model = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(found.coef, model.coef_[0], rtol=1e-6)
    assert found.intercept == pytest.approx(model.intercept_[0], rel=1e-6)
    assert found.multiplier == 0


def test_radii_come_back_in_their_order_and_alone_as_together(rng):
    X, y = data(rng)
    radii = [3.0, 0.2, 3.0, 40.0]
    together = constrained_optimum(X, y, radii)
    assert together.coef.shape == (4, 4)
    for k, radius in enumerate(radii):
        alone = constrained_optimum(X, y, radius)
        assert alone.coef.shape == (4,)
        assert isinstance(alone.objective, float)
        np.testing.assert_allclose(alone.coef, together.coef[k], rtol=1e-8)
    np.testing.assert_array_equal(together.coef[0], together.coef[2])


def test_units_of_the_features_are_the_users(rng):
    X, y = data(rng)
    one, other = constrained_optimum(X, y, 2.0), constrained_optimum(1e4 * X, y, 2e-4)
    np.testing.assert_allclose(other.coef * 1e4, one.coef, rtol=1e-9)
    assert other.multiplier == pytest.approx(one.multiplier * 1e8, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_direction_goes_to_the_largest_margin_where_the_loss_has_long_underflowed(loss):
    problem = PROBLEMS["separable"]
    radii = np.array([1e2, 1e3, 1e4, 1e5])
    found = constrained_optimum(problem.rows, ones(problem), radii, loss)
    distances = np.linalg.norm(found.coef / radii[:, None] - problem.u, axis=1)
    np.testing.assert_allclose(distances * radii, distances[0] * radii[0], rtol=2e-2)
    assert found.objective[-1] == 0.0
    # Two rows at the margin γ, balanced so that their pulls add up to ū.
    np.testing.assert_allclose(found.log_objective[1:] / radii[1:], -problem.margin, rtol=1e-2)


@pytest.mark.parametrize("name", ["orthogonal parts", "general", "mixed in space"])
def test_the_finite_part_is_found_as_the_radius_grows(name):
    problem = PROBLEMS[name]
    found = constrained_optimum(problem.rows, ones(problem), [10.0, 30.0, 60.0, 1000.0])
    errors = np.linalg.norm(found.coef @ problem.subspace - problem.v() @ problem.subspace, axis=1)
    assert np.all(errors[1:] < 1e-3)
    assert errors[2] < 1e-8
    np.testing.assert_allclose(found.objective[2:], problem.infimum(), rtol=1e-9)


def test_constant_duplicate_and_zero_columns_do_no_harm(rng):
    X, y = data(rng)
    wide = np.column_stack([X[:, 0] / np.sqrt(2), X[:, 0] / np.sqrt(2), X[:, 1:], np.zeros(len(X))])
    for radius in (1.0, 50.0):
        plain, found = constrained_optimum(X, y, radius), constrained_optimum(wide, y, radius)
        assert found.objective == pytest.approx(plain.objective, rel=1e-12)
        np.testing.assert_allclose(found.coef[0], plain.coef[0] / np.sqrt(2), rtol=1e-6)
        np.testing.assert_allclose(found.coef[[1, -1]], [found.coef[0], 0.0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_small_integer_problems_of_all_kinds_have_a_minimum_over_every_ball(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 40), rng.integers(1, 7)
    X = rng.integers(-3, 4, size=(n, d)).astype(float)
    X[:, rng.integers(d)] *= rng.choice([0.0, 1.0, 1e3])
    X[:, 0] = X[:, rng.integers(d)]
    y = np.where(X @ rng.standard_normal(d) + rng.choice([0, 1, 3]) * rng.standard_normal(n) > 0, 1.0, -1.0)
    intercept = bool(seed % 2) and len(np.unique(y)) == 2
    loss = LOSSES[seed // 2 % 2]
    radii = np.exp(rng.uniform(-3, 5, size=3))
    found = constrained_optimum(X, y, radii, loss, intercept)
    assert max(found.residual.max(), found.gap.max()) <= 1e-10
    for k, radius in enumerate(radii):
        assert np.linalg.norm(found.coef[k]) <= radius * (1 + 1e-12)
        for _ in range(20):
            other = rng.standard_normal(d)
            near = found.coef[k] + rng.choice([1e-3, 0.1, 10.0]) * other
            near *= min(1.0, radius / np.linalg.norm(near))
            shift = found.intercept[k] + (0.1 * rng.standard_normal() if intercept else 0.0)
            assert mean_loss(X, y, near, shift, loss) >= found.objective[k] * (1 - 1e-10)


def test_classes_may_have_any_names(rng):
    X, y = data(rng)
    named = constrained_optimum(X, np.where(y > 0, "yes", "no"), 1.0)
    np.testing.assert_array_equal(named.coef, constrained_optimum(X, y, 1.0).coef)
    assert constrained_optimum(np.ones((3, 1)), np.ones(3), 2.0).coef == pytest.approx([2.0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"radius": 0.0}, "radius=0 is not a positive"),
        ({"radius": [1.0, np.nan]}, "radius=nan"),
        ({"radius": [[1.0]]}, "radius has the shape"),
        ({"loss": "hinge"}, "loss='hinge' is not supported"),
        ({"y": [1, 1, 1], "fit_intercept": True}, "the intercept has no finite optimum"),
        ({"y": [0, 1, 2]}, "3 classes"),
        ({"y": [3, 3, 3]}, "1 classes"),
        ({"y": [0, 1]}, "y has the shape"),
        ({"X": [[1.0], [np.inf], [0.0]]}, "NaN or infinity"),
        ({"X": [1.0, 2.0, 3.0]}, "X has the shape"),
    ],
)
def test_invalid_arguments_raise(given, message):
    arguments = {"X": [[1.0], [2.0], [-1.0]], "y": [1, -1, -1], "radius": 1.0} | given
    with pytest.raises(ValueError, match=message):
        constrained_optimum(**arguments)


def test_all_zero_rows_have_the_minimum_at_zero():
    found = constrained_optimum(np.zeros((4, 2)), [1, -1, 1, -1], 3.0)
    np.testing.assert_array_equal(found.coef, [0.0, 0.0])
    assert found.objective == pytest.approx(np.log(2))


# Quadratics over a ball


@pytest.mark.parametrize("radius", [0.01, 0.5, 3.0, 100.0])
@pytest.mark.parametrize("rank", [2, 6])
def test_a_quadratic_is_minimised_over_the_ball(radius, rank, rng):
    root = rng.standard_normal((rank, 6))
    H, g, w = root.T @ root, rng.standard_normal(6) @ root.T @ root, np.full(6, radius / 5)
    found = constrained.minimum_in_ball(H, g, w, radius)
    by_products = constrained.minimum_in_ball_by_products(lambda u: H @ u, np.diag(H), g, w, radius, 1e-13)

    def value(u):
        return g @ (u - w) + (u - w) @ H @ (u - w) / 2

    for point, mu in (found, by_products):
        assert np.linalg.norm(point) <= radius * (1 + 1e-12)
        np.testing.assert_allclose(g + H @ (point - w) + mu * point, 0.0, atol=1e-9)
        assert mu * (radius - np.linalg.norm(point)) == pytest.approx(0.0, abs=1e-9)
    other = minimize(value, w * 0, constraints={"type": "ineq", "fun": lambda u: radius**2 - u @ u}, tol=1e-12)
    assert value(found.point) <= other.fun + 1e-8
