"""Models in the units of the sums, and back in the user's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exact_problems import classes, pieces_of
from running import objective_of
from sgdone.losses import Logistic, Squared
from sgdone.rows.rows import Scaling
from sgdone.sums.system import RowSpan, System, contrasts


@given(st.integers(0, 100), st.sampled_from([None, 2, 3]), st.booleans())
def test_there_and_back_is_the_same_model(seed, n_classes, shifted):
    rng = np.random.default_rng(seed)
    objective = objective_of(Squared() if n_classes is None else Logistic(), n_classes)
    units = np.exp(rng.uniform(-20.0, 20.0, 4))
    scaling = Scaling(units, units * rng.standard_normal(4) if shifted else None)
    system = System(objective, scaling)
    model = rng.standard_normal(system.shape)
    coef, intercept = system.to_user(model)
    np.testing.assert_allclose(system.from_user(coef, intercept), model, rtol=1e-9, atol=1e-9)
    X = rng.standard_normal((5, 4)) * scaling.scale
    scaled = (X - (0.0 if scaling.shift is None else scaling.shift)) / scaling.scale
    scores, basis = scaled @ model[:-1] + model[-1], contrasts(objective)
    scores = scores if basis is None else scores @ basis.T
    np.testing.assert_allclose(X @ coef.T + intercept, scores, rtol=1e-9, atol=1e-8)


def test_constant_columns_and_a_missing_intercept_have_no_coefficients():
    system = System(objective_of(Logistic(), fit_intercept=False), Scaling(np.array([2.0, np.inf])))
    assert system.penalties(3.0).tolist() == [3.0, np.inf, np.inf]
    assert system.penalties(np.array([1.0, 2.0])).tolist() == [1.0, np.inf, np.inf]
    assert system.to_user(np.array([[4.0], [0.0], [0.0]])).coef.tolist() == [[2.0, 0.0]]
    assert system.from_user(np.array([[2.0, 7.0]]), np.zeros(1))[:, 0].tolist() == [4.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_models_of_the_span_of_rows(dtype):
    X, y = classes(2, 4, 6)
    pieces = pieces_of(X, y)
    system = System(objective_of(Logistic()), pieces.scaling, RowSpan.of(pieces))
    model = np.random.default_rng(0).standard_normal(system.shape)
    assert system.shape == (5, 1)
    found = system.to_user(model, dtype)
    assert found.coef.dtype == dtype
    scores = next(iter(system.span.pieces)).rows.times(model)
    np.testing.assert_allclose(X @ found.coef.T + found.intercept, scores, rtol=1e-4 if dtype == np.float32 else 1e-9)
