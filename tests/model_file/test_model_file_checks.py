"""What a file holds is checked before it is used, though its SHA-256 is right."""

import copy
import os
import socket
from functools import reduce

import numpy as np
import pytest
from safetensors import numpy as safetensors

import model_container as container
import sgdone
from hostile.model_parts import with_metadata
from hostile_files import refused
from sgdone import LinearClassifier, LinearRegressor, SGDClassifier, stopping
from sgdone.model_file import ModelFileError

GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


@pytest.fixture(scope="module")
def all_parts(tmp_path_factory):
    path = tmp_path_factory.mktemp("checks") / "m"
    X = np.random.default_rng(0).standard_normal((30, 3))
    two, three = np.where(X[:, 0] > 0, "a", "b"), np.digitize(X[:, 0], [-0.5, 0.5])
    rules = stopping.Distance() & stopping.MaxSeconds(1e6) & stopping.MaxPasses(1000).then(2)
    models = {
        "default": LinearClassifier(random_state=0).fit(X, two),
        "numbers": LinearRegressor(random_state=0).fit(X, X[:, 0]),
        "sgd": SGDClassifier(solver="asgd", random_state=0, class_weight={"a": 1.0, "b": 2.0}).fit(X, two),
        "three": SGDClassifier(solver="asgd", random_state=0, monitors=["margins"]).fit(X, three),
        "rules": SGDClassifier(solver="sgd", stop=rules).partial_fit(X, two, ["a", "b"]),
    }
    for name in GENERATORS:
        generator = np.random.RandomState(getattr(np.random, name)(0))
        models[name] = SGDClassifier(solver="asgd", random_state=generator).fit(X, two)
    parts = {}
    for name, model in models.items():
        sgdone.save(model, path)
        parts[name] = container.read(path)
    return parts


@pytest.fixture
def changed(all_parts, tmp_path):
    """Change the parts of a file; loading it is an error that names the file."""

    def check(name, change, match="holds no model"):
        content, tensors = copy.deepcopy(all_parts[name])
        change(content, tensors)
        refused(tmp_path / "m", content, tensors, match)

    return check


def put(value, *way):
    def change(content, tensors):
        *before, last = way
        reduce(lambda spot, key: spot[key], before, content)[last] = value

    return change


def without(*way):
    def change(content, tensors):
        *before, last = way
        del reduce(lambda spot, key: spot[key], before, content)[last]

    return change


def entry(name, value):
    def change(content, tensors):
        tensors[name] = np.array(tensors[name])
        tensors[name].flat[0] = value

    return change


def items(content):
    """Parts of a random state, which are stored as a dict."""
    return dict(content["params"]["random_state"]["state"]["items"])


@pytest.mark.parametrize("position", [-1, 625, 2**31, "3", 3.0, None, True])
def test_a_position_beyond_the_numbers_of_a_generator(position, changed):
    def change(content, tensors):
        for pair in items(content)["state"]["items"]:
            if pair[0] == "pos":
                pair[1] = position

    changed("MT19937", change, "pos of a random state is")


@pytest.mark.parametrize("name", GENERATORS)
def test_every_part_of_a_random_state(name, all_parts, changed):
    def every(content):
        return [*content["params"]["random_state"]["state"]["items"], *items(content)["state"]["items"]]

    for k in range(len(every(all_parts[name][0]))):
        for value in (-1, None, "x", 2**130, []):
            changed(name, lambda content, _, k=k, value=value: every(content)[k].__setitem__(1, value))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("sgd", "coef_"),
        ("sgd", "intercept_"),
        ("sgd", "results.0.state.weights"),
        ("sgd", "results.0.state.offsets"),
        ("sgd", "results.0.state.numbers"),
        ("default", "results.0.state.models.weights"),
        ("rules", "results.0.rule_state.states.0.states.0.origin"),
    ],
)
def test_numbers_that_are_not_finite(name, tensor, value, changed):
    changed(name, entry(tensor, value))


@pytest.mark.parametrize("classes", [["a"], ["a", "a"], ["b", "a"], ["a", "b", "c"], [["a", "b"]]])
def test_classes_that_no_fit_leaves(classes, changed):
    codes = np.array(classes)[..., None].view("<u4")
    changed("sgd", lambda _, tensors: tensors.__setitem__("classes_", codes))


COEF = {"kind": "array", "dtype": "<f8", "tensor": "coef_"}
STATE = ("results", 0, "state", "fields")
RULES = ("results", 0, "rule_state", "known", "fields")
CHANGES = {
    "a number as text": ("sgd", put("0.03", "attributes", "alpha_")),
    "a count as text": ("sgd", put("1", "attributes", "n_iter_")),
    "a NumPy number as text": ("sgd", put({"kind": "numpy.float64", "value": "1"}, "params", "alpha")),
    "infinity by another name": ("sgd", put({"kind": "float", "value": "1e5"}, "params", "alpha")),
    "rows as text": ("sgd", put("30", "results", 0, "rows_read")),
    "rows as a fraction": ("sgd", put(30.5, "results", 0, "rows_read")),
    "too many rows": ("sgd", put(2**62, "results", 0, "rows_read")),
    "rows below 0": ("sgd", put(-1, "results", 0, "passes_begun")),
    "no energy": ("default", without(*STATE, "energy")),
    "energy 0": ("default", put(0.0, *STATE, "energy")),
    "a candidate's penalty as text": (
        "default",
        put("1", *STATE, "models", "fields", "candidates", 0, "fields", "penalty"),
    ),
    "a field too many": ("default", put(1, *STATE, "x")),
    "no parameter": ("sgd", without("params", "step")),
    "no attribute": ("sgd", without("attributes", "alpha_")),
    "classes of numbers": ("numbers", put(COEF, "attributes", "classes_")),
    "a part too many": ("sgd", put(1, "x")),
    "no part": ("sgd", without("created")),
    "a tensor twice": ("numbers", put(COEF, "attributes", "intercept_")),
    "a tensor that nothing uses": ("sgd", lambda _, tensors: tensors.__setitem__("x", np.zeros(1))),
    "a status as text": ("sgd", put("converged", "attributes", "verdict_", "fields", "status")),
    "steps as text": ("sgd", put("3", "attributes", "verdict_", "fields", "step")),
    "a verdict of another class": (
        "three",
        lambda content, _: content["attributes"]["verdict_"]["fields"]["per_class"]["items"][0].__setitem__(0, 7),
    ),
    "a loss of another task": ("sgd", put({"kind": "loss/quantile", "fields": {"level": 0.5}}, "params", "loss")),
    "a penalty below 0": ("sgd", put(-1.0, "params", "alpha")),
    "workers that are no number": ("sgd", put([], "params", "n_jobs")),
    "weights of other classes": ("sgd", put({"kind": "dict", "items": [["c", 1.0]]}, "params", "class_weight")),
    "a random state below 0": ("sgd", put(-1, "params", "random_state")),
    "an automatic step that was not settled": ("sgd", put("auto", *STATE, "step", "fields", "gamma0")),
    "another phase": ("sgd", put("anchored", *STATE, "phase")),
    "something to remember": ("sgd", put(1, *STATE, "extra")),
    "rows of another form": ("sgd", put({"kind": "rows", "value": "DENSE_SCALED"}, *STATE, "access")),
    "another objective": ("sgd", put(2, *STATE, "objective", "fields", "n_outputs")),
    "seconds as text": ("rules", put("1", *RULES, "states", 0, "fields", "states", 1, "fields", "this_run")),
}


@pytest.mark.parametrize("what", CHANGES)
def test_other_things_that_no_fit_leaves(what, changed):
    changed(*CHANGES[what])


@pytest.mark.parametrize("change", ["negative", "too large", "other columns", "other rows", "text"])
def test_a_trace_that_is_none(change, changed):
    def spoil(content, tensors):
        table = content["attributes"]["trace_"]["table"]["items"]
        if change == "other columns":
            table.pop(0)
        elif change == "other rows":
            tensors["trace_.0.1"] = tensors["trace_.0.1"][:-1]
        elif change == "text":
            table[0][1] = "steps"
        else:
            name = next(pair[1]["tensor"] for pair in table if pair[0] == "class")
            tensors[name] = tensors[name] + (5 if change == "too large" else -1)

    changed("three", spoil)


@pytest.mark.parametrize("metadata", [None, [], 3, "text"])
def test_metadata_that_is_none(metadata, all_parts, tmp_path):
    (tmp_path / "m").write_bytes(with_metadata(metadata, all_parts["sgd"][1]))
    with pytest.raises(ModelFileError, match="m: "):
        sgdone.load(tmp_path / "m")


def test_names_that_are_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    for name in ("pipe", "/dev/zero", "/dev/random"):
        with pytest.raises(ModelFileError, match=f"{name}: is a pipe, socket or device: give a regular file"):
            sgdone.load(name)
    for name in ("socket", "n" * 300, "a\0b"):
        with pytest.raises(ModelFileError):
            sgdone.load(name)


def test_a_file_that_is_longer_than_its_header_says_is_not_read_to_its_end(all_parts, tmp_path):
    content, tensors = all_parts["sgd"]
    container.write(tmp_path / "m", content, tensors)
    with (tmp_path / "m").open("r+b") as file:
        file.truncate(2**40)  # it takes no room on the disk
    with pytest.raises(ModelFileError, match="is damaged"):
        sgdone.load(tmp_path / "m")


def test_long_names_are_not_printed_whole(tmp_path):
    (tmp_path / "m").write_bytes(safetensors.save({"w" * 10_000: np.zeros(3)}))
    with pytest.raises(ModelFileError, match="is a safetensors file, but not a model") as caught:
        sgdone.load(tmp_path / "m")
    assert len(str(caught.value)) < 1000
