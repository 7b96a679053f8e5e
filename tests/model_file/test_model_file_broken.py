"""Files that are no models, or no longer, or not yet."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import numpy as safetensors

import model_container as container
import sgdone
from sgdone import LinearClassifier
from sgdone.model_file import ModelFileError, read_header
from sgdone.state_file.container import header_of
from tiers import examples


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    X = np.random.default_rng(0).standard_normal((30, 3))
    path = tmp_path_factory.mktemp("models") / "model.safetensors"
    sgdone.save(LinearClassifier(random_state=0, stop=2).fit(X, X[:, 0] > 0), path)
    return path


def refused(path, match):
    for read in (sgdone.load, read_header):
        with pytest.raises(ModelFileError, match=match) as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_no_file(tmp_path):
    refused(tmp_path / "nowhere", "there is no such file: give one that sgdone.save wrote")
    refused(tmp_path, "is a folder, not a model file: give the name of a file in it")
    (tmp_path / "m").touch()
    refused(tmp_path / "m", "is empty, not a model file: copy it again, or save the model again")
    refused(tmp_path / "m" / "n", "cannot be read")


@pytest.mark.parametrize(
    "content",
    [b"label,x\n1,2.0\n0,3.5\n", pickle.dumps({"a": np.zeros(9)}), b'{"a": {}, "b": {"c": 1}}', b"\x00" * 64],
    ids=["csv", "pickle", "json", "zeros"],
)
def test_another_kind_of_file(content, tmp_path):
    (tmp_path / "m").write_bytes(content)
    refused(tmp_path / "m", r"is not a model file \(it begins with b.*\): give one that sgdone.save wrote")


def test_cut_short(file, tmp_path):
    whole = file.read_bytes()
    path = tmp_path / "m"
    for size in (1, 9):
        path.write_bytes(whole[:size])
        refused(path, rf"holds {size} bytes only, too few for a model: copy it again, or save the model again")
    for size in (10, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        refused(path, rf"is cut short, {size:,} bytes of [\d,]+ or more: copy it again, or save the model again")
    path.write_bytes(whole + b"\x00")
    refused(path, r"is damaged \(.*\): copy it again, or save the model again")


@examples(300)
@given(st.data())
def test_a_changed_byte(file, tmp_path_factory, data):
    whole = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[place]))
    header = bytes(whole[8 : 8 + int.from_bytes(whole[:8], "little")])
    blank = 8 + len(header.rstrip(b" ")) <= place < 8 + len(header) and other in b" \t\n\r"
    whole[place] = other
    path = file.with_name("changed")
    path.write_bytes(whole)
    if blank:  # what pads the header says nothing
        sgdone.load(path)
    else:
        with pytest.raises(ModelFileError, match="changed: "):
            sgdone.load(path)


def test_altered_weights(file, tmp_path):
    tensors = container.read(file)[1]
    metadata = _metadata(file)
    tensors["coef_"] = tensors["coef_"] + 1e-12
    (tmp_path / "m").write_bytes(safetensors.save(tensors, metadata))
    refused(tmp_path / "m", r"was altered after it was written \(its SHA-256 differs\): copy it again")


def test_an_altered_header(file, tmp_path):
    metadata = _metadata(file)
    metadata["content"] = metadata["content"].replace('"shuffle": true', '"shuffle": false')
    (tmp_path / "m").write_bytes(safetensors.save(container.read(file)[1], metadata))
    refused(tmp_path / "m", "was altered after it was written")


def test_somebody_elses_safetensors(tmp_path):
    for metadata in (None, {"format": "pt"}):
        (tmp_path / "m").write_bytes(safetensors.save({"weight": np.zeros(3)}, metadata))
        refused(tmp_path / "m", r"is a safetensors file, but not a model of sgdone \(it holds weight\)")


def test_a_newer_version(file, tmp_path):
    metadata = _metadata(file) | {"version": "6"}
    (tmp_path / "m").write_bytes(safetensors.save(container.read(file)[1], metadata))
    refused(tmp_path / "m", r"is a model file of version 6, and sgdone .* reads version 5: upgrade it \(pip install -U")


def _metadata(file):
    return json.loads(header_of(file.read_bytes()))["__metadata__"]
