import numpy as np
import pyarrow as pa
import pytest

from sgdone.tables.string_cells import arrow_of, numpy_of

NUMBERS = [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64(), pa.float32(), pa.float64()]


def same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [*NUMBERS, pa.bool_()], ids=str)
def test_as_the_conversions_of_pyarrow(kind):
    array = pa.array([1, 0, 1, 1, 0, 1, 0, 0, 1, 1], pa.int8()).cast(kind)
    chunked = pa.chunked_array([array[3:], array[:2]])
    for part in (array, array[1:9], array[:0]):
        same(numpy_of(part), part.to_numpy(zero_copy_only=False))
    same(numpy_of(chunked), chunked.to_numpy())
    copied = numpy_of(chunked)
    copied[0] = 0
    assert chunked[0].as_py() == 1
    with_nulls = pa.chunked_array([array, pa.nulls(2, kind), array[4:]])
    same(numpy_of(with_nulls), with_nulls.to_numpy())


def test_other_types_are_converted_by_pyarrow():
    texts = pa.chunked_array([["a", None], ["b"]])
    same(numpy_of(texts), texts.to_numpy())
    assert numpy_of(pa.chunked_array([], pa.int64())).size == 0


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint64, np.float64])
def test_arrow_of(kind):
    values = np.arange(10).astype(kind)
    for part in (values, values[::2], values[:0]):
        assert arrow_of(part).equals(pa.array(part))
