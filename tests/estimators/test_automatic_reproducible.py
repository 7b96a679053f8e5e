"""The same seed gives the same bits, also in copies and from files."""

import copy

import numpy as np
import pytest
from automatic_problems import TASKS, fitted, in_both_forms, problem

import sgdone
from sgdone import LinearClassifier
from sgdone.bank import models
from tiers import grid

pytestmark = grid


def through_a_file(model, tmp_path):
    sgdone.save(model, tmp_path / "model.safetensors")
    return sgdone.load(tmp_path / "model.safetensors")


@pytest.mark.usefixtures("without_finish")
@in_both_forms
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("chunk", [None, 150], ids=["fit", "partial_fit"])
def test_the_same_seed_the_same_bits(chunk, task, form, same_model):
    X, y = problem(task)
    first = fitted(task, form(X), y, chunk)
    same_model(first, fitted(task, form(X), y, chunk))
    if chunk is None:
        same_model(first, fitted(task, form(X), y, random_state=np.random.RandomState(0)))
    assert fitted(task, form(X), y, chunk, random_state=1).coef_.tobytes() != first.coef_.tobytes()


@in_both_forms
@pytest.mark.parametrize("task", TASKS)
def test_streams_without_shuffling_do_not_depend_on_the_seed(task, form, same_model):
    """There are no validation rows, and the order is the user's."""
    X, y = problem(task)
    first, *others = (fitted(task, form(X), y, 150, shuffle=False, random_state=seed) for seed in (None, None, 0, 1))
    for other in others:
        same_model(first, other)


@pytest.mark.usefixtures("without_finish")
def test_without_shuffling_the_seed_changes_nothing(same_model):
    """The validation rows are the same for all seeds."""
    X, y = problem("two")
    same_model(*(fitted("two", X, y, shuffle=False, random_state=seed) for seed in (0, 1)))


@pytest.mark.usefixtures("without_finish")
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("columns", [3, 5, 6])
def test_where_arrays_lie_in_memory_changes_no_bit(columns, task, monkeypatch, same_model):
    """Compiled loops may use another code path if two arrays are so close that they might overlap."""
    X, y = problem(task)
    X = X[:, :columns].copy()
    expected, calls = fitted(task, X, y), []
    make_loop = models.make_loop

    def make_crowded(*arguments):
        loop = make_loop(*arguments)

        def crowded(rows, *others):
            *given, weights, _, numbers, (row, sums, amounts, *rest), predictions, slopes, held = others
            matrix, *units = rows
            # What is written to lies right after what is read.
            shift, scale, row, sums, amounts, there = _side_by_side(*units, row, sums, amounts, weights)
            own = (row, sums, amounts, *rest)
            outcome = loop(
                (matrix, shift, scale), *given, there, there.reshape(-1), numbers, own, predictions, slopes, held
            )
            weights[...] = there
            calls.append(outcome)
            return outcome

        return crowded

    monkeypatch.setattr(models, "make_loop", make_crowded)
    same_model(fitted(task, X, y), expected)
    assert calls


def _side_by_side(*arrays):
    memory = np.empty(sum(array.nbytes for array in arrays), np.uint8)
    copies, begin = [], 0
    for array in arrays:
        there = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        there[...] = array
        copies.append(there)
        begin += array.nbytes
    return copies


def test_a_file_of_every_step(tmp_path, same_model):
    """Saved and loaded after every chunk."""
    X, y = problem("three", 3000)
    whole = fitted("three", X, y, 300)
    model = LinearClassifier(random_state=0)
    for first in range(0, 3000, 300):
        model.partial_fit(X[first : first + 300], y[first : first + 300], classes=[0, 1, 2])
        model = through_a_file(model, tmp_path)
    same_model(model, whole)


def test_a_warm_start_from_a_file(tmp_path, same_model):
    X, y = problem("two")
    model = fitted("two", X, y, warm_start=True)
    again = through_a_file(model, tmp_path)
    same_model(again.fit(X, y), model.fit(X, y))


def test_a_shallow_copy_is_not_trained_along():
    X, y = problem("two")
    model = fitted("two", X, y, 200)
    before, scores = model.coef_.copy(), model.decision_function(X)
    other = copy.copy(model)
    other.partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)
    expected = fitted("two", X, y, 200).partial_fit(X, y)
    np.testing.assert_array_equal(model.partial_fit(X, y).coef_, expected.coef_)
    assert scores.shape == (600,)
