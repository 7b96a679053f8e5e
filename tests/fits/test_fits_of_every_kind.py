"""Default fits on rows in memory, in blocks and in partitions: the same facts wherever the rows are."""

import copy

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import sgdone
from exact_problems import logistic
from row_kinds import InBlocks, InMemory, estimator, every_fit, every_fit_and_task, rows_of, scores_of
from sgdone.interfaces.stop_rule import Status
from sgdone.stopping import Gain, MaxPasses

pytestmark = pytest.mark.usefixtures("own_cache_folder")


def exact_scores(kind, task, X, y, alpha, weights=None):
    """Scores at the optimum that scikit-learn finds, in the units that the documentation states."""
    weights = np.ones(len(y)) if weights is None else weights
    scale, shift = kind.units(X, weights)
    scaled, lam = (X - shift) / scale, alpha * weights.sum()
    if task == "regression":
        return Ridge(lam, solver="cholesky").fit(scaled, y, sample_weight=weights).predict(scaled)
    return logistic(scaled, y, lam, weights).decision_function(scaled)


def close(found, expected, kind):
    np.testing.assert_allclose(found, expected, atol=kind.tolerance * expected.std())


# ---- the optimum ----


@every_fit_and_task
@pytest.mark.parametrize("alpha", ["auto", 0.0])
def test_the_model_is_the_optimum_that_scikit_learn_finds(alpha, task, kind):
    X, y = rows_of(task)
    model = kind.fit(estimator(task, alpha=alpha), X, y)
    assert alpha in ("auto", model.alpha_)
    assert (model.verdict_.status, model.verdict_.rule) == (Status.CONVERGED, "Decrement")
    assert model.verdict_.evidence["decrement"] <= 5e-9
    assert 0 < model.verdict_.finish_passes <= model.verdict_.passes
    close(scores_of(model, X), exact_scores(kind, task, X, y, max(model.alpha_, 1e-9)), kind)


@every_fit
def test_labels_that_depend_on_nothing_take_a_large_penalty(kind):
    X, y = rows_of("two classes")
    model, of_noise = (
        kind.fit(estimator("two classes"), X, own) for own in (y, np.random.default_rng(1).permutation(y))
    )
    assert of_noise.alpha_ >= 5 * model.alpha_


@every_fit_and_task
def test_without_an_intercept(task, kind):
    X, y = rows_of(task)
    X = X - X.mean(axis=0) * (np.arange(5) < 2)
    model = kind.fit(estimator(task, fit_intercept=False, alpha=0.0), X, y)
    np.testing.assert_array_equal(model.intercept_, 0.0)
    if task == "regression":
        close(model.predict(X), X @ np.linalg.lstsq(X, y)[0], kind)
    else:
        close(scores_of(model, X), logistic(X, y, 1e-7, fit_intercept=False).decision_function(X), kind)


@every_fit
@pytest.mark.parametrize("task", ["two classes", "regression"])
def test_the_units_of_columns_do_not_matter(task, kind):
    X, y = rows_of(task)
    factors = np.array([1e-6, -1e5, 1e3, 1e-3, 1e8])
    model, other = (kind.fit(estimator(task, alpha=0.01), rows, y) for rows in (X, X * factors))
    close(scores_of(other, X * factors), scores_of(model, X), kind)


# ---- weights ----


@every_fit_and_task
def test_weights_are_frequencies(task, kind):
    """A row of weight 2 is the row twice, and one of weight 0 is not there."""
    X, y = rows_of(task)
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = kind.fit(estimator(task, alpha=0.01), X, y, counts)
    repeated = kind.fit(estimator(task, alpha=0.01), np.repeat(X, counts, axis=0), np.repeat(y, counts))
    close(scores_of(weighted, X), scores_of(repeated, X), kind)
    close(scores_of(weighted, X), exact_scores(kind, task, X, y, 0.01, counts), kind)
    if isinstance(kind, InMemory):  # elsewhere the validation rows are drawn
        weighted, repeated = (
            estimator(task).fit(kind.matrix(X), y, sample_weight=counts),
            estimator(task).fit(kind.matrix(np.repeat(X, counts, axis=0)), np.repeat(y, counts)),
        )
        assert weighted.alpha_ == pytest.approx(repeated.alpha_, rel=1e-12)
        for name in ("loss", "standard_error", "constant_loss"):
            assert weighted.verdict_.evidence[name] == pytest.approx(repeated.verdict_.evidence[name], rel=1e-8)


@every_fit
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}])
def test_class_weights_are_sample_weights(class_weight, kind):
    X, y = rows_of("two classes")
    y[np.random.default_rng(1).random(len(y)) < 0.4] = 1
    model = estimator("two classes", alpha=0.01, class_weight=class_weight)
    if class_weight == "balanced" and not kind.balances:
        with pytest.raises(ValueError, match="class_weight='balanced' needs all labels at once"):
            kind.fit(model, X, y)
        return
    shares = len(y) / (2 * np.bincount(y)) if class_weight == "balanced" else np.array([3.0, 1.0])
    expected = kind.fit(estimator("two classes", alpha=0.01), X, y, shares[y])
    close(scores_of(kind.fit(model, X, y), X), scores_of(expected, X), kind)


# ---- labels and errors ----


@every_fit
def test_labels_of_any_kind(kind):
    X, y = rows_of("three classes")
    texts = np.array(["low", "middle", "top"])[y]
    plain, model = kind.fit(estimator("", alpha=0.01), X, y), kind.fit(estimator("", alpha=0.01), X, texts)
    assert model.classes_.tolist() == ["low", "middle", "top"]
    assert model.coef_.tobytes() == plain.coef_.tobytes()
    assert model.predict(X).tolist() == np.array(["low", "middle", "top"])[plain.predict(X)].tolist()
    assert model.multinomial_


@every_fit_and_task
def test_bad_data_are_named_and_leave_the_model_as_it_was(task, kind):
    X, y = rows_of(task)
    model = kind.fit(estimator(task, alpha=0.01), X, y)
    before = copy.deepcopy(model)
    for row, value, name in ((0, np.nan, "NaN"), (317, np.nan, "NaN"), (899, np.inf, "infinity")):
        bad = X.copy()
        bad[row, 1] = value
        new = estimator(task, alpha=0.01)
        for one in (model, new):
            with pytest.raises(ValueError, match=kind.place(row, 1, 900, name)):
                kind.fit(one, bad, y)
        assert not hasattr(new, "coef_")
    if task != "regression":
        with pytest.raises(ValueError, match="one class only"):
            kind.fit(model, X, np.ones_like(y))
    assert model.coef_.tobytes() == before.coef_.tobytes()
    assert model.verdict_ == before.verdict_


@every_fit
def test_no_rows_are_an_error(kind):
    X, y = rows_of("regression")
    with pytest.raises(ValueError, match=r"no rows|has a row"):
        kind.fit(estimator("regression"), X[:0], y[:0])
    with pytest.raises(ValueError, match=r"sample weights are zero|positive weight"):
        kind.fit(estimator("regression"), X, y, np.zeros(len(y)))


# ---- what the verdict says ----


@every_fit_and_task
def test_a_budget_leaves_the_model_so_far(task, kind):
    X, y = rows_of(task)
    for passes in (4, 6):
        model = kind.fit(estimator(task, stop=Gain(1e-9) | MaxPasses(passes)), X, y)
        verdict = model.verdict_
        if verdict.status is not Status.CONVERGED:  # least squares need few passes
            assert (verdict.status, verdict.rule, verdict.passes) == (Status.BUDGET_SPENT, "MaxPasses", passes)
        assert verdict.passes <= passes
        assert np.isfinite(model.coef_).all()
        assert model.n_iter_ == np.ceil(verdict.passes)


@every_fit
def test_separable_rows_have_no_finite_optimum(kind):
    X, y = rows_of("two classes")
    X[:, 1] = np.where(y > 0, 1.0, -1.0) * (1.0 + np.abs(X[:, 1]))
    if isinstance(kind, InBlocks):  # rows that are read again are not checked: the model stays finite
        model = kind.fit(estimator("two classes", alpha=0.0, stop=5), X, y)
        assert np.isfinite(model.coef_).all()
        return
    free, held = (kind.fit(estimator("two classes", alpha=alpha), X, y) for alpha in (0.0, "auto"))
    assert free.verdict_.status is Status.NO_OPTIMUM
    for model in (free, held):
        assert "omplete separation" in str(model.verdict_)
        assert "all 900 rows" in str(model.verdict_)


@every_fit
def test_targets_without_errors(kind):
    X, _ = rows_of("regression")
    for y in (X @ np.arange(1.0, 6.0) + 3.0, np.full(len(X), 7.0)):
        model = kind.fit(estimator("regression"), X, y)
        assert isinstance(kind, InBlocks) or model.verdict_.status is Status.CONVERGED
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-3)


# ---- the same bits ----


@every_fit_and_task
def test_the_same_rows_give_the_same_bits_also_from_a_file(task, kind, tmp_path):
    X, y = rows_of(task)
    model, again = (kind.fit(estimator(task), X, y) for _ in range(2))
    sgdone.save(model, tmp_path / "model")
    loaded = sgdone.load(tmp_path / "model")
    for other in (again, loaded):
        assert other.coef_.tobytes() == model.coef_.tobytes()
        assert other.intercept_.tobytes() == model.intercept_.tobytes()
        assert (other.verdict_, other.alpha_) == (model.verdict_, model.alpha_)
    assert scores_of(loaded, X).tobytes() == scores_of(model, X).tobytes()
    for other in (model, again, loaded):
        other.partial_fit(kind.matrix(X[:100]), y[:100])
        assert other.coef_.tobytes() == model.coef_.tobytes()
    assert model.verdict_.status is Status.IN_PROGRESS


@every_fit
@pytest.mark.parametrize("task", ["two classes", "regression"])
def test_the_seed_does_not_matter_at_the_optimum(task, kind):
    """Partitions choose the validation rows, and blocks their order, by the seed; the optimum of a penalty is one."""
    X, y = rows_of(task)
    first, *others = (kind.fit(estimator(task, alpha=0.01, random_state=seed), X, y) for seed in range(3))
    for other in others:
        close(scores_of(other, X), scores_of(first, X), kind)
        if isinstance(kind, InMemory):
            assert other.coef_.tobytes() == first.coef_.tobytes()


@every_fit_and_task
def test_measured_columns_and_shapes(task, kind):
    X, y = rows_of(task)
    model = kind.fit(estimator(task, alpha=0.01), X, y)
    assert model.n_features_in_ == 5
    assert type(model.alpha_) is float
    assert model.coef_.shape == {"two classes": (1, 5), "three classes": (3, 5), "regression": (5,)}[task]
    assert model.intercept_.shape == {"two classes": (1,), "three classes": (3,), "regression": (1,)}[task]
    assert model.feature_std_.shape == model.feature_share_.shape == (5,)
    if not isinstance(kind, InBlocks):
        np.testing.assert_allclose(model.feature_std_[:2], X[:, :2].std(axis=0), rtol=1e-2)
    by_hand = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(scores_of(model, X), by_hand.reshape(scores_of(model, X).shape), rtol=1e-9)
