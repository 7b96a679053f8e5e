import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sgdone import TableEncoder
from sgdone.tables import arrow_table

TABLE = pa.table(
    {
        "number": pa.array([1.5, None, -2.0, 0.0, 7.25, 3.0]),
        "flag": pa.array([True, False, None, True, True, False]),
        "level": pa.array(["b", "", "a", None, "é😀", "b"]),
        "time": pa.array([0, 10**15, None, -(10**15), 3600 * 10**6, 12], pa.timestamp("us")),
        "note": pa.array(
            ["win a free prize", "see you at home", None, "a free ride home", "no news today ok", "é ü — 1 2 3"]
        ),
    }
)


def as_numpy_types(table):
    frame = table.to_pandas()
    return frame.astype({"level": object, "note": object, "flag": object, "time": "datetime64[ns]"})


def as_categorical(table):
    frame = table.to_pandas()
    frame["level"] = pd.Categorical(frame["level"], categories=["unused", "é😀", "a", "", "b"])
    return frame


def as_chunks(table):
    return pa.concat_tables([table.slice(0, 1), table.slice(1, 3), table.slice(4)])


def as_views(table):
    return table.set_column(2, "level", table["level"].cast(pa.string_view()))


FORMS = {
    "pandas, NumPy types": as_numpy_types,
    "pandas, nullable types": lambda table: table.to_pandas().convert_dtypes(),
    "pandas, Arrow types": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, categorical": as_categorical,
    "pandas, another index": lambda table: table.to_pandas().set_index(pd.Index(list("zyxwvu"))),
    "polars": pl.from_arrow,
    "polars, categorical": lambda table: pl.from_arrow(table).with_columns(pl.col("level").cast(pl.Categorical)),
    "polars, NaN": lambda table: pl.from_arrow(table).with_columns(pl.col("number").fill_null(float("nan"))),
    "Arrow chunks": as_chunks,
    "record batch": lambda table: table.combine_chunks().to_batches()[0],
    **({"string views": as_views} if hasattr(pa, "string_view") else {}),
    "dictionaries": lambda table: table.set_column(2, "level", as_chunks(table)["level"].dictionary_encode()),
}


def same(one, other):
    """Whether two encodings agree bit for bit."""
    parts = ("data", "indices", "indptr")
    sparse = all(np.array_equal(getattr(one.sparse, p), getattr(other.sparse, p)) for p in parts)
    return one.dense.tobytes() == other.dense.tobytes() and sparse


@pytest.mark.parametrize("form", FORMS)
def test_any_frame_gives_the_same_features(form):
    columns = {"note": "text"}
    expected, encoder = TableEncoder(columns).fit(TABLE), TableEncoder(columns)
    frame = FORMS[form](TABLE)
    assert same(encoder.fit_encode(frame), expected.encode(TABLE))
    assert encoder.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    assert str(encoder) == str(expected)
    assert same(expected.encode(frame), expected.encode(TABLE))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([None, "a", 1], r"column 'c' holds .* 'a' \(str\) in row 1 and 1 \(int\) in row 2"),
        ([1.5, float("nan"), True], r"1.5 \(float\) in row 0 and True \(bool\) in row 2"),
        ([pd.Timestamp("2020-01-01"), "2020-01-01"], r"\(Timestamp\) in row 0 and '2020-01-01' \(str\) in row 1"),
        (["a", ["b"]], r"row 1 of column 'c' holds \['b'\] \(list\), which is neither"),
    ],
)
def test_an_object_column_of_several_kinds_names_the_first_cell(cells, message):
    with pytest.raises(TypeError, match=message):
        arrow_table(pd.DataFrame({"x": range(len(cells)), "c": pd.Series(cells, dtype=object)}))


def test_object_columns_of_one_kind():
    frame = pd.DataFrame(
        {
            "number": pd.Series([1, 2.5, None, np.int64(3)], dtype=object),
            "flag": pd.Series([True, None, np.nan, False], dtype=object),
            "text": pd.Series(["a", None, np.nan, pd.NA], dtype=object),
            "none": pd.Series([None] * 4, dtype=object),
        }
    )
    found = arrow_table(frame)
    assert [str(kind) for kind in found.schema.types] == ["double", "bool", "large_string", "null"]
    assert found.column("text").to_pylist() == ["a", None, None, None]


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]), ValueError, "same name: 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "same name: 'a'"),
        (pd.DataFrame(index=[1, 2]), ValueError, "no columns"),
        (pd.DataFrame({"a": [1j]}), TypeError, "complex"),
        (np.zeros((2, 2)), TypeError, "numpy.ndarray: arrays of numbers need no encoder"),
        (pd.Series([1.0]), TypeError, "single column"),
        (pl.LazyFrame({"a": [1]}), TypeError, "collect"),
        ([[1]], TypeError, "builtins.list"),
        (pa.table({"a": pa.array([], pa.float64())}), ValueError, "no rows"),
    ],
)
def test_what_is_not_a_usable_frame_is_refused(frame, error, message):
    with pytest.raises(error, match=message):
        TableEncoder().fit(frame)


def test_few_strings_among_objects_that_are_numbers():
    cells = pd.Series([*range(2000), None], dtype=object)
    cells[7] = "seven"
    with pytest.warns(UserWarning, match="column 'c' has 'seven' in row 7"):
        encoder = TableEncoder().fit(pd.DataFrame({"c": cells}))
    assert encoder.get_feature_names_out().tolist() == ["c", "c missing"]
    cells[8:12] = "x"
    with pytest.raises(TypeError, match="'c' holds cells of different kinds"):
        TableEncoder().fit(pd.DataFrame({"c": cells}))


def test_integers_of_128_bits_are_numbers():
    frame = pl.DataFrame({"a": pl.Series([1, None, -(2**100)], dtype=pl.Int128), "b": ["x", "y", "z"]})
    assert arrow_table(frame).to_pydict() == {"a": [1.0, None, -(2.0**100)], "b": ["x", "y", "z"]}
