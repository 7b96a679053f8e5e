"""Model files of default fits with a correct SHA-256 and wrong contents."""

from functools import reduce

import numpy as np
import pytest
from automatic_problems import fitted, problem
from scipy import sparse

import model_container as container
import sgdone
from hostile_files import array, changed

pytestmark = pytest.mark.slow


def parts_of(task, path, form=np.asarray):
    X, y = problem(task, 60)
    sgdone.save(fitted(task, form(X), y, 30), path)
    return container.read(path)


@pytest.fixture(scope="module")
def all_parts(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "m"
    found = {task: parts_of(task, path) for task in ("two", "three", "numbers")}
    return found | {"csr": parts_of("two", path, sparse.csr_array)}


@pytest.fixture
def refused(all_parts, tmp_path):
    """Change the parts of a file; loading it is an error that names the file."""

    def check(task, change):
        changed(
            tmp_path / "m",
            all_parts[task],
            lambda content, tensors: change(content["results"][0]["state"]["fields"], tensors),
        )

    return check


def test_the_unchanged_files_are_loaded(all_parts, tmp_path):
    for task, (content, tensors) in all_parts.items():
        container.write(tmp_path / "m", content, tensors)
        X, y = problem("two" if task == "csr" else task, 60)
        sgdone.load(tmp_path / "m").partial_fit(sparse.csr_array(X) if task == "csr" else X, y)


CHANGES = {
    "shorter": lambda array: array[:-1].copy(),
    "longer": lambda array: np.concatenate([array, array]),
    "empty": lambda array: array[:0].copy(),
    "flat": lambda array: array.ravel() if array.ndim > 1 else array[:, None],
    "deeper": lambda array: array[None].copy(),
    "float32": lambda array: array.astype(np.float32),
    "int64": lambda array: array.astype(np.int64),
}
ARRAYS = ["models.weights", "models.intercepts", "models.numbers", "models.plans"]
ARRAYS += [f"units.{name}" for name in ("pivot", "firsts", "squares", "scale", "shift")]
GROUPS = [f"{owner}.groups.{name}" for owner in ("units", "order") for name in ("sums", "squares", "between")]


def with_array(name, change):
    return array(f"results.0.state.{name}", change)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("task", ["two", "three", "numbers"])
def test_arrays_of_other_shapes_and_types(task, change, refused):
    for name in ARRAYS:
        refused(task, with_array(name, CHANGES[change]))


@pytest.mark.parametrize("change", ["shorter", "longer", "deeper"])
def test_sums_over_groups_of_other_shapes(change, refused):
    for name in GROUPS:
        refused("three", with_array(name, CHANGES[change]))


@pytest.mark.parametrize("name", ARRAYS + GROUPS)
def test_arrays_that_are_missing(name, refused):
    refused("three", lambda _, tensors: tensors.pop(f"results.0.state.{name}"))


def set_to(*path, value):
    """A change of one field, given by the names that lead to it."""

    def change(state, _):
        *way, last = path
        reduce(lambda fields, name: fields[name]["fields"], way, state)[last] = value

    return change


def both_objectives(**values):
    def change(state, _):
        for fields in (state["objective"]["fields"], state["models"]["fields"]["objective"]["fields"]):
            fields.update(values)

    return change


@pytest.mark.parametrize("kind", ["softmax", "one_vs_rest", "target", "nonsense", 3, None])
def test_two_classes_of_another_kind(kind, refused):
    """A loop for several classes would use the labels ±1 as indices."""
    refused("two", both_objectives(predicts=kind))
    refused("two", set_to("objective", "predicts", value=kind))
    refused("two", set_to("models", "objective", "predicts", value=kind))


@pytest.mark.parametrize("kind", ["softmax", "one_vs_rest", "two_classes"])
def test_numbers_of_another_kind(kind, refused):
    refused("numbers", both_objectives(predicts=kind))
    refused("numbers", set_to("models", "objective", "predicts", value=kind))


@pytest.mark.parametrize("kind", ["target", "two_classes"])
def test_three_classes_of_another_kind(kind, refused):
    refused("three", both_objectives(predicts=kind))
    refused("three", set_to("models", "objective", "predicts", value=kind))


@pytest.mark.parametrize("outputs", [0, -1, 2, 6, 1.5, "1", None, 2**40])
def test_other_numbers_of_outputs(outputs, refused):
    refused("two", both_objectives(n_outputs=outputs))
    refused("three", both_objectives(n_outputs=outputs))
    refused("three", set_to("models", "objective", "n_outputs", value=outputs))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("units", "dense"), False),
        (("units", "n_features"), 7),
        (("units", "rows"), "many"),
        (("units", "made_from"), "many"),
        (("units", "groups"), None),
        (("units",), None),
        (("models", "folds"), []),
        (("models", "folds"), "all"),
        (("models", "candidates"), []),
        (("models", "candidates"), [1, 2]),
        (("models", "objective"), None),
        (("models",), None),
        (("lead",), None),
        (("lead", "multiplier"), 3.25),
        (("order",), None),
        (("order", "pivot"), "first"),
        (("energy",), "large"),
        (("smoothness",), None),
        (("objective",), 4),
    ],
    ids=str,
)
def test_fields_that_are_something_else(path, value, refused):
    refused("two", set_to(*path, value=value))


def test_sparse_units_that_say_they_are_dense(refused):
    refused("csr", set_to("units", "dense", value=True))
    refused("csr", set_to("units", "centred", value=True))


def test_a_leader_that_trains_on_some_rows_only(refused):
    def change(state, _):
        folds = state["models"]["fields"]["folds"]
        folds[:] = [0] * len(folds)

    refused("two", change)


def test_fewer_folds_than_models(refused):
    refused("two", lambda state, _: state["models"]["fields"]["folds"].pop())
    refused("two", lambda state, _: state["models"]["fields"]["candidates"].pop())
