import random
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from sgdone.cluster import (
    PartitionError,
    agreed_kinds,
    encoded_partition,
    fit_partitions,
    kinds_of_columns,
    learn_columns,
    one_encoder,
    run_here,
)
from sgdone.tables import TableEncoderCore
from sgdone.tables.merged_encoders import merge_encoders


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


def test_features_are_those_of_partitions_read_one_after_the_other():
    tables = parts_of(table(), CUTS)
    kinds = agreed_kinds(kinds_of_columns(number, part) for number, part in enumerate(tables))
    assert kinds == {"job": "category"}  # one row of a partition looks like text
    in_order = TableEncoderCore(kinds)
    for part in tables:
        if part.num_rows:
            in_order.partial_fit_encode(part)
    learnt = [learn_columns(number, part, None, kinds) for number, part in enumerate(tables)]
    random.Random(0).shuffle(learnt)
    merged = one_encoder(learnt)
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
        encoder = TableEncoderCore({"c": "category"}, max_levels=150, n_buckets=64)
        encoder.partial_fit_encode(pa.table({"c": own, "x": np.arange(len(own)) + number}))
        made.append(encoder)
    merged = merge_encoders(*made, 200, 200)
    again = TableEncoderCore.from_state(merged.state())
    rows = again.encode(pa.table({"c": levels, "x": np.arange(400)})).sparse
    assert np.diff(rows.indptr).tolist() == [1] * 400
    assert rows.shape[1] <= 150 + 64


def test_a_column_without_values_in_a_partition_has_gaps_there():
    tables = [pa.table({"x": [None, None], "c": ["a", "b"]}), pa.table({"x": [1.0, 3.0], "c": [None, "b"]})]
    for order in ([0, 1], [1, 0]):
        encoder = one_encoder(learn_columns(k, tables[place]) for k, place in enumerate(order))
        assert set(encoder.get_feature_names_out()) == {"x", "x missing", "c=a", "c=b", "c=(missing)"}
        assert encoder.encode(tables[0]).dense.ravel().tolist() == [2.0, 2.0]


def test_a_fit_of_tables_is_that_of_one_partition():
    rows = table()
    y = np.array(["a" if job.endswith(("1", "4")) else "b" for job in rows["job"].to_pylist()])
    fits = []
    for cuts in ([0, 600], CUTS):
        tables = parts_of(rows, cuts)
        kinds = agreed_kinds(kinds_of_columns(k, part) for k, part in enumerate(tables))
        encoder = one_encoder(learn_columns(k, part, None, kinds) for k, part in enumerate(tables))
        encoded = [
            encoded_partition(k, part, y[a : a + part.num_rows], encoder)
            for k, (part, a) in enumerate(zip(tables, cuts, strict=False))
        ]
        fit = fit_partitions(run_here(encoded), alpha=0.01)
        names = encoder.get_feature_names_out().tolist()
        fits.append(dict(zip(names, fit.model.coef[0], strict=True)))
    assert fits[0].keys() == fits[1].keys()
    np.testing.assert_allclose([fits[1][name] for name in fits[0]], list(fits[0].values()), atol=1e-3)


def test_kinds_that_the_user_states_are_kept():
    tables = [pa.table({"x": ["1", "2"], "z": ["a b c", "d e f"]}), pa.table({"x": ["?", "b"], "z": ["a", "a"]})]
    answers = [kinds_of_columns(k, part) for k, part in enumerate(tables)]
    assert agreed_kinds(answers) == {"x": "category", "z": "category"}
    assert agreed_kinds(reversed(answers), {"z": "text"}) == {"x": "category", "z": "text"}


def test_columns_that_differ_between_partitions():
    first = learn_columns(0, pa.table({"x": [1.0, 2.0]}))
    with pytest.raises(
        PartitionError, match=r"partition 1 and partition 0: column 'x' is a category .* state its kind"
    ):
        one_encoder([learn_columns(1, pa.table({"x": ["low", "high"]})), first])
    with pytest.raises(PartitionError, match="columns differ: 'y'"):
        one_encoder([first, learn_columns(1, pa.table({"x": [1.0], "y": [2.0]}))])
    with pytest.raises(ValueError, match="no partition has a row"):
        one_encoder([learn_columns(0, pa.table({"x": pa.array([], pa.float64())}))])
