"""The default fit on small data: the exact optimum of a stated objective, whatever the seed or the storage."""

import signal

import numpy as np
import pytest
from automatic_problems import estimator, fitted, pressing_at, problem, scores_of
from scipy import sparse
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from exact_problems import log_losses, logistic
from sgdone import LinearClassifier, LinearRegressor, diagnose
from sgdone.fit import loaded_rows
from sgdone.interfaces.stop_rule import Status
from sgdone.losses import Huber
from sgdone.newton.exact_phase import ExactInMemory
from sgdone.stopping import MaxPasses, MaxSeconds

TASKS = pytest.mark.parametrize("task", ["two", "three", "numbers"])
FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])


def in_units(X, weights=None):
    """Columns of mean 0 and spread 1; constant ones are 0."""
    mean = np.average(X, axis=0, weights=weights)
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    return (X - mean) / np.where(spread > 1e-12, spread, np.inf)


def optimum(task, X, y, strength, weights=None):
    """What scikit-learn finds."""
    if task == "numbers":
        return Ridge(strength, solver="cholesky").fit(X, y, sample_weight=weights)
    return logistic(X, y, strength, weights)


# ---- the optimum ----


@TASKS
def test_threads_of_blas_change_no_bit(task, same_model):
    X, y = problem(task, 4200)
    X = np.column_stack([X] * 6) + np.random.default_rng(0).standard_normal((4200, 36))
    models = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            models.append(fitted(task, X, y, stop=MaxPasses(60)))
    same_model(*models)
    assert models[0].verdict_.finish_passes > 0


@TASKS
def test_columns_that_are_there_twice_share_the_coefficient(task):
    X, y = problem(task, 200)
    model, plain = fitted(task, np.column_stack([X, X]), y, alpha=0.01), fitted(task, X, y, alpha=0.005)
    np.testing.assert_allclose(model.coef_[..., :6], model.coef_[..., 6:], rtol=1e-9)
    np.testing.assert_allclose(2.0 * model.coef_[..., :6], plain.coef_, rtol=1e-4, atol=1e-5)


@TASKS
@FORMS
def test_fewer_rows_than_columns(form, task):
    """Coefficients are a combination of the rows, and the penalty is that of the columns."""
    X, y = problem(task, 30)
    X = np.sign(np.column_stack([X, np.random.default_rng(1).standard_normal((30, 60))]))
    model = fitted(task, form(X), y, alpha=0.1)
    scaled = X if form is sparse.csr_array else in_units(X)
    exact = scores_of(optimum(task, scaled, y, 3.0), scaled)
    np.testing.assert_allclose(scores_of(model, form(X)), exact, atol=1e-3)


@pytest.mark.parametrize("loss", ["huber", "squared_hinge"])
def test_losses_with_kinks_in_their_slopes_have_a_finish(loss):
    task = "numbers" if loss == "huber" else "two"
    model = fitted(task, *problem(task, 200), loss=loss)
    assert model.verdict_.finish_passes > 0
    assert model.verdict_.evidence["decrement"] <= 5e-9


# ---- what the verdict says ----


@TASKS
def test_the_verdict_states_the_loss_of_rows_left_out(task):
    verdict = fitted(task, *problem(task, 200)).verdict_
    assert "the leave-one-out loss is" in str(verdict)
    assert verdict.finish_passes == verdict.passes == verdict.step
    assert 0 < verdict.evidence["loss"] < verdict.evidence["constant_loss"]


@TASKS
def test_a_penalty_that_is_the_largest_is_named(task):
    """Every row is there once with each label."""
    count = 3 if task == "three" else 2
    X = np.repeat(np.random.default_rng(0).standard_normal((30, 3)), count, axis=0)
    model = fitted(task, X, np.tile(np.arange(count), 30))
    assert "the best penalty is the largest" in str(model.verdict_)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-3)


def test_a_penalty_that_is_the_smallest_is_named():
    X = np.random.default_rng(0).standard_normal((60, 3))
    model = LinearRegressor().fit(X, X @ [1.0, 2.0, 3.0])
    assert "the best penalty is the smallest that makes a difference" in str(model.verdict_)


def test_one_pass_is_enough_for_least_squares():
    X, y = problem("numbers", 200)
    model = LinearRegressor(stop=1).fit(X, y)
    exact = Ridge(model.alpha_ * 200).fit(in_units(X), y)
    assert (model.verdict_.passes, model.verdict_.status) == (1.0, Status.CONVERGED)
    assert "the cross-validation loss is" in str(model.verdict_)
    np.testing.assert_allclose(model.predict(X), exact.predict(in_units(X)), atol=1e-8)


# ---- weights ----


@TASKS
def test_a_row_of_weight_2_is_the_row_twice_among_fewer_rows_than_columns(task):
    X, y = problem(task, 30)
    X = np.column_stack([X, np.random.default_rng(1).standard_normal((30, 90))])
    counts = np.tile([1, 2, 3], 10)
    weighted = estimator(task).fit(X, y, sample_weight=counts)
    repeated = fitted(task, np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.alpha_ == pytest.approx(repeated.alpha_, rel=1e-12)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)


@TASKS
def test_weights_over_twelve_orders_of_magnitude(task):
    X, y = problem(task, 200)
    weights = 10.0 ** np.random.default_rng(1).uniform(-6.0, 6.0, 200)
    model = estimator(task, alpha=0.01).fit(X, y, sample_weight=weights)
    exact = optimum(task, in_units(X, weights), y, 0.01 * weights.sum(), weights)
    np.testing.assert_allclose(scores_of(model, X), scores_of(exact, in_units(X, weights)), rtol=1e-3, atol=1e-3)
    assert np.isfinite(estimator(task).fit(X, y, sample_weight=weights).coef_).all()


# ---- what follows a finish ----


@TASKS
def test_a_budget_of_no_time_leaves_a_finite_model(task):
    X, y = problem(task, 200)
    model = fitted(task, X, y, stop=MaxSeconds(1e-9))
    assert (model.verdict_.status, model.verdict_.rule) == (Status.BUDGET_SPENT, "MaxSeconds")
    assert np.isfinite(model.coef_).all()
    model.partial_fit(X, y, resume=True)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    ("task", "call"), [("two", 1), ("two", 2), ("two", 6), ("three", 1), ("three", 2), ("three", 6), ("numbers", 1)]
)
def test_an_interrupt_keeps_the_model_so_far(task, call):
    X, y = problem(task, 200)
    model = estimator(task)
    model._progress_hook = pressing_at(call)
    model.fit(X, y)
    assert (model.verdict_.status, model.verdict_.step) == (Status.INTERRUPTED, call)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.alpha_)
    if call == 6:
        assert model.score(X, y) > 0.6
    del model._progress_hook
    assert np.isfinite(model.partial_fit(X, y).coef_).all()


# ---- after the bank ----


@pytest.fixture
def bank_first(monkeypatch):
    monkeypatch.setattr(ExactInMemory, "replaces_bank", lambda *arguments: False)
    monkeypatch.setattr(ExactInMemory, "follows_bank", lambda *arguments: True)


@pytest.mark.usefixtures("bank_first")
@pytest.mark.parametrize("task", ["two", "three"])
def test_a_finish_after_the_bank_finds_the_same_optimum(task):
    X, y = problem(task, 200)
    model = fitted(task, X, y)
    verdict, exact = model.verdict_, optimum(task, in_units(X), y, model.alpha_ * 200)
    assert 0 < verdict.finish_passes < verdict.passes
    assert "of them exact" in str(verdict)
    np.testing.assert_allclose(scores_of(model, X), scores_of(exact, in_units(X)), atol=1e-4)


@pytest.mark.usefixtures("bank_first")
def test_a_budget_that_ends_the_finish_keeps_the_model_of_the_bank(monkeypatch, same_model):
    X, y = problem("two", 600)
    passes = LinearClassifier(random_state=0).fit(X, y).verdict_
    allowed = int(passes.passes - passes.finish_passes) + 2
    model = LinearClassifier(stop=allowed, random_state=0).fit(X, y)
    monkeypatch.setattr(ExactInMemory, "is_worthwhile", lambda *arguments: False)
    same_model(model, LinearClassifier(stop=allowed, random_state=0).fit(X, y))
    assert model.verdict_.finish_passes == 0


@pytest.mark.usefixtures("bank_first")
def test_so_does_an_interrupt(monkeypatch, same_model):
    X, y = problem("two", 600)
    begun, start = [], ExactInMemory.start
    monkeypatch.setattr(ExactInMemory, "start", lambda *arguments: begun.append(True) or start(*arguments))

    def hook(progress):
        if begun:
            raise KeyboardInterrupt

    model = LinearClassifier(random_state=0)
    model._progress_hook = lambda number: hook
    model.fit(X, y)
    assert begun
    assert (model.verdict_.status, model.verdict_.finish_passes) == (Status.INTERRUPTED, 0)
    monkeypatch.setattr(ExactInMemory, "is_worthwhile", lambda *arguments: False)
    same_model(model, LinearClassifier(random_state=0).fit(X, y))


@pytest.mark.parametrize("place", ["finish", "check", "features"])
def test_a_real_signal_after_the_first_phase(place, monkeypatch):
    """It is never without effect: the verdict says so, and the model is there."""
    X, y = problem("two", 600)

    def sending(call):
        def send(*arguments, **options):
            signal.raise_signal(signal.SIGINT)
            return call(*arguments, **options)

        return send

    if place == "finish":  # after the bank
        monkeypatch.setattr(ExactInMemory, "replaces_bank", lambda *arguments: False)
        monkeypatch.setattr(ExactInMemory, "follows_bank", lambda *arguments: True)
        monkeypatch.setattr(ExactInMemory, "advance", sending(ExactInMemory.advance))
    elif place == "check":
        monkeypatch.setattr(diagnose, "separation", sending(diagnose.separation))
    else:
        monkeypatch.setattr(loaded_rows, "shares_of_rows", sending(loaded_rows.shares_of_rows))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        model = LinearClassifier(check_optimum="thorough", random_state=0).fit(X, y)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)
    verdict = model.verdict_
    assert verdict.status is model.trace_.verdict.status is Status.INTERRUPTED
    assert ("the fit itself: converged" in verdict.reason) == (place != "finish")
    assert model.score(X, y) > 0.6


# ---- edges of the exact phase that estimators meet ----


def test_leave_one_out_without_an_intercept():
    X, y = problem("two", 40)
    model = LinearClassifier(fit_intercept=False).fit(X, y)
    scaled = X / np.sqrt((X**2).mean(axis=0))
    rows = np.arange(40)
    losses = [
        log_losses(
            logistic(scaled[rows != k], y[rows != k], model.alpha_ * 40, fit_intercept=False), scaled[[k]], y[[k]]
        )[0]
        for k in rows
    ]
    assert model.verdict_.evidence["loss"] == pytest.approx(np.mean(losses), rel=0.02)


@pytest.mark.slow
def test_huber_of_targets_in_large_units():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = 1e6 * X[:, 0] + rng.standard_normal(60)
    model = LinearRegressor(loss="huber").fit(X, y)
    assert model.score(X, y) > 0.9


def test_tiny_sparse_columns_of_a_regression():
    X, y = problem("numbers", 200)
    models = [LinearRegressor().fit(sparse.csr_array(unit * X), y) for unit in (1.0, 1e-170)]
    np.testing.assert_allclose(1e-170 * models[1].coef_, models[0].coef_, rtol=1e-6)


def test_an_interrupted_regression_predicts_the_mean():
    X, y = problem("numbers", 200)
    model = LinearRegressor()
    model._progress_hook = pressing_at(1)
    model.fit(X, y + 100.0)
    assert model.score(X, y + 100.0) > -0.01


def test_the_penalty_of_a_state_is_the_one_chosen():
    X, y = problem("numbers", 200)
    model = LinearRegressor(loss=Huber(0.5)).fit(X, y)
    assert model._fitted.results[0].state.alpha == pytest.approx(model.alpha_)


def test_noise_in_more_columns_than_rows_gets_a_large_penalty(rng):
    X, y = rng.standard_normal((40, 120)), rng.standard_normal(40)
    model = LinearRegressor().fit(X, y)
    scaled, rows = (X - X.mean(axis=0)) / X.std(axis=0), np.arange(40)
    losses = []
    for k in rows:
        without = Ridge(model.alpha_ * 40).fit(scaled[rows != k], y[rows != k])
        losses.append(0.5 * float(without.predict(scaled[[k]])[0] - y[k]) ** 2)
    assert model.alpha_ * 40 > 10
    assert model.verdict_.evidence["loss"] == pytest.approx(np.mean(losses), rel=1e-6)


def test_labels_without_a_reason_in_more_columns_than_rows_get_the_largest_penalty(rng):
    model = LinearClassifier().fit(rng.standard_normal((40, 400)), rng.permutation(np.tile([0, 1], 20)))
    assert model.verdict_.evidence["loss"] > 0.69
    assert model.alpha_ * 40 > 100


@pytest.mark.parametrize("size", [1e-4, 1e-2])
def test_small_targets_of_a_huber_loss_have_the_penalty_of_larger_ones(size):
    X, y = problem("numbers", 100)
    small, large = (LinearRegressor(loss="huber").fit(X, unit * y) for unit in (1e-2 * size, 1e-2))
    assert small.alpha_ == pytest.approx(large.alpha_)
    np.testing.assert_allclose(small.coef_ / size, large.coef_, rtol=1e-4, atol=1e-7)


def test_a_constant_model_is_not_called_worse_than_a_constant_prediction(rng):
    model = LinearClassifier().fit(np.ones((60, 2)), rng.permutation(np.repeat([0, 1], [25, 35])))
    assert "of a constant prediction" not in str(model.verdict_)


def test_a_budget_that_was_not_spent_does_not_end_a_stream():
    X, y = problem("two", 100)
    model = LinearClassifier(stop=100).fit(X, y)
    assert model.verdict_.rule == "Decrement"
    assert model.partial_fit(X, y).verdict_.status == "in progress"
