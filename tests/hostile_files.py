"""Model files whose SHA-256 is right, and what they hold is not."""

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
