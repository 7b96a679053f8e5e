"""partial_fit: a stream of rows in chunks of any size, of columns that appear late or grow; and after a stop."""

import copy

import numpy as np
import pytest
from automatic_problems import TASKS, fitted, problem, scores_of
from scipy import sparse
from sklearn.metrics import log_loss

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor, solvers, steps, stopping
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
    assert model._fitted.results[0].state.objective.alpha == 1 / 49


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


def test_classes_told_again_in_another_form_leave_the_first():
    model = LinearClassifier(random_state=0).partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    model.partial_fit([[0.0], [1.0]], [0, 1], classes=[1.0, 0.0])
    assert model.classes_.dtype.kind == "i"


# ---- partial_fit: columns that appear late or grow, chunks of any size, dense and sparse rows ----


in_both_forms = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])


def stream(task, change, rng, after=2000):
    """From row 2000 on the last column is not 0 any more, or a thousand times as large."""
    X = rng.standard_normal((2000 + after, 5))
    if change == "late":
        X[:2000, 4] = 0.0
        slope = 2.0
    else:
        X[2000:, 4] *= 1000.0
        slope = 0.002
    scores = X[:, :4] @ [1.0, -1.0, 0.5, 0.0] + slope * X[:, 4]
    if task == "numbers":
        return X, scores + rng.standard_normal(len(X))
    noisy = scores + rng.logistic(size=len(X))
    return X, np.digitize(noisy, [-2.0, 2.0]) if task == "three" else (noisy > 0).astype(int)


def learn(model, X, y, first, last, form, chunk=200):
    classes = {} if isinstance(model, LinearRegressor) else {"classes": np.unique(y)}
    for begin in range(first, last, chunk):
        part = slice(begin, min(begin + chunk, last))
        model.partial_fit(form(X[part]), y[part], **classes)
    return model


@in_both_forms
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("change", ["late", "grown"])
def test_a_change_of_a_column_hardly_changes_the_model(change, task, form, rng):
    X, y = stream(task, change, rng)
    model = learn((LinearRegressor if task == "numbers" else LinearClassifier)(random_state=0), X, y, 0, 2000, form)
    before = scores_of(model, form(X[:2000]))
    model.partial_fit(form(X[2000:2001]), y[2000:2001])
    moved = np.abs(scores_of(model, form(X[:2000])) - before).max(axis=0) / before.std(axis=0)
    assert np.all(moved < 0.2)


@in_both_forms
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("change", ["late", "grown"])
def test_a_column_that_changes_gets_its_weight(change, task, form, rng):
    # The weight of a small column is far too large once the column has grown: it takes longer to correct.
    X, y = stream(task, change, rng, 2000 if change == "late" else 30_000)
    rows, labels = stream(task, change, rng)
    model = learn((LinearRegressor if task == "numbers" else LinearClassifier)(random_state=0), X, y, 0, len(X), form)
    expected = fitted(task, X[2000:], y[2000:]).score(rows[2000:], labels[2000:])
    assert model.score(form(rows[2000:]), labels[2000:]) > expected - 0.03


@in_both_forms
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("chunk", [None, 300], ids=["after fit", "after partial_fit"])
def test_a_few_more_rows_hardly_change_the_model(chunk, task, form):
    """Neither step size nor penalty is chosen by the last few rows alone."""
    X, y = problem(task, 600 if chunk is None else 3000)
    model = fitted(task, form(X), y, chunk)
    before = scores_of(model, form(X))
    for seed in range(10):
        rows = np.random.default_rng(seed).integers(0, 600, 3)
        again = copy.deepcopy(model).partial_fit(form(X[rows]), y[rows])
        moved = np.abs(scores_of(again, form(X)) - before).max(axis=0) / before.std(axis=0)
        assert np.all(moved < 0.2)


@pytest.mark.parametrize("chunk", fast_first(1, [100, 1, 10]))
def test_small_chunks_learn_as_well_as_large_ones(chunk, rng):
    slopes = rng.standard_normal(10)
    X, new = rng.standard_normal((2000, 10)), rng.standard_normal((5000, 10))
    y, labels = (rows @ slopes + rng.logistic(size=len(rows)) > 0 for rows in (X, new))
    small, large = (fitted("two", X, y, size) for size in (chunk, 1000))
    best = log_loss(labels, 1 / (1 + np.exp(-new @ slopes)))
    excess = [log_loss(labels, model.predict_proba(new)) - best for model in (small, large)]
    assert excess[0] < 2 * excess[1] + 0.005


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("first", [np.asarray, sparse.csr_array], ids=["dense first", "csr first"])
def test_dense_and_sparse_rows_in_turn(first, task):
    X, y = problem(task, density=0.4)
    second = sparse.csr_array if first is np.asarray else np.asarray
    classes = {} if task == "numbers" else {"classes": np.unique(y)}
    model = (LinearRegressor if task == "numbers" else LinearClassifier)(random_state=0)
    for k in range(6):
        part = slice(100 * k, 100 * k + 100)
        model.partial_fit((first, second)[k % 2](X[part]), y[part], **classes)
    assert model.verdict_.step == 600
    assert model.score(X, y) > fitted(task, first(X), y, 100).score(X, y) - 0.05


@pytest.mark.usefixtures("without_finish")
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("second", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])
def test_further_rows_after_fit(second, task):
    X, y = problem(task)
    model = fitted(task, X, y)
    before, steps = model.score(X, y), model.verdict_.step
    model.partial_fit(second(X), y)
    assert model.verdict_.step == steps + 600
    assert model.score(X, y) > before - 0.02


def test_base_rates_of_a_stream(rng):
    """Chunks have few rows of the second class; the mean probability is still its frequency."""
    X = rng.standard_normal((20_000, 5))
    y = (X @ [1.0, -0.5, 0.5, 0.0, 0.0] - 4.0 + rng.logistic(size=20_000) > 0).astype(int)
    model = fitted("two", X, y, 500)
    assert 0.01 < y.mean() < 0.05
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=0.15)


# ---- after a stop: when partial_fit refuses to go on ----


RULES = {
    "passes": {"tol": 0, "stop": 2},
    "samples": {"tol": 0, "stop": stopping.MaxSamples(450)},
    "seconds": {"stop": stopping.MaxSeconds(1e-9)},
    "progressive": {"stop": stopping.ProgressiveLoss(0.9)},
    "any": {"tol": 0, "stop": stopping.MaxSamples(450) | stopping.MaxPasses(9)},
    "all": {"tol": 0, "stop": stopping.MaxSamples(450) & stopping.MaxPasses(1)},
}
ENDED = r"the rule stop=.* has ended this model \(.*\): pass resume=True to partial_fit to continue, or call fit again"


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_the_users_own_ends_the_model(rule, binary, same_model):
    model = LinearClassifier(**RULES[rule], random_state=0).fit(*binary)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=ENDED):
        model.partial_fit(*binary)
    same_model(model, before)


@pytest.mark.parametrize("rule", ["passes", "samples", "seconds", "any", "all"])
def test_it_also_ends_a_stream(rule, binary):
    X, y = binary
    model = LinearClassifier(**RULES[rule], random_state=0)
    while not hasattr(model, "verdict_") or model.verdict_.rule == "":
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=ENDED):
        model.partial_fit(X, y)
    assert 0 < model.verdict_.step <= 600
    if rule == "samples":
        assert model.verdict_.step == 450


@pytest.mark.parametrize("rule", RULES)
def test_resume_goes_on_all_the_same(rule, binary):
    X, y = binary
    model = LinearClassifier(**RULES[rule], random_state=0).fit(X, y)
    for _ in range(3):
        steps, before = model._fitted.results[0].state.steps, model.coef_.copy()
        model.partial_fit(X, y, resume=True)
        assert model.verdict_.step == steps + 300
        assert not np.array_equal(model.coef_, before)


@pytest.mark.parametrize("rule", ["passes", "samples", "seconds", "any", "all"])
def test_a_budget_that_was_spent_stays_spent(rule, binary):
    X, y = binary
    model = LinearClassifier(**RULES[rule], random_state=0).fit(X, y).partial_fit(X, y, resume=True)
    with pytest.raises(ValueError, match=ENDED):
        model.partial_fit(X, y)


def test_the_default_rule_never_refuses(binary):
    X, y = binary
    model = SGDClassifier(solver="asgd", random_state=0).fit(X, y)
    assert model.verdict_.rule in ("MaxPasses", "ProgressiveLoss")
    model.partial_fit(X, y).partial_fit(X, y)


def test_another_rule_starts_again(binary):
    X, y = binary
    model = SGDClassifier(solver="asgd", random_state=0).fit(X, y)
    done = model.verdict_.step
    model.set_params(stop=stopping.MaxSamples(done + 100)).partial_fit(X, y)
    assert model.verdict_.step == done + 100
    assert model.verdict_.rule == "MaxSamples"
    model.set_params(stop="progressive").partial_fit(X, y)
    assert model.verdict_.step == done + 400
    with pytest.raises(ValueError, match=ENDED):
        model.set_params(stop=stopping.MaxSamples(done)).partial_fit(X, y)


@pytest.mark.parametrize(
    ("make", "change", "what"),
    [
        (SGDClassifier, {"loss": "hinge"}, "loss"),
        (SGDClassifier, {"solver": "sgd"}, "solver"),
        (SGDClassifier, {"average": 10}, "solver"),
        (SGDClassifier, {"alpha": 3.0}, "alpha"),
        (SGDClassifier, {"fit_intercept": False}, "fit_intercept"),
        (LinearClassifier, {"loss": "hinge"}, "loss"),
        (LinearClassifier, {"alpha": 3.0}, "alpha"),
        (LinearClassifier, {"fit_intercept": False}, "fit_intercept"),
    ],
)
def test_another_objective_or_solver_cannot_go_on(make, change, what, binary):
    model = make(random_state=0).fit(*binary).set_params(**change)
    with pytest.raises(ValueError, match=f"{what} was .* and is .* now: partial_fit cannot continue, call fit again"):
        model.partial_fit(*binary)
