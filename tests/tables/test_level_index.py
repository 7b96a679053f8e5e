"""Look-ups of few levels in a large dictionary."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdone import TableEncoder
from sgdone.tables import category_encoder as level_index
from sgdone.tables.category_encoder import LevelIndex, positions
from tiers import examples

LEVELS = st.lists(st.text("ab é😀", max_size=3), max_size=20)


def strings(levels):
    return pa.array(levels, pa.large_string())


@examples(100)
@given(LEVELS.map(set).map(list), LEVELS)
def test_places_are_those_of_arrow(known, asked):
    expected = positions(strings(asked), strings(known))
    np.testing.assert_array_equal(LevelIndex(strings(known)).positions(strings(asked)), expected)


@pytest.mark.parametrize("known", [["a", "bb", "ccc"], ["a", "b", "ccc"]])
def test_levels_with_the_same_hash(known, monkeypatch):
    monkeypatch.setattr(level_index, "hashes_of", lambda levels: np.array([len(x) for x in levels.to_pylist()], "u8"))
    found = LevelIndex(strings(known)).positions(strings(["b", "a", "xx", "ccc", "dddd"]))
    assert found.tolist() == [known.index(level) if level in known else -1 for level in ["b", "a", "xx", "ccc", "dddd"]]


@pytest.mark.parametrize("max_levels", [100_000, 200])
def test_the_index_follows_new_levels(max_levels):
    """One row is encoded between calls that learn, with and without buckets."""
    encoder = TableEncoder({"c": "category"}, max_levels=max_levels)
    for last in (150, 300, 450):
        table = pa.table({"c": [f"level {k}" for k in range(last - 150, last)]})
        learnt = encoder.partial_fit_encode(table).tocsr()
        for row in (0, 77, 149):
            one = encoder.transform(table.slice(row, 1))
            assert (one != learnt[[row]]).nnz == 0
            assert one.nnz == 1
        assert encoder.transform(pa.table({"c": ["level 999"]})).nnz == 0 or max_levels == 200
