"""Numerical checks of a user-defined loss, in plain Python before anything is compiled."""

import math
from collections.abc import Callable
from itertools import pairwise

ScalarLoss = Callable[[float, float], float]

# Arbitrary digits, so that no point is at a kink.
_PREDICTIONS = (-3.7129, -1.9187, -0.8311, -0.1373, 0.2719, 0.9173, 1.6421, 2.4177, 4.1093)
_LABELS = {"classification": (-1.0, 1.0), "regression": (-1.3, 0.0, 2.6), "both": (-1.0, 1.0, 2.6)}
_STEP = 1e-5
_TOLERANCE = 1e-4


def check_convex(slope: ScalarLoss, task: str) -> None:
    """Raise if ``slope`` decreases between test points: stopping rules and the implicit step need a convex loss."""
    for y in _LABELS[task]:
        for z, further in pairwise(_PREDICTIONS):
            here, there = evaluate(slope, "slope", z, y), evaluate(slope, "slope", further, y)
            if there < here - 1e-9 * max(1.0, abs(here)):
                raise ValueError(
                    f"the slope {describe(slope)} decreases from {here:.6g} at z={z} to {there:.6g} "
                    f"at z={further}, y={y:g}: the loss is not convex in z; give a convex loss"
                )


def check_derivative(function: ScalarLoss, derivative: ScalarLoss, task: str, what: str, of: str) -> None:
    """Raise unless ``derivative`` is the derivative of ``function`` in ``z``; ``what`` and ``of`` are their names."""
    for y in _LABELS[task]:
        for z in _PREDICTIONS:
            rise = evaluate(function, of, z + _STEP, y) - evaluate(function, of, z - _STEP, y)
            expected = rise / (2.0 * _STEP)
            found = evaluate(derivative, what, z, y)
            if abs(found - expected) > _TOLERANCE * max(1.0, abs(expected)):
                raise ValueError(
                    f"the {what} {describe(derivative)} is {found:.6g} at z={z}, y={y:g}, but the derivative of the "
                    f"{of} {describe(function)} there is {expected:.6g}: give the derivative of the {of} in z"
                )


def evaluate(function: ScalarLoss, what: str, z: float, y: float) -> float:
    """Evaluate ``function(z, y)``; raise a ValueError that names the function if it fails or is not finite."""
    try:
        result = float(function(z, y))
    except Exception as error:
        raise ValueError(
            f"the {what} {describe(function)} fails at z={z}, y={y:g} with {type(error).__name__}: {error}; "
            f"it is called as {what}(z, y) with two floats and returns one"
        ) from error
    if not math.isfinite(result):
        raise ValueError(f"the {what} {describe(function)} is {result} at z={z}, y={y:g}: it must be finite")
    return result


def describe(function: Callable[..., object]) -> str:
    """Name of a function and where it is defined."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", repr(function))
    return f"{name!r} ({code.co_filename}:{code.co_firstlineno})" if code else f"{name!r}"
