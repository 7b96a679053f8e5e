"""What a data set is, and what a file of ``sets/`` says about one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.data.learning_task import Task


class DatasetNotFound(LookupError):  # noqa: N818 - reads as what happened
    """No such data set, or its files are nowhere to be had; the message says where they were looked for."""


@final
@dataclass(frozen=True, eq=False)
class Dataset:
    """LabelledRows of a data set, as :func:`sgdone.datasets.load` returns them.

    Attributes
    ----------
    X : ndarray or scipy.sparse.csr_array of shape (n_rows, n_features)
        Features, not scaled.
    y : ndarray of shape (n_rows,)
        Class codes as the set's authors have them, −1 and 1 for a binary task, or real values.
    feature_names, target_names : list of str or None
        ``target_names`` are the classes' names in the order of their sorted codes.
    name : str
        The name it was loaded by.
    task : {"classification", "regression"}
    description : str
        What it is, where it comes from, its licence and how it is split.
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
class LabelledRows:
    """Features (numbers, or texts still to be turned into numbers) and labels."""

    X: Any
    y: Any

    def __getitem__(self, which: Any) -> "LabelledRows":
        return LabelledRows(self.X[which], self.y[which])


@final
@dataclass(frozen=True, eq=False)
class Split:
    """A whole data set; ``test`` is None where the papers use all rows at once."""

    train: LabelledRows
    test: LabelledRows | None
    feature_names: list[str] | None = None
    target_names: list[str] | None = None


@final
@dataclass(frozen=True)
class Recipe:
    """How to come by a data set. A file of ``sets/`` lists its own in ``RECIPES``.

    Attributes
    ----------
    name, description, task
        As in :class:`Dataset`.
    files : tuple of str
        What ``read`` needs, relative to the folder of ``SGDONE_DATA``.
    read : callable, optional
        From that folder to a :class:`Split`.
    fetch : callable, optional
        To a :class:`Split` through scikit-learn, which may download it.
    featurize : callable, optional
        From the training rows and some rows to the latter's features and the features' names, once the
        classes are chosen.
    choose : callable, optional
        From a split, a positive class and a negative one (None for the rest) to the split of that binary
        task; by default :func:`sgdone.datasets.binary_tasks.choose_classes`.
    positive : str, optional
        The class to tell from the rest where none is named, for rows that carry several labels.
    """

    name: str
    description: str
    task: Task = "classification"
    files: tuple[str, ...] = ()
    read: Callable[[Path], Split] | None = None
    fetch: Callable[[], Split] | None = None
    featurize: Callable[[LabelledRows, LabelledRows], tuple[Any, list[str]]] | None = None
    choose: Callable[[Split, str, str | None], Split] | None = None
    positive: str | None = None


def split_at_random(X: Any, y: NDArray[Any]) -> tuple[LabelledRows, LabelledRows]:
    """Four fifths to train and one to test, in the order of ``default_rng(0).permutation``.

    Examples
    --------
    >>> train, test = split_at_random(np.arange(10)[:, None], np.arange(10))
    >>> train.y, test.y
    (array([4, 6, 2, 7, 3, 5, 9, 0]), array([8, 1]))
    """
    order = np.random.default_rng(0).permutation(len(y))
    n_test = len(y) // 5
    rows = LabelledRows(X, y)
    return rows[order[: len(y) - n_test]], rows[order[len(y) - n_test :]]
