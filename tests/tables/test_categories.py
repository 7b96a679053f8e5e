import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdone import TableEncoder
from sgdone.tables.category_encoder import CategoryEncoder
from sgdone.tables.cell_values import level_values
from sgdone.tables.column_encoder import NewFeatures
from sgdone.tables.kinds import Kind, read_as
from tables.word_reference import hash_of
from tiers import examples

CELLS = st.lists(st.none() | st.text("ab é😀\n", max_size=3), min_size=1, max_size=30)


def column(cells):
    return read_as(Kind.CATEGORY, "c", pa.chunked_array([pa.array(cells, pa.large_string())]))


class SlowCategory:
    """Levels in a Python dictionary."""

    def __init__(self, max_levels, n_buckets):
        self.max_levels, self.n_buckets = max_levels, n_buckets
        self.features, self.full, self.next = {}, False, 0

    def key(self, cell):
        if cell is None or not cell.strip():
            return None
        if cell in self.features or not self.full:
            return cell
        return hash_of(cell) % self.n_buckets

    def learn(self, cells):
        levels = [cell for cell in cells if cell is not None and cell.strip()]
        unseen = {level for level in levels if level not in self.features}
        if not self.full:
            room = self.max_levels - sum(isinstance(key, str) for key in self.features)
            if len(unseen) > room:
                self.full = True
                ranked = sorted(unseen, key=lambda level: (-levels.count(level), level.encode()))
                unseen = set(ranked[:room])
            self.add(sorted(unseen, key=str.encode))
        self.add(sorted({key for key in map(self.key, levels) if isinstance(key, int)} - self.features.keys()))
        if None in map(self.key, cells):
            self.add([None])

    def add(self, keys):
        for key in keys:
            if key not in self.features:
                self.features[key] = self.next
                self.next += 1

    def encode(self, cells):
        return [self.features.get(self.key(cell), -1) for cell in cells]


@given(calls=st.lists(CELLS, min_size=1, max_size=3), other=CELLS, max_levels=st.integers(1, 12))
@examples(60)
def test_features_are_those_of_a_python_dictionary(calls, other, max_levels):
    fast, slow = CategoryEncoder("c", max_levels, 10**6, 4), SlowCategory(max_levels, 4)
    for cells in calls:
        new = NewFeatures(slow.next)
        slow.learn(cells)
        assert fast.encode(column(cells), new).indicators[0].tolist() == slow.encode(cells)
        assert new.next == slow.next
    assert fast.encode(column(other), None).indicators[0].tolist() == slow.encode(other)


def test_bytes_of_levels_are_limited():
    encoder = TableEncoder(max_bytes=10, n_buckets=8).fit(pa.table({"c": ["aaaa", "aaaa", "bbbb", "bbbb", "cccc"]}))
    names = encoder.get_feature_names_out()
    assert names[:2].tolist() == ["c=aaaa", "c=bbbb"]
    assert names[2].startswith("c=(bucket ")


def test_a_dictionary_may_have_a_gap_as_a_level():
    chunks = [(["a", None, "b"], [0, 1, 2]), (["c", "a"], [0, 1, None])]
    column = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(codes), levels) for levels, codes in chunks])
    found = TableEncoder().fit(pa.table({"c": column})).get_feature_names_out().tolist()
    assert found == ["c=a", "c=b", "c=c", "c=(missing)"]


@pytest.mark.parametrize("codes", [[4, None, 1, 4], [None], [5], [3, 4]])
def test_levels_of_a_dictionary_that_rows_do_not_have(codes):
    """More levels than rows, a blank one and one that occurs twice among them."""
    levels = ["e", "d", "c", " ", "a", "d"]
    coded = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), levels)])
    plain = pa.chunked_array([pa.array([None if k is None else levels[k] for k in codes], pa.large_string())])
    found, expected = level_values("c", coded), level_values("c", plain)
    assert found.codes.tolist() == expected.codes.tolist()
    assert found.levels.to_pylist() == expected.levels.to_pylist()


def test_later_levels_share_the_room_that_is_left():
    encoder = TableEncoder(max_levels=3, n_buckets=4).partial_fit(pa.table({"c": ["a", "b"]}))
    encoder.partial_fit(pa.table({"c": ["x", "y", "y", "z", "z", "z"]}))
    found = encoder.get_feature_names_out().tolist()
    assert found[:3] == ["c=a", "c=b", "c=z"]
    assert all("bucket" in name for name in found[3:])


def test_gaps_are_a_level_beside_one_of_the_same_name():
    encoder = TableEncoder().fit(pa.table({"c": ["(missing)", "", None, "a"]}))
    assert encoder.get_feature_names_out().tolist() == ["c='(missing)'", "c=a", "c=(missing)"]
    assert np.diff(encoder.transform(pa.table({"c": ["(missing)", " "]})).indices).tolist() == [2]


def test_groups_have_counts_and_the_most_frequent_level():
    dates = ["2011-01-31", "2011-02-28", None, None]  # both are Mondays
    table = pa.table({"x": [1.0, 2.0, 3.0, None], "c": ["a", "b", "b", None], "d": dates})
    encoder = TableEncoder().fit(table)
    names = encoder.get_feature_names_out()
    found = {group.name: group for group in encoder.groups()}
    assert list(found) == ["c", "d.month"]
    assert names[found["c"].features].tolist() == ["c=a", "c=b", "c=(missing)"]
    assert found["c"].counts.tolist() == [1, 2, 1]
    assert names[found["c"].reference] == "c=b"


@pytest.mark.slow
def test_a_million_levels():
    levels = np.char.add("user", np.arange(10**6).astype(str))
    table = pa.table({"c": pa.array(np.concatenate([levels, levels[:5]]), pa.large_string())})
    encoder = TableEncoder()
    found = encoder.fit_encode(table).sparse
    assert found.nnz == 10**6 + 5
    assert encoder.n_features_out_ <= 100_000 + 2**18
    assert {"c=user0", "c=user4"} <= set(encoder.get_feature_names_out()[:100_000])
    assert TableEncoder(max_levels=2**20).fit(table).n_features_out_ == 10**6


def test_levels_that_are_numbers_are_in_their_order():
    encoder = TableEncoder(columns={"hour": "category"}).fit(pa.table({"hour": [10, 9, 0, 23, 1]}))
    assert encoder.get_feature_names_out().tolist() == ["hour=0", "hour=1", "hour=9", "hour=10", "hour=23"]
    texts = TableEncoder(columns={"c": "category"}).fit(pa.table({"c": ["10", "9", "x"]}))
    assert texts.get_feature_names_out().tolist() == ["c=10", "c=9", "c=x"]


def padded(n_rows, blanks=""):
    return pa.table(
        {"job": [f"{job}{blanks}" for job in ["Sales", "Tech", "Art"] * n_rows][:n_rows], "x": range(n_rows)}
    )


def test_levels_that_are_mostly_unseen_are_warned_of():
    encoder = TableEncoder().fit(padded(300, "   "))
    for fitted in (encoder, TableEncoder.from_state(encoder.state())):
        with pytest.warns(
            UserWarning, match="not seen in fit.* column 'job': 100 % of 60 cells, such as 'Sales'"
        ) as found:
            fitted.transform(padded(60))
        assert len(found) == 1
    half = pa.concat_tables([padded(80), padded(20, "   ")])
    with pytest.warns(UserWarning, match="column 'job': 80 % of 100 cells"):
        encoder.transform(half)


@pytest.mark.parametrize(
    ("levels", "later"),
    [
        (["a", "b"] * 100, ["c"] * 29),  # too few cells
        (["a", "b"] * 100, ["c"] * 49 + ["a"] * 51),  # most are known
        ([f"id {k}" for k in range(200)], [f"id {k}" for k in range(1000, 2000)]),  # no level repeats
        ([f"id {min(k, 300)}" for k in range(400)], [f"id {k}" for k in range(1000, 1160)] + ["id 300"] * 40),
        (["a", "b"] * 100, [None] * 100),
    ],
)
def test_levels_that_may_be_unseen_are_not(levels, later, recwarn):
    encoder = TableEncoder(columns={"c": "category"}).fit(pa.table({"c": levels, "x": range(len(levels))}))
    encoder.transform(pa.table({"c": pa.array(later, pa.string()), "x": range(len(later))}))
    assert not recwarn.list
