"""Edge cases of losses: extreme values, kinks and zero; scalars and arrays."""

import math

import numpy as np
import pytest

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
