"""Parameters, names, equality and copies of losses."""

import copy
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from sklearn.base import clone

from sgdone.losses import (
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Quantile,
    Squared,
    SquaredHinge,
)


@pytest.mark.parametrize("delta", [0.0, -1.0, float("nan"), float("inf"), "1", None])
def test_huber_refuses(delta):
    with pytest.raises(ValueError, match=r"delta=.* of Huber is not a positive number: give"):
        Huber(delta=delta)


@pytest.mark.parametrize("epsilon", [-1e-9, float("nan"), float("inf"), "1"])
def test_epsilon_insensitive_refuses(epsilon):
    with pytest.raises(ValueError, match=r"epsilon=.* of EpsilonInsensitive is not a non-negative number: give"):
        EpsilonInsensitive(epsilon=epsilon)


@pytest.mark.parametrize("level", [0, 1, -0.5, 90, float("nan"), "0.5"])
def test_quantile_refuses(level):
    with pytest.raises(ValueError, match=r"level=.* of Quantile is not in \(0, 1\): give"):
        Quantile(level=level)


def test_numbers_of_any_kind_are_taken():
    assert Huber(2) == Huber(np.float32(2.0)) == Huber(np.int64(2))
    assert EpsilonInsensitive(0).value(1.0, 3.0) == 2.0


def test_parameters_are_the_fields(loss):
    assert loss.parameters.dtype == np.float64
    np.testing.assert_array_equal(loss.parameters, [getattr(loss, field.name) for field in fields(loss)])


def test_names_tasks_and_traits():
    by_name = {
        "logistic": Logistic(),
        "hinge": Hinge(),
        "squared_hinge": SquaredHinge(),
        "squared": Squared(),
        "exponential": Exponential(),
        "huber": Huber(),
        "epsilon_insensitive": EpsilonInsensitive(),
        "quantile": Quantile(),
    }
    assert all(loss.name == name for name, loss in by_name.items())
    regressions = {name for name, loss in by_name.items() if loss.task == "regression"}
    assert regressions == {"huber", "epsilon_insensitive", "quantile"}
    assert [name for name, loss in by_name.items() if loss.task == "both"] == ["squared"]
    assert [name for name, loss in by_name.items() if loss.probabilistic] == ["logistic"]
    assert [name for name, loss in by_name.items() if loss.quadratic] == ["squared"]


def test_copies_are_equal_and_share_the_kernel(loss):
    for twin in (
        copy.copy(loss),
        copy.deepcopy(loss),
        pickle.loads(pickle.dumps(loss)),
        clone(loss, safe=False),
    ):
        assert twin == loss
        assert hash(twin) == hash(loss)
        assert repr(twin) == repr(loss)
        assert twin.kernel.implicit is loss.kernel.implicit
        assert twin.kernel.slope is loss.kernel.slope


def test_repr_can_be_read_back(loss):
    names = {type(loss).__name__: type(loss)}
    assert eval(repr(loss), names) == loss


def test_equality_sees_kind_and_parameters():
    assert Huber(1.0) != Huber(2.0)
    assert Hinge() != SquaredHinge()
    assert EpsilonInsensitive(0.5) != Quantile(0.5)


def test_losses_do_not_change():
    with pytest.raises(FrozenInstanceError):
        Huber().delta = 2.0
