import pickle
import random
import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from cluster_fits import fit_partitions
from sgdone.cluster import Engine, LocalEngine, Partition, PartitionError, partition_work
from sgdone.cluster.partition import HoldOutFactsSum, Preparation, read_partition
from sgdone.cluster.rounds import Rounds
from sgdone.cluster.tables import KindsOfColumns, LearnColumns, agreed_kinds, learnt_encoder, merge_encoders
from sgdone.fit.hold_out import RowChoice, held_out_rows
from sgdone.readers.file_parts import file_parts
from sgdone.readers.input_files import input_files
from sgdone.readers.table import ReadOptions
from sgdone.tables import TableEncoding


def table(n_rows=600, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array([f"word{k}" for k in range(40)])
    numbers = rng.standard_normal(n_rows) * 10
    return pa.table(
        {
            "job": [f"job {k}" for k in rng.zipf(1.6, n_rows) % 30],
            "age": pa.array(numbers, mask=rng.random(n_rows) < 0.01),
            "day": pa.array(np.datetime64("2024-01-01") + rng.integers(0, 700, n_rows)),
            "note": [" ".join(rng.choice(words, 6)) for _ in range(n_rows)],
            "member": rng.random(n_rows) < 0.5,
        }
    )


def parts_of(rows, cuts):
    return [rows.slice(a, b - a) for a, b in pairwise(cuts)]


CUTS = [0, 50, 50, 51, 200, 420, 600]


class Shuffled(Engine):
    """Answers in random order."""

    def __init__(self, partitions):
        self._partitions = partitions

    def ask(self, parts, *, in_order=False):
        order = random.Random(0).sample(self._partitions, len(self._partitions))
        return [partition_work(parts, partition) for partition in order]

    def encode(self, encoder):
        """Tables are not needed here."""


def partitions_of(tables, labels=None):
    starts = np.cumsum([0, *(part.num_rows for part in tables)])
    ys = [
        np.zeros(part.num_rows) if labels is None else labels[a : a + part.num_rows]
        for part, a in zip(tables, starts, strict=False)
    ]
    return [Partition(k, part, y) for k, (part, y) in enumerate(zip(tables, ys, strict=True))]


def kinds_of(tables, columns=None):
    return agreed_kinds(Rounds(LocalEngine(partitions_of(tables))).sum(KindsOfColumns()), columns)


def encoder_of(tables, columns=None):
    return learnt_encoder(Rounds(Shuffled(partitions_of(tables))), columns)


def test_features_are_those_of_partitions_read_one_after_the_other():
    tables = parts_of(table(), CUTS)
    kinds = kinds_of(tables)
    assert kinds == {"job": "category"}  # one row of a partition looks like text
    in_order = TableEncoding(kinds)
    for part in tables:
        if part.num_rows:
            in_order.partial_fit_encode(part)
    merged = encoder_of(tables)
    assert merged.get_feature_names_out().tolist() == in_order.get_feature_names_out().tolist()
    for mine, theirs in zip(merged.groups(), in_order.groups(), strict=True):
        assert mine.counts.tolist() == theirs.counts.tolist()
    encoded, expected = merged.encode(table()), in_order.encode(table())
    assert np.array_equal(encoded.sparse.toarray(), expected.sparse.toarray())
    gaps = np.isnan(table()["age"].to_numpy())
    mean = np.nanmean(table()["age"].to_numpy())
    np.testing.assert_allclose(encoded.dense[gaps, 0], mean)


def test_a_full_dictionary_shares_buckets():
    levels = [f"level {k}" for k in range(400)]
    made = []
    for number, own in enumerate(np.array_split(levels, 2)):
        encoder = TableEncoding({"c": "category"}, max_levels=150, n_buckets=64)
        encoder.partial_fit_encode(pa.table({"c": own, "x": np.arange(len(own)) + number}))
        made.append(encoder)
    merged = merge_encoders(*made, 200, 200)
    again = TableEncoding.from_state(merged.state())
    rows = again.encode(pa.table({"c": levels, "x": np.arange(400)})).sparse
    assert np.diff(rows.indptr).tolist() == [1] * 400
    assert rows.shape[1] <= 150 + 64


def test_a_column_without_values_in_a_partition_has_missing_values_there():
    tables = [pa.table({"x": [None, None], "c": ["a", "b"]}), pa.table({"x": [1.0, 3.0], "c": [None, "b"]})]
    for order in ([0, 1], [1, 0]):
        encoder = encoder_of([tables[place] for place in order])
        assert set(encoder.get_feature_names_out()) == {"x", "x missing", "c=a", "c=b", "c=(missing)"}
        assert encoder.encode(tables[0]).dense.ravel().tolist() == [2.0, 2.0]


def test_a_fit_of_tables_is_that_of_one_partition():
    rows = table()
    y = np.array(["a" if job.endswith(("1", "4")) else "b" for job in rows["job"].to_pylist()])
    fits = []
    for cuts in ([0, 600], CUTS):
        fit = fit_partitions(LocalEngine(partitions_of(parts_of(rows, cuts), y)), alpha=0.01)
        names = fit.encoder.get_feature_names_out().tolist()
        fits.append(dict(zip(names, fit.model.coef[0], strict=True)))
    assert fits[0].keys() == fits[1].keys()
    np.testing.assert_allclose([fits[1][name] for name in fits[0]], list(fits[0].values()), atol=1e-3)


def test_kinds_that_the_user_states_are_kept():
    tables = [pa.table({"x": ["1", "2"], "z": ["a b c", "d e f"]}), pa.table({"x": ["?", "b"], "z": ["a", "a"]})]
    assert kinds_of(tables) == {"x": "category", "z": "category"}
    assert kinds_of(tables, {"z": "text"}) == {"x": "category", "z": "text"}


def test_columns_that_differ_between_partitions():
    first = pa.table({"x": [1.0, 2.0]})
    learnt = LearnColumns({})
    with pytest.raises(
        PartitionError, match=r"partition 1 and partition 0: column 'x' is a category .* state its kind"
    ):
        Rounds(Shuffled(partitions_of([first, pa.table({"x": ["low", "high"]})]))).sum(learnt)
    with pytest.raises(PartitionError, match="columns differ: 'y'"):
        encoder_of([first, pa.table({"x": [1.0], "y": [2.0]})])
    with pytest.raises(ValueError, match="no partition has a row"):
        encoder_of([pa.table({"x": pa.array([], pa.float64())})])
    with pytest.raises(PartitionError, match="partition 1 is an array, partition 0 is a data frame"):
        fit_partitions(LocalEngine([*partitions_of([first]), Partition(1, [[1.0]], [0.0])]))


def test_few_cells_that_are_no_numbers_are_counted_over_all_partitions():
    cells = [str(k) for k in range(2000)]
    cells[700] = "seven hundred"
    rows = pa.table({"x": cells, "z": pa.array(range(2000))})
    for cuts in ([0, 2000], [0, 600, 900, 2000], [0, 1500, 2000]):
        with pytest.warns(UserWarning, match="column 'x' has 'seven hundred' in row"):
            encoder = learnt_encoder(Rounds(LocalEngine(partitions_of(parts_of(rows, cuts)))))
        assert encoder.get_feature_names_out().tolist() == ["x", "z", "x missing"]
    cells[701:703] = "b", "c"
    assert kinds_of(parts_of(rows.set_column(0, "x", [cells]), [0, 600, 2000])) == {"x": "category"}


def test_cells_of_a_file_that_are_no_numbers(tmp_path):
    """The error names the line, also in another process, and after rows have been held out."""
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "\n".join(f"{row},{row % 2}" if row < 50 else "abc,0" for row in range(60)) + "\n")
    (part,) = file_parts(input_files(path), ReadOptions(path, label="y")).parts
    partition = pickle.loads(pickle.dumps(read_partition(0, part)))
    encoder = TableEncoding({"a": "number"})
    encoder.partial_fit_encode(pa.table({"a": [1.0, 2.0]}), None)
    choice = RowChoice(1)
    facts = HoldOutFactsSum("classification", choice).of(partition)
    for preparation in (Preparation("classification", None), Preparation("classification", None, choice, facts)):
        made = preparation.prepared(partition).encoded(encoder)
        faults = {made.fault, "" if made.held_out is None else made.held_out.fault}
        place = rf"{re.escape(str(path))}, line (5[2-9]|6[01]): column 'a' is a column of numbers"
        assert any(re.search(place, fault) for fault in faults)


@pytest.mark.parametrize("different", [5, 2000])
def test_the_same_rows_are_held_out_however_they_are_cut(rng, different):
    X = rng.standard_normal((different, 2))[rng.integers(0, different, 3000)]
    y = rng.integers(0, 3, 3000)
    y[rng.choice(3000, 40, replace=False)] = np.arange(40) // 2 + 3  # classes of two rows
    expected = held_out_rows(X, y, "classification", 0)
    choice = RowChoice.of_seed(0)
    for cuts in ([0, 3000], [0, 1, 700, 2900, 3000]):
        parts = [Partition(k, X[a:b], y[a:b]) for k, (a, b) in enumerate(pairwise(cuts))]
        facts = Rounds(LocalEngine(parts)).sum(HoldOutFactsSum("classification", choice))
        made = [Preparation("classification", None, choice, facts).prepared(part) for part in parts]
        np.testing.assert_array_equal(np.concatenate([part.held_out.X for part in made]), X[expected])
        np.testing.assert_array_equal(np.concatenate([part.y for part in made]), y[~expected])
