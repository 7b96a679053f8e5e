"""center=True: a homogeneous predictor seen from between the classes; sparse rows stay sparse."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from running import run
from sgdone import SGDClassifier, SGDRegressor, losses, solvers, steps
from sgdone.papers.termination import reference as termination
from sgdone.rows import ArraySource
from sgdone.rows.faults import BadRowError
from sgdone.stopping import MarginTest, MaxPasses, MaxSamples
from storage_forms import FORMS
from tiers import fast_first, grid, interpreted

pytestmark = grid


@pytest.fixture
def rows():
    """300 rows of two classes far from the origin, with zeros among them."""
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 300)
    X = (rng.standard_normal((300, 5)) + np.outer(2.0 * y - 1.0, [1.0, -0.5, 0, 0, 0.3]) + 3.0) * (
        rng.random((300, 5)) < 0.6
    )
    return X, y


def model(**options):
    options = {"solver": "sgd", "step": 0.05, "stop": 2, "alpha": 0.01, "shuffle": False} | options
    return SGDClassifier(center=True, **options)


def plain(**options):
    """Without an intercept or centring, for rows that are centred already."""
    options = {"solver": "sgd", "step": 0.05, "stop": 2, "alpha": 0.01, "shuffle": False} | options
    return SGDClassifier(fit_intercept=False, **options)


BY_DAY = [("dense", "sgd"), ("csr", "sgd"), ("dense", "aisgd"), ("csr", "svrg")]
METHODS = ["sgd", "asgd", "isgd", "aisgd", "isgd-half", "svrg"]


@interpreted
@pytest.mark.parametrize(
    "case", fast_first(1, [*BY_DAY, *sorted(set(product(["dense", "csr"], METHODS)) - set(BY_DAY))], upto=4)
)
def test_it_is_the_homogeneous_model_of_centred_rows(case, rows):
    form, solver = case
    X, y = rows
    shift = termination.centre(X, 2.0 * y - 1.0, np.ones(300))
    centred = model(solver=solver).fit(FORMS[form](X), y)
    expected = plain(solver=solver).fit(X - shift, y)
    assert np.allclose(centred.coef_, expected.coef_, rtol=1e-10, atol=1e-10)
    assert np.allclose(centred.intercept_, -expected.coef_ @ shift, rtol=1e-10, atol=1e-10)
    scores = centred.decision_function(FORMS[form](X))
    assert np.allclose(scores, expected.decision_function(X - shift), rtol=1e-9, atol=1e-9)
    assert centred.verdict_.step == expected.verdict_.step


@interpreted
@pytest.mark.slow
def test_sparse_rows_are_never_made_dense():
    """A dense copy of these rows would take 800 MB."""
    X = sparse.random_array((10_000, 10_000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    y = np.arange(10_000) % 2
    model(stop=1).fit(X[:200], y[:200])
    tracemalloc.start()
    fitted = model(stop=1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
    assert fitted.intercept_ != 0


@interpreted
def test_contradictions_and_things_that_are_none(rows):
    X, y = rows
    with pytest.raises(ValueError, match="center=True sets the intercept, but fit_intercept=False: remove one of them"):
        model(fit_intercept=False).fit(X, y)
    with pytest.raises(TypeError, match="center must be True or False; got 1"):
        SGDClassifier(center=1).fit(X, y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'center'"):
        SGDRegressor(center=True)
    with pytest.raises(ValueError, match="this step size and center=True need classification with two classes"):
        run(ArraySource(X, X[:, 0]), losses.Squared(), solvers.SGD(), MaxPasses(1), alpha=0.0, center=True)


@interpreted
def test_rows_that_a_class_is_missing_from(rows):
    """Sorted by class and not shuffled: as many more rows are looked at as it takes."""
    X, y = rows
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    zeros = int(np.count_nonzero(y == 0))
    assert zeros > 100
    expected = 0.5 * (X[:zeros].mean(axis=0) + X[zeros])
    found = model().fit(X, y)
    assert found.decision_function(expected[None, :]) == pytest.approx(0.0, abs=1e-12)


@interpreted
@pytest.mark.parametrize("step", [0.1, "class-scale"])
def test_a_stream_of_one_class(step, rows):
    X, y = rows
    message = "rows contain only one class, but the means of both classes are needed. Shuffle the rows"
    learner = model(step=step).set_params(center=step == 0.1)
    with pytest.raises(ValueError, match=message):
        learner.partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert not hasattr(learner, "coef_")
    long = np.repeat(X[y == 0], 200, axis=0)  # more than a block of one class
    labels = np.append(np.zeros(len(long), dtype=int), 1)
    with pytest.raises(ValueError, match="the first 16,384 " + message):
        learner.fit(np.vstack([long, X[y == 1][:1]]), labels)


@interpreted
def test_rows_of_weight_zero_are_not_looked_at(rows):
    X, y = rows
    weight = np.ones(300)
    weight[:150] = 0.0
    expected = model().fit(X[150:], y[150:])
    with_bad = X.copy()
    with_bad[:150] = np.nan
    found = model(alpha=0.01).fit(with_bad, y, sample_weight=weight)
    assert np.allclose(found.intercept_, expected.intercept_, rtol=1e-12)


@interpreted
@pytest.mark.parametrize("step", [0.1, "class-scale"])
@pytest.mark.parametrize("form", fast_first(1, ["dense", "csr"]))
@pytest.mark.parametrize(("row", "bad"), [(0, np.nan), (7, np.inf), (99, 1e200)])
def test_a_bad_row_among_the_first(row, bad, form, step, rows):
    X, y = rows
    X[row, 2] = bad
    with pytest.raises(BadRowError, match=f"row {row} of X "):
        model(step=step).fit(FORMS[form](X), y)


@interpreted
@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("form", fast_first(1, ["dense", "csr"]))
def test_several_classes_each_against_the_rest(form, n_jobs, several):
    X, y = several
    X = X + 2.0
    rule = MarginTest() | MaxPasses(3)
    fitted = model(stop=rule, step="class-scale", n_jobs=n_jobs).fit(FORMS[form](X), y)
    for k in range(4):
        alone = model(stop=rule, step="class-scale").fit(X, y == k)
        assert fitted.verdict_.per_class[k].step == alone.verdict_.step
        assert np.allclose(fitted.coef_[k], alone.coef_[0], rtol=1e-10, atol=1e-10)
        assert fitted.intercept_[k] == pytest.approx(alone.intercept_[0], rel=1e-10)
    assert fitted.score(X, y) > 0.8


@interpreted
def test_a_warm_start_keeps_the_direction_and_computes_the_offset_again(rows):
    X, y = rows
    warm = model(warm_start=True).fit(X, y)
    coef = warm.coef_[0].copy()
    warm.fit(X, y)
    shift = termination.centre(X, 2.0 * y - 1.0, np.ones(300))
    expected = plain().fit(X - shift, y, coef_init=coef)
    assert np.allclose(warm.coef_, expected.coef_, rtol=1e-12)
    assert np.allclose(warm.intercept_, -expected.coef_ @ shift, rtol=1e-10)


@interpreted
@pytest.mark.parametrize("solver", fast_first(1, ["sgd", "asgd", solvers.Averaged(solvers.SGD(), 20)]), ids=repr)
@pytest.mark.parametrize("second", fast_first(1, ["dense", "csr"]))
@pytest.mark.parametrize("first", ["dense", "csr"])
def test_partial_fit_keeps_the_centre_of_the_first_rows(first, second, solver, rows):
    X, y = rows
    centre = termination.centre(X[:150], 2.0 * y[:150] - 1.0, np.ones(150))
    learner = model(solver=solver, stop=MaxSamples(10**6))
    learner.partial_fit(FORMS[first](X[:150]), y[:150], classes=[0, 1])
    learner.partial_fit(FORMS[second](X[150:220]), y[150:220])
    learner.partial_fit(FORMS[first](X[220:]), y[220:])
    expected = plain(solver=solver, stop=MaxSamples(10**6))
    expected.partial_fit(X[:150] - centre, y[:150], classes=[0, 1])
    expected.partial_fit(X[150:220] - centre, y[150:220])
    expected.partial_fit(X[220:] - centre, y[220:])
    assert np.allclose(learner.coef_, expected.coef_, rtol=1e-10, atol=1e-10)
    assert np.allclose(learner.intercept_, -expected.coef_ @ centre, rtol=1e-10, atol=1e-10)


@interpreted
@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"center": True}, {"center": False}),
        ({"center": True}, {"center": False, "fit_intercept": False}),
        ({"center": False}, {"center": True}),
        ({"center": False, "fit_intercept": False}, {"center": True, "fit_intercept": True}),
    ],
)
def test_partial_fit_cannot_change_its_mind(before, now, rows):
    X, y = rows
    learner = SGDClassifier(solver="sgd", step=0.1, alpha=0.01, **before).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=f"center was {before['center']} and is {now['center']} now"):
        learner.set_params(**now).partial_fit(X, y)


ODD_ROWS = {
    "equal rows": np.full((40, 3), 0.1),
    "equal rows within a class": np.repeat([[1.0, 2.0], [3.0, 5.0]], 20, axis=0),
    "a constant column": np.column_stack([np.full(40, 7.0), np.linspace(-1, 1, 40)]),
    "nothing but zeros": np.zeros((40, 2)),
    "one feature": np.linspace(0, 1, 40)[:, None],
    "more features than rows": np.random.default_rng(0).standard_normal((6, 50)),
    "two rows": np.array([[1.0, 2.0], [2.0, 1.0]]),
}


@interpreted
@pytest.mark.parametrize("form", fast_first(1, ["dense", "csr"]))
@pytest.mark.parametrize("name", ODD_ROWS)
def test_odd_rows(name, form):
    X = ODD_ROWS[name]
    y = np.arange(len(X)) % 2 if name != "equal rows within a class" else np.repeat([0, 1], 20)
    fitted = model(step="class-scale", stop=MarginTest() | MaxPasses(5)).fit(FORMS[form](X), y)
    assert np.all(np.isfinite(fitted.coef_))
    assert np.all(np.isfinite(fitted.intercept_))
    dense = model(step="class-scale", stop=MarginTest() | MaxPasses(5)).fit(X, y)
    assert fitted.verdict_.step == dense.verdict_.step


@interpreted
@pytest.mark.parametrize("form", fast_first(1, ["dense", "csr"]))
@pytest.mark.parametrize("size", [1e-70, 1e-10, 1e10, 1e70])
def test_the_unit_of_the_features_does_not_matter(size, form, rows):
    """γ = α̃/σ̃² and no penalty: the model of rows in another unit is the same model."""
    X, y = rows
    options = {"step": "class-scale", "alpha": 0.0, "stop": MarginTest() | MaxPasses(2)}
    expected = model(**options).fit(X, y)
    found = model(**options).fit(FORMS[form](size * X), y)
    assert found.verdict_.step == expected.verdict_.step
    assert np.allclose(size * found.coef_, expected.coef_, rtol=1e-9)
    assert np.allclose(found.intercept_, expected.intercept_, rtol=1e-9)


@interpreted
@pytest.mark.parametrize(
    ("alpha", "samples"), [(0, 100), (-1, 100), (np.nan, 100), (True, 100), ("1", 100), (np.inf, 9)]
)
def test_a_scale_that_is_none(alpha, samples):
    with pytest.raises(ValueError, match=r"alpha=.* is not a positive finite number: the paper uses 1/16"):
        steps.ClassScale(alpha, samples)


@interpreted
@pytest.mark.parametrize("samples", [0, 1, -5, 2.5, True, "100", None])
def test_samples_that_are_none(samples):
    with pytest.raises(ValueError, match=r"samples=.* is not an integer of at least 2: give a number of rows"):
        steps.ClassScale(samples=samples)


@interpreted
def test_the_class_scale_is_for_classes(numbers):
    with pytest.raises(ValueError, match="ClassScale needs the first rows of a classification with two classes"):
        SGDRegressor(step="class-scale").fit(*numbers)
    with pytest.raises(RuntimeError, match="call resolve first"):
        steps.ClassScale()(np.arange(3))


@interpreted
def test_the_class_scale_is_that_of_its_definition(rows):
    X, y = rows
    for samples in (10, 100, 1000):
        scale = termination.class_scale(X, 2.0 * y - 1.0, np.ones(300), samples)
        for form in ("dense", "csr"):
            fitted = model(step=steps.ClassScale(0.1, samples)).fit(FORMS[form](X), y)
            assert fitted.trace_["step_size"][-1] == pytest.approx(0.1 / scale, rel=1e-12)


@interpreted
@pytest.mark.parametrize("form", fast_first(1, ["dense", "csr"]))
@pytest.mark.parametrize("value", [0.1, 1.0, 1e6 / 3])
def test_rounding_is_no_spread(value, form):
    """The mean of equal rows need not equal them; a step of 1e30 would follow."""
    X, y = np.full((90, 3), value), np.arange(90) % 2
    step = model(step="class-scale").fit(FORMS[form](X), y).trace_["step_size"][-1]
    assert step == pytest.approx(1 / 0.01, rel=1e-6)  # the stable one: nothing but the penalty


@interpreted
def test_little_spread_around_a_large_mean_is_measured_as_it_is(rows):
    y = rows[1]
    X = 1e7 + y[:, None] + 1e-3 * np.random.default_rng(0).standard_normal((300, 1))
    scale = termination.class_scale(X, 2.0 * y - 1.0, np.ones(300))
    step = model(step=steps.ClassScale(1.0), solver="isgd").fit(sparse.csr_array(X), y).trace_["step_size"][-1]
    assert step == pytest.approx(1 / scale, rel=1e-6)


@interpreted
def test_an_intercept_to_start_from_is_refused(binary):
    X, y = binary
    with pytest.raises(ValueError, match=r"center=True sets the intercept .*: remove intercept_init"):
        SGDClassifier(center=True).fit(X, y, intercept_init=[1.0])
    SGDClassifier(center=True, warm_start=True, stop=1).fit(X, y).fit(X, y)
