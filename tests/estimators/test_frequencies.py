"""Sample weights as numbers of rows."""

import numpy as np
import pytest

from sgdone.fit.labels import Frequencies


def test_no_weights_stay_none():
    assert Frequencies.of(None) == Frequencies(None)


@pytest.mark.parametrize("unit", [1.0, 1e-2, 1e10])
def test_weights_have_mean_1_and_keep_what_1_stands_for(unit):
    weights = unit * np.arange(200.0)
    found = Frequencies.of(weights)
    assert found.weights[found.weights > 0].mean() == pytest.approx(1.0)
    np.testing.assert_allclose(found.weights * found.mean, weights, rtol=1e-14)
    assert found.note == ""


@pytest.mark.parametrize(("total", "inside"), [(0.99, False), (1.0, True), (1e15, True), (1.01e15, False)])
def test_sums_that_cannot_be_numbers_of_rows_are_noted(total, inside):
    found = Frequencies.of(np.full(4, total / 4))
    np.testing.assert_array_equal(found.weights, 1.0)
    assert found.mean == (total / 4 if inside else 1.0)
    assert ("divided by their mean" in found.note) is not inside


@pytest.mark.parametrize("unit", [5e-324, 1e308])
def test_the_smallest_and_the_largest_floats(unit):
    found = Frequencies.of(np.array([unit, 0.0, unit, unit]))
    np.testing.assert_allclose(found.weights, [1.0, 0.0, 1.0, 1.0])
    assert found.mean == 1.0
