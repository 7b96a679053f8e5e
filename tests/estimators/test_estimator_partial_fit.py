"""partial_fit: a stream of rows, in parts."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, solvers, steps
from tiers import fast_first

FORMS = {"dense": np.asarray, "csr": sparse.csr_array}
SOLVERS = ["sgd", "asgd", "isgd", "aisgd", solvers.Averaged(after=75)]


def parts(n_rows, size):
    return [slice(first, first + size) for first in range(0, n_rows, size)]


@pytest.mark.parametrize("form", fast_first(1, FORMS, upto=1))
@pytest.mark.parametrize("step", fast_first(1, [steps.InverseSqrt(0.3), 0.05]), ids=repr)
@pytest.mark.parametrize("solver", fast_first(1, SOLVERS), ids=str)
def test_parts_make_the_same_bits_as_one_pass(solver, step, form, several, same_model):
    X, y = several
    options = {"solver": solver, "step": step, "alpha": 0.01, "shuffle": False}
    whole = SGDClassifier(**options, stop=1).fit(FORMS[form](X), y)
    for size in (1, 7, 150, 400):
        streamed = SGDClassifier(**options)
        for part in parts(400, size):
            streamed.partial_fit(FORMS[form](X[part]), y[part], classes=[0, 1, 2, 3])
        same_model(streamed, whole)
        assert streamed.verdict_.step == 400


def test_parts_of_a_regression(numbers, same_model):
    X, y = numbers
    options = {"step": 0.01, "alpha": 0.1, "shuffle": False}
    streamed = SGDRegressor(**options)
    for part in parts(300, 50):
        streamed.partial_fit(X[part], y[part], sample_weight=np.full(50, 2.0))
    same_model(streamed, SGDRegressor(**options, stop=1).fit(X, y, sample_weight=np.full(300, 2.0)))


def test_the_clock_runs_on(binary):
    X, y = binary
    model = SGDClassifier(step=steps.InverseTime(1.0, 1.0)).partial_fit(X[:100], y[:100], classes=[0, 1])
    assert model.verdict_.step == 100
    assert model.trace_[-1].step_size == pytest.approx(1 / 101)
    model.partial_fit(X[100:], y[100:])
    assert model.verdict_.step == 300
    assert model.trace_[-1].step_size == pytest.approx(1 / 301)
    assert model.n_iter_ == 1


def test_an_automatic_penalty_is_fixed_by_the_first_call(binary):
    X, y = binary
    model = SGDClassifier(solver="asgd")
    model.partial_fit(X[:50], y[:50], classes=[0, 1], sample_weight=np.r_[0.0, np.ones(49)])
    model.partial_fit(X, y)
    assert model._results[0].state.objective.alpha == 1 / 49


def test_the_default_rule_never_ends_a_stream(binary):
    X, y = binary
    model = LinearClassifier(random_state=0)
    for _ in range(25):
        model.partial_fit(X, y, classes=[0, 1])
        assert model.verdict_.rule == ""
    assert model.verdict_.step == 7500
    assert model.score(X, y) > 0.9


def test_the_first_call_needs_the_classes(binary):
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        LinearClassifier().partial_fit(*binary)


def test_classes_in_any_order_and_once_only(binary, same_model):
    X, y = binary
    model = LinearClassifier(random_state=0).partial_fit(X, y, classes=[1, 0, 1])
    assert model.classes_.tolist() == [0, 1]
    same_model(model, LinearClassifier(random_state=0).partial_fit(X, y, classes=[0, 1]))
    model.partial_fit(X, y, classes=[1, 0])
    with pytest.raises(ValueError, match=r"classes=\[0, 1, 2\] differs from the first call's \[0, 1\]"):
        model.partial_fit(X, y, classes=[0, 1, 2])


@pytest.mark.parametrize("dtype", [str, object])
def test_a_label_nobody_announced(dtype, binary):
    X, y = binary
    y = np.where(y, "yes", "no").astype(dtype)
    model = LinearClassifier().partial_fit(X, y, classes=["no", "yes"])
    y = np.where(np.arange(300) == 5, "perhaps", y).astype(dtype)
    with pytest.raises(
        ValueError, match=r"y holds the label 'perhaps', which is not one of the classes \('no', 'yes'\)"
    ):
        model.partial_fit(X, y)


@pytest.mark.parametrize("y", [[0.5, 1.0], ["0", "1"], [2, 1], np.array([1, "a"], dtype=object)], ids=str)
def test_labels_of_another_kind(y):
    with pytest.raises(ValueError, match=r"y holds the label|y holds labels of different types"):
        LinearClassifier().partial_fit([[0.0], [1.0]], y, classes=[0, 1])


def test_a_single_class(binary):
    with pytest.raises(ValueError, match="one class only"):
        LinearClassifier().partial_fit(binary[0], np.zeros(300), classes=[0])


def test_parts_of_one_class_each(rng):
    """A part need not hold rows of every class, nor as few labels as rows."""
    X = rng.standard_normal((60, 30))
    y = np.arange(60) // 2
    X[np.arange(60), y] += 10.0
    model = LinearClassifier(random_state=0)
    for size in (30, 30, 1, 30, 30):
        for part in parts(60, size):
            model.partial_fit(X[part], y[part], classes=np.arange(30))
    assert model.score(X, y) > 0.9


@pytest.mark.slow
def test_the_first_call_settles_the_type(binary):
    X, y = binary
    narrow = X.astype(np.float32)
    model = LinearClassifier(random_state=0).partial_fit(X, y, classes=[0, 1]).partial_fit(narrow, y)
    assert model.coef_.dtype == np.float64
    model = LinearClassifier(random_state=0).partial_fit(narrow, y, classes=[0, 1]).partial_fit(X, y)
    assert model.coef_.dtype == np.float32
    assert np.isfinite(model.coef_).all()


def test_after_fit(several):
    X, y = several
    model = SGDClassifier(solver="asgd", random_state=0).fit(X, y)
    before, steps_before = model.coef_.copy(), model.verdict_.step
    model.partial_fit(X, y)
    assert model.verdict_.step == steps_before + 400
    assert not np.array_equal(model.coef_, before)
    np.testing.assert_allclose(model.coef_, before, atol=0.3)


def test_fit_forgets_what_partial_fit_learnt(binary, several, same_model):
    X, y = several
    model = LinearClassifier(random_state=0).partial_fit(*binary, classes=[0, 1]).fit(X, y)
    same_model(model, LinearClassifier(random_state=0).fit(X, y))
    assert model.classes_.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("solver", fast_first(1, SOLVERS), ids=str)
@pytest.mark.parametrize("form", fast_first(1, FORMS))
def test_an_error_leaves_the_model_as_it_was(form, solver, several, same_model):
    X, y = several
    form = FORMS[form]
    model = SGDClassifier(solver=solver, random_state=0).partial_fit(form(X), y, classes=[0, 1, 2, 3])
    untouched = copy.deepcopy(model)
    broken = X.copy()
    broken[333, 2] = np.nan
    for bad in (
        lambda: model.partial_fit(form(broken), y),
        lambda: model.partial_fit(form(X[:, :3]), y),
        lambda: model.partial_fit(form(X), y + 1),
        lambda: model.partial_fit(form(X), y, sample_weight=-np.ones(400)),
    ):
        with pytest.raises(ValueError, match=r"."):
            bad()
        same_model(model, untouched)
        np.testing.assert_array_equal(model.decision_function(X), untouched.decision_function(X))
    same_model(model.partial_fit(form(X), y), untouched.partial_fit(form(X), y))
    assert model.verdict_.step == 800


def test_an_error_in_the_first_call_leaves_nothing(binary):
    X, y = binary
    model = LinearClassifier(random_state=0)
    with pytest.raises(ValueError, match="row 0 of X holds NaN in column 0"):
        model.partial_fit([[np.nan]], [0], classes=[0, 1])
    assert not hasattr(model, "coef_")
    assert model.partial_fit(X, y, classes=[0, 1]).coef_.shape == (1, 5)


def test_one_row_at_a_time_without_features(numbers):
    model = LinearRegressor(fit_intercept=True)
    for _ in range(5):
        model.partial_fit([[0.0, 0.0]], [1.0])
    assert np.isfinite(model.intercept_).all()


@pytest.mark.parametrize("solver", fast_first(1, SOLVERS), ids=str)
def test_pickled_between_two_calls(solver, several, same_model):
    X, y = several
    model = SGDClassifier(solver=solver, random_state=0).partial_fit(X[:200], y[:200], classes=[0, 1, 2, 3])
    again = pickle.loads(pickle.dumps(model))
    same_model(again.partial_fit(X[200:], y[200:]), model.partial_fit(X[200:], y[200:]))
    assert str(again.verdict_) == str(model.verdict_)


def test_classes_told_again_in_another_form_leave_the_first():
    model = LinearClassifier(random_state=0).partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    model.partial_fit([[0.0], [1.0]], [0, 1], classes=[1.0, 0.0])
    assert model.classes_.dtype.kind == "i"
