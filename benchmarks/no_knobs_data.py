"""Data sets for `no_knobs`, in the units they come in, and how each is split."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import train_test_split

from sgdone import datasets

#: "own": the set's own test rows; "quarter": a stratified quarter of the rows, since the 414 test images that come with
#: these classes of CIFAR-10 would make one image a quarter of a point; "repeated": 20 such quarters, for few rows.
#: The 79 rows of endometrial are no set to be tested on.
SETS: dict[str, Literal["own", "quarter", "repeated"]] = {
    "a9a": "own",
    "reuters-money-fx": "own",
    "newsgroups20": "own",
    "newsgroups20-sci.space-vs-rest": "own",
    "mnist": "own",
    "mnist-9-vs-rest": "own",
    "mnist-7-vs-9": "own",
    "covertype": "own",
    "covertype-2-vs-rest": "own",
    "cifar10": "quarter",
    "cifar10-deer-vs-airplane": "quarter",
    "breast-cancer": "repeated",
    "digits": "repeated",
    "wine": "repeated",
    "diabetes": "repeated",
}
_REPEATS = 20
_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Part:
    """Rows to learn from and rows to be judged by; ``number`` tells the splits of a set apart."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    number: int = 0

    @property
    def is_regression(self) -> bool:
        """Whether the labels are real numbers."""
        return bool(np.issubdtype(self.y.dtype, np.floating))


@dataclass(frozen=True, eq=False)
class Problem:
    """A set and its splits."""

    name: str
    parts: tuple[Part, ...]

    def __str__(self) -> str:
        first = self.parts[0]
        rows, features = first.X.shape
        kind = "regression" if first.is_regression else f"{np.unique(first.y).size} classes"
        splits = f", {len(self.parts)} splits" if len(self.parts) > 1 else ""
        return f"{self.name}: {rows:,} + {first.X_test.shape[0]:,} rows, {features:,} features, {kind}{splits}"


def load(name: str) -> Problem:
    """A set by its name in `SETS`.

    Raises
    ------
    sgdone.datasets.DatasetNotFound
        If its files are nowhere to be had.
    """
    if SETS[name] == "own":
        train, test = (datasets.load(name, subset=subset) for subset in ("train", "test"))
        return Problem(name, (Part(train.X, train.y, test.X, test.y),))
    X, y = _rows(name)
    count = _REPEATS if SETS[name] == "repeated" else 1
    return Problem(name, tuple(_quarters(X, y, count)))


def _rows(name: str) -> tuple[Any, NDArray[Any]]:
    if name == "diabetes":
        # `sgdone.datasets` has the features as scikit-learn scales them.
        X, y = sklearn_datasets.load_diabetes(return_X_y=True, scaled=False)
        return X, y
    # All rows of the small sets; of CIFAR-10 those to train with.
    data = datasets.load(name, subset="all" if SETS[name] == "repeated" else "train")
    return data.X, data.y


def _quarters(X: Any, y: NDArray[Any], count: int) -> Iterator[Part]:
    classes = None if np.issubdtype(y.dtype, np.floating) else y
    split = partial(train_test_split, X, y, test_size=_SHARE, stratify=classes)
    for number in range(count):
        X_train, X_test, y_train, y_test = split(random_state=number)
        yield Part(X_train, y_train, X_test, y_test, number)
