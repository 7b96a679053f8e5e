"""Data frames and the names of their columns."""

import warnings
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sgdone
from sgdone import LinearClassifier, LinearRegressor, SGDClassifier

NAMES = ["age", "height", "weight", "shoe size", "é"]
FRAMES = {"pandas": lambda X: pd.DataFrame(X, columns=NAMES), "polars": lambda X: pl.DataFrame(X, schema=NAMES)}


@pytest.fixture(params=FRAMES)
def frame(request, binary):
    return FRAMES[request.param](binary[0])


@pytest.fixture
def model():
    return LinearClassifier(random_state=0)


def test_names_are_kept(frame, binary, model, same_model):
    X, y = binary
    model.fit(frame, y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == 5
    same_model(model, LinearClassifier(random_state=0).fit(X, y))
    np.testing.assert_array_equal(model.predict(frame), model.predict(type(frame)(frame)))


def test_a_fit_without_names_forgets_the_old_ones(frame, binary, model):
    X, y = binary
    assert not hasattr(model.fit(frame, y).fit(X, y), "feature_names_in_")


ODD_NAMES = {
    "integers": [5, 3, 1, 0, 2],
    "mixed": ["age", 1, 2.5, ("c", 2), None],
    "tuples": [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1)],
    "days": pd.date_range("2024-01-01", periods=5),
}


@pytest.mark.parametrize("kind", ODD_NAMES)
@pytest.mark.parametrize("make", [LinearClassifier, SGDClassifier])
def test_names_of_any_type_are_matched_by_name(kind, make, binary, tmp_path, recwarn):
    X, y = binary
    frame = pd.DataFrame(X)
    frame.columns = pd.Index(ODD_NAMES[kind], tupleize_cols=kind == "tuples")
    turned = frame.iloc[:, [3, 0, 4, 1, 2]]
    model = make(random_state=0).fit(frame, y)
    expected = model.decision_function(frame)
    sgdone.save(model, tmp_path / "model")
    for fitted in (model, sgdone.load(tmp_path / "model")):
        np.testing.assert_array_equal(fitted.decision_function(turned), expected)
    one, two = (make(random_state=0).partial_fit(frame, y, classes=[0, 1]) for _ in range(2))
    np.testing.assert_array_equal(one.partial_fit(turned, y).coef_, two.partial_fit(frame, y).coef_)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        model.predict(frame.set_axis(pd.Index([77, *frame.columns[1:]], tupleize_cols=False), axis=1))
    assert not recwarn.list


def test_columns_0_1_2_are_those_of_an_array(binary, recwarn):
    X, y = binary
    frame = pd.DataFrame(X)
    model = LinearClassifier(random_state=0).fit(frame, y)
    of_array = LinearClassifier(random_state=0).fit(X, y)
    expected = model.decision_function(frame)
    np.testing.assert_array_equal(of_array.decision_function(frame[[3, 0, 4, 1, 2]]), expected)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="X has feature names, but LinearClassifier was fitted without"):
        of_array.decision_function(frame.rename(columns={0: 9}))


def test_names_that_are_equal_as_strings(binary):
    X, y = binary
    with pytest.raises(ValueError, match=r"same name: '1' \('1' as int and as str\). Rename or drop"):
        LinearClassifier().fit(pd.DataFrame(X[:, :2], columns=[1, "1"]), y)


def test_frames_of_mixed_numbers(binary, model):
    X, y = binary
    frame = FRAMES["pandas"](X).assign(whole=np.arange(300), yes=X[:, 0] > 0, small=X[:, 0].astype(np.float32))
    model.fit(frame, y)
    assert model.coef_.shape == (1, 8)
    assert np.isfinite(model.coef_).all()


def test_nullable_columns(binary, model, same_model):
    X, y = binary
    same_model(model.fit(FRAMES["pandas"](X).astype("Float64"), y), LinearClassifier(random_state=0).fit(X, y))


def test_a_missing_value_is_named(frame, binary, model):
    y = binary[1]
    if isinstance(frame, pd.DataFrame):
        frame.iloc[17, 2] = None
    else:
        frame[17, "weight"] = None
    with pytest.raises(
        ValueError, match="column 'weight' of X has no value in row 17, and SGDClassifier takes numbers"
    ):
        SGDClassifier().fit(frame, y)
    model.fit(binary[0], y)
    with (
        pytest.warns(UserWarning, match="was fitted without feature names"),
        pytest.raises(ValueError, match="row 17 of X holds NaN in column 2"),
    ):
        model.predict(frame)


DATES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES).assign(height=pd.Timestamp("2020-02-01")),
    "pandas alone": lambda X: pd.DataFrame({"height": pd.date_range("2020", periods=len(X))}),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES).with_columns(height=date(2020, 2, 1)),
    "arrow": lambda X: pa.table({"age": X[:, 0], "height": pa.array([date(2020, 2, 1)] * len(X))}),
    "durations": lambda X: pd.DataFrame(X, columns=NAMES).assign(height=pd.Timedelta(1, "D")),
}


@pytest.mark.parametrize("table", DATES)
def test_dates_in_front_of_a_named_method(table, binary):
    message = r"column 'height' of X has the type (date|timestamp|duration).*make_pipeline\(sgdone.TableEncoder\(\)"
    with pytest.raises(ValueError, match=message):
        SGDClassifier().fit(DATES[table](binary[0]), binary[1])


CELLS = {
    "x": r"column 'age' holds cells of different kinds: .* \(float\) in row 0 and 'x' \(str\) in row 2",
    "x" * 5000: r"cells of different kinds: .* \(float\) in row 0 and 'x{50}.*…",
    date(2020, 2, 1): r"and datetime.date\(2020, 2, 1\) \(date\) in row 2",
}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: str(cell)[:10])
def test_cells_of_two_kinds_name_their_places(cell, binary, model):
    X, y = binary
    frame = pd.DataFrame(X, columns=NAMES).astype({"age": object})
    frame.loc[2, "age"] = cell
    with pytest.raises((TypeError, ValueError), match=CELLS[cell]) as caught:
        model.fit(frame, y)
    assert len(str(caught.value)) < 500


def test_dates_as_targets(binary):
    with pytest.raises(ValueError, match="y holds dates or times: a regression needs numbers"):
        LinearRegressor().fit(binary[0], pd.date_range("2020", periods=len(binary[0])))


@pytest.mark.slow
def test_sparse_frames(binary):
    X, y = binary
    X = X * (X > 0.5)
    frame = pd.DataFrame(X, columns=NAMES).astype(pd.SparseDtype(float, 0.0))
    model = SGDClassifier(random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == NAMES
    expected = SGDClassifier(solver="asgd", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-10)


def test_a_target_column_of_the_same_frame(numbers, same_model):
    X, y = numbers
    for frame in (FRAMES["pandas"](X).assign(y=y), FRAMES["polars"](X).with_columns(y=y)):
        model = LinearRegressor(random_state=0).fit(frame[NAMES], frame["y"])
        same_model(model, LinearRegressor(random_state=0).fit(X, y))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.score(frame[NAMES], frame["y"])


def test_two_columns_of_one_name(binary):
    X, y = binary
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = LinearClassifier(random_state=0).fit(frame, y)
    twice = frame.set_axis(list("aacde"), axis=1)
    for use in (lambda: model.predict(twice), lambda: LinearClassifier().fit(twice, y)):
        with pytest.raises(ValueError, match="X has 2 columns named 'a': give each column a name of its own"):
            use()


def test_a_lazy_frame_is_to_be_collected(recwarn):
    with pytest.raises(TypeError, match=r"X is a LazyFrame, which has no rows yet: call X\.collect\(\) first"):
        LinearClassifier().fit(pl.LazyFrame({"a": [1.0, 2.0]}), [0, 1])
    assert not recwarn.list


@pytest.mark.parametrize("series", [pd.Series(["a word", "two"], name="x"), pl.Series("x", ["a word", "two"])])
def test_a_series_is_to_be_made_a_frame(series):
    with pytest.raises(ValueError, match=r"X is a Series, a single column or row: for a column give X\.to_frame\(\)"):
        LinearClassifier().fit(series, [0, 1])
    LinearClassifier().fit(series.to_frame(), [0, 1])
