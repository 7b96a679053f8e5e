"""The same table in any frame or file gives the same model, bit for bit."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from sgdone import LinearClassifier
from sgdone.readers.reading import read

N = 120


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    days = np.datetime64("2024-01-01", "us") + rng.integers(0, 300, N).astype("timedelta64[D]")
    columns = {
        "x": pa.array(rng.standard_normal(N), mask=rng.random(N) < 0.2),
        "whole": pa.array(rng.integers(0, 50, N).astype(np.float64)),
        "flag": pa.array(rng.random(N) < 0.5, mask=rng.random(N) < 0.1),
        "city": pa.array(rng.choice(["Rome", "Oslo", "Bern"], N).tolist(), mask=rng.random(N) < 0.1),
        "zip": pa.array(rng.choice(["02134", "94110", "10001"], N).tolist()),
        "day": pa.array(days, mask=rng.random(N) < 0.1),
        "notes": pa.array([" ".join(rng.choice(["red", "blue", "green", "big"], 4)) + f" {k}" for k in range(N)]),
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def labels(table):
    x = np.nan_to_num(table["x"].to_numpy())
    return np.where(x + (np.array(table["city"].to_pylist()) == "Rome") > 0.3, "yes", "no")


def from_csv(table, labels, folder):
    path = folder / "t.csv"
    arrow_csv.write_csv(table.append_column("label", pa.array(labels)), path)
    return read(path).X


def from_parquet(table, labels, folder):
    pq.write_table(table.append_column("label", pa.array(labels)), folder / "t.parquet")
    return read(folder / "t.parquet").X


FRAMES = {
    "pandas, NumPy types": lambda table, *_: table.to_pandas(),
    "pandas, nullable types": lambda table, *_: table.to_pandas().convert_dtypes(),
    "pandas, Arrow types": lambda table, *_: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, *_: pl.from_arrow(table),
    "record batch": lambda table, *_: table.combine_chunks().to_batches()[0],
    "chunks": lambda table, *_: pa.concat_tables([table[:50], table[50:]]),
    "CSV": from_csv,
    "Parquet": from_parquet,
}


@pytest.fixture(scope="module")
def expected(table, labels):
    return LinearClassifier(random_state=0).fit(table, labels)


@pytest.mark.parametrize("source", FRAMES)
def test_the_same_model(source, table, labels, expected, tmp_path):
    frame = FRAMES[source](table, labels, tmp_path)
    found = LinearClassifier(random_state=0).fit(frame, labels)
    assert found.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)
    np.testing.assert_array_equal(found.predict_proba(frame), expected.predict_proba(table))


def test_all_kinds_of_columns_take_part(expected):
    kinds = [str(plan.kind) for plan in expected.encoder_.plans_]
    assert kinds == ["number", "number", "boolean", "category", "category", "date", "text"]
