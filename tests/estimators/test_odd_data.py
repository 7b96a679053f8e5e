"""Units and sizes of any kind, columns without spread and very few rows: always a finite model and a verdict."""

import warnings

import numpy as np
import pytest
from automatic_problems import TASKS, assert_same_scores, fitted, problem, scores_of
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor
from sgdone.stopping import MaxSamples
from storage_forms import FORMS as STORED
from tiers import examples, fast_first, interpreted

in_both_forms = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
by_fit_or_partial_fit = pytest.mark.parametrize("chunk", fast_first(1, [None, 150]), ids=["fit", "partial_fit"])


@by_fit_or_partial_fit
@pytest.mark.parametrize("task", TASKS)
def test_constant_columns_count_for_nothing(task, chunk):
    X, y = problem(task)
    constants = np.array([7.0, 0.0, 1e20, -1e-20, 0.1, 1.0 / 3.0, -1e6])
    more = np.column_stack([X[:, :3], np.tile(constants, (600, 1)), X[:, 3:]])
    model, plain = fitted(task, more, y, chunk), fitted(task, X, y, chunk)
    np.testing.assert_array_equal(model.coef_[..., 3:10], 0.0)
    np.testing.assert_allclose(np.delete(model.coef_, np.s_[3:10], axis=-1), plain.coef_, rtol=1e-9, atol=1e-12)


@by_fit_or_partial_fit
@pytest.mark.parametrize("task", TASKS)
def test_columns_of_zeros_in_sparse_rows(task, chunk):
    X, y = problem(task, density=0.4)
    more = np.column_stack([X[:, :3], np.zeros((600, 2)), X[:, 3:]])
    model, plain = fitted(task, sparse.csr_array(more), y, chunk), fitted(task, sparse.csr_array(X), y, chunk)
    np.testing.assert_array_equal(model.coef_[..., 3:5], 0.0)
    np.testing.assert_allclose(np.delete(model.coef_, [3, 4], axis=-1), plain.coef_, rtol=1e-9, atol=1e-12)


@in_both_forms
def test_one_row_a_class(form, rng):
    X = rng.standard_normal((4, 3))
    for labels in (["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]):
        model = LinearClassifier(random_state=0).fit(form(X[: len(labels)]), labels)
        assert model.predict(form(X[: len(labels)])).tolist() == labels


@in_both_forms
def test_one_and_two_rows_of_numbers(form, rng):
    X = rng.standard_normal((2, 3))
    model = LinearRegressor(random_state=0).fit(form(X), [1.0, 3.0])
    low, high = model.predict(form(X))
    assert 0.5 < low < 2.0 < high < 3.5
    model = LinearRegressor(random_state=0).fit(form(X[:1]), [3.0])
    np.testing.assert_allclose(model.predict(form(X[:1])), 3.0)


@in_both_forms
@pytest.mark.parametrize("rows", [2, 3, 4, 5, 8, 13, 21])
def test_any_small_number_of_rows(rows, form, rng):
    X = rng.standard_normal((rows, 3))
    y = np.arange(rows) % 2
    for model in (LinearClassifier(random_state=0).fit(form(X), y), LinearRegressor(random_state=0).fit(form(X), y)):
        assert np.isfinite(scores_of(model, form(X))).all()
        assert np.isfinite(model.verdict_.evidence["loss"])


@in_both_forms
def test_more_features_than_rows(form, rng):
    X = rng.standard_normal((80, 400))
    y = X[:, :10].sum(axis=1)
    model = LinearRegressor(random_state=0).fit(form(X), y)
    assert model.score(form(X), y) > 0.5
    new = rng.standard_normal((500, 400))
    assert model.score(form(new), new[:, :10].sum(axis=1)) > 0.0
    assert LinearClassifier(random_state=0).fit(form(X), y > 0).score(form(X), y > 0) > 0.9


@pytest.mark.parametrize("task", TASKS)
def test_empty_sparse_rows(task):
    X, y = problem(task, density=0.4)
    X[::7] = 0.0
    model = fitted(task, sparse.csr_array(X), y)
    empty = scores_of(model, sparse.csr_array((1, 6)))
    np.testing.assert_allclose(empty.ravel(), model.intercept_)
    assert model.score(sparse.csr_array(X), y) > (0.3 if task == "numbers" else 0.5)


def test_no_stored_entries_at_all():
    y = np.tile([0, 0, 0, 1], 100)
    for rows in (sparse.csr_array((400, 3)), np.zeros((400, 3)), np.full((400, 3), 5.0)):
        model = LinearClassifier(random_state=0).fit(rows, y)
        np.testing.assert_array_equal(model.coef_, 0.0)
        assert model.predict_proba(rows[:1])[0, 1] == pytest.approx(0.25, abs=0.05)
        numbers = LinearRegressor(random_state=0).fit(rows, y)
        np.testing.assert_array_equal(numbers.coef_, 0.0)
        assert numbers.intercept_[0] == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e9, 1e-9])
def test_a_target_that_never_changes(value):
    X, _ = problem("numbers")
    model = LinearRegressor(random_state=0).fit(X, np.full(600, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-9, atol=0.0)
    assert model.verdict_.status == "converged"


@pytest.mark.parametrize("form", fast_first(1, [form for form in STORED if form != "dense"]))
@pytest.mark.parametrize("task", fast_first(1, ["two", "numbers"]))
def test_the_same_rows_stored_otherwise(form, task):
    X, y = problem(task, density=0.4)
    rows, plain = STORED[form](X), X if form == "read-only" else sparse.csr_array(X)
    y.flags.writeable = False
    for chunk in (None, 150):
        model, expected = fitted(task, rows, y, chunk), fitted(task, plain, y, chunk)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
        np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-9)


@in_both_forms
@by_fit_or_partial_fit
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("size", [1e100, 1e-100])
def test_huge_and_tiny_columns(size, task, chunk, form):
    X, y = problem(task)
    other = X * [size, 1.0, 1.0, 1.0, 1.0 / size, 1.0]
    assert_same_scores(
        scores_of(fitted(task, form(other), y, chunk), form(other)), scores_of(fitted(task, form(X), y, chunk), form(X))
    )


@in_both_forms
def test_columns_whose_squares_overflow_are_refused_by_name(form):
    X, y = problem("two")
    X[17, 2] = 1e300
    with pytest.raises(ValueError, match="row 17 of X is too large"):
        LinearClassifier(random_state=0).fit(form(X), y)


@in_both_forms
@pytest.mark.parametrize("task", TASKS)
def test_one_huge_value_costs_little(task, form):
    """A broken sensor once in 600 rows."""
    X, y = problem(task)
    expected = fitted(task, form(X), y).score(X, y)
    broken = X.copy()
    broken[100, 0] = 1e6
    model = fitted(task, form(broken), y)
    # That column is lost, the others are not.
    without = fitted(task, form(X[:, 1:]), y).score(X[:, 1:], y)
    kept = np.arange(600) != 100
    assert model.score(form(broken)[kept], y[kept]) > min(expected, without) - 0.05


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("task", TASKS)
def test_rows_of_weight_zero_may_contain_anything(task, shuffle):
    X, y = problem(task)
    weight = np.ones(600)
    weight[[0, 5, 77, 599]] = 0.0
    X[[0, 5, 77, 599]] = np.nan
    model = (LinearRegressor if task == "numbers" else LinearClassifier)(random_state=0, shuffle=shuffle)
    used = weight > 0
    assert model.fit(X, y, sample_weight=weight).score(X[used], y[used]) > (0.7 if task == "numbers" else 0.6)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("rows", "share"), [(600, 0.9), (6000, 0.1)])
def test_rows_of_weight_zero_do_not_count(rows, share, task):
    X, y = problem(task, rows)
    used = np.random.default_rng(1).random(rows) < share
    make = LinearRegressor if task == "numbers" else LinearClassifier
    zeros = make(shuffle=False, random_state=0).fit(X, y, sample_weight=used)
    absent = make(shuffle=False, random_state=0).fit(X[used], y[used])
    assert zeros.verdict_.step == absent.verdict_.step
    assert zeros.verdict_.evidence["loss"] == pytest.approx(absent.verdict_.evidence["loss"], rel=1e-9)
    assert_same_scores(scores_of(zeros, X), scores_of(absent, X))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("unit", [1.0 / 600, 1e3])
def test_the_unit_of_weights_does_not_matter_to_a_given_penalty(unit, task):
    X, y = problem(task)
    make = LinearRegressor if task == "numbers" else LinearClassifier
    weighted = make(alpha=0.01).fit(X, y, sample_weight=np.full(600, unit))
    assert_same_scores(scores_of(weighted, X), scores_of(fitted(task, X, y, alpha=0.01), X))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("unit", [1e-5, 1e20])
def test_weights_that_cannot_be_numbers_of_rows(unit, task):
    X, y = problem(task)
    make = LinearRegressor if task == "numbers" else LinearClassifier
    weighted = make().fit(X, y, sample_weight=np.full(600, unit))
    assert "were divided by their mean" in str(weighted.verdict_)
    assert_same_scores(scores_of(weighted, X), scores_of(fitted(task, X, y), X))


def test_a_class_that_has_no_rows_in_a_stream():
    X, y = problem("two")
    model = LinearClassifier(random_state=0)
    for first in range(0, 600, 100):
        model.partial_fit(X[first : first + 100], y[first : first + 100], classes=[0, 1, 2])
    assert model.predict_proba(X)[:, 2].mean() < 0.05
    assert np.mean(model.predict(X) == y) > 0.75


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_that_come_in_turn(n_classes, rng):
    """A fit that ends early uses a sample of rows for its intercept: not every other one, of one class."""
    y = np.arange(60_000) % n_classes
    X = rng.standard_normal((60_000, 3))
    X[:, 0] += 2.0 * y
    model = LinearClassifier(stop=MaxSamples(20_000), random_state=0).fit(X, y)
    assert model.verdict_.passes < 1
    np.testing.assert_allclose(model.predict_proba(X).mean(axis=0), 1.0 / n_classes, atol=0.01)


def test_weights_of_zero_in_turn(rng):
    X = rng.standard_normal((60_000, 3))
    y = X[:, 0] + rng.standard_normal(60_000)
    model = LinearRegressor(random_state=0).fit(X, y, sample_weight=(np.arange(60_000) % 4 > 0).astype(float))
    np.testing.assert_allclose(model.coef_, [1.0, 0.0, 0.0], atol=0.05)


@pytest.mark.parametrize("bad", fast_first(1, [np.nan, np.inf]))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_bad_row_is_named_or_was_never_read(n_classes, bad, rng):
    """Wherever it is: among training rows, held-out rows, rows for the intercept, or rows never read."""
    X = rng.standard_normal((60_000, 3))
    y = np.digitize(X[:, 0] + rng.logistic(size=60_000), [0.0, 1.5][: n_classes - 1])
    outcomes = set()
    for row in range(0, 60_000, 4999):
        spoilt = X.copy()
        spoilt[row, 1] = bad
        try:
            outcomes.add(LinearClassifier(random_state=0, check_optimum=False).fit(spoilt, y).verdict_.status.value)
        except ValueError as error:
            assert f"row {row}" in str(error)  # noqa: PT017  # a row that was never read is no error
            outcomes.add("named")
    assert "named" in outcomes
    assert outcomes <= {"named", "converged"}


def test_rows_of_weight_zero_after_a_comparison(rng):
    """No loss was recorded since: there is nothing to compare."""
    X = rng.standard_normal((1100, 5))
    y = rng.logistic(size=1100) < X @ [3.0, 2.0, 1.0, 0.0, 0.0]
    weights = np.r_[np.ones(1024), np.zeros(76)]
    at_once = LinearClassifier(shuffle=False, random_state=0)
    at_once.partial_fit(X, y, classes=[False, True], sample_weight=weights)
    lead = at_once._fitted.results[0].state.lead
    without = LinearClassifier(shuffle=False, random_state=0).partial_fit(X[:1024], y[:1024], classes=[False, True])
    assert lead == without._fitted.results[0].state.lead
    np.testing.assert_allclose(at_once.coef_, without.coef_, rtol=1e-9)


# ---- the units of columns and targets do not matter ----


by_fit_or_small_parts = pytest.mark.parametrize("chunk", fast_first(1, [None, 100]), ids=["fit", "partial_fit"])
FACTORS = [
    10.0 ** np.array([8, -8, 3, -5, 0, 6]),
    -(10.0 ** np.array([-1, 1, -2, 2, -7, 7])),
    10.0 ** np.array([0, -150, -170, -300, -300, 100]),
]


@by_fit_or_small_parts
@in_both_forms
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("factors", FACTORS, ids=["positive", "negative", "squares underflow"])
def test_columns_in_other_units(factors, task, form, chunk):
    X, y = problem(task, density=1.0 if form is np.asarray else 0.4)
    plain, scaled = fitted(task, form(X), y, chunk), fitted(task, form(X * factors), y, chunk)
    assert_same_scores(scores_of(scaled, form(X * factors)), scores_of(plain, form(X)))
    if task != "numbers":
        assert_same_scores(scaled.predict_proba(form(X * factors)), plain.predict_proba(form(X)))
        np.testing.assert_array_equal(scaled.predict(form(X * factors)), plain.predict(form(X)))
    np.testing.assert_allclose(scaled.coef_ * factors, plain.coef_, rtol=1e-6, atol=1e-9)
    assert scaled.verdict_.step == plain.verdict_.step


@by_fit_or_small_parts
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("distance", [1.0, 1e6])
def test_columns_moved(distance, task, chunk):
    X, y = problem(task)
    moved = X + distance * np.array([1.0, -1.0, 0.5, 1.0, 0.0, -0.1]) * X.std(axis=0)
    plain, other = fitted(task, X, y, chunk), fitted(task, moved, y, chunk)
    assert_same_scores(scores_of(other, moved), scores_of(plain, X))
    if task != "numbers":
        assert_same_scores(other.predict_proba(moved), plain.predict_proba(X))


@in_both_forms
@pytest.mark.parametrize("task", TASKS)
def test_units_without_an_intercept(task, form):
    X, y = problem(task)
    plain, scaled = (fitted(task, form(rows), y, fit_intercept=False) for rows in (X, X * FACTORS[0]))
    assert_same_scores(scores_of(scaled, form(X * FACTORS[0])), scores_of(plain, form(X)))


@in_both_forms
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.slow
def test_in_float32(task, form):
    X, y = problem(task)
    X = X.astype(np.float32)
    factors = 2.0 ** np.array([20, -20, 7, -13, 0, 30]).astype(np.float32)
    plain, scaled = fitted(task, form(X), y), fitted(task, form(X * factors), y)
    assert_same_scores(scores_of(scaled, form(X * factors)), scores_of(plain, form(X)), 1e-4)


@by_fit_or_small_parts
@in_both_forms
@pytest.mark.parametrize("task", TASKS)
def test_columns_in_another_order(task, form, chunk):
    X, y = problem(task)
    order = np.random.default_rng(1).permutation(6)
    plain, other = fitted(task, form(X), y, chunk), fitted(task, form(X[:, order]), y, chunk)
    np.testing.assert_allclose(other.coef_, plain.coef_[..., order], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.intercept_, plain.intercept_, rtol=1e-9, atol=1e-12)


@by_fit_or_small_parts
@in_both_forms
@pytest.mark.parametrize(("factor", "shift"), [(1e-6, 3e-6), (-2.0, 1e3), (1e8, -1e10)], ids=str)
def test_targets_in_other_units(factor, shift, form, chunk):
    X, y = problem("numbers")
    plain, other = fitted("numbers", form(X), y, chunk), fitted("numbers", form(X), factor * y + shift, chunk)
    assert_same_scores((other.predict(form(X)) - shift) / factor, plain.predict(form(X)))
    assert other.verdict_.step == plain.verdict_.step


@pytest.mark.slow
@pytest.mark.parametrize("loss", fast_first(1, ["hinge", "squared_hinge"]))
def test_units_with_other_losses(loss):
    X, y = problem("three")
    plain, scaled = (fitted("three", rows, y, loss=loss) for rows in (X, X * FACTORS[0]))
    assert_same_scores(scores_of(scaled, X * FACTORS[0]), scores_of(plain, X))


# ---- odd shapes and sizes: always a finite model and a verdict ----


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
def test_one_row_a_class_of_named_methods(form, solver):
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
def test_more_features_than_rows_of_named_methods(solver, rng):
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
