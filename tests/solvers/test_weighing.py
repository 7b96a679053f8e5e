"""Catoni's location, the median of means, and moments of margins: equal to their slow twins, edges, and errors."""

import numpy as np
import pytest
from scipy import sparse

from problems import random_problem
from running import run
from sgdone import SGDClassifier, SGDRegressor, losses, steps
from sgdone.diagnose import catoni_location
from sgdone.kernels.batch import location
from sgdone.papers.margin_pursuit import reference as slow
from sgdone.rows import ArraySource
from sgdone.solvers import GD, Catoni, MarginMoments, MedianOfMeans
from sgdone.stopping import MaxPasses, MaxSamples
from tiers import fast_first, interpreted

HINGE = losses.Hinge()
STEPS = 15
ALL = pytest.mark.parametrize(
    "solver", fast_first(1, [Catoni(), MedianOfMeans(3), MarginMoments()]), ids=lambda solver: solver.name
)
FORMS = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])


def fit(X, y, solver, loss=HINGE, count=STEPS, weights=None, **options):
    options = {"alpha": 0.1, "step": steps.Constant(0.1), "fit_intercept": False} | options
    return run(ArraySource(X, y, weights), loss, solver, MaxSamples(count), **options)


def drawn(seed):
    """A problem, some of its rows of weight 0, and the twin's view of it: without them."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, HINGE, n_rows=int(rng.integers(5, 200)))
    used = problem.weights > 0
    start = rng.standard_normal(problem.X.shape[1])
    return problem.X, problem.y, used.astype(float), problem.X[used], problem.y[used], start, rng


def assert_close(found, expected, tolerance=1e-10):
    assert np.max(np.abs(found - expected)) <= tolerance * max(1.0, np.max(np.abs(expected)))


# --- Equal to their slow twins --------------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("seed", fast_first(2, range(10)))
def test_catoni_equals_its_slow_twin(seed, form):
    X, y, weights, X_used, y_used, start, rng = drawn(seed)
    scale, alpha = rng.uniform(0.3, 3.0), rng.choice([0.0, 0.2])
    result = fit(form(X), y, Catoni(scale), weights=weights, alpha=alpha, coef=start)
    path = slow.catoni_hinge(X_used, y_used, scale, alpha, 0.1, STEPS, start)
    assert_close(result.coef, path[-1])
    located = slow.location(np.maximum(1.0 - y_used * (X_used @ path[-2]), 0.0), scale)
    assert result.verdict.evidence["location"] == pytest.approx(located, abs=1e-10)


class Dealer:
    """Deals as the solver does: by its seed and the number of the step."""

    def __init__(self, seed):
        self.seed, self.step = seed, 0

    def permutation(self, n):
        self.step += 1
        return np.random.default_rng([self.seed, self.step - 1]).permutation(n)


@FORMS
@pytest.mark.parametrize("seed", fast_first(2, range(10)))
def test_the_median_of_means_equals_its_slow_twin(seed, form):
    X, y, weights, X_used, y_used, start, rng = drawn(seed)
    blocks = int(rng.integers(1, len(y_used) + 1)) if seed % 2 else min(5, len(y_used))
    # Rows of which several have a loss of exactly 0 would let blocks tie.
    start *= 0.1
    result = fit(form(X), y, MedianOfMeans(blocks, seed), weights=weights, coef=start)
    path = slow.median_of_means(X_used, y_used, blocks, 0.1, 0.1, STEPS, start, Dealer(seed))
    assert_close(result.coef, path[-1])


@FORMS
@pytest.mark.parametrize("seed", fast_first(2, range(10)))
def test_margin_moments_equal_their_slow_twin(seed, form):
    """The twin has the printed λ₁, λ₂ and λ₃; all of it is divided by λ₃ here."""
    X, y, weights, X_used, y_used, start, rng = drawn(seed)
    one, two, three = rng.uniform(0.2, 2.0, 3)
    solver, step = MarginMoments(one / three, two / three), steps.Constant(0.05 * three)
    result = fit(form(X), y, solver, weights=weights, alpha=1 / three, step=step, coef=start)
    path = slow.margin_moments(X_used, y_used, one, two, three, 0.05, STEPS, start)
    assert_close(result.coef, path[-1])


@pytest.mark.slow
@ALL
def test_an_intercept_is_the_weight_of_a_constant_feature(solver):
    X, y, weights, *_ = drawn(1)
    with_ones = np.column_stack([X, np.ones(len(y))])
    result = fit(X, y, solver, weights=weights, alpha=0.0, fit_intercept=True, loss=losses.Logistic())
    expected = fit(with_ones, y, solver, weights=weights, alpha=0.0, loss=losses.Logistic())
    assert_close(np.append(result.coef, result.intercept), expected.coef)


# --- What they become at their limits -------------------------------------------------------------------------------


@pytest.mark.slow
def test_of_a_large_scale_one_block_or_no_moments_gradient_descent_is_left():
    X, y, weights, *_ = drawn(2)
    expected = fit(X, y, GD(), losses.Logistic(), weights=weights).coef
    assert_close(fit(X, y, Catoni(1e9), losses.Logistic(), weights=weights).coef, expected)
    assert_close(fit(X, y, MedianOfMeans(1), losses.Logistic(), weights=weights).coef, expected)
    assert_close(fit(X, y, MarginMoments(0.0, 0.0), losses.Logistic(), weights=weights).coef, expected)


@pytest.mark.slow
def test_for_catoni_a_row_of_weight_two_is_two_rows():
    X, y, *_ = drawn(3)
    twice = np.arange(len(y)) % 3 == 0
    weighted = fit(X, y, Catoni(0.7), losses.Logistic(), weights=1.0 + twice)
    repeated = fit(np.concatenate([X, X[twice]]), np.concatenate([y, y[twice]]), Catoni(0.7), losses.Logistic())
    assert_close(weighted.coef, repeated.coef)


@pytest.mark.parametrize("seed", range(10))
def test_the_location_of_a_step_is_that_of_the_diagnosis(seed):
    rng = np.random.default_rng(seed)
    values, scale = rng.standard_t(1.5, int(rng.integers(1, 200)) * 2 + 1), 10 ** rng.uniform(-2, 2)
    found = location(values, np.ones(values.size), scale, float(rng.normal(0, 100)))
    assert found == pytest.approx(catoni_location(values, scale), abs=1e-10 * max(1.0, scale))


def spoilt(rng):
    """Two Gaussian classes, and 30 rows of one of them far on the wrong side."""
    y = rng.choice([-1.0, 1.0], 400)
    X = rng.standard_normal((400, 2)) + 2.0 * y[:, None] * [1.0, 0.0]
    wild = np.flatnonzero(y > 0)[:30]
    X[wild] = [-60.0, 60.0]
    return X, y, np.delete(np.arange(400), wild)


@pytest.mark.slow
def test_wild_rows_turn_the_hinge_but_not_the_median_of_means_nor_catoni_from_a_good_start():
    X, y, rest = spoilt(np.random.default_rng(0))

    def right(solver, start=None):
        model = SGDClassifier("hinge", solver=solver, alpha=1e-3, stop=1000, random_state=0)
        return model.fit(X, y, coef_init=start).score(X[rest], y[rest])

    best = 0.97  # of the rows that are not wild, as the classes overlap
    assert right(GD()) < best - 0.05
    assert right(MedianOfMeans(61)) > best
    assert right(Catoni(), [[1.0, 0.0]]) > best
    # Not convex: the first step from 0, where all losses are equal, is that of the hinge, and ends in another valley.
    assert right(Catoni()) < best - 0.05


# --- Cost, rules, files ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@ALL
def test_an_update_counts_as_two_passes_and_goes_on_as_if_it_had_never_stopped(solver):
    X, y, weights, *_ = drawn(4)
    source, options = ArraySource(X, y, weights), {"alpha": 0.1}
    whole = run(source, HINGE, solver, MaxPasses(12), **options)
    assert (whole.verdict.step, whole.verdict.passes) == (6, 12.0)
    part = run(source, HINGE, solver, MaxSamples(2), **options)
    rest = run(source, HINGE, solver, MaxSamples(6), resume=part, **options)
    assert np.array_equal(rest.coef, whole.coef)
    small = run(source, HINGE, solver, MaxPasses(12), block_size=3, **options)
    assert np.array_equal(small.coef, whole.coef)


# --- Edges and errors -----------------------------------------------------------------------------------------------


@interpreted
def test_all_losses_equal():
    """At 0 every hinge loss is 1, and so is their location: a step is that of gradient descent."""
    X, y, *_ = drawn(8)
    assert_close(fit(X, y, Catoni(0.1), count=1).coef, fit(X, y, GD(), count=1).coef)


def test_where_all_losses_are_far_from_their_location_only_the_penalty_acts():
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])  # losses 0 and 11 at w = 10
    result = fit(X, y, Catoni(0.1), count=1, coef=np.array([10.0]))
    assert result.coef[0] == pytest.approx(10.0 * (1 - 0.1 * 0.1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Catoni(0.0), r"scale=0\.0 of Catoni's location: give a positive number"),
        (lambda: Catoni(np.nan), "give a positive number"),
        (lambda: Catoni(True), "give a positive number"),
        (lambda: MedianOfMeans(0), "blocks=0: give the number of blocks"),
        (lambda: MedianOfMeans(2.5), r"blocks=2\.5: give the number of blocks"),
        (lambda: MedianOfMeans(3, seed=-1), "seed=-1: give a whole number"),
        (lambda: MarginMoments(-1.0), r"variance=-1\.0: give the weight of the margins' variance"),
        (lambda: MarginMoments(mean=np.inf), "mean=inf: give the weight of the margins' mean"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_more_blocks_than_rows_are_refused():
    X, y, *_ = drawn(9)
    with pytest.raises(ValueError, match=rf"{len(y) + 1} blocks cannot be made of {len(y)} rows"):
        fit(X, y, MedianOfMeans(len(y) + 1))


def test_moments_of_margins_are_for_classes():
    with pytest.raises(ValueError, match="margin_moments is for two classes"):
        SGDRegressor(solver="margin-moments").fit([[1.0], [2.0]], [1.0, 2.0])


@pytest.mark.parametrize("unit", [0.01, 100.0])
def test_the_unit_of_weights_does_not_matter_to_catoni(unit):
    """The location of weighted losses depends on ratios of weights only: so must the steps."""
    X, y, *_ = drawn(4)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    expected = SGDClassifier("hinge", solver="catoni", stop=20).fit(X, y, sample_weight=weights)
    model = SGDClassifier("hinge", solver="catoni", stop=20).fit(X, y, sample_weight=unit * weights)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
