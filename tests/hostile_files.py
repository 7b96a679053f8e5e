"""What someone could put into a model file whose SHA-256 they made right."""

import copy
import math
from functools import reduce
from random import Random

import pytest

import sgdone
from sgdone.model_file import ModelFileError, container

NAMES = ["kind", "fields", "value", "items", "x"]


def refused(path, content, tensors, match=r"holds no model that sgdone .* can use"):
    """Writing these parts makes a file that is refused with an error that names it."""
    container.write(path, content, tensors)
    with pytest.raises(ModelFileError, match=match) as caught:
        sgdone.load(path)
    assert str(path) in str(caught.value)


def loaded_or_refused(path, parts, seed, use=lambda model: None):
    """Something odd in some place of a file makes another model, which can be used, or a clear error."""
    random = Random(seed)
    content, tensors = copy.deepcopy(parts)
    *way, last = random.choice([place for place in places(content) if place])
    reduce(lambda spot, key: spot[key], way, content)[last] = odd_value(random)
    container.write(path, content, tensors)
    try:
        use(sgdone.load(path))
    except ModelFileError as error:
        assert str(path) in str(error)  # noqa: PT017  # another model is as right as an error


def places(code, place=()):
    """The ways to all values inside a value."""
    yield place
    inner = code.items() if isinstance(code, dict) else enumerate(code) if isinstance(code, list) else ()
    for key, value in inner:
        yield from places(value, (*place, key))


def odd_value(random, depth=3):
    """Any value of JSON, more often than not one that is seldom thought of."""
    plain = [
        lambda: random.choice([None, True, False, "", "auto", "nan", "\0", "é"]),
        lambda: random.choice([0, 1, -1, 2, 7, 2**31, -(2**63), 2**64, 10**30]),
        lambda: random.choice([0.0, -0.0, 0.5, -1.5, 5e-324, 1e308, -1e308, math.pi]),
    ]
    nested = [
        lambda: [odd_value(random, depth - 1) for _ in range(random.randrange(4))],
        lambda: {random.choice(NAMES): odd_value(random, depth - 1) for _ in range(random.randrange(4))},
    ]
    return random.choice(plain + nested if depth else plain)()
