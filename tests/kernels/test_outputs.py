"""Several scores of a row: slopes of an implicit step against the slow reference, losses and errors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from reference_bank import coupled, softmax_implicit
from sgdone.kernels.jit import compiled
from sgdone.kernels.outputs import make_one_vs_rest, make_softmax, make_target, make_two_classes
from sgdone.losses import Hinge, Logistic, Squared
from tiers import examples


def make_loops(make_outputs, loss):
    """The three functions over rows, each row with two numbers before its predictions where those may begin later."""
    kernel = loss.kernel
    cost, slopes, miss, _ = make_outputs(kernel.value, kernel.implicit)

    @compiled(make_outputs, kernel.value, kernel.implicit)
    def all_slopes(Z, labels, q, parameters, out, room):
        for i in range(labels.size):
            slopes(Z[i], Z.shape[1], labels[i], q[i], parameters, out[i], room)

    @compiled(make_outputs, kernel.value, kernel.implicit)
    def all_costs(Z, labels, parameters, costs, misses):
        for i in range(labels.size):
            costs[i] = cost(Z[i], 2, Z.shape[1] - 2, labels[i], parameters)
            misses[i] = miss(Z[i], 2, Z.shape[1] - 2, labels[i])

    return all_slopes, all_costs


LOOPS = {
    "softmax": make_loops(make_softmax, Logistic()),
    "one-vs-rest": make_loops(make_one_vs_rest, Logistic()),
    "one-vs-rest hinge": make_loops(make_one_vs_rest, Hinge()),
    "two classes": make_loops(make_two_classes, Logistic()),
    "target": make_loops(make_target, Squared()),
}


def slopes_of(name, z, label, q):
    """Slopes of one row, or of many."""
    Z = np.ascontiguousarray(np.atleast_2d(z), dtype=np.float64)
    labels = np.broadcast_to(np.asarray(label, dtype=np.float64), len(Z)).copy()
    out = np.empty_like(Z)
    q = np.broadcast_to(np.asarray(q, dtype=np.float64), len(Z)).copy()
    LOOPS[name][0](Z, labels, q, np.empty(0), out, np.empty(Z.shape[1]))
    return out[0] if np.ndim(z) == 1 else out


def cost_and_miss(name, z, label):
    Z = np.concatenate([[np.nan, 1e9], z])[None]
    cost, miss = np.empty(1), np.empty(1)
    LOOPS[name][1](Z, np.array([float(label)]), np.empty(0), cost, miss)
    return cost[0], miss[0]


def rounding(z):
    """What s may differ by if each prediction does by an ε of itself."""
    return 2.0**-51 * max(1.0, np.max(np.abs(z)))


predictions = st.tuples(st.integers(2, 30), st.floats(-2, 5), st.booleans(), st.integers(0, 10**6))
factors = st.floats(-8, 8).map(lambda power: 10.0**power)


def draw(drawn):
    """Predictions of any size, as they come or about a common one, and a label."""
    count, size, together, seed = drawn
    rng = np.random.default_rng(seed)
    z = 10.0**size * rng.standard_normal(count)
    if together:
        z = z[0] + rng.standard_normal(count)
    return z, int(rng.integers(count))


@examples(300)
@given(drawn=predictions, q=factors)
def test_slopes_of_a_softmax_equal_the_reference(drawn, q):
    z, label = draw(drawn)
    assert np.max(np.abs(slopes_of("softmax", z, label, q) - softmax_implicit(z, label, q))) < 1e-10


@pytest.mark.parametrize("q", [1e-8, 1e-4, 1.0, 30.0, 1e4, 1e8])
@pytest.mark.parametrize("count", [2, 3, 10, 30])
def test_slopes_of_huge_predictions(count, q):
    """Of both signs, tied or nearly so at the top, and with the label anywhere."""
    rng = np.random.default_rng(count)
    for size in (700.0, 1e6, 1e8, 1e12):
        z = size * rng.standard_normal(count)
        z[0] = z.max()
        z[-1] = z[0] + 0.5
        for label in (0, count - 1, int(np.argmin(z))):
            found = slopes_of("softmax", z, label, q)
            assert np.max(np.abs(found - softmax_implicit(z, label, q))) < 1e-10 + rounding(z)


@examples(100)
@given(drawn=predictions, q=factors)
def test_slopes_solve_their_equation(drawn, q):
    """Without the reference: s = softmax(z − q·s) − e, to what the rounding of q·s and z leaves."""
    z, label = draw(drawn)
    s = slopes_of("softmax", z, label, q)
    expected = softmax(z - q * s)
    expected[label] -= 1.0
    assert np.max(np.abs(s - expected)) < 1e-10 + 2.0**-50 * (np.max(np.abs(z)) + q)


@examples(100)
@given(drawn=predictions, q=factors)
def test_slopes_of_a_softmax_sum_to_0_and_pull_to_the_label(drawn, q):
    z, label = draw(drawn)
    s = slopes_of("softmax", z, label, q)
    assert abs(s.sum()) < 1e-15
    assert -1.0 - 1e-15 <= s[label] <= 0.0
    assert np.all(np.delete(s, label) >= 0.0)


@examples(100)
@given(first=st.floats(-100, 100), second=st.floats(-100, 100), label=st.integers(0, 1), q=factors)
def test_a_softmax_of_two_classes_is_logistic(first, second, label, q):
    """It sees the difference of the two predictions, which a step moves twice as far."""
    s = slopes_of("softmax", np.array([first, second]), label, q)
    alone = Logistic().implicit(second - first, 2.0 * label - 1.0, 2.0 * q)
    assert s[1] == pytest.approx(alone, abs=1e-10)
    cost, _ = cost_and_miss("softmax", [first, second], label)
    assert cost == pytest.approx(Logistic().value(second - first, 2.0 * label - 1.0), rel=1e-12, abs=1e-12)


def test_a_small_step_is_explicit(rng):
    z = rng.standard_normal(5)
    expected = softmax(z) - np.eye(5)[3]
    np.testing.assert_allclose(slopes_of("softmax", z, 3, 1e-300), expected, rtol=0.0, atol=1e-14)


def test_no_step_at_all_leaves_the_slopes_where_they_are(rng):
    """q is 0 of a row of zeros without an intercept."""
    z = rng.standard_normal(5)
    np.testing.assert_allclose(slopes_of("softmax", z, 3, 0.0), softmax(z) - np.eye(5)[3], rtol=0.0, atol=1e-14)
    signs = np.where(np.arange(5) == 3, 1.0, -1.0)
    np.testing.assert_allclose(slopes_of("one-vs-rest", z, 3, 0.0), Logistic().slope(z, signs), rtol=1e-12)


def test_the_order_of_classes_does_not_matter(rng):
    z, order = 3.0 * rng.standard_normal(7), rng.permutation(7)
    s = slopes_of("softmax", z, order[2], 4.0)
    np.testing.assert_allclose(slopes_of("softmax", z[order], 2, 4.0), s[order], rtol=0.0, atol=1e-14)


def test_a_step_lowers_the_loss_as_far_as_a_proximal_one(rng):
    """The slow update is made of the slow slopes: both meet at the gradient of the new predictions."""
    W, b, x = rng.standard_normal((4, 3)), rng.standard_normal(4), rng.standard_normal(3)
    gamma, alpha, v = 0.7, 0.3, 1.5
    new_W, new_b = coupled(alpha, True).update(W, b, x, 2.0, v, gamma)
    slope = v * (softmax(new_W @ x + new_b) - np.eye(4)[2])
    np.testing.assert_allclose(new_W, W - gamma * (np.outer(slope, x) + alpha * new_W), rtol=1e-12)
    np.testing.assert_allclose(new_b, b - gamma * slope, rtol=1e-12)
    q = gamma * v * (x @ x / (1.0 + gamma * alpha) + 1.0)
    np.testing.assert_allclose(
        v * slopes_of("softmax", W @ x / (1 + gamma * alpha) + b, 2, q), slope, rtol=0.0, atol=1e-12
    )


@examples(50)
@given(drawn=predictions)
def test_the_cost_of_a_softmax(drawn):
    z, label = draw(drawn)
    cost, miss = cost_and_miss("softmax", z, label)
    assert cost == pytest.approx(-log_softmax(z)[label], rel=1e-12, abs=1e-12 + rounding(z))
    assert miss == float(np.argmax(z) != label)


@pytest.mark.parametrize(("name", "loss"), [("one-vs-rest", Logistic()), ("one-vs-rest hinge", Hinge())])
@examples(30)
@given(drawn=predictions, q=factors)
def test_one_vs_rest_is_as_many_models_that_know_nothing_of_each_other(name, loss, drawn, q):
    z, label = draw(drawn)
    signs = np.where(np.arange(z.size) == label, 1.0, -1.0)
    np.testing.assert_allclose(slopes_of(name, z, label, q), loss.implicit(z, signs, q), rtol=1e-14)
    cost, miss = cost_and_miss(name, z, label)
    assert cost == pytest.approx(np.sum(loss.value(z, signs)), rel=1e-13)
    assert miss == float(np.argmax(z) != label)


def test_of_equal_predictions_the_first_is_taken():
    assert [cost_and_miss("softmax", [2.0, 5.0, 5.0], label)[1] for label in range(3)] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("z", [-2.0, 0.0, 3.0])
def test_two_classes(z, label):
    """A prediction of 0 is of neither class."""
    assert slopes_of("two classes", np.array([z]), label, 2.0) == Logistic().implicit(z, label, 2.0)
    cost, miss = cost_and_miss("two classes", [z], label)
    assert cost == pytest.approx(math.log1p(math.exp(-label * z)), rel=1e-14)
    assert miss == float(np.sign(z) != label)


def test_targets():
    assert slopes_of("target", np.array([5.0]), 2.0, 0.5)[0] == pytest.approx(3.0 / 1.5, rel=1e-15)
    assert cost_and_miss("target", [5.0], 2.0) == (4.5, 9.0)


@pytest.mark.parametrize("count", [2, 7])
def test_slopes_do_not_jump_where_another_method_takes_over(count, rng):
    """At q = 16, and where the label is 600 behind the first."""
    for _ in range(20):
        z = 4.0 * rng.standard_normal(count)
        below, above = (slopes_of("softmax", z, 0, 16.0 * (1.0 + sign * 1e-15)) for sign in (-1, 1))
        np.testing.assert_allclose(below, above, rtol=0.0, atol=1e-12)
        z[0] = z[1:].max() - 600.0
        below, above = (slopes_of("softmax", z - shift * np.eye(count)[0], 0, 9.0) for shift in (-1e-9, 1e-9))
        np.testing.assert_allclose(below, above, rtol=0.0, atol=1e-12)
