"""Bad data: an error says what was found, where, and what to do."""

import copy
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from automatic_problems import TASKS, fitted, problem
from scipy import sparse
from sklearn.exceptions import NotFittedError

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor
from sgdone.rows.faults import find_bad_cell
from tiers import at_night, fast_first

FORMS = {"dense": np.asarray, "csr": sparse.csr_array, "csc": sparse.csc_array}
VALUES = {"NaN": np.nan, "infinity": np.inf, "minus infinity": -np.inf}


@pytest.mark.parametrize(("solver", "dtype"), [("asgd", np.float64), *at_night([("isgd", np.float32)])])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("form", fast_first(1, FORMS))
def test_a_value_that_is_not_finite(form, value, dtype, solver, binary, numbers):
    message = f"row 123 of X holds {value.split()[-1]} in column 3: impute or drop it before fit"
    for make, (X, y) in ((SGDClassifier, binary), (SGDRegressor, numbers)):
        X = X.astype(dtype)
        X[123, 3] = VALUES[value]
        model = make(solver=solver, random_state=0)
        with pytest.raises(ValueError, match=message):
            model.fit(FORMS[form](X), y)
        assert not hasattr(model, "coef_")


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("form", fast_first(1, FORMS))
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_a_value_that_is_not_finite_at_predict(method, form, value, binary, several):
    for X, y in (binary, several):
        model = LinearClassifier(random_state=0).fit(X, y)
        bad = X[:7].copy()
        bad[4, 1] = VALUES[value]
        for coef in (model.coef_, np.zeros_like(model.coef_)):
            model.coef_ = coef
            with pytest.raises(ValueError, match=f"row 4 of X holds {value.split()[-1]} in column 1: impute or drop"):
                getattr(model, method)(FORMS[form](bad))


def test_predictions_that_overflow_are_not_the_rows_fault(binary):
    model = LinearClassifier(random_state=0).fit(*binary)
    assert model.predict(np.full((1, 5), 1e308)).size == 1


@pytest.mark.parametrize("dtype", [str, object])
def test_text_as_numbers_to_learn(dtype, binary):
    y = np.array(["1.5"] * 299 + ["high"], dtype=dtype)
    with pytest.raises(ValueError, match="the label of row 299 is the text 'high': a regression needs numbers"):
        LinearRegressor().fit(binary[0], y)
    assert LinearRegressor().fit(binary[0][:299], y[:299]).intercept_ == pytest.approx([1.5], abs=0.1)


@pytest.mark.parametrize("label", [3, "yes", True, 2.0])
@pytest.mark.parametrize("dtype", [None, object])
def test_one_class(dtype, label, binary):
    with pytest.raises(ValueError, match=f"y holds one class only \\({label!r}\\): a classifier needs rows of two"):
        LinearClassifier().fit(binary[0], np.array([label] * 300, dtype=dtype))


def test_the_search_for_text_does_not_look_at_numbers():
    """As objects, these would not fit into memory."""
    assert find_bad_cell(np.broadcast_to(0.0, (10**7, 10**4))) is None


TEXT = [[1.0, 2.0], [3.0, "four"], [5.0, 6.0]]


@pytest.mark.parametrize(
    ("X", "column"),
    [
        (TEXT, "1"),
        (np.array(TEXT, dtype=object), "1"),
        (np.array(TEXT), "1"),
    ],
    ids=["list", "object", "str"],
)
def test_text_in_the_features(X, column):
    message = f"row 1, column {column} of X holds the text 'four': encode it as numbers or drop the column"
    with pytest.raises(ValueError, match=message):
        LinearClassifier().fit(X, [0, 1, 0])
    model = LinearClassifier().fit([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    with pytest.raises(ValueError, match=message):
        model.predict(X)


@pytest.mark.parametrize("X", [np.empty((0, 3)), sparse.csr_array((0, 3))], ids=["dense", "csr"])
def test_no_rows(X):
    with pytest.raises(ValueError, match=r"X has no rows \(shape=\(0, 3\)\): give one or more"):
        LinearClassifier().fit(X, [])
    model = LinearClassifier().fit(np.eye(3), [0, 1, 0])
    with pytest.raises(ValueError, match=r"X has no rows \(shape=\(0, 3\)\)"):
        model.predict(X)


@pytest.mark.parametrize("X", [[[1.0, 2.0], [3.0]], [[1.0], [[2.0]]], [1.0, 2.0], 3.0, None], ids=str)
def test_what_is_no_matrix(X):
    with pytest.raises((ValueError, TypeError)):
        LinearClassifier().fit(X, [0, 1])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function", "score"])
def test_before_fit(method, binary):
    rows = binary if method == "score" else binary[:1]
    with pytest.raises(NotFittedError, match="This LinearClassifier instance is not fitted yet"):
        getattr(LinearClassifier(), method)(*rows)


def test_an_integer_beyond_the_floats_names_its_place():
    with pytest.raises(ValueError, match="row 1, column 0 of X holds an integer that exceeds the largest float"):
        LinearClassifier().fit([[0.0], [10**400]], [0, 1])


def test_labels_that_are_numbers_of_any_size_do_not_warn():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        LinearClassifier().fit([[0.0], [1.0], [2.0]], [1e308, 0.5, 0.25])


def test_a_warm_start_that_is_neither_true_nor_false():
    with pytest.raises(TypeError, match="warm_start must be True or False"):
        LinearClassifier(warm_start=np.zeros(2)).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("classes", [sparse.csr_array(np.eye(2)), 1, [[0], [1]]], ids=["sparse", "scalar", "2-D"])
def test_classes_that_are_no_list_of_labels(classes, binary):
    with pytest.raises(ValueError, match="classes must be a list or 1-dimensional array of labels; got "):
        SGDClassifier().partial_fit(*binary, classes=classes)


def test_weights_of_a_frame_whose_sum_overflows(binary):
    X, y = binary
    with pytest.raises(ValueError, match="the sample weights are too large"):
        LinearClassifier().partial_fit(pd.DataFrame(X).add_prefix("x"), y, [0, 1], np.full(len(y), 1e308))


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_beyond_the_range_of_numpy(seed, binary):
    with pytest.raises(ValueError, match=r"random_state must be from 0 to 2\*\*32 - 1; got "):
        LinearClassifier(random_state=seed).fit(*binary)


def test_a_long_label_is_cut_short():
    with pytest.raises(ValueError, match="y holds one class only") as raised:
        LinearClassifier().fit([[1.0], [2.0]], ["x" * 10_000] * 2)
    assert len(str(raised.value)) < 200


# ---- NaN and infinity: the error says where, and the model stays as it was ----


in_both_forms = pytest.mark.parametrize("form", fast_first(1, [np.asarray, sparse.csr_array]), ids=["dense", "csr"])


@in_both_forms
@pytest.mark.parametrize("task", TASKS)
def test_a_bad_row_in_partial_fit_changes_nothing(task, form, same_model):
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


# ---- CSR matrices that point outside themselves: an error, never a crash ----


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((50, 8)) * (rng.random((50, 8)) < 0.5)
    X[5] = 1.0
    return sparse.csr_array(X), np.tile([0, 1], 25)


@pytest.mark.parametrize("index", [8, -(2**31)])
@pytest.mark.parametrize("place", [0, 7], ids=["first", "last"])
@pytest.mark.parametrize("seen", [False, True], ids=["new", "seen to be sorted"])
@pytest.mark.parametrize("long", fast_first(1, [False, True]), ids=["int32", "int64"])
def test_an_index_out_of_range(long, seen, place, index, rows):
    X, y = rows
    if long:
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    model = LinearClassifier().fit(X, y)
    if not seen:
        X = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    X.indices[X.indptr[5] + place] = index
    message = f"row 5 of the CSR matrix X has the column index {index}, but X has 8 columns: rebuild it"
    for use in (
        lambda: LinearClassifier().fit(X, y),
        lambda: model.partial_fit(X, y),
        lambda: model.predict(X),
    ):
        with pytest.raises(ValueError, match=message):
            use()


@pytest.mark.parametrize("value", [-1, 10**6])
def test_pointers_out_of_range(value, rows):
    X, y = rows
    X.indptr[6] = value
    with pytest.raises(ValueError, match=r"indptr of the CSR matrix X is invalid at row [56]: rebuild it"):
        LinearClassifier().fit(X, y)


@pytest.mark.parametrize("change", ["X.indptr[0] = 3", "X.indptr[-1] = 10**6", "X.data = X.data[:-4]"])
def test_pointers_that_do_not_fit_the_entries(change, rows):
    X, y = rows
    exec(change, {"X": X})
    with pytest.raises(ValueError, match=r"rebuild|index pointer|indptr"):
        LinearClassifier().fit(X, y)


def test_entries_behind_the_last_row_do_not_matter(rows, same_model):
    X, y = rows
    longer = X.copy()
    longer.data = np.r_[X.data, np.nan]
    longer.indices = np.r_[X.indices, 10**6].astype(X.indices.dtype)
    same_model(LinearClassifier(random_state=0).fit(longer, y), LinearClassifier(random_state=0).fit(X, y))


@pytest.mark.slow
def test_the_process_survives():
    """In a process of its own, without the bounds that a debugger might add."""
    code = """
        import numpy as np
        from scipy import sparse
        from sgdone import LinearClassifier
        X = sparse.csr_array(np.ones((2000, 30)))
        y = np.tile([0, 1], 1000)
        X.indices[::7] = -3
        for model in (LinearClassifier(), LinearClassifier(n_jobs=2)):
            try:
                model.fit(X, y)
            except ValueError as error:
                print("survived:", error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("survived: row 0 of the CSR matrix X") == 2


# ---- tables that no model can be fitted on: what is wrong is said ----


Y = np.array([0, 1] * 10)


@pytest.fixture
def table(rng):
    return pd.DataFrame({"x": rng.standard_normal(20), "c": list("abcd") * 5})


@pytest.mark.parametrize("columns", [3, "x", ["x"], np.array([])])
def test_kinds_must_be_a_mapping(columns, table):
    with pytest.raises(TypeError, match="must map names of columns to kinds"):
        LinearClassifier(columns=columns).fit(table, Y)


@pytest.mark.parametrize(
    "call", [lambda m, X, y: m.predict(X), lambda m, X, y: m.summary(X, y)], ids=["predict", "summary"]
)
def test_a_table_without_rows(call, table):
    model = LinearRegressor(random_state=0).fit(table, Y)
    with pytest.raises(ValueError, match="X has no rows"):
        call(model, table[:0], Y[:0])


def test_two_columns_without_a_name(table):
    model = LinearClassifier(random_state=0).fit(table[["x"]].assign(z=table["x"] ** 2), Y)
    frame = pd.DataFrame(np.ones((2, 2)))
    frame.columns = [None, None]
    with pytest.raises(ValueError, match="several columns have the same name: 'None'"):
        model.predict(frame)


def test_the_largest_floats_in_a_summary(rng):
    X = rng.standard_normal((40, 2))
    y = X[:, 0] + rng.standard_normal(40)
    model = LinearRegressor(random_state=0).fit(X, y)
    near = X * [2.0**1023 / np.abs(X[:, 0]).max(), 1.0]
    summary = model.summary(near, y)
    assert np.isfinite(summary.std_err[2])
