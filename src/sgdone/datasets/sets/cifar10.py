"""Four classes of CIFAR-10: small colour images."""

from pathlib import Path

import numpy as np

from sgdone.datasets.dataset import Recipe, Split
from sgdone.readers.table import Table

_FILES = ("cifar10/cifar10_4class_train.npz", "cifar10/cifar10_4class_test1000.npz")


def _read(folder: Path) -> Split:
    train, test = (_rows(folder / file) for file in _FILES)
    return Split(train, test, target_names=["airplane", "deer", "frog", "truck"])


def _rows(path: Path) -> Table:
    with np.load(path) as arrays:
        return Table(arrays["X"], arrays["y"])


RECIPES = (
    Recipe(
        name="cifar10",
        description="CIFAR-10, four of its ten classes (airplane 0, deer 4, frog 6, truck 9): 32 × 32 pixels "
        "in red, green and blue, 0–255; 5,000 images a class to train, the 414 of these classes "
        "among the first 1,000 test images to test. Krizhevsky (2009), no licence stated.",
        files=_FILES,
        read=_read,
    ),
)
