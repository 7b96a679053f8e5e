"""Data sets for `no_knobs`, in the units they come in, and how each is split."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import train_test_split

from no_knobs_kinds import KINDS
from sgdone import datasets

#: All sets, the cheapest first. "own": the test rows that come with the set. "repeated": random stratified splits, a
#: quarter of the rows for testing. "expensive": the same, but one split unless ``--splits`` says more; the 414 test
#: images that come with these classes of CIFAR-10 are too few. The 79 rows of endometrial are too few to test on, and
#: adult and flights have categories. "drawn": see `no_knobs_kinds`.
SETS: dict[str, Literal["own", "repeated", "expensive", "drawn"]] = {
    **dict.fromkeys(KINDS, "drawn"),
    "iris": "repeated",
    "wine": "repeated",
    "breast-cancer": "repeated",
    "digits": "repeated",
    "diabetes": "repeated",
    "colon": "repeated",
    "spambase": "repeated",
    "pendigits": "own",
    "cpusmall": "repeated",
    "bike-sharing": "repeated",
    "sms-spam": "repeated",
    "a9a": "own",
    "reuters-money-fx": "own",
    "newsgroups20-sci.space-vs-rest": "own",
    "newsgroups20": "own",
    "mnist-7-vs-9": "own",
    "mnist-9-vs-rest": "own",
    "covertype-2-vs-rest": "own",
    "covertype": "own",
    "cifar10-deer-vs-airplane": "expensive",
    "mnist": "own",
    "cifar10": "expensive",
}
_REPEATS = 20
_SHARE = 0.25
#: Sets of fewer rows, training and test together, are compared with cross-validation instead of the best of five C.
SMALL = 1000


@dataclass(frozen=True, eq=False)
class Part:
    """Training and test rows; ``number`` identifies the split."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    number: int = 0

    @property
    def is_regression(self) -> bool:
        """Whether the labels are real numbers."""
        return bool(np.issubdtype(self.y.dtype, np.floating))

    @property
    def classes(self) -> NDArray[Any]:
        """The classes, sorted."""
        return np.unique(self.y)

    @property
    def n_scores(self) -> int:
        """Number of scores a row: one for regression and two classes, one per class for more."""
        return 1 if self.is_regression or self.classes.size == 2 else self.classes.size


@dataclass(frozen=True, eq=False)
class Problem:
    """A set and its splits."""

    name: str
    parts: tuple[Part, ...]

    @property
    def is_small(self) -> bool:
        """Whether the set has fewer than 1,000 rows."""
        return bool(self.parts[0].y.size + self.parts[0].y_test.size < SMALL)

    @property
    def splits(self) -> str:
        """How the set was split, as the tables say it."""
        count = str(len(self.parts))
        return {"own": "own", "repeated": count, "expensive": f"{count} (expensive)", "drawn": count}[SETS[self.name]]

    def __str__(self) -> str:
        first = self.parts[0]
        rows, features = first.X.shape
        kind = "regression" if first.is_regression else f"{first.classes.size} classes"
        sizes = f"{rows:,} + {first.X_test.shape[0]:,} rows, {features:,} features"
        return f"{self.name}: {sizes}, {kind}, splits: {self.splits}"


def load(name: str, splits: int | None = None) -> Problem:
    """Load a set by its name in `SETS`; ``splits`` replaces the number of random splits.

    Raises
    ------
    sgdone.datasets.DatasetNotFound
        If its files are not available.
    """
    if SETS[name] == "own":
        train, test = (datasets.load(name, subset=subset) for subset in ("train", "test"))
        return Problem(name, (Part(train.X, train.y, test.X, test.y),))
    if SETS[name] == "drawn":
        draw, count = KINDS[name]
        return Problem(name, tuple(Part(*draw(number), number) for number in range(splits or count)))
    X, y = _rows(name)
    return Problem(name, tuple(_quarters(X, y, splits or (_REPEATS if SETS[name] == "repeated" else 1))))


def _rows(name: str) -> tuple[Any, NDArray[Any]]:
    if name == "diabetes":
        # `sgdone.datasets` has the features as scikit-learn scales them.
        X, y = sklearn_datasets.load_diabetes(return_X_y=True, scaled=False)
        return X, y
    # The training rows of CIFAR-10, all rows of the others. The TF-IDF of sms-spam is that of its training texts.
    data = datasets.load(name, subset="all" if SETS[name] == "repeated" else "train")
    return data.X, data.y


def _quarters(X: Any, y: NDArray[Any], count: int) -> Iterator[Part]:
    classes = None if np.issubdtype(y.dtype, np.floating) else y
    split = partial(train_test_split, X, y, test_size=_SHARE, stratify=classes)
    for number in range(count):
        X_train, X_test, y_train, y_test = split(random_state=number)
        yield Part(X_train, y_train, X_test, y_test, number)
