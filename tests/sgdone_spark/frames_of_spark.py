"""Data frames of Spark in given partitions, and the same partitions without Spark."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.sql import types as T  # noqa: N812  # as in Spark's documentation

from cluster_fits import fit_model
from sgdone.cluster import LocalEngine

#: What PySpark says of itself: of pandas 3, and of sockets that it leaves to the garbage collector.
spark_warnings = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


def frame_of(spark, rows, schema, sizes):
    """A data frame whose partitions have rows of these numbers, in their order."""
    numbered = T.StructType([*schema.fields, T.StructField("row", T.LongType())])
    parts = [
        spark.createDataFrame([(*row, k) for k, row in enumerate(rows[own])], numbered)
        .coalesce(1)
        .sortWithinPartitions("row")
        .drop("row")
        for own in slices(sizes)
    ]
    frame = reduce(lambda first, second: first.union(second), parts)
    assert frame.rdd.getNumPartitions() == len(sizes)
    return frame


def slices(sizes):
    """The rows of each partition."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def fitted_here(model, partitions):
    """An estimator without Spark, fitted to the partitions in this process."""
    fit_model(model, LocalEngine(partitions))
    return model


def logistic_rows(n_rows, n_features=4, seed=0):
    """Columns of very different units, and labels that they explain in part."""
    rng = np.random.default_rng(seed)
    units = np.logspace(-1, 2, n_features)
    Z = rng.standard_normal((n_rows, n_features))
    scores = Z @ rng.standard_normal(n_features) + 0.5
    return Z * units + 3.0 * units, np.where(rng.random(n_rows) < 1 / (1 + np.exp(-scores)), "yes", "no")
