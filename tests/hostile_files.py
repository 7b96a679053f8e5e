"""Model files whose SHA-256 is right, and what they hold is not."""

import copy
from functools import reduce

import numpy as np
import pytest

import model_container as container
import sgdone
from sgdone.model_file import ModelFileError


def refused(path, content, tensors, match=r"holds no model that sgdone .* can use"):
    """Writing these parts makes a file that is refused with an error that names it."""
    container.write(path, content, tensors)
    with pytest.raises(ModelFileError, match=match) as caught:
        sgdone.load(path)
    assert str(path) in str(caught.value)


def changed(path, parts, change, match="holds no model"):
    """A file of the parts after a change of content and tensors is refused."""
    content, tensors = copy.deepcopy(parts)
    change(content, tensors)
    refused(path, content, tensors, match)


def put(value, *way):
    """The change that sets the value at the end of a way of keys."""

    def change(content, tensors):
        *before, last = way
        reduce(lambda spot, key: spot[key], before, content)[last] = value

    return change


def without(*way):
    def change(content, tensors):
        *before, last = way
        del reduce(lambda spot, key: spot[key], before, content)[last]

    return change


def array(name, of):
    """The change that replaces a tensor by a function of it."""

    def change(content, tensors):
        tensors[name] = of(tensors[name])

    return change


def entry(name, value, place=0):
    """The change of one entry of a tensor."""

    def of(tensor):
        made = np.array(tensor)
        made.reshape(-1)[place] = value
        return made

    return array(name, of)
