"""NaN and infinity: the error says where, and the model stays as it was."""

import copy

import numpy as np
import pytest
from automatic_problems import TASKS, fitted, problem
from scipy import sparse

from sgdone import LinearClassifier, LinearRegressor
from tiers import fast_first

FORMS = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])


@FORMS
@pytest.mark.parametrize("task", TASKS)
def test_partial_fit(task, form, same_model):
    X, y = problem(task)
    model = fitted(task, form(X), y, 200)
    untouched = copy.deepcopy(model)
    broken = X.copy()
    broken[99, 0] = np.nan
    for _ in range(2):
        with pytest.raises(ValueError, match="row 99 of X holds NaN in column 0"):
            model.partial_fit(form(broken), y)
        same_model(model, untouched)
    assert model.verdict_.step == 600
    same_model(model.partial_fit(form(X), y), untouched.partial_fit(form(X), y))


@FORMS
def test_in_a_later_block(form, rng):
    X = rng.standard_normal((9000, 3))
    X[8000, 1] = np.nan
    y = np.arange(9000) % 2
    for shuffle in (True, False):
        with pytest.raises(ValueError, match="row 8000 of X holds NaN in column 1"):
            LinearClassifier(shuffle=shuffle, random_state=0).fit(form(X), y)


@pytest.mark.parametrize("size", [1e160, 1e300])
def test_targets_whose_squares_overflow(size, same_model):
    X, y = problem("numbers")
    model = fitted("numbers", X, y, 200)
    untouched = copy.deepcopy(model)
    bad = y.copy()
    bad[7] = size
    for call in (LinearRegressor(random_state=0).fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"row 7 cannot be used: .* too large"):
            call(X, bad)
    same_model(model.partial_fit(X, y), untouched.partial_fit(X, y))


@pytest.mark.parametrize("size", [1e80, 1e-80, 1e120, 1e-120])
def test_targets_of_unlikely_units_raise_no_warning(size):
    X, y = problem("numbers")
    assert fitted("numbers", X, y * size).coef_ == pytest.approx(fitted("numbers", X, y).coef_ * size, rel=0.1)
