"""The tiers of the tests: fast by default, ``-m slow`` for the rest, and larger Hypothesis counts at night."""

import os

import pytest
from hypothesis import settings

slow = pytest.mark.slow
#: The loops of a test run as plain Python in the fast tier, and compiled in the slow one (`conftest.py`): for small
#: inputs and loops that few tests need, where compiling takes a hundred times as long.
interpreted = pytest.mark.interpreted
#: Slow tests that repeat a fact for other forms of a loop, each to be compiled: they belong to the nightly run.
grid = pytest.mark.grid

#: Whether this is the nightly run: more Hypothesis examples, and grids of parameters in full.
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
#: Examples of a nightly run for each of an ordinary one.
NIGHTLY_FACTOR = 10


def examples(count, **options):
    """Hypothesis settings with `count` examples, and more of them in the nightly run."""
    return settings(max_examples=(NIGHTLY_FACTOR if NIGHTLY else 1) * count, **options)


def at_night(values):
    """Values of one parameter that only the nightly run has."""
    return list(values) if NIGHTLY else []


def fast_first(count, values, upto=None):
    """Values of one parameter: the first `count` belong to the fast tier, the others to the slow one.

    Values from number `upto` on belong to the nightly run: others state the same fact without another compiled loop.
    """
    values = list(values)
    if upto is not None:
        values = values[:upto] + at_night(values[upto:])
    return [value if number < count else pytest.param(value, marks=slow) for number, value in enumerate(values)]
