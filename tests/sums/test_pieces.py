"""Rows in other units: the same sums from a scaled copy, from rows as they are and from sparse rows."""

import numpy as np
import pytest
from scipy import sparse

from exact_problems import classes, pieces_of
from running import objective_of
from sgdone.losses import Logistic
from sgdone.newton.penalty_path import leave_one_out
from sgdone.rows.rows import Scaling
from sgdone.sums.pieces import PIECE, DenseRows, RawRows, SparseRows
from sgdone.sums.second_order import second_order

OPERATIONS = ["times", "transposed_times", "squared_transposed_times", "products", "quadratic_forms", "inner_products"]
#: Means of up to 100 standard deviations; the last column is constant.
SCALING = Scaling(np.array([1.0, 1e-3, 50.0, np.inf]), np.array([0.5, 0.1, -5e3, 7.0]))


def rows_and_values(seed=0):
    rng = np.random.default_rng(seed)
    scale = np.where(np.isfinite(SCALING.scale), SCALING.scale, 0.0)
    X = rng.standard_normal((30, 4)) * scale + SCALING.shift
    X[rng.random(X.shape) < 0.3] = 0.0
    matrices = rng.standard_normal((2, 5, 5))
    arguments = {
        "times": rng.standard_normal((5, 2)),
        "quadratic_forms": matrices + matrices.transpose(0, 2, 1),
        "inner_products": None,
    }
    return X, arguments, rng.standard_normal((30, 2))


def result(rows, operation, arguments, values):
    argument = arguments.get(operation, values)
    return getattr(rows, operation)() if argument is None else getattr(rows, operation)(argument)


def by_hand(X, operation, arguments, values):
    """The definitions."""
    rows = np.column_stack([(X - SCALING.shift) / SCALING.scale, np.ones(len(X))])
    found = {
        "times": lambda: rows @ arguments["times"],
        "transposed_times": lambda: rows.T @ values,
        "squared_transposed_times": lambda: (rows**2).T @ values,
        "products": lambda: np.einsum("ia,ib,ik->kab", rows, rows, values),
        "quadratic_forms": lambda: np.einsum("ia,kab,ib->ik", rows, arguments["quadratic_forms"], rows),
        "inner_products": lambda: rows[:, :-1] @ rows[:, :-1].T,
    }
    return found[operation]()


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("make", [DenseRows, RawRows, SparseRows])
def test_sums_are_those_of_the_definition(make, operation):
    X, arguments, values = rows_and_values()
    rows = make(sparse.csr_array(X) if make is SparseRows else X, SCALING)
    expected = by_hand(X, operation, arguments, values)
    np.testing.assert_allclose(
        result(rows, operation, arguments, values), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max()
    )


@pytest.mark.parametrize("make", [DenseRows, RawRows, SparseRows])
def test_products_with_values_that_are_not_negative(make):
    """Dense rows take half of the work."""
    X, arguments, values = rows_and_values()
    rows = make(sparse.csr_array(X) if make is SparseRows else X, SCALING)
    expected = by_hand(X, "products", arguments, values**2)
    np.testing.assert_allclose(rows.products(values**2), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("make", [DenseRows, RawRows])
def test_many_products_of_few_columns(make, rng):
    """Of all pairs of columns, for more rows than are taken at once."""
    X, values, matrices = rng.standard_normal((600, 3)), rng.standard_normal((600, 7)), rng.standard_normal((7, 4, 4))
    matrices += matrices.transpose(0, 2, 1)
    scaling = Scaling(np.array([1.0, 2.0, 0.5]), np.array([0.5, 0.0, -1.0]))
    found, rows = make(X, scaling), np.column_stack([(X - scaling.shift) / scaling.scale, np.ones(600)])
    expected = np.einsum("ia,ib,ik->kab", rows, rows, values)
    np.testing.assert_allclose(found.products(values), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    expected = np.einsum("ia,kab,ib->ik", rows, matrices, rows)
    np.testing.assert_allclose(found.quadratic_forms(matrices), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.quadratic_forms(matrices, single=True), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("make", [RawRows, SparseRows])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_rows_that_stay_in_place(make, operation):
    X, arguments, values = rows_and_values()
    scaling = Scaling(SCALING.scale)
    rows = make(sparse.csr_array(X) if make is SparseRows else X, scaling)
    expected = result(DenseRows(X, scaling), operation, arguments, values)
    np.testing.assert_allclose(
        result(rows, operation, arguments, values), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max()
    )


def kind_of_rows(X, scaling):
    (piece,) = pieces_of(X, np.ones(X.shape[0]), scaling=scaling)
    return type(piece.rows)


def test_large_dense_rows_are_used_as_they_are(rng):
    X, one = rng.standard_normal((3400, 39)), np.ones(39)
    assert kind_of_rows(X, Scaling(one, one)) is RawRows
    assert kind_of_rows(X[:100], Scaling(one, one)) is DenseRows
    assert kind_of_rows(X.astype(np.float32), Scaling(one, one)) is DenseRows
    assert kind_of_rows(sparse.csr_array(X[:10]), Scaling(one, one)) is SparseRows


@pytest.mark.parametrize(
    ("scale", "shift"), [(1.0, 1e6), (1e-70, 0.0), (1e70, 0.0), (1e-100, 1e-98)], ids=["far", "tiny", "huge", "both"]
)
def test_columns_far_from_0_or_in_extreme_units_are_copied(scale, shift, rng):
    X, one = rng.standard_normal((3400, 39)), np.ones(39)
    scales, shifts = one.copy(), 0.0 * one
    scales[5], shifts[5] = scale, shift
    assert kind_of_rows(X * scales + shifts, Scaling(scales, shifts)) is DenseRows


def test_a_constant_column_may_be_anywhere(rng):
    X, scale, shift = rng.standard_normal((3400, 39)), np.ones(39), np.zeros(39)
    X[:, 5] = shift[5] = 1e6
    scale[5] = np.inf
    assert kind_of_rows(X, Scaling(scale, shift)) is RawRows


def test_columns_a_million_standard_deviations_from_0_keep_their_digits():
    X, y = classes(2, 3400, 39)
    model = np.random.default_rng(1).standard_normal((40, 1)) / 10
    objective, far = objective_of(Logistic()), 2.0**20 * np.ones(39)
    X = np.round(X, 6)  # so that adding the origin loses few digits
    near = second_order(objective, pieces_of(X, y), model)
    moved = second_order(objective, pieces_of(X + far, y, scaling=Scaling(np.ones(39), far)), model)
    np.testing.assert_allclose(moved.curvature, near.curvature, rtol=1e-7, atol=1e-6)


def test_a_weight_of_1_stands_for_its_frequency():
    X, y = classes(2)
    (piece,) = pieces_of(X, y, np.arange(40.0), frequency=2.5)
    np.testing.assert_array_equal(piece.weights, 2.5 * np.arange(1.0, 40.0))


@pytest.mark.parametrize("n_rows", [300, 2 * PIECE + 1], ids=["one piece", "several pieces"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_change_no_bit(n_classes, n_rows):
    X, y = classes(n_classes, n_rows, 31)
    objective = objective_of(Logistic(), n_classes)
    model = np.random.default_rng(1).standard_normal((32, objective.n_free_outputs)) / 10
    found = []
    for threads in (1, 2):
        pieces = pieces_of(X, y, threads=threads)
        sums = second_order(objective, pieces, model)
        inverse = np.eye(model.size) / 100
        found.append((sums.curvature, sums.gradient, leave_one_out(objective, pieces, model, inverse).losses))
    for one, two in zip(*found, strict=True):
        assert one.tobytes() == two.tobytes()
