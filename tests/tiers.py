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
    """Values of one parameter: the first `count` belong to the fast tier, the others to the slow one."""
    return [value if number < count else pytest.param(value, marks=slow) for number, value in enumerate(values)]
