"""The small validation set: which rows are held out, when they are looked at, and that nothing is learnt from them."""

import numpy as np
import pytest

from problems import random_problem
from running import run
from sgdone import SGDClassifier, losses, solvers, steps
from sgdone.interfaces.stop_rule import Status
from sgdone.papers import sgd_reference
from sgdone.papers.termination import reference as termination
from sgdone.rows import ArraySource
from sgdone.rows.faults import BadRowError
from sgdone.stopping import MaxPasses, MaxSamples, SmallValidationSet
from storage_forms import FORMS
from tiers import fast_first, grid, interpreted

pytestmark = grid

LOGISTIC = losses.Logistic()


def fit(X, y, stop, weights=None, *, gamma=0.1, shuffle=False, **options):
    source = ArraySource(X, y, weights, shuffle=shuffle)
    step = steps.Constant(gamma)
    return run(source, LOGISTIC, solvers.SGD(), stop, alpha=0.01, step=step, **options)


@pytest.fixture
def problem():
    return random_problem(21, LOGISTIC, n_rows=500, n_features=6)


@interpreted
@pytest.mark.parametrize("value", [0, -1, 1.5, 8.0, float("nan"), True, "8", [8]])
@pytest.mark.parametrize("name", ["size", "every"])
def test_numbers_that_are_none(name, value):
    with pytest.raises(ValueError, match=f"{name}=.*: give a whole number of 1 or more"):
        SmallValidationSet(**{name: value})


@interpreted
@pytest.mark.parametrize("size", [20, 21, 10**6])
def test_a_set_larger_than_the_data(size):
    X = np.random.default_rng(0).standard_normal((20, 2))
    message = f"a validation set of {size:,} rows leaves no rows for training: .* have 20 rows of positive weight"
    with pytest.raises(ValueError, match=message):
        fit(X, np.where(X[:, 0] > 0, 1.0, -1.0), SmallValidationSet(size))
    with pytest.raises(ValueError, match=message):
        SGDClassifier(stop=SmallValidationSet(size)).fit(X, X[:, 0] > 0)


@interpreted
def test_rows_of_weight_zero_are_not_held_out():
    X, y = np.eye(6), np.ones(6)
    weights = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    result = fit(X, y, SmallValidationSet(2, 10**6) | MaxPasses(3), weights, fit_intercept=False)
    assert np.array_equal(result.coef != 0, [False, False, False, False, True, True])
    assert result.verdict.step == 6
    with pytest.raises(ValueError, match="have 4 rows of positive weight"):
        fit(X, y, SmallValidationSet(4), weights)


@interpreted
def test_nothing_is_ever_learnt_from_the_rows_held_out(problem):
    """Not in later passes either; they may say what they like."""
    X, y, size = problem.X, problem.y, 16
    rule = SmallValidationSet(size, 10**6) | MaxPasses(3)
    result = fit(X, y, rule)
    assert result.verdict.step == 3 * (500 - size)
    assert result.rows_read == 1500
    rest = fit(X[size:].copy(), y[size:].copy(), MaxPasses(3))
    assert np.allclose(result.coef, rest.coef, rtol=1e-12, atol=1e-13)
    other = X.copy()
    other[:size] = 1e6 * np.random.default_rng(1).standard_normal((size, 6))
    assert fit(other, y, rule).coef.tobytes() == result.coef.tobytes()


@interpreted
def test_in_random_order_the_first_rows_of_that_order_are_held_out(problem):
    X, y, size = problem.X, problem.y, 16
    order = next(ArraySource(X, y).blocks(np.random.default_rng(7))).order.rows[:size]
    weights = np.ones(500)
    weights[order] = 0.0
    options = {"shuffle": True, "rng": np.random.default_rng(7)}
    held = fit(X, y, SmallValidationSet(size, 10**6) | MaxPasses(2), **options)
    expected = fit(X, y, MaxPasses(2), weights, shuffle=True, rng=np.random.default_rng(7))
    assert np.allclose(held.coef, expected.coef, rtol=1e-12, atol=1e-13)


@interpreted
@pytest.mark.parametrize("weight", [2.0, 0.5])
def test_one_weight_for_all_rows_stays_what_it_is(problem, weight):
    rule = SmallValidationSet(16, 10**6) | MaxPasses(1)
    single = fit(problem.X, problem.y, rule, np.array([weight]))
    each = fit(problem.X, problem.y, rule, np.full(500, weight))
    assert np.allclose(single.coef, each.coef, rtol=1e-12)


@interpreted
@pytest.mark.parametrize(("size", "every"), [(16, None), (8, 5), (1, 1), (40, 40)])
def test_it_stops_at_the_first_check_that_brings_no_more(problem, size, every):
    X, y = problem.X, problem.y
    result = fit(X, y, SmallValidationSet(size, every))
    every = every or 2 * size
    k = result.verdict.step
    assert (result.verdict.status, result.verdict.rule) == (Status.CONVERGED, "SmallValidationSet")
    assert k % every == 0
    assert k >= 2 * every  # the first check compares with nothing
    rights = []
    for t in range(every, k + 1, every):
        so_far = fit(X[size:].copy(), y[size:].copy(), MaxSamples(t))
        rights.append(int(np.sum((X[:size] @ so_far.coef + so_far.intercept > 0) == (y[:size] > 0))))
    assert np.all(np.diff(rights)[:-1] > 0)
    assert rights[-1] <= rights[-2]
    expected = {"right": rights[-1], "right_before": rights[-2], "size": size, "every": every}
    assert result.verdict.evidence == expected
    words = f"{rights[-1]} of {size} rows held out are classified right, {rights[-2]} at the check before"
    assert words in result.verdict.reason


@interpreted
@pytest.mark.parametrize("form", fast_first(1, ["dense", "csr"]))
@pytest.mark.slow
def test_rows_held_out_are_seen_in_the_units_of_the_others(problem, form):
    """Centred between the classes of the first 100 rows that are learnt from."""
    X, y, size = problem.X + 0.7 * (problem.X != 0), problem.y, 12
    weights = np.ones(500)
    weights[:size] = 0.0
    shift = termination.centre(X, y, weights)
    update = sgd_reference.explicit(LOGISTIC, 0.01, False)
    rows = X - shift, y, np.ones(500)
    k, w, _ = termination.small_validation_set(*rows, lambda t: 0.1, update, size, 2 * size)
    result = fit(FORMS[form](X), y, SmallValidationSet(size), center=True)
    assert result.verdict.step == k
    assert np.allclose(result.coef, w, rtol=1e-10, atol=1e-10)


@interpreted
@pytest.mark.slow
def test_two_sets_share_their_rows(problem):
    """The larger one holds out, and the smaller takes its first rows."""
    X, y = problem.X, problem.y

    def stop(size, every):
        """Where a set of so many rows stops a model that learns from none of the first 24."""
        before = -1
        for t in range(every, 476, every):
            so_far = fit(X[24:].copy(), y[24:].copy(), MaxSamples(t))
            right = int(np.sum((X[:size] @ so_far.coef + so_far.intercept > 0) == (y[:size] > 0)))
            if right <= before:
                return t
            before = right
        raise AssertionError("it never stops")

    expected = stop(8, 15), stop(24, 10)
    assert expected[0] != expected[1]
    rules = SmallValidationSet(8, 15), SmallValidationSet(24, 10)
    assert fit(X, y, rules[0] & rules[1]).verdict.step == max(expected)
    assert fit(X, y, rules[0] | rules[1]).verdict.step == min(expected)


@interpreted
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("form", fast_first(1, ["dense", "csr"]))
def test_a_bad_row_is_found_even_if_it_is_held_out(problem, form, bad):
    X = problem.X.copy()
    X[5, 2] = bad
    with pytest.raises(BadRowError, match="row 5 of X"):
        fit(FORMS[form](X), problem.y, SmallValidationSet(8))


@interpreted
def test_an_index_out_of_range_is_found_even_if_it_is_held_out(problem):
    X = FORMS["csr"](problem.X)
    X.indices[X.indptr[5]] = 6
    with pytest.raises(ValueError, match="row 5 of the CSR matrix X has the column index 6"):
        fit(X, problem.y, SmallValidationSet(8))


@interpreted
@pytest.mark.slow
def test_another_storage_in_the_next_call(problem):
    """What is held out is turned into the form of the rows at hand."""
    X, y = problem.X, (problem.y > 0).astype(int)
    models = []
    for second in ("dense", "csr"):
        model = SGDClassifier(
            solver="sgd", step=0.1, stop=SmallValidationSet(8, 100), alpha=0.01, shuffle=False, center=True
        )
        model.partial_fit(X[:120], y[:120], classes=[0, 1])
        assert model.verdict_.rule == ""
        models.append(model.partial_fit(FORMS[second](X[120:]), y[120:]))
    assert models[0].verdict_.rule == models[1].verdict_.rule == "SmallValidationSet"
    assert models[0].verdict_.step == models[1].verdict_.step
    assert np.allclose(models[0].coef_, models[1].coef_, rtol=1e-10)
