import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sgdone import TableEncoder
from sgdone.tables import EncoderState
from tables.test_frames import TABLE, same

TEXT = {"note": "text"}


def names(encoder):
    return encoder.get_feature_names_out().tolist()


def test_dense_features_come_first():
    encoder = TableEncoder(TEXT)
    found = encoder.fit_encode(TABLE)
    assert names(encoder)[:3] == ["number", "flag=True", "time"]
    assert found.dense.flags.c_contiguous
    assert found.shape == (6, encoder.n_features_out_)
    assert found.sparse.has_sorted_indices
    assert np.array_equal(found.tocsr().toarray(), np.hstack([found.dense, found.sparse.toarray()]))
    expected = ["number missing", "flag missing", "level=a", "level=b", "level=é😀", "level=(missing)"]
    assert names(encoder)[3:9] == expected


def test_the_order_of_columns_does_not_matter_and_others_are_ignored():
    encoder = TableEncoder(TEXT).fit(TABLE)
    other = TABLE.select(TABLE.column_names[::-1]).append_column("label", [[1] * 6])
    assert same(encoder.encode(other), encoder.encode(TABLE))


def test_missing_columns_are_named():
    encoder = TableEncoder(TEXT).fit(TABLE)
    with pytest.raises(ValueError, match="missing: 'number', 'note'"):
        encoder.transform(TABLE.select(["flag", "level", "time"]))
    with pytest.raises(ValueError, match=r"missing: 'number'\. Did you mean 'numbers'\?"):
        encoder.transform(TABLE.rename_columns(["numbers", *TABLE.column_names[1:]]))


def test_gaps_first_met_in_transform_take_the_mean_with_one_warning():
    encoder = TableEncoder().fit(
        pa.table({"x": [1.0, 2.0, 6.0], "y": [1, 0, 1], "d": ["2011-01-01", "2011-01-02", "2011-01-03"]})
    )
    gaps = pa.table({"x": [None, 5.0], "y": pa.array([None, None], pa.int64()), "d": ["", "NA"]})
    with pytest.warns(UserWarning, match="had none in fit: 'x', 'y', 'd'") as caught:
        found = encoder.encode(gaps)
    assert len(caught) == 1
    assert found.dense.tolist() == [[3.0, 2 / 3, 14976.0], [5.0, 2 / 3, 14976.0]]
    assert found.sparse.nnz == 0


def test_means_come_from_training_rows():
    encoder = TableEncoder()
    found = encoder.fit_encode(pa.table({"x": [1.0, 3.0, None, 100.0]}), np.array([True, True, True, False]))
    assert found.dense[2, 0] == 2.0
    large = TableEncoder().fit_encode(pa.table({"x": [1.5e308, 1.7e308, None]}))
    assert large.dense[2, 0] == pytest.approx(1.6e308)


def test_columns_that_are_constant_or_repeat_another_are_left_out():
    table = pa.table(
        {
            "x": [1.0, 2.0, None, 4.0],
            "same": [1.0, 2.0, None, 4.0],
            "gaps": pa.array([7.0, 7.0, None, 7.0]),
            "one": ["a", "a", "a", "a"],
            "code": ["u", "v", "v", None],
            "name": ["United", "Virgin", "Virgin", ""],
            "empty": pa.nulls(4),
            "blank": ["", " ", None, ""],
            "day": ["2011-01-01"] * 4,
            "id": [1, 2, 3, 4],
        }
    )
    encoder = TableEncoder({"id": "drop"}).fit(table)
    assert encoder.left_out_ == {
        "same": "repeats 'x'",
        "one": "constant",
        "name": "repeats 'code'",
        "empty": "no values",
        "blank": "blank",
        "day": "constant",
        "id": "as stated in columns",
    }
    assert names(encoder) == ["x", "gaps", "x missing", "gaps missing", "code=u", "code=v", "code=(missing)"]
    assert encoder.transform(table.select(["x", "gaps", "code"])).shape == (4, 7)  # others are not needed
    assert "  name   left out  repeats 'code'" in str(encoder)


@pytest.mark.parametrize("columns", [{"c": "drop"}, {}])
def test_no_columns_left(columns):
    with pytest.raises(ValueError, match=r"no columns left to learn from: 'c' \("):
        TableEncoder(columns).fit(pa.table({"c": ["a", "a"]}))


def test_a_category_without_values():
    table = pa.table({"c": pa.nulls(2), "x": [1.0, 2.0]})
    assert names(TableEncoder({"c": "category"}).fit(table)) == ["x"]
    encoder = TableEncoder({"c": "category"}).partial_fit(table)
    assert names(encoder) == ["x", "c=(missing)"]
    assert names(encoder.partial_fit(pa.table({"c": ["a", "b"], "x": [1.0, 2.0]}))) == [
        "x",
        "c=(missing)",
        "c=a",
        "c=b",
    ]


@pytest.mark.parametrize(
    ("table", "plain"),
    [
        ({"x": [1, 2], "flag": [True, False]}, True),
        ({"x": [1, 2], "one": [1, 1], "flag": [True, False]}, False),  # a constant column is left out
        ({"x": [1.0, None]}, False),
        ({"x": ["1", "2"]}, False),
        ({"x": [1, 2], "c": ["a", "b"]}, False),
    ],
)
def test_a_table_that_an_array_could_hold_is_plain(table, plain):
    assert TableEncoder().fit(pa.table(table)).is_plain == plain
    assert not TableEncoder({"x": "category"}).fit(pa.table(table)).is_plain


def test_partial_fit_appends_features():
    encoder = TableEncoder(TEXT).partial_fit(TABLE.slice(0, 1))
    before, first = names(encoder), encoder.encode(TABLE.slice(0, 1))
    found = encoder.partial_fit_encode(TABLE)
    assert names(encoder)[: len(before)] == before
    assert set(names(encoder)) == set(names(TableEncoder(TEXT).fit(TABLE)))
    assert same(found, encoder.encode(TABLE))
    assert found.sparse.has_canonical_format
    assert np.all(
        np.diff(found.sparse.indices)[np.setdiff1d(np.arange(found.sparse.nnz - 1), found.sparse.indptr[1:-1] - 1)] > 0
    )
    again = encoder.encode(TABLE.slice(0, 1))
    assert same(type(first)(first.dense, again.sparse[:, : first.sparse.shape[1]]), first)


def test_the_value_of_gaps_stays_once_it_is_in_use():
    encoder = TableEncoder()
    for cells in ([1.0, 3.0], [5.0, None], [100.0, 200.0]):
        encoder.partial_fit(pa.table({"x": cells}))
    assert encoder.encode(pa.table({"x": [None, 1.0]})).dense[0, 0] == 3.0


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (["a", "b"], [1.0, 2.0], "was a category .string. when the encoder was fitted, and has the type double now"),
        ([1.0, 2.0], ["3", "x", "y"], "column 'x' is a column of numbers, but row 1 holds 'x'"),
        ([True, False], [0.5, 1.0], "was a boolean"),
        (["2011-01-01", "2011-01-02"], [1, 2], "was a date"),
        ([1, 2], [True, False], "was a number"),
    ],
)
def test_a_column_whose_type_changes_is_an_error(first, later, message):
    encoder = TableEncoder().partial_fit(pa.table({"x": first}))
    with pytest.raises((TypeError, ValueError), match=message):
        encoder.partial_fit(pa.table({"x": later}))


def test_numbers_and_dates_may_come_as_strings_or_as_what_they_are():
    encoder = TableEncoder().fit(pa.table({"x": ["1", "?"], "d": ["2011-01-01", "2011-02-01"]}))
    dates = pa.array([14975, None], pa.date32())
    found = encoder.encode(pa.table({"x": [2, None], "d": ["2011-01-01", "2011-02-01"]}))
    assert found.dense[0].tolist() == [2.0, 14975.0]
    with pytest.warns(UserWarning, match="'d'"):
        assert encoder.encode(pa.table({"x": [" 2", ""], "d": dates})).dense[0].tolist() == [2.0, 14975.0]


def test_new_columns_and_values_in_empty_columns_of_partial_fit():
    encoder = TableEncoder().partial_fit(pa.table({"x": [1.0, 2.0], "c": pa.nulls(2)}))
    with pytest.raises(ValueError, match="had no column 'new'"):
        encoder.partial_fit(pa.table({"x": [1.0], "c": pa.nulls(1), "new": [1]}))
    with pytest.warns(UserWarning, match="empty in the first call of partial_fit and have values now: 'c'"):
        encoder.partial_fit(pa.table({"x": [1.0], "c": ["a"]}))
    encoder.partial_fit(pa.table({"x": [1.0], "c": ["a"]}))
    assert names(encoder) == ["x"]


def test_no_label_enters(rng):
    frame = TABLE.to_pandas()
    encoders = [TableEncoder(TEXT).fit(frame, y) for y in (None, rng.standard_normal(6), list("abcdef"))]
    states = [encoder.state() for encoder in encoders]
    assert len({json.dumps(state.header) for state in states}) == 1
    assert len({pickle.dumps(state.arrays) for state in states}) == 1
    assert all(same(encoder.encode(TABLE), encoders[0].encode(TABLE)) for encoder in encoders)


def test_names_are_unique():
    encoder = TableEncoder().fit(pa.table({"x": [1.0, None, 2.0], "x missing": [1.0, 2.0, 4.0]}))
    assert names(encoder) == ["x", "x missing", "x missing (2)"]


def test_states_keep_every_bit():
    encoder = TableEncoder({**TEXT, "level": "category"}, max_levels=2, n_buckets=64).fit(TABLE)
    state = encoder.state()
    header = json.loads(json.dumps(state.header))
    back = TableEncoder.from_state(EncoderState(header, state.arrays, state.levels))
    assert same(back.encode(TABLE), encoder.encode(TABLE))
    assert names(back) == names(encoder)
    assert str(back) == str(encoder)
    more = TABLE.slice(2)
    assert same(back.partial_fit_encode(more), encoder.partial_fit_encode(more))
    assert names(back) == names(encoder)


def test_a_state_without_words_encodes_the_same():
    encoder = TableEncoder(TEXT).fit(TABLE)
    state = encoder.state(words=[])
    assert state.arrays["words"].size == state.arrays["votes"].size == state.arrays["hashes"].size == 0
    back = TableEncoder.from_state(state)
    assert same(back.encode(TABLE), encoder.encode(TABLE))
    assert names(back)[-1].startswith("note:(bucket ")
    assert b"prize" not in pickle.dumps(back)
    back.partial_fit(TABLE)
    assert any(name == "note:free prize" for name in names(back))


def test_a_state_with_the_words_of_some_features():
    encoder = TableEncoder(TEXT).fit(TABLE)
    some = encoder.word_features()[::2]
    back = TableEncoder.from_state(encoder.state(words=some))
    kept = [name for name in names(back) if name.startswith("note:") and "(bucket" not in name]
    assert kept == encoder.get_feature_names_out()[some].tolist()
    assert same(back.partial_fit_encode(TABLE), encoder.partial_fit_encode(TABLE))


@pytest.mark.slow
def test_a_wide_table_of_numbers_has_a_small_state():
    encoder = TableEncoder.of_numbers([f"x{j}" for j in range(5000)], [False] * 5000, np.ones((2, 5000)))
    state = encoder.state()
    assert len(json.dumps(state.header)) - len(json.dumps(state.header["names"])) < 300
    assert {name: array.size for name, array in state.arrays.items()} == dict.fromkeys(
        ("plans", "boolean", "total", "mean", "count", "indicator"), 5000
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state.header.pop("plans"),
        lambda state: state.header.update(names=["a", "a"]),
        lambda state: state.header["plans"].__setitem__(0, ["number", "complex", ""]),
        lambda state: state.header["plans"].pop(),
        lambda state: state.header["parameters"].update(n_buckets=3),
        lambda state: state.header["parameters"].update(n_buckets=2**30),
        lambda state: state.header["parameters"].update(columns={"note": "book"}),
        lambda state: state.header["parameters"].update(n_words=3),
        lambda state: state.arrays["word_features"].__setitem__(slice(2), state.arrays["word_features"][1::-1].copy()),
        lambda state: state.arrays.update(more=np.zeros(1)),
    ],
)
def test_damaged_states_are_refused(damage):
    """Others are among the damaged model files."""
    state = TableEncoder(TEXT).fit(TABLE).state()
    TableEncoder.from_state(state)
    damage(state)
    with pytest.raises(ValueError):
        TableEncoder.from_state(state)


def test_scikit_learns_contract(rng):
    encoder = TableEncoder(TEXT)
    with pytest.raises(NotFittedError):
        encoder.transform(TABLE)
    assert str(encoder) == "TableEncoder(columns={'note': 'text'})"
    encoder.fit(TABLE)
    assert encoder.n_features_in_ == 5
    assert encoder.feature_names_in_.tolist() == TABLE.column_names
    assert same(pickle.loads(pickle.dumps(encoder)).encode(TABLE), encoder.encode(TABLE))
    assert not hasattr(clone(encoder), "plans_")
    assert (encoder.fit_transform(TABLE) != encoder.transform(TABLE)).nnz == 0
    frame = pd.DataFrame({"x": rng.standard_normal(60), "c": rng.choice(list("abc"), 60), "z": rng.standard_normal(60)})
    y = frame["c"] == "a"
    search = GridSearchCV(
        make_pipeline(TableEncoder(), LogisticRegression()), {"tableencoder__columns": [None, {"z": "drop"}]}, cv=2
    )
    assert search.fit(frame, y).score(frame, y) == 1.0
    parts = make_column_transformer((TableEncoder(), ["x", "c"]), remainder="passthrough").fit(frame)
    assert parts.get_feature_names_out()[1] == "tableencoder__c=a"
    with pytest.raises(ValueError, match="sparse"):
        TableEncoder().set_output(transform="pandas").fit_transform(frame)


@pytest.mark.parametrize("parameters", [{"max_levels": 0}, {"n_buckets": 1000}, {"max_bytes": 1.5}])
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        TableEncoder(**parameters).fit(TABLE)


def test_a_table_without_rows_can_be_encoded():
    encoder = TableEncoder(TEXT).fit(TABLE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encoder.transform(TABLE.slice(0, 0)).shape == (0, encoder.n_features_out_)
        assert encoder.transform(TABLE.schema.empty_table()).shape == (0, encoder.n_features_out_)


def test_infinite_values_and_rows_of_weight_0_do_not_spoil_a_mean():
    encoder = TableEncoder.of_numbers(["x"], [False], np.array([[1.0], [3.0]]))
    encoder.add_numbers(np.array([[np.inf], [5.0]]))  # a fit refuses such rows
    encoder.add_numbers(np.array([[np.inf], [5.0]]), [0.0, 1.0])
    with pytest.warns(UserWarning, match="missing values"):
        assert encoder.encode(pa.table({"x": pa.array([None], pa.float64())})).dense.tolist() == [[3.0]]


def test_half_floats_as_levels_and_times_as_numbers():
    table = pa.table({"h": pa.array(np.array([1.5, -0.0, 0.0], dtype=np.float16)), "x": [1.0, 2.0, 3.0]})
    assert names(TableEncoder({"h": "category"}).fit(table)) == ["x", "h=0", "h=1.5"]
    table = pa.table({"t": pa.array([1, 2], pa.time32("s")), "x": [1.0, 2.0]})
    with pytest.raises(TypeError, match=r"column 't' of type time32.s. cannot be a number: pass columns={'t': 'date'}"):
        TableEncoder({"t": "number"}).fit(table)


def test_scikit_learn_knows_that_it_takes_tables():
    tags = TableEncoder().__sklearn_tags__().input_tags
    assert (tags.two_d_array, tags.categorical, tags.string, tags.allow_nan) == (False, True, True, True)


@pytest.mark.parametrize(
    "cells",
    [
        [f"{k},5" for k in range(30)],
        [f"${k}.50" for k in range(30)],
        [f"{k},{k:03}.25" for k in range(1, 31)],
        [f"{k}%" for k in range(30)],
        [f"{k % 28 + 1}.{k % 12 + 1}.2024" for k in range(30)],
        [f"{k % 12 + 1}/{k % 28 + 1}/24 10:30" for k in range(30)],
    ],
)
def test_numbers_and_dates_in_other_formats_are_named(cells):
    frame = pd.DataFrame({"x": range(30), "price": cells})
    with pytest.warns(UserWarning, match=r"in another format are read as categories: 'price', as '.*Convert them"):
        encoder = TableEncoder().fit(frame)
    assert "looks like numbers or dates in another format" in str(encoder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder(columns={"price": "category"}).fit(frame)
        encoder.transform(frame)


def test_codes_and_few_levels_are_no_unread_numbers():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder().fit(
            pd.DataFrame(
                {
                    "ip": [f"10.0.0.{k}" for k in range(30)],
                    "tail": [f"N{k}" for k in range(30)],
                    "rate": ["10%", "20%"] * 15,
                    "zip": [f"0{k}134" for k in range(10, 40)],
                }
            )
        )


def test_the_numbers_of_texts_do_not_change():
    """Though the first text has no words in the first rows."""
    encoder = TableEncoder(columns={"a": "text", "b": "text"})
    encoder.partial_fit(pd.DataFrame({"a": ["!", "?"], "b": ["one", "two"]}))
    assert encoder.texts().tolist() == [1, 1]
    encoder.partial_fit(pd.DataFrame({"a": ["three", "four"], "b": ["one", "two"]}))
    assert encoder.texts().tolist() == [1, 1, 0, 0]


def test_cells_that_are_no_numbers_are_named():
    ages = [str(k) for k in range(2000)]
    ages[1234] = "abc"
    pay = [str(k % 37) for k in range(2000)]
    pay[1234] = "pay"
    table = pa.table({"age": ages, "pay": pay, "x": range(2000)})
    message = r"missing values: column 'age' has 'abc' in row 1,234 \(1 of 2,000 cells\); column 'pay' has 'pay' in row"
    with pytest.warns(UserWarning, match=message) as found:
        encoder = TableEncoder().fit(table)
    assert len(found) == 1
    assert encoder.get_feature_names_out().tolist() == ["age", "pay", "x", "age missing", "pay missing"]
    with pytest.warns(UserWarning, match=r"column 'age' has 'abc' in row 2 \(1 of 4 cells\)") as found:
        rows = encoder.transform(table.slice(1232, 4)).toarray()
    assert len(found) == 1
    assert rows[:, 3].tolist() == [0, 0, 1, 0]
    with pytest.warns(
        UserWarning, match=r"almost all numbers are read as categories: column 'age' has 'abc' in row 234"
    ):
        small = TableEncoder().fit(table.slice(1000, 500))
    assert str(small.plans_[0].kind) == "category"
