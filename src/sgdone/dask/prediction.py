"""Predictions on Dask's collections: lazy, block by block."""

from typing import Any

import dask
import numpy as np

from sgdone.cluster import Partition
from sgdone.cluster.scores import ScoreSums, score_sums
from sgdone.dask.collections import delayed_partitions, is_array, is_delayed_list, is_frame, whole_rows
from sgdone.sums.row_sum import merged


def predicted(model: Any, method: str, X: Any) -> Any:
    """What a method of a fitted estimator predicts for the rows of X, not computed yet.

    The result is an array, a series or data frame with the index of ``X``, or a list of delayed arrays. Data in memory
    are predicted at once.
    """
    if is_array(X):
        rows, example = whole_rows(X), _example(model, method)
        shape = {"drop_axis": 1} if example.ndim == 1 else {"chunks": (rows.chunks[0], (example.shape[1],))}
        own = {"model": dask.delayed(model), "method": method, "meta": example, "dtype": example.dtype}
        return rows.map_blocks(_of_block, **own, **shape)
    if is_frame(X):
        meta = _framed(model, _example(model, method, n_rows=1), None).iloc[:0]
        return X.map_partitions(_of_partition, model=dask.delayed(model), method=method, meta=meta)
    if is_delayed_list(X):
        sent = dask.delayed(model)
        return [dask.delayed(_of_part)(part, sent, method) for part in X]
    return getattr(model, method)(X)


def score(model: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """Accuracy, or R² of a regression, over all partitions."""
    sent = dask.delayed(model)
    make = dask.delayed(_score_sums, pure=False)
    found = dask.compute(*(make(sent, part) for part in delayed_partitions(X, y, sample_weight)))
    sums = [part for part in found if part is not None]
    if not sums:
        raise ValueError("X has no rows of positive weight: there is nothing to score")
    total: ScoreSums = merged(sums)
    return total.score


def _score_sums(model: Any, partition: Partition) -> ScoreSums | None:
    if partition.fault:
        raise ValueError(f"partition {partition.number}: {partition.fault}")
    return None if partition.is_empty else score_sums(model, partition)


def _of_block(block: Any, model: Any, method: str) -> Any:
    if block.shape[0] == 0:
        return _example(model, method)
    return getattr(model, method)(block)


def _of_partition(frame: Any, model: Any, method: str) -> Any:
    return _framed(model, _of_block(frame, model, method), frame.index)


def _of_part(part: Any, model: Any, method: str) -> Any:
    return _of_block(part[0] if isinstance(part, (tuple, list)) else part, model, method)


def _framed(model: Any, found: Any, index: Any) -> Any:
    """Predictions as a series, or as a data frame with a column for each class."""
    import pandas as pd

    if found.ndim == 1:
        return pd.Series(found, index=index)
    return pd.DataFrame(found, index=index, columns=model.classes_.tolist())


def _example(model: Any, method: str, n_rows: int = 0) -> Any:
    """Predictions of no rows, or of some."""
    n_outputs = np.atleast_2d(model.coef_).shape[0]
    if method == "predict":
        return model.classes_[:n_rows] if hasattr(model, "classes_") else np.zeros(n_rows)
    if method == "decision_function":
        return np.zeros(n_rows) if n_outputs == 1 else np.zeros((n_rows, n_outputs))
    return np.zeros((n_rows, model.classes_.size))
