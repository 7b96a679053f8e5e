"""Standard deviations of columns."""

import numpy as np
import pytest
from scipy import sparse

from sgdone.data.column_std import column_std


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.ascontiguousarray, sparse.csr_array])
def test_equals_numpy(form, dtype):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((1000, 300)) * (rng.random((1000, 300)) < 0.3)).astype(dtype)
    np.testing.assert_allclose(column_std(form(X)), X.std(axis=0, dtype=np.float64), rtol=1e-5)
    weight = rng.integers(0, 3, 1000).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    np.testing.assert_allclose(column_std(form(X), weight), repeated.std(axis=0, dtype=np.float64), rtol=1e-5)


@pytest.mark.parametrize("form", [np.ascontiguousarray, sparse.csr_array])
def test_rows_without_weight_are_not_read(form):
    X = form([[np.nan, np.inf], [1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_allclose(column_std(X, np.array([0.0, 1.0, 1.0])), [1.0, 0.0])


def test_a_large_mean_and_large_values():
    assert column_std(np.array([[1e9 + 1], [1e9 + 3]])).tolist() == [1.0]
    assert column_std(np.array([[1e300], [-1e300]])).tolist() == [0.0]


def test_many_rows_are_sampled_at_equal_distances():
    X = np.arange(200_000.0)[:, None]
    assert column_std(X)[0] == pytest.approx(X.std(), rel=0.05)
