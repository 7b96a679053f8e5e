"""The tiers of the tests: fast by default, ``-m slow`` for the rest, and larger Hypothesis counts at night."""

import os

import pytest
from hypothesis import settings

slow = pytest.mark.slow

#: Examples of a nightly run for each of an ordinary one.
NIGHTLY_FACTOR = 10


def examples(count, **options):
    """Hypothesis settings with `count` examples, and more of them in the nightly run."""
    factor = NIGHTLY_FACTOR if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 1
    return settings(max_examples=factor * count, **options)


def fast_first(count, values):
    """Parameters of which the first `count` belong to the fast tier and the others to the slow one.

    A value may itself be a ``pytest.param``, or a tuple if several names are parametrised.
    """
    return [value if number < count else _marked(value) for number, value in enumerate(values)]


def _marked(value):
    if isinstance(value, type(pytest.param())):
        return pytest.param(*value.values, id=value.id, marks=[*value.marks, slow])
    return pytest.param(*value, marks=slow) if isinstance(value, tuple) else pytest.param(value, marks=slow)
