"""Models in the units of the sums and in the user's, and in the span of fewer rows than columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from exact_problems import classes, found_by, numbers, pieces_of, system_of
from running import objective_of
from sgdone.losses import Logistic, Squared
from sgdone.newton.exact_path import ExactPath
from sgdone.newton.ridge_path import RidgePath
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import PIECE
from sgdone.sums.system import RowSpan, System, contrasts, is_smaller


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


# ---- fewer rows than columns: the same optimum in the span of the rows ----


FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
TASKS = pytest.mark.parametrize("n_classes", [2, 3, None])


def path_of(n_classes, pieces, alpha=None):
    objective = objective_of(Squared() if n_classes is None else Logistic(), n_classes, alpha=alpha)
    if n_classes is None:
        return RidgePath(system_of(objective, pieces), pieces)
    return ExactPath(system_of(objective, pieces), pieces, np.zeros((pieces.width, objective.n_free_outputs)))


def wide(n_classes, form=np.asarray):
    X, y = numbers(20, 30) if n_classes is None else classes(n_classes, 20, 30)
    scaling = Scaling(np.linspace(0.5, 2.0, 30), np.linspace(-1.0, 1.0, 30))
    return pieces_of(form(X), y, np.tile([1.0, 2.0], 10), scaling)


@FORMS
@TASKS
def test_the_optimum_is_that_of_the_columns(n_classes, form):
    pieces = wide(n_classes, form)
    span = RowSpan.of(pieces)
    found, exact = (found_by(path_of(n_classes, rows, alpha=0.1)) for rows in (span.pieces, pieces))
    assert span.pieces.n_features <= 20
    np.testing.assert_allclose(span.model(found.model), exact.model, atol=1e-5)
    np.testing.assert_allclose(found.losses, exact.losses, rtol=1e-4)


@TASKS
def test_the_penalty_that_is_chosen_is_the_same(n_classes):
    pieces = wide(n_classes)
    strengths = [found_by(path_of(n_classes, rows)).lam for rows in (RowSpan.of(pieces).pieces, pieces)]
    assert strengths[0] == strengths[1]


def test_coordinates_keep_the_inner_products():
    pieces = wide(2)
    (rows,), (original,) = RowSpan.of(pieces).pieces, pieces
    np.testing.assert_allclose(rows.rows.inner_products(), original.rows.inner_products(), atol=1e-10)


def test_equal_rows_have_one_coordinate():
    pieces = pieces_of(np.ones((5, 8)), np.array([1.0, -1.0, 1.0, 1.0, 1.0]))
    assert RowSpan.of(pieces).pieces.n_features == 1


def test_rows_of_zeros_give_a_model_of_zeros():
    span = RowSpan.of(pieces_of(np.zeros((5, 8)), np.arange(5.0)))
    np.testing.assert_array_equal(span.model(np.array([[3.0], [2.0]])), np.r_[np.zeros(8), 2.0][:, None])


def test_only_rows_that_are_fewer_and_fit_into_a_piece():
    assert is_smaller(20, 30)
    assert not is_smaller(30, 30)
    assert not is_smaller(PIECE + 1, 10 * PIECE)
