"""Headers and tensors of model files."""

from sgdone.model_file.model import MODEL_FILE
from sgdone.state_file import container


def read(path):
    return container.read(path, MODEL_FILE)


def write(path, content, tensors):
    container.write(path, MODEL_FILE, content, tensors)
