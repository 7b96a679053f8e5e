"""Optima along a path of penalties, against scikit-learn."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from exact_problems import classes, found_by, log_losses, logistic, numbers, pieces_of, system_of
from running import objective_of
from sgdone.losses import Huber, Logistic, SquaredHinge
from sgdone.newton import SearchRunner, counted_work
from sgdone.newton.exact_path import ExactPath
from sgdone.newton.search import EXACT
from sgdone.rows.rows import Scaling
from sgdone.sums.row_sum import MemoryRows
from sgdone.sums.second_order import second_order
from sgdone.sums.system import contrasts

TASKS = pytest.mark.parametrize("n_classes", [2, 3])
#: Whether the curvature is evaluated at each point, or conjugate gradients use an earlier one.
BRANCHES = pytest.mark.parametrize("cheap", [True, False], ids=["newton", "conjugate gradients"])


@pytest.fixture
def branch(cheap, monkeypatch):
    if not cheap:
        monkeypatch.setattr(counted_work, "CHEAP", 0)


def path_of(objective, pieces):
    return ExactPath(system_of(objective, pieces), pieces, np.zeros((pieces.width, objective.n_free_outputs)))


def outputs(objective, model):
    """Coefficients of all classes."""
    basis = contrasts(objective)
    return model if basis is None else model @ basis.T


def in_contrasts(objective, model):
    """Coefficients of all classes as those of a path."""
    basis = contrasts(objective)
    return model if basis is None else model @ basis


def standard_errors(objective, pieces, model, away, strength):
    """The length of a difference of coefficients."""
    penalties = np.tile([strength] * (pieces.width - 1) + [0.0], model.shape[1])
    curvature = second_order(objective, pieces, model).curvature + np.diag(penalties)
    flat = away.T.ravel()
    return np.sqrt(flat @ curvature @ flat)


@TASKS
@BRANCHES
@pytest.mark.parametrize("strength", [0.01, 100.0])
@pytest.mark.usefixtures("branch")
def test_a_given_penalty_leads_to_the_optimum_of_scikit_learn(n_classes, strength):
    X, y = classes(n_classes, 200)
    weights, scaling = np.arange(200) % 4 / 2.0, Scaling(np.array([0.5, 2.0, 1.0]), np.array([1.0, 0.0, -1.0]))
    objective = objective_of(Logistic(), n_classes, alpha=strength / weights.sum())
    pieces = pieces_of(X, y, weights, scaling)
    best = found_by(path_of(objective, pieces))
    exact = logistic((X - scaling.shift) / scaling.scale, y, strength, weights)
    found = outputs(objective, best.model)
    assert best.decrement <= EXACT
    np.testing.assert_allclose(found[:-1].T, exact.coef_, atol=1e-4)
    away = best.model - in_contrasts(objective, np.vstack([exact.coef_.T, exact.intercept_]))
    assert standard_errors(objective, pieces, best.model, away, strength) <= 1.01e-4


@TASKS
@BRANCHES
@pytest.mark.usefixtures("branch")
def test_the_chosen_penalty_leads_to_its_optimum(n_classes):
    X, y = classes(n_classes, 60, 6)
    objective = objective_of(Logistic(), n_classes)
    path = path_of(objective, pieces_of(X, y))
    best = found_by(path)
    assert best.decrement <= EXACT
    assert best.lam == 10.0 ** (path.grid.best / 2)
    np.testing.assert_allclose(outputs(objective, best.model)[:-1].T, logistic(X, y, best.lam).coef_, atol=1e-4)


def test_coefficients_and_intercepts_of_classes_sum_to_0():
    X, y = classes(3)
    objective = objective_of(Logistic(), 3)
    best = found_by(path_of(objective, pieces_of(X, y)))
    np.testing.assert_allclose(outputs(objective, best.model).sum(axis=1), 0.0, atol=1e-14)


@TASKS
def test_a_sample_of_the_rows_is_left_out_of_many(n_classes, monkeypatch):
    X, y = classes(n_classes, 2000, 6)
    objective, pieces = objective_of(Logistic(), n_classes, alpha=0.01), pieces_of(X, y, np.arange(2000) % 3 / 2.0)
    every = path_of(objective, pieces)
    all_rows = found_by(every)
    monkeypatch.setattr(counted_work, "_SAMPLE", 300)
    path = path_of(objective, pieces)
    best = found_by(path)
    assert (best.losses.size, best.rows.size, best.by_folds) == (300, 300, False)
    np.testing.assert_allclose(best.losses, all_rows.losses[best.rows], rtol=1e-6)
    # The training losses of all rows are known: the estimate is as good as that of all.
    assert path.loss == pytest.approx(every.loss, rel=2e-3)


@BRANCHES
@pytest.mark.usefixtures("branch")
def test_the_best_penalty_has_the_least_loss_of_rows_left_out():
    X, y = classes(2, 40, 5)
    path = path_of(objective_of(Logistic()), pieces_of(X, y))
    best, k = found_by(path), path.grid.best
    assert path.grid.end == ""
    rows = np.arange(40)
    exact = {}
    for near in (k - 2, k, k + 2):
        models = [logistic(X[rows != row], y[rows != row], 10.0 ** (near / 2)) for row in rows]
        exact[near] = np.mean([log_losses(model, X[[row]], y[[row]])[0] for row, model in enumerate(models)])
    assert min(exact, key=exact.get) == k
    assert best.losses.mean() == pytest.approx(exact[k], rel=0.01)


def test_the_largest_penalty_leaves_coefficients_below_a_hundredth_of_a_standard_error():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((60, 3)), rng.permutation(np.repeat([-1.0, 1.0], 30))
    objective, pieces = objective_of(Logistic()), pieces_of(X, y)
    path = path_of(objective, pieces)
    found_by(path)
    model = path.optima[path.grid.best].model
    assert path.grid.end == "largest"
    assert standard_errors(objective, pieces, model, model * [[1.0], [1.0], [1.0], [0.0]], 0.0) <= 0.01


def test_certain_labels_take_a_small_penalty_that_leaves_room_for_errors():
    X = np.tile([-1.0, 1.0], 20)[:, None]
    path = path_of(objective_of(Logistic()), pieces_of(X, X[:, 0]))
    best = found_by(path)
    assert path.grid.end == ""
    assert 1e-4 < best.losses.max() < 0.02


@pytest.mark.parametrize("n_features", [2, 200])
def test_with_more_columns_than_rows_scores_of_correct_rows_stay_moderate(n_features):
    rng = np.random.default_rng(0)
    y = np.tile([-1.0, 1.0], 15)
    X = 3.0 * y[:, None] + rng.standard_normal((30, n_features))
    path = path_of(objective_of(Logistic()), pieces_of(X, y))
    best = found_by(path)
    # An error is expected in n + 4 over 2·min(1, d/n) rows.
    expected = 2.0 * min(1.0, n_features / 30) / 34
    assert -math.log1p(-expected) / 3 < best.losses.mean() < 3 * expected
    assert path.loss == pytest.approx(best.losses.mean())
    assert path.compared_loss > path.loss


@pytest.mark.parametrize("loss", [SquaredHinge(), Huber(0.7)], ids=lambda loss: loss.name)
@BRANCHES
@pytest.mark.usefixtures("branch")
def test_losses_with_kinks_in_their_slopes(loss):
    X, y = numbers(60) if loss.task == "regression" else classes(2, 60)
    n_classes = None if loss.task == "regression" else 2
    objective, pieces = objective_of(loss, n_classes, alpha=0.1), pieces_of(X, y)
    best = found_by(path_of(objective, pieces))

    def penalised(flat):
        sums = second_order(objective, pieces, flat[:, None], curvature="none")
        penalties = np.array([6.0, 6.0, 6.0, 0.0])
        return sums.loss + 0.5 * penalties @ flat**2, sums.gradient[:, 0] + penalties * flat

    exact = minimize(penalised, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert best.decrement <= EXACT
    np.testing.assert_allclose(best.model[:, 0], exact.x, atol=2e-5)


def test_one_class_against_the_rest_is_as_if_alone():
    X, y = classes(3, 60)
    best = found_by(path_of(objective_of(SquaredHinge(), 3, alpha=0.1), pieces_of(X, y)))
    alone = [
        found_by(path_of(objective_of(SquaredHinge(), alpha=0.1), pieces_of(X, np.where(y == k, 1.0, -1.0))))
        for k in range(3)
    ]
    np.testing.assert_allclose(best.model, np.hstack([one.model for one in alone]), atol=1e-4)
    np.testing.assert_allclose(best.losses, sum(one.losses for one in alone), rtol=0.02)


def test_without_an_intercept_and_with_a_constant_column():
    X, y = classes(2, 60)
    X[:, 1] = 7.0
    scaling = Scaling(np.array([1.0, np.inf, 1.0]))
    objective = objective_of(Logistic(), fit_intercept=False, alpha=0.1)
    best = found_by(path_of(objective, pieces_of(X, y, scaling=scaling)))
    exact = logistic(X[:, [0, 2]], y, 6.0, fit_intercept=False)
    assert best.model[[1, 3], 0].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(best.model[[0, 2], 0], exact.coef_[0], atol=1e-5)


def test_a_finite_optimum_is_proved_where_there_is_one():
    X, y = classes(2, 200, 2)
    overlapping = path_of(objective_of(Logistic()), pieces_of(X, y))
    found_by(overlapping)
    assert overlapping.has_finite_optimum()
    separable = path_of(objective_of(Logistic()), pieces_of(X, np.where(X[:, 0] > 0, 1.0, -1.0)))
    found_by(separable)
    assert not separable.has_finite_optimum()


def test_the_model_so_far_is_known_at_any_time():
    X, y = classes(3)
    objective = objective_of(Logistic(), 3)
    path = path_of(objective, pieces_of(X, y))
    start = path.best.model
    readings, known = SearchRunner(MemoryRows(path.pieces.block), path.evaluations()), []
    while not readings.done:
        readings.read()
        assert np.isfinite(path.best.model).all()
        known.append(path.best.model is not start and path.best.model.any())
    assert known == sorted(known)
    assert known[1]


def test_a_start_does_not_change_the_optimum():
    X, y = classes(2, 60)
    objective, pieces = objective_of(Logistic()), pieces_of(X, y)
    near = found_by(path_of(objective, pieces))
    far = found_by(ExactPath(system_of(objective, pieces), pieces, np.array([[30.0], [-30.0], [10.0], [5.0]])))
    assert far.lam == near.lam
    np.testing.assert_allclose(far.model, near.model, atol=1e-4)
