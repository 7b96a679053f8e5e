"""A data set, the recipe with which a module of ``sets/`` loads it, and the binary tasks of several classes."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.learning_task import Task
from sgdone.readers.table import Table


class DatasetNotFound(LookupError):  # noqa: N818 - a state, not a fault of the program
    """Raised for an unknown data set, or if its files are missing; the message says where they were searched."""


@final
@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set, as returned by :func:`sgdone.datasets.load`: rows with labels, their names, and a description.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_array of shape (n_rows, n_features)
        Features, not scaled.
    y : ndarray of shape (n_rows,)
        Class codes of the original data, −1 and 1 for a binary task, or real values.
    feature_names, target_names : list of str or None
        ``target_names`` are the names of the classes, in the order of the sorted codes.
    name : str
        Name given to :func:`sgdone.datasets.load`.
    task : {"classification", "regression"}
    description : str
        Content, origin, licence and train/test split.
    """

    X: Any
    y: NDArray[Any]
    feature_names: list[str] | None
    target_names: list[str] | None
    name: str
    task: Task
    description: str


@final
@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows, as a recipe reads them: two tables and the names that they share.

    ``X`` of a table is an array of numbers, or of texts to be vectorised later. ``test`` is None if the papers use all
    rows.
    """

    train: Table
    test: Table | None
    feature_names: list[str] | None = None
    target_names: list[str] | None = None


@final
@dataclass(frozen=True)
class Recipe:
    """Recipe for loading a data set. A module of ``sets/`` lists its recipes in ``RECIPES``.

    Attributes
    ----------
    name, description, task
        As in :class:`Dataset`.
    files : tuple of str
        Files that ``read`` needs, relative to the folder ``SGDONE_DATA``.
    read : callable, optional
        ``read(*paths)``, the paths of the files, returns a :class:`Split`.
    fetch : callable, optional
        ``fetch()`` returns a :class:`Split` from scikit-learn, which may download it.
    featurize : callable, optional
        ``featurize(train, rows)`` returns the features of ``rows`` and their names. It is called after the classes
        are chosen.
    choose : callable, optional
        ``choose(split, positive, negative)`` returns the split of a binary task; ``negative`` is None for the rest.
        By default :func:`sgdone.datasets.dataset.choose_classes`.
    positive : str, optional
        Default positive class, for data with several labels per row.
    """

    name: str
    description: str
    task: Task = "classification"
    files: tuple[str, ...] = ()
    read: Callable[..., Split] | None = None
    fetch: Callable[[], Split] | None = None
    featurize: Callable[[Table, Table], tuple[Any, list[str]]] | None = None
    choose: Callable[[Split, str, str | None], Split] | None = None
    positive: str | None = None


def split_at_random(X: Any, y: NDArray[Any]) -> tuple[Table, Table]:
    """Split the rows at random: 80% for training and 20% for testing, shuffled with ``default_rng(0)``.

    Examples
    --------
    >>> train, test = split_at_random(np.arange(10)[:, None], np.arange(10))
    >>> train.y, test.y
    (array([4, 6, 2, 7, 3, 5, 9, 0]), array([8, 1]))
    """
    order = np.random.default_rng(0).permutation(len(y))
    n_test = len(y) // 5
    rows = Table(X, y)
    return rows.at(order[: len(y) - n_test]), rows.at(order[len(y) - n_test :])


def choose_classes(split: Split, positive: str, negative: str | None) -> Split:
    """Keep the rows of two classes, or all rows, and label the positive class 1 and the others −1.

    A class is given by its code or its name, in upper or lower case.
    """
    names = split.target_names or []
    codes = np.unique(split.train.labels)
    ours = find_class(positive, codes, names)
    theirs = None if negative is None else find_class(negative, codes, names)
    if ours == theirs:
        raise ValueError(f"{positive!r} and {negative!r} are the same class: give two classes, or 'rest'")

    def relabelled(rows: Table) -> Table:
        if theirs is not None:
            rows = rows.at((rows.y == codes[ours]) | (rows.y == codes[theirs]))
        return Table(rows.X, np.where(rows.y == codes[ours], 1, -1))

    return replace(
        split,
        train=relabelled(split.train),
        test=None if split.test is None else relabelled(split.test),
        target_names=["rest" if theirs is None else names[theirs], names[ours]],
    )


def find_class(wanted: str, codes: NDArray[np.int64], names: list[str]) -> int:
    """Index of a class among the sorted codes."""
    for place, (code, name) in enumerate(zip(codes, names, strict=True)):
        if _key(wanted) in (_key(name), str(code)):
            return place
    known = ", ".join(dict.fromkeys(f"{name}" for name in names))
    raise ValueError(f"no class {wanted!r}: the classes are {known}")


def _key(name: str) -> str:
    return re.sub(r"[\s_/-]+", "-", name.strip().casefold())


def tfidf(train: Table, rows: Table) -> tuple[Any, list[str]]:
    """scikit-learn's TF-IDF of ``rows`` with its defaults, fitted on the training texts, and the words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(train.X)
    if rows is not train:
        X = vectorizer.transform(rows.X)
    return X, vectorizer.get_feature_names_out().tolist()
