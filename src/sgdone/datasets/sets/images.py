"""Images: the handwritten digits of MNIST, and four classes of CIFAR-10."""

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from sgdone.datasets.dataset import Recipe, Split
from sgdone.readers.table import Table

_DIGITS = [str(digit) for digit in range(10)]
_N_TRAIN = 60_000


def _read_mnist(*paths: Path) -> Split:
    train_images, train_labels, test_images, test_labels = map(_idx, paths)
    train = Table(train_images.reshape(len(train_images), -1), train_labels)
    test = Table(test_images.reshape(len(test_images), -1), test_labels)
    return Split(train, test, target_names=_DIGITS)


def _idx(path: Path) -> NDArray[Any]:
    """Decode an idx file of bytes: two zeros, the type code 8, the number of axes, their lengths, the values."""
    with gzip.open(path, "rb") as stream:
        content = stream.read()
    n_axes = content[3] if content[:3] == b"\x00\x00\x08" else 0
    shape = tuple(int(n) for n in np.frombuffer(content, dtype=">u4", count=n_axes, offset=4))
    if n_axes == 0 or len(content) != 4 + 4 * n_axes + math.prod(shape):
        raise ValueError(f"{path}: is not an idx file of bytes")
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def _fetch_mnist() -> Split:
    X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False)
    rows = Table(X, y.astype(np.int64))
    return Split(rows.at(slice(_N_TRAIN)), rows.at(slice(_N_TRAIN, None)), target_names=_DIGITS)


def _read_cifar10(*paths: Path) -> Split:
    def rows(path: Path) -> Table:
        with np.load(path) as arrays:
            return Table(arrays["X"], arrays["y"])

    train, test = map(rows, paths)
    return Split(train, test, target_names=["airplane", "deer", "frog", "truck"])


RECIPES = (
    Recipe(
        name="mnist",
        description="MNIST: 60,000 + 10,000 images of handwritten digits, 28 × 28 pixels, 0–255. LeCun, "
        "Cortes and Burges (1998), CC BY-SA 3.0. Split by its authors.",
        files=(
            "mnist/train-images-idx3-ubyte.gz",
            "mnist/train-labels-idx1-ubyte.gz",
            "mnist/t10k-images-idx3-ubyte.gz",
            "mnist/t10k-labels-idx1-ubyte.gz",
        ),
        read=_read_mnist,
        fetch=_fetch_mnist,
    ),
    Recipe(
        name="cifar10",
        description="CIFAR-10, four of its ten classes (airplane 0, deer 4, frog 6, truck 9): 32 × 32 pixels "
        "in red, green and blue, 0–255; 5,000 images a class to train, the 414 of these classes "
        "among the first 1,000 test images to test. Krizhevsky (2009), no licence stated.",
        files=("cifar10/cifar10_4class_train.npz", "cifar10/cifar10_4class_test1000.npz"),
        read=_read_cifar10,
    ),
)
