import decimal

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from sgdone.spark.row_columns import FeatureColumns, RowColumns, partition_of

COLUMNS = RowColumns(FeatureColumns(None, ("area", "city")), "bought", "w")


def batch(labels, weights, area, city):
    inputs = pa.StructArray.from_arrays([pa.array(area, pa.float64()), pa.array(city, pa.string())], ["area", "city"])
    return pa.record_batch({"inputs": inputs, "label": labels, "weight": pa.array(weights, pa.float64())})


def test_cells_of_several_batches_are_one_table():
    parts = [
        batch(pa.array(["yes", "no"]), [1.0, 2.0], [1.5, None], ["Oslo", None]),
        batch(pa.array([], pa.string()), [], [], []),
        batch(pa.array(["yes"]), [0.5], [2.5], ["Bern"]),
    ]
    found, vectors = partition_of(3, iter(parts), COLUMNS)
    assert (found.number, found.fault, vectors) == (3, "", None)
    assert found.X.to_pydict() == {"area": [1.5, None, 2.5], "city": ["Oslo", None, "Bern"]}
    assert found.y.tolist() == ["yes", "no", "yes"]
    assert found.sample_weight.tolist() == [1.0, 2.0, 0.5]
    assert partition_of(0, iter([]), COLUMNS)[0].is_empty


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pa.array([True, False]), np.array([True, False])),
        (pa.array([2, 1], pa.int8()), np.array([2, 1], dtype=np.int8)),
        (pa.array([decimal.Decimal("1.0"), decimal.Decimal("2.0")]), np.array([1.0, 2.0])),
    ],
)
def test_labels_keep_their_types(labels, expected):
    found = partition_of(0, [batch(labels, [1.0, 1.0], [0.0, 1.0], ["a", "b"])], COLUMNS)[0].y
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("labels", "weights", "fault"),
    [
        (["yes", None], [1.0, 1.0], "the label of row 3 is null (column 'bought'): drop the row, or fill it"),
        (["yes", "no"], [1.0, None], "the weight of row 3 is null (column 'w'): drop the row, or fill it"),
    ],
)
def test_missing_labels_and_weights_are_faults(labels, weights, fault):
    good = batch(pa.array(["yes", "no"]), [1.0, 1.0], [1.0, 2.0], ["a", "b"])
    bad = batch(pa.array(labels), weights, [1.0, 2.0], ["a", "b"])
    assert partition_of(1, [good, bad], COLUMNS)[0].fault == fault
