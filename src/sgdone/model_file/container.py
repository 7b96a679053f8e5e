"""Model files as `sgdone.state_file` writes them: their format, and how messages speak of them."""

import os
from typing import Any

from sgdone.model_file.errors import ModelFileError
from sgdone.state_file import container
from sgdone.state_file.container import Tensors
from sgdone.state_file.file_format import FileFormat

MODEL_FILE = FileFormat(
    name="sgdone-model",
    version=5,
    what="model file",
    holds="model",
    made_by="that sgdone.save wrote",
    again="copy it again, or save the model again",
    error=ModelFileError,
    refused={
        str(version): f"has the format of a version before the first release, {version}: fit the model again"
        for version in (1, 2, 3, 4)
    },
)


def write(path: str | os.PathLike[str], content: dict[str, Any], tensors: Tensors) -> None:
    """Write a header and its tensors; the file is there whole or not at all."""
    container.write(path, MODEL_FILE, content, tensors)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Tensors]:
    """Read a header and its tensors, or say why not."""
    return container.read(path, MODEL_FILE)
