"""Labels of any kind."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sgdone import LinearClassifier, LinearRegressor, SGDClassifier

PAIRS = {
    "text": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
    "booleans": np.array([False, True]),
    "zero and one": np.array([0, 1]),
    "minus and plus": np.array([-1, 1]),
    "both negative": np.array([-9, -2]),
    "large": np.array([-(2**62), 2**62]),
    "unsigned": np.array([3, 2**64 - 1], dtype=np.uint64),
    "small type": np.array([-5, 7], dtype=np.int8),
    "whole floats": np.array([1.0, 2.0]),
    "float32": np.array([-1.0, 1.0], dtype=np.float32),
}


@pytest.fixture
def model():
    return LinearClassifier(random_state=0)


@pytest.mark.parametrize("kind", PAIRS)
def test_two_classes(kind, binary, model, same_model):
    X, y = binary
    labels = PAIRS[kind]
    model.fit(X, labels[y])
    assert model.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(model.classes_, labels)
    np.testing.assert_array_equal(model.predict(X) == labels[1], model.decision_function(X) > 0)
    assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels[y]) > 0.9
    same_model(model, LinearClassifier(random_state=0).fit(X, y))


@pytest.mark.parametrize(
    "labels",
    [["a", "b", "c", "d"], [-3, -1, 0, 10**12], [0.0, 1.0, 2.0, 3.0], np.array(["x", "y", "z", "é"], dtype=object)],
    ids=["text", "ints", "floats", "objects"],
)
def test_several_classes(labels, several, same_model):
    X, y = several
    labels = np.asarray(labels)
    model = SGDClassifier(random_state=0).fit(X, labels[y])
    assert model.coef_.shape == (4, 6)
    assert model.intercept_.shape == (4,)
    assert model.decision_function(X).shape == (400, 4)
    np.testing.assert_array_equal(model.classes_, labels)
    np.testing.assert_array_equal(model.predict(X), labels[model.decision_function(X).argmax(axis=1)])
    assert model.score(X, labels[y]) > 0.8
    assert list(model.verdict_.per_class) == labels.tolist()
    assert model.multinomial_ is False
    same_model(model, SGDClassifier(solver="asgd", random_state=0).fit(X, y))


@pytest.mark.parametrize("late", [[2], [-1], [7, 8]])
def test_classes_that_come_after_many_rows(late, rng, model):
    X = rng.standard_normal((1600, 3))
    y = (X[:, 0] > 0).astype(int)
    for label, rows in zip(late, np.array_split(np.arange(1200, 1600), len(late)), strict=True):
        X[rows, 1] += 5.0 if label % 2 else -5.0
        y[rows] = label
    model.fit(X, y)
    assert model.classes_.tolist() == sorted({0, 1, *late})
    assert np.mean(model.predict(X[1200:]) == y[1200:]) > 0.5


def test_a_late_label_that_is_no_class(rng, model):
    y = np.tile([0.0, 1.0], 750)
    y[1400] = 0.5
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        model.fit(rng.standard_normal((1500, 2)), y)


@pytest.mark.parametrize(
    "container",
    [
        list,
        tuple,
        pd.Series,
        pl.Series,
        lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
        lambda y: pd.Series(y).astype("Int64"),
        lambda y: np.asarray(y)[::-1][::-1],
    ],
    ids=["list", "tuple", "pandas", "polars", "index", "nullable", "strided"],
)
def test_containers(container, binary, model, same_model):
    X, y = binary
    same_model(model.fit(X, container(y)), LinearClassifier(random_state=0).fit(X, y))
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("dtype", ["category", "str", "string", "boolean", object])
def test_pandas_types(dtype, binary, model, same_model):
    X, y = binary
    labels = y.astype(bool) if dtype == "boolean" else np.where(y, "yes", "no")
    series = pd.Series(labels, dtype=dtype)
    same_model(model.fit(X, series), LinearClassifier(random_state=0).fit(X, y))
    assert model.classes_.tolist() == ([False, True] if dtype == "boolean" else ["no", "yes"])
    assert model.score(X, series) > 0.9


@pytest.mark.parametrize("pair", [[4, 11], [False, True], [-1.0, 1.0]], ids=["ints", "booleans", "floats"])
def test_numbers_that_come_as_objects(pair, binary, model, same_model):
    X, y = binary
    labels = np.array(pair, dtype=object)[y]
    same_model(model.fit(X, labels), LinearClassifier(random_state=0).fit(X, y))
    assert model.classes_.tolist() == pair
    streamed = LinearClassifier(random_state=0).partial_fit(X, labels, classes=pair)
    assert streamed.score(X, np.array(pair)[y]) > 0.9


def test_bytes_are_refused_as_in_scikit_learn(binary, model):
    X, y = binary
    with pytest.raises(TypeError, match="labels represented as bytes is not supported"):
        model.fit(X, np.array([b"no", b"yes"])[y])


@pytest.mark.parametrize("y", [np.eye(3, dtype=int), np.zeros((3, 2))], ids=["indicator", "two columns"])
def test_more_than_one_label_a_row(y, model):
    with pytest.raises(ValueError, match="y should be a 1d array"):
        model.fit(np.eye(3), y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["no", 1], "y holds labels of different types, 'no' in row 0 and 1 in row 1: convert all of them to text or"),
        ([1.5, "yes"], "y holds labels of different types, 1.5 in row 0 and 'yes' in row 1"),
        (["no", None], "the label of row 1 is None, drop the row"),
        ([pd.NA, "yes"], "the label of row 0 is <NA>, drop the row"),
        ([0, float("nan")], "the label of row 1 is nan, drop the row"),
        (["no", b"yes"], r"the label of row 1 of y is b'yes' \(bytes\): use text or numbers"),
        (["no", ("yes",)], r"the label of row 1 of y is \('yes',\) \(tuple\): use text or numbers"),
        ([1j, 2j], r"the label of row 0 of y is 1j \(complex\): use text or numbers"),
        ([2**70, 1], "the integer that is the label of row 0 of y has too many digits: use text"),
        ([-1, 2**63], "the integer that is the label of row 1 of y has too many digits: use text"),
        ([0.5, 2**53 + 1], "the integer that is the label of row 1 of y has too many digits: use text"),
    ],
)
def test_labels_that_cannot_be_compared_say_where(labels, message, binary, model):
    X, y = binary
    y = y.copy()
    y[:2] = [0, 1]
    both = np.empty(2, dtype=object)
    both[:] = labels
    with pytest.raises(ValueError, match=message):
        model.fit(X, both[y])
    if not isinstance(labels[1], tuple):
        with pytest.raises(ValueError, match=message):
            model.fit(X, both[y].tolist())
    with pytest.raises(ValueError, match=message.replace("of y", "of classes").replace("y holds", "classes holds")):
        model.partial_fit(X, both[y], classes=both)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("estimator", [LinearClassifier, LinearRegressor])
def test_a_label_that_is_not_finite_says_where(value, name, estimator, binary):
    X, y = binary
    y = y.astype(float)
    y[17] = value
    with pytest.raises(ValueError, match=f"Input y contains {name}: the label of row 17 is {value}"):
        estimator().fit(X, y)
