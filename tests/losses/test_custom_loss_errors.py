"""Errors of user-defined losses name the function and where it is defined."""

import functools
import json
import math

import pytest

from sgdone.losses import CustomLoss


def value(z, y):
    return 0.5 * (y - z) ** 2


def slope(z, y):
    return z - y


def wrong_sign(z, y):
    return y - z


def nan_somewhere(z, y):
    return math.nan if z > 0 else z - y


def fails(z, y):
    raise KeyError("weights")


def one_argument(z):
    return z


def not_compilable(z, y):
    return z - y + json.loads("0")


def test_a_slope_of_another_loss():
    message = (
        r"slope 'wrong_sign' \(.*test_custom_loss_errors.py:\d+\) is 2.7129 at z=-3.7129, y=-1, .*there is -2.7129"
    )
    with pytest.raises(ValueError, match=message):
        CustomLoss(value, wrong_sign, task="both")


def test_a_loss_that_is_not_convex():
    with pytest.raises(ValueError, match="not convex"):
        CustomLoss(lambda z, y: -value(z, y), wrong_sign, task="regression")


@pytest.mark.parametrize("bad", [nan_somewhere, fails, one_argument, lambda z, y: "text"])
def test_a_function_that_fails(bad):
    name = bad.__qualname__
    with pytest.raises(ValueError, match=f"the slope '{name}'.* at z=") as caught:
        CustomLoss(value, bad, task="regression")
    assert ("KeyError" in str(caught.value)) == (bad is fails)


def test_a_wrong_curvature():
    with pytest.raises(ValueError, match=r"the curvature .* is 2 at .*give the derivative of the slope"):
        CustomLoss(value, slope, task="regression", curvature=lambda z, y: 2.0)


@pytest.mark.parametrize("bad", [3, None, "logistic", functools.partial(slope), math.exp])
def test_something_else_than_a_function(bad):
    with pytest.raises(TypeError, match=r"slope=.* is not a plain Python function: define slope\(z, y\)"):
        CustomLoss(value, bad)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"task": "ranking"}, "task is 'ranking': give one of 'classification'"),
        ({"name": ""}, "name='' is not a non-empty string"),
        ({"smoothness": 0.0}, "smoothness=0.0 is not a positive number"),
        ({"lipschitz": "large"}, "lipschitz='large' is not a positive number"),
    ],
)
def test_a_wrong_option(option, message):
    with pytest.raises(ValueError, match=message):
        CustomLoss(value, slope, **{"task": "regression", **option})


def test_what_numba_cannot_compile_is_refused_at_first_use():
    loss = CustomLoss(value, not_compilable, task="regression")
    for use in (lambda: loss.slope(1.0, 2.0), lambda: loss.implicit(1.0, 2.0, 1.0), lambda: loss.kernel):
        with pytest.raises(ValueError, match=r"slope 'not_compilable'.*cannot be compiled") as caught:
            use()
        assert "Unknown attribute 'loads'" in str(caught.value)
