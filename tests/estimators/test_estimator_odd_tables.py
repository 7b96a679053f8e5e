"""Tables that no model can be fitted on: what is wrong is said."""

import numpy as np
import pandas as pd
import pytest

from sgdone import LinearClassifier, LinearRegressor

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
