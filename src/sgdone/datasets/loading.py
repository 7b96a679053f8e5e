"""Data sets by name: the recipe of a name, the files or the fetcher of a recipe, and its rows."""

import importlib
import os
import pkgutil
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from sgdone.datasets import sets
from sgdone.datasets.dataset import Dataset, DatasetNotFound, Recipe, Split, choose_classes
from sgdone.message_text import did_you_mean
from sgdone.readers.table import Table

#: Environment variable with the path of the folder of data sets.
VARIABLE = "SGDONE_DATA"

#: Positive and negative class; None for the rest.
BinaryTask = tuple[str, str | None]


@lru_cache(maxsize=1)
def recipes() -> dict[str, Recipe]:
    """All recipes by name."""
    modules = [
        importlib.import_module(f"{sets.__name__}.{found.name}") for found in pkgutil.iter_modules(sets.__path__)
    ]
    return {recipe.name: recipe for module in modules for recipe in module.RECIPES}


def parse(name: str) -> tuple[Recipe, BinaryTask | None]:
    """Parse a name such as ``mnist-7-vs-9`` into the recipe and the binary task. Longer names are tried first."""
    plain = name.lower().replace("_", "-")
    for known in sorted(recipes(), key=len, reverse=True):
        if plain == known:
            return recipes()[known], None
        if plain.startswith(f"{known}-"):
            positive, versus, negative = name[len(known) + 1 :].partition("-vs-")
            if not (positive and versus and negative):
                break
            return recipes()[known], (positive, None if negative.lower() == "rest" else negative)
    raise DatasetNotFound(
        f"no data set is named {name!r}.{did_you_mean(plain, recipes())} "
        f"Known data sets: {', '.join(sorted(recipes()))}. "
        "A binary task is named '<set>-<class>-vs-<class>' or '<set>-<class>-vs-rest'"
    )


def find(recipe: Recipe) -> Split:
    """Read the data set from the folder ``SGDONE_DATA``, or else fetch it with scikit-learn."""
    tried = []
    if recipe.read is not None:
        folder = os.environ.get(VARIABLE)
        absent = [file for file in recipe.files if not (Path(folder or "") / file).is_file()]
        if folder and not absent:
            try:
                return recipe.read(*(Path(folder) / file for file in recipe.files))
            except Exception as error:
                error.add_note(f"while reading {', '.join(recipe.files)} in {folder}")
                raise
        tried.append(f"{VARIABLE}={folder} lacks {', '.join(absent)}" if folder else f"{VARIABLE} is not set")
    cause: Exception | None = None
    if recipe.fetch is None:
        tried.append("scikit-learn has no fetcher for it")
    else:
        try:
            return recipe.fetch()
        except Exception as error:
            tried.append(f"scikit-learn could not fetch it ({type(error).__name__}: {error})")
            cause = error
    advice = f". Set {VARIABLE} to a folder with {', '.join(recipe.files)}" if recipe.files else ""
    raise DatasetNotFound(f"data set {recipe.name!r} not found: {'; '.join(tried)}{advice}") from cause


def names() -> list[str]:
    """Names of all data sets, whether or not their files are available.

    Classification data sets also define binary tasks: ``"<name>-<class>-vs-<class>"`` and
    ``"<name>-<class>-vs-rest"``.
    """
    return sorted(recipes())


def load(
    name: str,
    *,
    subset: Literal["train", "test", "all"] = "train",
    positive: str | int | None = None,
    negative: str | int | None = None,
    dtype: DTypeLike = np.float64,
) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`names`, or a binary task of it like ``"mnist-7-vs-9"``, ``"covertype-2-vs-rest"``
        or ``"cifar10-deer-vs-airplane"``.
    subset : {"train", "test", "all"}, default="train"
        Data sets without a predefined split are split 4 : 1 at random, with ``default_rng(0)``.
    positive, negative : str or int, optional
        Binary task as arguments: the class labelled 1, and the class labelled −1. By default the negative class
        is all other classes.
    dtype : float64 or float32, default=float64
        Dtype of ``X``.

    Raises
    ------
    DatasetNotFound
        If the name is unknown, or the data set is neither in the folder ``SGDONE_DATA`` nor can be fetched.

    Examples
    --------
    >>> data = load("digits-3-vs-8", subset="test")
    >>> data.X.shape, data.target_names
    ((58, 64), ['8', '3'])
    >>> load("digits", subset="test", positive=3, negative=8).X.shape
    (58, 64)
    """
    if subset not in ("train", "test", "all"):
        raise ValueError(f"subset={subset!r} is none of 'train', 'test', 'all'")
    recipe, task = parse(name)
    if positive is not None or negative is not None:
        if task is not None or positive is None:
            raise ValueError(
                f"the binary task is ambiguous: name={name!r}, positive={positive!r}, negative={negative!r}. "
                "Give it either in the name or with positive="
            )
        task = (str(positive), None if negative is None else str(negative))
    elif task is None and recipe.positive is not None:
        task = (recipe.positive, None)
    if task is not None and recipe.task == "regression":
        raise ValueError(f"{recipe.name} is a regression data set: it has no classes")
    split = find(recipe)
    if task is not None:
        split = (recipe.choose or choose_classes)(split, *task)
    rows = _rows(split, subset, recipe)
    X, feature_names = rows.X, split.feature_names
    if recipe.featurize is not None:
        X, feature_names = recipe.featurize(split.train, rows)
    label_type = np.int64 if recipe.task == "classification" else np.float64
    return Dataset(
        X=_numbers(X, dtype),
        y=np.asarray(rows.y, dtype=label_type),
        feature_names=None if feature_names is None else list(feature_names),
        target_names=None if split.target_names is None else list(split.target_names),
        name=name,
        task=recipe.task,
        description=recipe.description,
    )


def _rows(split: Split, subset: str, recipe: Recipe) -> Table:
    if subset == "train" or (subset == "all" and split.test is None):
        return split.train
    if split.test is None:
        raise ValueError(f"{recipe.name} has no test rows, because the papers use all rows: load 'train' or 'all'")
    if subset == "test":
        return split.test
    together = sparse.vstack if sparse.issparse(split.train.X) else np.concatenate
    X = together([split.train.X, split.test.X])
    return Table(X, np.concatenate([split.train.y, split.test.y]))


def _numbers(X: Any, dtype: DTypeLike) -> Any:
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=dtype)
    rows = sparse.csr_array(X.astype(dtype))
    rows.sort_indices()
    if max(rows.nnz, *rows.shape) < np.iinfo(np.int32).max:
        rows.indices = rows.indices.astype(np.int32, copy=False)
        rows.indptr = rows.indptr.astype(np.int32, copy=False)
    return rows
