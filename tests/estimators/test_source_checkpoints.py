"""Checkpoints of fits on files: a fit that goes on from any of them ends with the same bits."""

import errno
import os
import shutil
import signal

import numpy as np
import pyarrow as pa
import pytest
from source_problems import bits, fitted, from_batches, from_files, numbers, table_of, write

from sgdone import LinearClassifier, LinearRegressor
from sgdone.bank import Bank
from sgdone.fit import checkpoints as fit_checkpoints
from sgdone.interfaces.stop_rule import Status
from sgdone.newton.exact_phase import ExactFromDisk
from sgdone.rows.source import Stream
from sgdone.state_file import checkpoint as checkpoint_module
from sgdone.state_file.checkpoint import read_checkpoint
from sgdone.state_file.file_format import CheckpointError
from sgdone.stopping import Gain, MaxPasses
from tiers import slow

pytestmark = pytest.mark.usefixtures("own_cache_folder")


@pytest.fixture
def snapshots(tmp_path, monkeypatch):
    """Copies of all checkpoints of fits that are written; what a cache keeps is written as a checkpoint, too."""
    found, write_one = [], fit_checkpoints.write_checkpoint

    def write_and_copy(path, checkpoint):
        write_one(path, checkpoint)
        if "estimator" in checkpoint.identity:
            found.append(tmp_path / f"snapshot-{len(found)}")
            shutil.copy(path, found[-1])

    monkeypatch.setattr(fit_checkpoints, "write_checkpoint", write_and_copy)
    return found


@pytest.fixture
def paths(tmp_path):
    return write(table_of(*numbers()), tmp_path / "rows.parquet", (7000,))


def resumed(source, snapshot, folder, **options):
    shutil.copy(snapshot, folder / "resumed")
    return fitted(source, fit={"checkpoint": folder / "resumed", "every": 1000, "resume": True}, **options)


def sample(snapshots, count):
    """Some of them, the first and the last included."""
    return [snapshots[k] for k in np.unique(np.linspace(0, len(snapshots) - 1, count).astype(int))]


def test_it_goes_on_from_any_checkpoint(paths, tmp_path, snapshots):
    expected = fitted(from_files(paths))
    written = fitted(from_files(paths), fit={"checkpoint": tmp_path / "state", "every": 0})
    assert bits(written) == bits(expected)
    assert len(snapshots) >= 5
    for snapshot in sample(list(snapshots), 4):
        assert bits(resumed(from_files(paths), snapshot, tmp_path)) == bits(expected)
    assert not list(tmp_path.glob(".*"))


@slow
def test_from_every_checkpoint_with_and_without_a_cache_that_is_kept(paths, tmp_path, snapshots):
    expected = fitted(from_files(paths, cache=tmp_path / "cache"), fit={"checkpoint": tmp_path / "state", "every": 0})
    for snapshot in list(snapshots):
        assert bits(resumed(from_files(paths, cache=tmp_path / "cache"), snapshot, tmp_path)) == bits(expected)
    shutil.rmtree(tmp_path / "cache")
    for snapshot in sample(list(snapshots), 3):
        assert bits(resumed(from_files(paths), snapshot, tmp_path)) == bits(expected)


@slow
@pytest.mark.parametrize("kind", ["three classes", "levels and gaps", "weights", "no seed", "sorted", "regression"])
def test_other_rows_go_on_from_any_checkpoint_too(kind, tmp_path, snapshots, rng):
    X, y = numbers(30_000)
    columns, options, model = {}, {}, LinearClassifier
    if kind == "three classes":
        y = np.array(["p", "q", "r"])[np.digitize(X[:, 0] + rng.logistic(size=len(y)), [-1, 1])]
    elif kind == "levels and gaps":
        late = np.arange(len(y)) > 15_000
        columns["city"] = np.where(late, rng.choice(["Bern", "Oslo"], len(y)), rng.choice(["Rome", "Oslo"], len(y)))
        X[late & (rng.random(len(y)) < 0.1), 2] = np.nan
    elif kind == "weights":
        columns["w"], options["weight"] = rng.integers(0, 3, len(y)).astype(float), "w"
    elif kind == "sorted":
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    elif kind == "regression":
        y, model = X @ [1.0, 0.2, 3.0, 0.0] + rng.standard_normal(len(y)), LinearRegressor
    table = pa.Table.from_pandas(table_of(X, y, **columns).to_pandas())  # NaN is a gap
    paths = write(table, tmp_path / "rows.parquet")
    state = None if kind == "no seed" else 0

    def fit(**arguments):
        made = model(random_state=state, stop=Gain(1e-6) | MaxPasses(3))
        return made.fit(from_files(paths, **options), **arguments)

    expected = fit(checkpoint=tmp_path / "state", every=0)
    assert len(snapshots) >= 5
    for snapshot in sample(list(snapshots), 5):
        shutil.copy(snapshot, tmp_path / "resumed")
        assert bits(fit(checkpoint=tmp_path / "resumed", every=1000, resume=True)) == bits(expected)


def test_batches_go_on_if_they_are_the_same(tmp_path, snapshots):
    X, y = numbers()
    stop = MaxPasses(1)

    def rows(X=X):
        return from_batches((X[k : k + 1000], y[k : k + 1000]) for k in range(0, len(y), 1000))

    expected = fitted(rows(), fit={"checkpoint": tmp_path / "state", "every": 0}, stop=stop)
    last = list(snapshots)[-1]
    assert bits(resumed(rows(), last, tmp_path, stop=stop)) == bits(expected)
    other = X.copy()
    other[100, 0] += 1
    with pytest.raises(ValueError, match="the rows differ from those that the checkpoint was written with"):
        resumed(rows(other), last, tmp_path, stop=stop)


def test_without_a_checkpoint_it_starts_at_the_beginning(paths, tmp_path):
    (tmp_path / ".state.partial").write_text("what a killed process left")
    model = fitted(from_files(paths), fit={"checkpoint": tmp_path / "state", "resume": True})
    assert bits(model) == bits(fitted(from_files(paths)))
    assert not (tmp_path / ".state.partial").exists()


def test_other_data_and_options_are_refused_and_named(paths, tmp_path):
    fit = {"checkpoint": tmp_path / "state", "every": 0}
    fitted(from_files(paths), fit=fit)
    content = (tmp_path / "state").read_bytes()
    fit["resume"] = True
    with pytest.raises(CheckpointError, match=r"alpha was 'auto' and is '0.5' now"):
        fitted(from_files(paths), fit=fit, alpha=0.5)
    with pytest.raises(CheckpointError, match=r"random_state was 0 and is 1 now"):
        fitted(from_files(paths), fit=fit, random_state=1)
    with pytest.raises(CheckpointError, match=r"estimator was 'LinearClassifier' and is 'LinearRegressor' now"):
        LinearRegressor(random_state=0).fit(from_files(paths), **fit)
    with pytest.raises(CheckpointError, match=r"rows-1.parquet is no longer among the files"):
        fitted(from_files(paths[:1]), fit=fit)
    with pytest.raises(CheckpointError, match=r"the files are in another order"):
        fitted(from_files(paths[::-1]), fit=fit)
    write(table_of(*numbers(seed=4)), tmp_path / "rows.parquet", (7000,))
    with pytest.raises(CheckpointError, match=r"of the file .*rows-0.parquet|the file .*rows-0.parquet had"):
        fitted(from_files(paths), fit=fit)
    assert (tmp_path / "state").read_bytes() == content
    assert fitted(from_files(paths), fit={**fit, "resume": False}).verdict_.passes == 3  # it may be replaced


def test_threads_and_messages_may_differ(paths, tmp_path, snapshots):
    expected = fitted(from_files(paths), fit={"checkpoint": tmp_path / "state", "every": 0})
    assert bits(resumed(from_files(paths), list(snapshots)[2], tmp_path, n_jobs=2)) == bits(expected)


def test_arguments(paths, tmp_path):
    with pytest.raises(ValueError, match="resume=True needs the name of the checkpoint"):
        fitted(from_files(paths), fit={"resume": True})
    with pytest.raises(ValueError, match="every must be a number of seconds, 0 or more; got -1"):
        fitted(from_files(paths), fit={"checkpoint": tmp_path / "state", "every": -1})
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file in it"):
        fitted(from_files(paths), fit={"checkpoint": tmp_path})
    with pytest.raises(FileNotFoundError, match="nowhere does not exist; create it first"):
        fitted(from_files(paths), fit={"checkpoint": tmp_path / "nowhere" / "state"})
    with pytest.raises(ValueError, match="checkpoints are written for rows that are read in parts"):
        fitted(np.eye(3), fit={"y": [0, 1, 1], "checkpoint": tmp_path / "state"})


def test_a_disk_that_is_full_leaves_the_last_checkpoint(paths, tmp_path, snapshots, monkeypatch):
    expected = fitted(from_files(paths))
    write_file = checkpoint_module.write

    def full_after_four(path, *parts, **options):
        if len(snapshots) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write_file(path, *parts, **options)

    monkeypatch.setattr(checkpoint_module, "write", full_after_four)
    reason = (
        r"state: the checkpoint was not written: No space left .*; the earlier checkpoint is unchanged\. The fit goes"
    )
    with pytest.warns(UserWarning, match=reason) as warned:
        model = fitted(from_files(paths), fit={"checkpoint": tmp_path / "state", "every": 0})
    assert (len(warned), bits(model)) == (1, bits(expected))
    assert (tmp_path / "state").read_bytes() == snapshots[-1].read_bytes()
    assert not list(tmp_path.glob(".*"))
    monkeypatch.undo()
    assert bits(resumed(from_files(paths), tmp_path / "state", tmp_path)) == bits(expected)


@pytest.fixture
def sent_in_finish(monkeypatch):
    """Send a signal during the second evaluation of the exact phase."""
    advance = ExactFromDisk.advance

    def arm(number):
        def sending(self, state, *arguments):
            if state.steps == 1:
                signal.raise_signal(number)
            return advance(self, state, *arguments)

        monkeypatch.setattr(ExactFromDisk, "advance", sending)

    return arm


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_the_exact_finish(number, paths, tmp_path, sent_in_finish, monkeypatch):
    expected = fitted(from_files(paths), stop="auto")
    assert expected.verdict_.finish_passes > 2
    sent_in_finish(number)
    model = fitted(from_files(paths), stop="auto", fit={"checkpoint": tmp_path / "state", "every": 1e6})
    verdict = model.verdict_
    assert verdict.status is Status.INTERRUPTED
    assert f"{number.name} ended it; the model so far is kept, and a checkpoint to resume from" in verdict.reason
    assert verdict.finish_passes == 0
    assert read_checkpoint(tmp_path / "state").parts["ended"].status is Status.CONVERGED
    monkeypatch.undo()
    monkeypatch.setattr(Bank, "advance", None)  # it has ended
    assert bits(resumed(from_files(paths), tmp_path / "state", tmp_path, stop="auto")) == bits(expected)


def test_a_checkpoint_that_could_not_be_written_is_tried_again(paths, tmp_path, sent_in_finish, monkeypatch):
    write_one, calls = fit_checkpoints.write_checkpoint, []

    def full_at_first(path, checkpoint):
        calls.append(path)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write_one(path, checkpoint)

    monkeypatch.setattr(fit_checkpoints, "write_checkpoint", full_at_first)
    sent_in_finish(signal.SIGTERM)
    with pytest.warns(UserWarning, match="state: No space left on device. The fit goes on"):
        model = fitted(from_files(paths), stop="auto", fit={"checkpoint": tmp_path / "state", "every": 1e6})
    assert "and a checkpoint to resume from" in model.verdict_.reason
    monkeypatch.undo()
    expected = fitted(from_files(paths), stop="auto")
    assert bits(resumed(from_files(paths), tmp_path / "state", tmp_path, stop="auto")) == bits(expected)


def test_a_signal_while_rows_are_read_again_leaves_the_checkpoint(paths, tmp_path, snapshots, monkeypatch):
    fitted(from_files(paths), fit={"checkpoint": tmp_path / "state", "every": 0})
    last, go_to = tmp_path / "state", Stream.go_to

    def sending(self, *place):
        signal.raise_signal(signal.SIGTERM)
        go_to(self, *place)

    monkeypatch.setattr(Stream, "go_to", sending)
    content = last.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        fitted(from_files(paths), fit={"checkpoint": last, "resume": True})
    assert last.read_bytes() == content
