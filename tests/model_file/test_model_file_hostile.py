"""Files made with care: their SHA-256 is right, and what they hold is not."""

import copy
import json

import numpy as np
import pytest
from safetensors import numpy as safetensors
from scipy import sparse

import model_container as container
import sgdone
from hostile_files import array, changed, put, refused, without
from sgdone import SGDClassifier, solvers, stopping
from sgdone.model_file import ModelFileError
from sgdone.model_file.model import MODEL_FILE
from sgdone.state_file.container import digest


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    X = np.random.default_rng(0).standard_normal((30, 3))
    path = tmp_path_factory.mktemp("hostile") / "m"
    model = SGDClassifier(solver="asgd", random_state=0, class_weight={"a": 1.0, "b": 2.0})
    sgdone.save(model.fit(X, np.where(X[:, 0] > 0, "a", "b")), path)
    return container.read(path)


@pytest.mark.parametrize(
    "code",
    [
        {"kind": "os.system", "fields": {"command": "touch /tmp/owned"}},
        {"kind": "builtins.eval", "fields": {"source": "1"}},
        {"kind": "loss/CustomLoss", "fields": {"value": 1, "slope": 2}},
        {"kind": "custom loss"},
        {"kind": "RandomState", "state": {"kind": "dict", "items": [["bit_generator", "os"]]}},
        {"kind": "rows", "value": "ctypes"},
        {"kind": "loss/huber", "fields": {"delta": -1.0}},
        {"kind": "loss/huber", "fields": {"size": 1.0}},
        {"kind": "dtype", "value": "O"},
        {"kind": "array", "tensor": "coef_", "dtype": "|O"},
        {"kind": "array", "tensor": "coef_", "dtype": "<i8"},
        {"kind": "array", "tensor": "coef_", "dtype": "<U900000000"},
        {"kind": "array", "tensor": "nowhere", "dtype": "<f8"},
        {"kind": "float", "value": "one"},
        {"kind": "dict", "items": [[{"kind": "dict", "items": []}, 1]]},
        {"kind": ["list"]},
        {"unkind": 1},
    ],
    ids=str,
)
def test_values_that_are_none(code, parts, tmp_path):
    match = "holds no model that sgdone .* can use .*: use that version"
    changed(tmp_path / "m", parts, put(code, "params", "loss"), match)


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("coef_", np.zeros((1, 2))),
        ("coef_", np.zeros((3, 1))),
        ("coef_", np.zeros((1, 3), dtype=np.int64)),
        ("intercept_", np.zeros(2)),
        ("classes_", np.full((2, 1), 2**31, dtype=np.uint32)),
        ("results.0.state.weights", np.zeros((2, 2))),
        ("results.0.state.weights", np.zeros((1, 3))),
        ("results.0.state.weights", np.zeros((2, 3), dtype=np.float32)),
        ("results.0.state.offsets", np.zeros((1, 2))),
        ("results.0.state.numbers", np.zeros(3)),
    ],
)
def test_arrays_of_other_shapes(name, tensor, parts, tmp_path):
    changed(tmp_path / "m", parts, array(name, lambda _: tensor))


def test_attributes_that_are_none(parts, tmp_path):
    match = "no attribute of a SGDClassifier is called '__class__'"
    changed(tmp_path / "m", parts, put(1, "attributes", "__class__"), match)
    changed(tmp_path / "m", parts, without("attributes", "verdict_"))


@pytest.mark.parametrize(
    ("name", "value"), [("custom_loss", 5), ("custom_loss", {}), ("extra", 3), ("extra", {"a": 1})]
)
def test_other_parts_that_are_none(name, value, parts, tmp_path):
    changed(tmp_path / "m", parts, put(value, name))


def test_a_header_too_deep(parts, tmp_path):
    content, tensors = copy.deepcopy(parts)
    deep = "[" * 100_000 + "]" * 100_000
    text = json.dumps(content).replace('"auto"', deep, 1)
    metadata = {"format": MODEL_FILE.name, "version": str(MODEL_FILE.version), "content": text}
    metadata["sha256"] = digest(MODEL_FILE, text, tensors)
    (tmp_path / "m").write_bytes(safetensors.save(tensors, metadata))
    with pytest.raises(ModelFileError, match="has a header that cannot be read"):
        sgdone.load(tmp_path / "m")


def test_a_header_that_is_none(parts, tmp_path):
    for content in ([1, 2], 3):
        container.write(tmp_path / "m", content, parts[1])
        with pytest.raises(ModelFileError, match="has a header that cannot be read"):
            sgdone.load(tmp_path / "m")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "tensors"),
    [
        ({"stop": stopping.MarginTest(9.0)}, {"rule_state": np.zeros(1)}),
        ({"stop": stopping.MarginTest(9.0) | stopping.MaxSamples(10**6)}, {"rule_state.states.0": np.zeros(1)}),
        ({"stop": stopping.MarginTest(9.0).then(2)}, {"rule_state.inner": np.zeros(3)}),
        ({"stop": stopping.Pflug(10**6)}, {"rule_state.numbers": np.zeros(1)}),
        ({"stop": stopping.Pflug(10**6)}, {"rule_state.arrays.0": np.zeros(1, np.uint32)}),
        ({"stop": stopping.Pflug(10**6)}, {"rule_state.arrays.2": np.array([0, 3, 77], np.uint32)}),
        ({"stop": stopping.SmallValidationSet(5, 10**6)}, {"rule_state.labels": np.zeros(50)}),
        ({"stop": stopping.SmallValidationSet(5, 10**6)}, {"rule_state.arrays.1": np.full(15, 99, np.int64)}),
        ({"solver": solvers.Halving(detector=stopping.Pflug(10**6))}, {"state.extra.detector.numbers": np.zeros(2)}),
    ],
    ids=lambda value: ", ".join(map(str, value)),
)
def test_what_rules_remember_is_checked_before_the_loops_use_it(options, tensors, tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 3))
    options = {"solver": "sgd", "step": 1e-3, "alpha": 0.0, "shuffle": False, "stop": 1} | options
    model = SGDClassifier(**options).partial_fit(sparse.csr_array(X), X[:, 0] > 0, [False, True])
    sgdone.save(model, tmp_path / "m")
    content, stored = container.read(tmp_path / "m")
    for name, tensor in tensors.items():
        assert f"results.0.{name}" in stored, sorted(stored)
        stored[f"results.0.{name}"] = tensor
    refused(tmp_path / "m", content, stored, "holds no model that sgdone .* can use")
