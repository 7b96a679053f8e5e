"""Checkpoints: there whole or not at all, and refused in plain words if they are none."""

import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from safetensors import numpy as safetensors

import sgdone
from full_disk import files_of_at_most
from model_file.golden.write import HERE
from sgdone import TableEncoder
from sgdone.interfaces.objective import Objective
from sgdone.losses import CustomLoss, Logistic
from sgdone.machine.atomic import remove_partial
from sgdone.model_file import ModelFileError
from sgdone.rows.rows import Rows
from sgdone.state_file.checkpoint import CHECKPOINT, Checkpoint, read_checkpoint, write_checkpoint
from sgdone.state_file.container import header_of, read, write
from sgdone.state_file.file_format import CheckpointError
from state_file.same_values import assert_same

IDENTITY = {"files": [{"name": "a.csv", "bytes": 3}], "alpha": None, "name": "é"}


def example():
    arrays = [np.arange(5.0), np.array([True, False]), np.arange(3, dtype=np.uint8), np.float32(0.1), np.empty((0, 3))]
    return Checkpoint(IDENTITY, {"arrays": arrays, "objective": Objective(Logistic()), "rows": Rows.of(np.eye(2))})


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoints") / "c"
    write_checkpoint(path, example())
    return path


def refused(path, match):
    with pytest.raises(CheckpointError, match=match) as caught:
        read_checkpoint(path)
    assert str(path) in str(caught.value)


def metadata(path):
    return json.loads(header_of(path.read_bytes()))["__metadata__"]


def test_there_and_back(tmp_path):
    path = tmp_path / "c"
    for _ in range(2):
        write_checkpoint(path, example())
        assert list(tmp_path.iterdir()) == [path]
    assert_same(read_checkpoint(path), example())
    first = path.read_bytes()
    write_checkpoint(path, read_checkpoint(path))
    assert path.read_bytes() == first


def test_no_checkpoint(tmp_path):
    refused(tmp_path / "nowhere", "there is no such file: give one that a fit of sgdone wrote")
    refused(tmp_path, "is a folder, not a checkpoint")
    (tmp_path / "c").touch()
    refused(tmp_path / "c", "is empty, not a checkpoint: copy it again, or delete it and start the fit again")
    (tmp_path / "c").write_bytes(b"label,x\n1,2.0\n0,3.5\n")
    refused(tmp_path / "c", r"is not a checkpoint \(it begins with b.*\): give one that a fit of sgdone wrote")
    (tmp_path / "c").write_bytes(safetensors.save({"weight": np.zeros(3)}))
    refused(tmp_path / "c", r"is a safetensors file, but not a checkpoint of sgdone \(it holds weight\)")


def test_a_model_file_given_by_mistake(file):
    refused(HERE / "format-5.safetensors", "is a model file, not a checkpoint: give one that a fit of sgdone wrote")
    with pytest.raises(ModelFileError, match=r"is a checkpoint, not a model file: give one that sgdone\.save"):
        sgdone.load(file)


def test_altered_and_newer(file, tmp_path):
    tensors = read(file, CHECKPOINT)[1]
    altered = tensors | {"parts.arrays.0": np.zeros(5)}
    (tmp_path / "c").write_bytes(safetensors.save(altered, metadata(file)))
    refused(tmp_path / "c", r"was altered after it was written \(its SHA-256 differs\)")
    (tmp_path / "c").write_bytes(safetensors.save(tensors, metadata(file) | {"version": "6"}))
    refused(tmp_path / "c", r"is a checkpoint of version 6, and sgdone .* reads version 5: upgrade it")
    (tmp_path / "c").write_bytes(safetensors.save(tensors, metadata(file) | {"version": "4"}))
    refused(tmp_path / "c", "is a checkpoint of version 4, and .* reads version 5: delete it and start the fit again")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parts", {"x": {"kind": "os.system", "fields": {}}}),
        ("parts", {"x": {"kind": "auto/RunState", "fields": {"n_rows": 3}}}),
        ("parts", [1]),
        ("parts", {}),
        ("identity", 3),
        ("custom_loss", 5),
        ("more", 1),
    ],
)
def test_values_that_are_none(name, value, file, tmp_path):
    content, tensors = read(file, CHECKPOINT)
    write(tmp_path / "c", CHECKPOINT, content | {name: value}, tensors)
    refused(tmp_path / "c", "holds no checkpoint that sgdone .* can use .*: use that version, or delete it and start")


def half_square(z, y):
    return 0.5 * (z - y) ** 2


def residual(z, y):
    return z - y


def test_a_loss_of_the_user(tmp_path):
    loss = CustomLoss(half_square, residual, name="mine", task="regression", smoothness=1.0)
    write_checkpoint(tmp_path / "c", Checkpoint({}, {"objective": Objective(loss, predicts="target")}))
    assert read_checkpoint(tmp_path / "c", loss=loss).parts["objective"].loss is loss
    refused(tmp_path / "c", "was trained with a loss of your own, 'mine' .*: bring it along, loss=")


@pytest.mark.parametrize("limit", [3, 100, 6000])
def test_a_full_disk(limit, tmp_path):
    path, large = tmp_path / "c", Checkpoint({}, {"x": np.zeros(1000)})
    message = rf"the checkpoint was not written: File too large: '{path}'"
    with pytest.raises(OSError, match=message), files_of_at_most(limit):
        write_checkpoint(path, large)
    assert list(tmp_path.iterdir()) == []
    write_checkpoint(path, example())
    before = path.read_bytes()
    message = rf"the checkpoint was not written: File too large; the earlier checkpoint is unchanged: '{path}'"
    with pytest.raises(OSError, match=message), files_of_at_most(limit):
        write_checkpoint(path, large)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_found_full_at_the_end(tmp_path, monkeypatch):
    def no_space(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="not written: No space left on device") as caught:
        write_checkpoint(tmp_path / "c", example())
    assert (caught.value.errno, caught.value.filename) == (28, str(tmp_path / "c"))
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
import numpy as np
from sgdone.state_file import container
from sgdone.state_file.checkpoint import Checkpoint, write_checkpoint

path = sys.argv[1]
write_checkpoint(path, Checkpoint({}, {"x": np.zeros(100_000)}))
original, calls = container._bytes_of, []

def killed_half_way(tensor):
    calls.append(tensor)
    if len(calls) == 4:  # two tensors are hashed, and one is written
        os.kill(os.getpid(), signal.SIGKILL)
    return original(tensor)

container._bytes_of = killed_half_way
write_checkpoint(path, Checkpoint({}, {"x": np.ones(100_000), "y": np.ones(100_000)}))
"""


@pytest.mark.slow
def test_a_process_killed_while_it_writes(tmp_path):
    path = tmp_path / "c"
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
        assert done.returncode == -9
        assert {found.name for found in tmp_path.iterdir()} == {".c.partial", "c"}
        assert not read_checkpoint(path).parts["x"].any()
    remove_partial(path)
    assert list(tmp_path.iterdir()) == [path]


def test_arrays_are_not_copied(tmp_path):
    size = 1 << 23
    checkpoint = Checkpoint({}, {"x": np.ones(size // 16), "y": np.ones((2, size // 32)).T})
    tracemalloc.start()
    try:
        write_checkpoint(tmp_path / "c", checkpoint)
        assert tracemalloc.get_traced_memory()[1] < size // 8
        tracemalloc.reset_peak()
        read = read_checkpoint(tmp_path / "c")
        assert tracemalloc.get_traced_memory()[1] < 2.1 * size
    finally:
        tracemalloc.stop()
    assert_same(read, checkpoint)


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(TypeError, match=r"parts\.encoder is .*, which a file cannot hold"):
        write_checkpoint(tmp_path / "c", Checkpoint({}, {"encoder": print}))
    with pytest.raises(TypeError, match="alpha is nan"):
        write_checkpoint(tmp_path / "c", Checkpoint({"alpha": float("nan")}, {}))
    with pytest.raises(FileNotFoundError, match="nowhere does not exist; create it first"):
        write_checkpoint(tmp_path / "nowhere" / "c", example())
    with pytest.raises(ValueError, match="not fitted"):
        write_checkpoint(tmp_path / "c", Checkpoint({}, {"encoder": TableEncoder()}))
    assert list(tmp_path.iterdir()) == []
