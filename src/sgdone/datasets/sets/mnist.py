"""MNIST: handwritten digits."""

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from sgdone.datasets.dataset import Recipe, Split
from sgdone.readers.table import Table

_FILES = (
    "mnist/train-images-idx3-ubyte.gz",
    "mnist/train-labels-idx1-ubyte.gz",
    "mnist/t10k-images-idx3-ubyte.gz",
    "mnist/t10k-labels-idx1-ubyte.gz",
)
_NAMES = [str(digit) for digit in range(10)]
_N_TRAIN = 60_000


def _read(folder: Path) -> Split:
    train_images, train_labels, test_images, test_labels = (_idx(folder / file) for file in _FILES)
    train = Table(train_images.reshape(len(train_images), -1), train_labels)
    test = Table(test_images.reshape(len(test_images), -1), test_labels)
    return Split(train, test, target_names=_NAMES)


def _idx(path: Path) -> NDArray[Any]:
    """Decode an idx file of bytes: two zeros, the type code 8, the number of axes, their lengths, the values."""
    with gzip.open(path, "rb") as stream:
        content = stream.read()
    n_axes = content[3] if content[:3] == b"\x00\x00\x08" else 0
    shape = tuple(int(n) for n in np.frombuffer(content, dtype=">u4", count=n_axes, offset=4))
    if n_axes == 0 or len(content) != 4 + 4 * n_axes + math.prod(shape):
        raise ValueError(f"{path}: is not an idx file of bytes")
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def _fetch() -> Split:
    X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False)
    rows = Table(X, y.astype(np.int64))
    return Split(rows.at(slice(_N_TRAIN)), rows.at(slice(_N_TRAIN, None)), target_names=_NAMES)


RECIPES = (
    Recipe(
        name="mnist",
        description="MNIST: 60,000 + 10,000 images of handwritten digits, 28 × 28 pixels, 0–255. LeCun, "
        "Cortes and Burges (1998), CC BY-SA 3.0. Split by its authors.",
        files=_FILES,
        read=_read,
        fetch=_fetch,
    ),
)
