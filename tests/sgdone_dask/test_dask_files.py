"""Files as partitions of Dask: on its threads, and on a cluster of two processes."""

import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")

from cluster_fits import fit_model
from sgdone import LinearClassifier
from sgdone.cluster import LocalEngine, PartitionError, Preparation, Rounds, facts_of_rows, held_out_rows
from sgdone.cluster.partition import HoldOutFactsSum, read_partition
from sgdone.dask.engine import DaskEngine, delayed_files
from sgdone.fit.hold_out import RowChoice
from sgdone.readers.file_parts import file_parts
from sgdone.readers.input_files import input_files
from sgdone.readers.table import ReadOptions


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two Parquet files of two row groups each."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("files")
    for k in range(2):
        a = rng.standard_normal(1000)
        a[::50] = np.nan
        job = rng.choice(["cook", "nurse", "pilot"], 1000)
        y = np.where(np.nan_to_num(a) + (job == "nurse") + rng.logistic(size=1000) > 0, 1.0, 0.0)
        table = pa.table({"a": a, "job": job, "w": rng.integers(0, 3, 1000), "y": y})
        pq.write_table(table, folder / f"{k}.parquet", row_group_size=600)
    return folder


def parts_of(paths, **options):
    found = input_files(paths)
    return file_parts(found, ReadOptions(found[0].path, skip_unlabelled=True, **options)).parts


def fitted(engine):
    """The model, and the rows that are held out."""
    rounds, choice = Rounds(engine), RowChoice(2**61)
    facts = rounds.sum(HoldOutFactsSum("classification", choice))
    rounds.encode(Preparation("classification", None, choice, facts))
    model = LinearClassifier(random_state=0)
    fit_model(model, engine)
    return model, held_out_rows(Rounds(engine), model.coef_, model.intercept_)


def here(parts):
    return LocalEngine([read_partition(number, part) for number, part in enumerate(parts)])


def check_same(found, expected):
    assert found[0].coef_.tobytes() == expected[0].coef_.tobytes()
    assert found[0].classes_.tolist() == [0, 1]
    for name in ("scores", "labels", "weights"):
        assert np.array_equal(getattr(found[1], name), getattr(expected[1], name))


def test_files_have_the_bits_of_the_same_partitions_here(folder):
    parts = parts_of(folder, weight="w")
    found, expected = fitted(DaskEngine(delayed_files(parts))), fitted(here(parts))
    check_same(found, expected)
    model, rows = found
    assert 150 < rows.labels.size < 250
    # The scores are those of the model for these rows.
    tables = [part.read() for part in parts]
    known = np.concatenate([model.decision_function(table.X) for table in tables])
    assert np.isin(rows.scores.ravel().round(9), known.round(9)).all()
    assert model.feature_names_in_.tolist() == ["a", "job"]


def test_facts_of_all_partitions(folder):
    facts = facts_of_rows(Rounds(DaskEngine(delayed_files(parts_of(folder, weight="w")))))
    assert (facts.rows, facts.n_columns, facts.values.tolist()) == (2000, 2, [0.0, 1.0])
    assert facts.total == facts.labels.weights[1]


def test_more_labels_than_are_kept(tmp_path):
    targets = np.random.default_rng(0).standard_normal(25_000)
    pq.write_table(pa.table({"x": targets, "y": targets}), tmp_path / "t.parquet", row_group_size=9_000)
    facts = facts_of_rows(Rounds(here(parts_of(tmp_path / "t.parquet"))))
    assert (facts.rows, facts.values.size) == (25_000, 10_000)
    assert facts.total == pytest.approx(targets.sum())


def test_a_file_that_a_worker_does_not_have(folder, tmp_path):
    one, two = parts_of(folder)[:2]
    gone = replace(two, options=replace(two.options, path=tmp_path / "gone.parquet"), size=None)
    engine = DaskEngine(delayed_files([one, gone]))
    with pytest.raises(PartitionError) as caught:
        facts_of_rows(Rounds(engine))
    assert str(caught.value).startswith(f"partition 1: {tmp_path / 'gone.parquet'}: no such file on the worker ")
    assert "all workers need the files under the same names" in str(caught.value)


def test_bad_rows_are_named(tmp_path):
    (tmp_path / "1.csv").write_text("a,y\n1,0\n2,1\n")
    (tmp_path / "2.csv").write_text('a,y\n1,0\n"2,1\n')
    with pytest.raises(PartitionError, match=r"partition 1: .*2\.csv, line 3"):
        facts_of_rows(Rounds(DaskEngine(delayed_files(parts_of(tmp_path)))))
    (tmp_path / "2.csv").write_text("a,y\n1,1e3\n2,inf\n")
    with pytest.raises(PartitionError, match=r"partition 1: .*2\.csv, line 3, column 'y': infinite value"):
        facts_of_rows(Rounds(DaskEngine(delayed_files(parts_of(tmp_path)))))


@pytest.mark.slow
def test_a_cluster_has_the_same_bits_also_when_a_worker_is_lost(own_client, folder):
    parts = parts_of(folder, weight="w")
    expected = fitted(here(parts))
    check_same(fitted(DaskEngine(delayed_files(parts))), expected)
    engine = DaskEngine(delayed_files(parts))
    pid = next(iter(own_client.run(os.getpid).values()))
    threading.Timer(0.3, os.kill, args=(pid, signal.SIGKILL)).start()
    check_same(fitted(engine), expected)
