"""Fewer rows than columns: the same optimum in the span of the rows."""

import numpy as np
import pytest
from scipy import sparse

from exact_problems import classes, found_by, numbers, pieces_of, system_of
from running import objective_of
from sgdone.losses import Logistic, Squared
from sgdone.newton.exact_path import ExactPath
from sgdone.newton.ridge_path import RidgePath
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import PIECE
from sgdone.sums.system import RowSpan, is_smaller

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
