"""A data set, and the recipe with which a module of ``sets/`` loads it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
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
    """How to load a data set. A module of ``sets/`` lists its recipes in ``RECIPES``.

    Attributes
    ----------
    name, description, task
        As in :class:`Dataset`.
    files : tuple of str
        Files that ``read`` needs, relative to the folder ``SGDONE_DATA``.
    read : callable, optional
        ``read(folder)`` returns a :class:`Split`.
    fetch : callable, optional
        ``fetch()`` returns a :class:`Split` from scikit-learn, which may download it.
    featurize : callable, optional
        ``featurize(train, rows)`` returns the features of ``rows`` and their names. It is called after the classes
        are chosen.
    choose : callable, optional
        ``choose(split, positive, negative)`` returns the split of a binary task; ``negative`` is None for the rest.
        By default :func:`sgdone.datasets.binary_tasks.choose_classes`.
    positive : str, optional
        Default positive class, for data with several labels per row.
    """

    name: str
    description: str
    task: Task = "classification"
    files: tuple[str, ...] = ()
    read: Callable[[Path], Split] | None = None
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
