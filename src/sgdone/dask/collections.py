"""Dask's collections as partitions: arrays, data frames, and lists of delayed parts."""

from collections.abc import Sequence
from typing import Any

import dask
import numpy as np
from dask import array as da
from dask.delayed import Delayed

from sgdone.cluster import Partition

_KINDS = "a dask array, a dask data frame, or a list of delayed (X, y)"


def is_array(X: Any) -> bool:
    """Whether it is a dask array."""
    return isinstance(X, da.Array)


def is_frame(X: Any) -> bool:
    """Whether it is a data frame or a series of Dask."""
    return bool(dask.is_dask_collection(X)) and hasattr(X, "npartitions") and hasattr(X, "divisions")


def is_delayed_list(X: Any) -> bool:
    """Whether it is a list of delayed parts, or of tuples of them."""
    if not isinstance(X, (list, tuple)) or not X:
        return False
    return all(isinstance(part[0] if isinstance(part, (tuple, list)) and part else part, Delayed) for part in X)


def delayed_partitions(X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> list[Delayed]:
    """Partitions, each made where its rows are; raise for collections that do not fit together.

    A list has delayed tuples ``(X, y)`` or ``(X, y, sample_weight)``, or tuples of delayed arrays.
    """
    if is_delayed_list(X):
        if any(values is not None for values in (y, sample_weight, groups)):
            raise ValueError("a list of delayed parts has its labels and weights: give (X, y) or (X, y, sample_weight)")
        make = dask.delayed(_partition_of_tuple, pure=False)
        return [make(number, part) for number, part in enumerate(X)]
    rows = _blocks_of_rows(X)
    if y is None:
        raise ValueError("y is missing: give the labels, one for each row of X")
    further = [
        [None] * len(rows) if values is None else _blocks_like(name, values, X, len(rows))
        for name, values in (("y", y), ("sample_weight", sample_weight), ("groups", groups))
    ]
    make = dask.delayed(Partition.of, pure=False)
    return [make(number, *parts) for number, parts in enumerate(zip(rows, *further, strict=True))]


def whole_rows(X: Any) -> Any:
    """A dask array with all columns in one chunk."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions; got a dask array of shape {X.shape}")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _blocks_of_rows(X: Any) -> list[Any]:
    """Parts of rows, not computed yet."""
    if is_array(X):
        return list(whole_rows(X).to_delayed().ravel())
    if is_frame(X):
        if not hasattr(X, "columns"):
            raise ValueError("X is a dask series: give a data frame, as X.to_frame()")
        return list(X.to_delayed())
    given = "an empty list" if isinstance(X, (list, tuple)) and not X else f"a {type(X).__name__}"
    raise TypeError(f"X is {given}: give {_KINDS}; for data in memory use the estimators of sgdone itself")


def _blocks_like(name: str, values: Any, X: Any, n_parts: int) -> list[Any]:
    """Labels or weights in the parts of X."""
    sizes: tuple[Any, ...] = X.chunks[0] if is_array(X) else (np.nan,)
    known = not any(np.isnan(sizes))
    if is_array(values):
        if values.ndim != 1:
            raise ValueError(f"{name} must have one dimension; got a dask array of shape {values.shape}")
        if known and not any(np.isnan(values.chunks[0])):
            _check_length(name, values.shape[0], sum(sizes))
            values = values.rechunk((sizes,))
        parts = list(values.to_delayed().ravel())
    elif is_frame(values):
        parts = list(values.to_delayed())
    elif dask.is_dask_collection(values):
        raise TypeError(f"{name} is a {type(values).__name__}: give a dask array or series")
    elif known:
        array = np.asarray(values)
        _check_length(name, array.shape[0] if array.ndim else 0, sum(sizes))
        parts = np.split(array, np.cumsum(sizes)[:-1])
    else:
        raise TypeError(
            f"{name} is a {type(values).__name__}, and the numbers of rows of X are not known: give a dask array or "
            "series with the partitions of X"
        )
    if len(parts) != n_parts:
        raise ValueError(
            f"X has {n_parts} partitions, but {name} has {len(parts)}: both need the same partitions, as after "
            f"{name}.repartition or {name}.rechunk"
        )
    return parts


def _check_length(name: str, found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"X has {int(expected):,} rows, but {name} has {int(found):,}")


def _partition_of_tuple(number: int, part: Any) -> Partition:
    """A partition of a tuple that a delayed function made."""
    if not isinstance(part, Sequence) or isinstance(part, str) or len(part) not in (2, 3):
        found = f"{len(part)} items" if isinstance(part, (tuple, list)) else f"a {type(part).__name__}"
        return Partition.failed(number, f"expected (X, y) or (X, y, sample_weight), found {found}")
    return Partition.of(number, *part)
