"""The slope is the derivative of the value, the curvature that of the slope, and the loss is convex if it says so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiers import examples

STEP = 1e-5
predictions = st.floats(-30, 30)


def grid(labels):
    rng = np.random.default_rng(7)
    z = np.concatenate([rng.uniform(-30, 30, 2000), rng.uniform(-3, 3, 2000)])
    return z, rng.choice(labels, z.size)


def test_slope_is_the_difference_quotient_of_the_value(loss, labels):
    z, y = grid(labels)
    quotient = (loss.value(z + STEP, y) - loss.value(z - STEP, y)) / (2 * STEP)
    below, above = loss.slope(z - STEP, y), loss.slope(z + STEP, y)
    smooth = above - below <= 1e-3 * np.maximum(1.0, np.abs(quotient))
    assert smooth.mean() > 0.99
    size = 1.0 + np.abs(quotient) + np.abs(loss.value(z, y))
    assert np.all(np.abs(loss.slope(z, y) - quotient)[smooth] <= (1e-9 * size)[smooth])


def test_curvature_is_the_difference_quotient_of_the_slope(loss, labels):
    z, y = grid(labels)
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
