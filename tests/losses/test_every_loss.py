"""Every loss: its values, derivatives and edges, its parameters, names and copies."""

import copy
import math
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from sgdone.losses import (
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    Squared,
    SquaredHinge,
)
from tiers import examples

FAR = 1e6
VALUES = [
    (Logistic(), 0.0, 1.0, math.log(2.0)),
    (Logistic(), -FAR, 1.0, FAR),
    (Logistic(), FAR, 1.0, 0.0),
    (Logistic(), 40.0, 1.0, math.exp(-40.0)),
    (Hinge(), 1.0, 1.0, 0.0),
    (Hinge(), FAR, -1.0, 1.0 + FAR),
    (SquaredHinge(), 0.0, -1.0, 0.5),
    (SquaredHinge(), FAR, -1.0, 0.5 * (1.0 + FAR) ** 2),
    (Squared(), FAR, -FAR, 2e12),
    (Exponential(), -FAR, 1.0, math.inf),
    (Exponential(), -709.0, 1.0, math.exp(709.0)),
    (Exponential(), FAR, 1.0, 0.0),
    (Huber(2.0), 2.0, 0.0, 2.0),
    (Huber(2.0), -3.0, 0.0, 4.0),
    (Huber(2.0), FAR, 0.0, 2.0 * FAR - 2.0),
    (EpsilonInsensitive(0.5), 1.5, 1.0, 0.0),
    (EpsilonInsensitive(0.5), -FAR, 0.0, FAR - 0.5),
    (Quantile(0.9), 1.0, 2.0, 0.9),
    (Quantile(0.75), 2.0, 1.0, 0.25),
    (Quantile(0.75), -FAR, 0.0, 0.75 * FAR),
]
SLOPES = [
    (Logistic(), 0.0, -1.0, 0.5),
    (Logistic(), -FAR, 1.0, -1.0),
    (Logistic(), 700.0, 1.0, -math.exp(-700.0)),
    (Logistic(), FAR, 1.0, 0.0),
    (Hinge(), 1.0, 1.0, -1.0),
    (Hinge(), -1.0, -1.0, 1.0),
    (Hinge(), math.nextafter(1.0, 2.0), 1.0, 0.0),
    (SquaredHinge(), 1.0, 1.0, 0.0),
    (Squared(), 3.0, 1.0, 2.0),
    (Exponential(), -FAR, 1.0, -math.inf),
    (Huber(2.0), 2.0, 0.0, 2.0),
    (Huber(2.0), -FAR, 0.0, -2.0),
    (EpsilonInsensitive(0.5), 1.5, 1.0, 0.0),
    (EpsilonInsensitive(0.5), 0.0, 1.0, -1.0),
    (Quantile(0.75), 1.0, 1.0, 0.0),
    (Quantile(0.75), 0.0, 1.0, -0.75),
    (Quantile(0.75), 2.0, 1.0, 0.25),
]


@pytest.mark.parametrize(("loss", "z", "y", "expected"), VALUES)
def test_value(loss, z, y, expected):
    assert loss.value(z, y) == pytest.approx(expected, rel=1e-15, abs=1e-300)


@pytest.mark.parametrize(("loss", "z", "y", "expected"), SLOPES)
def test_slope(loss, z, y, expected):
    assert loss.slope(z, y) == pytest.approx(expected, rel=1e-15, abs=1e-300)


def test_nothing_is_nan_far_away(loss, labels):
    z = np.array([-FAR, -745.0, -709.0, -1.0, -0.0, 0.0, 5e-324, 1.0, 709.0, 745.0, FAR])[:, None]
    q = np.array([0.0, 1e-12, 1.0, 1e12])[:, None, None]
    for quantity in (loss.value(z, labels), loss.slope(z, labels), loss.curvature(z, labels)):
        assert not np.isnan(quantity).any()
    assert np.all(loss.value(z, labels) >= 0.0)
    if loss.convex:
        assert np.all(loss.curvature(z, labels) >= 0.0)
    if loss.name not in ("exponential", "margin_distribution"):
        assert np.isfinite(loss.value(z, labels)).all()
    assert np.isfinite(loss.implicit(z, labels, q[1:])).all()
    assert not np.isnan(loss.implicit(z, labels, q)).any()


def test_nan_stays_nan(loss, labels):
    assert np.isnan(loss.value(math.nan, labels)).all()
    assert np.isnan(loss.implicit(math.nan, labels, 1.0)).all()


def test_scalars_equal_arrays_and_broadcast(loss, labels):
    z = np.linspace(-3, 3, 25)[:, None]
    for method in (loss.value, loss.slope, loss.curvature, lambda z, y: loss.implicit(z, y, 0.7)):
        table = method(z, labels)
        assert table.shape == (25, labels.size)
        assert isinstance(method(0.5, 1.0), float)
        one_by_one = [[method(float(a), float(b)) for b in labels] for a in z[:, 0]]
        np.testing.assert_array_equal(table, one_by_one)


def test_label_and_prediction_mirror_each_other(loss, labels):
    if loss.name == "quantile":
        pytest.skip("its two sides differ")
    z = np.linspace(-3.03, 3.01, 50)[:, None]
    np.testing.assert_array_equal(loss.value(z, labels), loss.value(-z, -labels))
    np.testing.assert_array_equal(loss.slope(z, labels), -loss.slope(-z, -labels))
    np.testing.assert_array_equal(loss.implicit(z, labels, 2.0), -loss.implicit(-z, -labels, 2.0))


# ---- derivatives and bounds ----


STEP = 1e-5
predictions = st.floats(-30, 30)


def points_and_labels(labels):
    rng = np.random.default_rng(7)
    z = np.concatenate([rng.uniform(-30, 30, 2000), rng.uniform(-3, 3, 2000)])
    return z, rng.choice(labels, z.size)


def test_slope_is_the_difference_quotient_of_the_value(loss, labels):
    z, y = points_and_labels(labels)
    quotient = (loss.value(z + STEP, y) - loss.value(z - STEP, y)) / (2 * STEP)
    below, above = loss.slope(z - STEP, y), loss.slope(z + STEP, y)
    smooth = above - below <= 1e-3 * np.maximum(1.0, np.abs(quotient))
    assert smooth.mean() > 0.99
    size = 1.0 + np.abs(quotient) + np.abs(loss.value(z, y))
    assert np.all(np.abs(loss.slope(z, y) - quotient)[smooth] <= (1e-9 * size)[smooth])


def test_curvature_is_the_difference_quotient_of_the_slope(loss, labels):
    z, y = points_and_labels(labels)
    quotient = (loss.slope(z + STEP, y) - loss.slope(z - STEP, y)) / (2 * STEP)
    below, above = loss.curvature(z - STEP, y), loss.curvature(z + STEP, y)
    smooth = np.abs(above - below) <= 1e-3 * np.maximum(1.0, np.abs(quotient))
    smooth &= quotient < 1e3 * (1 + np.abs(above))
    assert smooth.mean() > 0.99
    size = 1.0 + np.abs(quotient) + np.abs(loss.slope(z, y))
    assert np.all(np.abs(loss.curvature(z, y) - quotient)[smooth] <= (1e-9 * size)[smooth])


@examples(60)
@given(here=predictions, there=predictions)
def test_every_slope_is_a_subgradient(loss, labels, here, there):
    if not loss.convex:
        pytest.skip("it says that it is not convex")
    rise = loss.value(there, labels) - loss.value(here, labels)
    tangent = loss.slope(here, labels) * (there - here)
    size = 1.0 + np.abs(rise) + np.abs(tangent) + loss.value(here, labels)
    assert np.all(rise >= tangent - 1e-13 * size)


def test_a_loss_is_convex_where_it_says_so(loss, labels):
    z = np.linspace(-30, 30, 60_001)[:, None]
    slopes = loss.slope(z, labels)
    rises = np.diff(slopes, axis=0) >= -1e-14 * (1.0 + np.abs(slopes[1:]))
    assert rises.all() == loss.convex
    assert (loss.curvature(z, labels) >= 0.0).all() == loss.convex


@examples(60)
@given(here=predictions, there=predictions)
def test_constants_bound_slope_and_curvature(loss, labels, here, there):
    assert np.all(np.abs(loss.slope(here, labels)) <= loss.lipschitz * (1 + 1e-15))
    assert np.all(loss.curvature(here, labels) <= loss.smoothness * (1 + 1e-15))
    if np.isfinite(loss.smoothness):
        gap = np.abs(loss.slope(here, labels) - loss.slope(there, labels))
        assert np.all(gap <= loss.smoothness * abs(here - there) * (1 + 1e-12) + 1e-14)


def test_constants_are_reached(loss, labels):
    z = np.linspace(-5, 5, 2001)[:, None]
    if np.isfinite(loss.lipschitz):
        assert np.isclose(np.abs(loss.slope(z, labels)).max(), loss.lipschitz, rtol=0.01)
    if np.isfinite(loss.smoothness):
        assert np.isclose(loss.curvature(z, labels).max(), loss.smoothness, rtol=0.01)


# ---- parameters, names, equality and copies of losses ----


@pytest.mark.parametrize(
    ("make", "refused", "message"),
    [
        (Huber, [0.0, -1.0, float("nan"), float("inf"), "1", None], "delta=.* of Huber is not a positive number: give"),
        (EpsilonInsensitive, [-1e-9, float("nan"), float("inf"), "1"], "epsilon=.* is not a non-negative number: give"),
        (Quantile, [0, 1, -0.5, 90, float("nan"), "0.5"], r"level=.* of Quantile is not in \(0, 1\): give"),
    ],
)
def test_parameters_out_of_range_are_refused(make, refused, message):
    for parameter in refused:
        with pytest.raises(ValueError, match=message):
            make(parameter)


def test_numbers_of_any_kind_are_taken():
    assert Huber(2) == Huber(np.float32(2.0)) == Huber(np.int64(2))
    assert EpsilonInsensitive(0).value(1.0, 3.0) == 2.0


def test_parameters_are_the_fields(loss):
    assert loss.parameters.dtype == np.float64
    np.testing.assert_array_equal(loss.parameters, [getattr(loss, field.name) for field in fields(loss)])


def test_names_tasks_and_traits():
    by_name = {
        "logistic": Logistic(),
        "hinge": Hinge(),
        "squared_hinge": SquaredHinge(),
        "squared": Squared(),
        "exponential": Exponential(),
        "huber": Huber(),
        "epsilon_insensitive": EpsilonInsensitive(),
        "quantile": Quantile(),
    }
    assert all(loss.name == name for name, loss in by_name.items())
    regressions = {name for name, loss in by_name.items() if loss.task == "regression"}
    assert regressions == {"huber", "epsilon_insensitive", "quantile"}
    assert [name for name, loss in by_name.items() if loss.task == "both"] == ["squared"]
    assert [name for name, loss in by_name.items() if loss.probabilistic] == ["logistic"]
    assert [name for name, loss in by_name.items() if loss.quadratic] == ["squared"]


def test_copies_are_equal_and_share_the_kernel(loss):
    for twin in (
        copy.copy(loss),
        copy.deepcopy(loss),
        pickle.loads(pickle.dumps(loss)),
        clone(loss, safe=False),
    ):
        assert twin == loss
        assert hash(twin) == hash(loss)
        assert repr(twin) == repr(loss)
        assert twin.kernel.implicit is loss.kernel.implicit
        assert twin.kernel.slope is loss.kernel.slope


def test_repr_can_be_read_back(loss):
    names = {type(loss).__name__: type(loss)}
    assert eval(repr(loss), names) == loss


def test_equality_sees_kind_and_parameters():
    assert Huber(1.0) != Huber(2.0)
    assert Hinge() != SquaredHinge()
    assert EpsilonInsensitive(0.5) != Quantile(0.5)


def test_losses_do_not_change():
    with pytest.raises(FrozenInstanceError):
        Huber().delta = 2.0
