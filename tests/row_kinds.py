"""The same rows wherever they can be: in memory, in blocks that are read again, and in partitions.

Each kind of rows can fit a default estimator and can answer sums. Tests of fits and of sums run over all kinds; a new
kind of rows is one more line of `KINDS`.
"""

import tempfile
from abc import ABC, abstractmethod
from typing import final

import numpy as np
import pytest
from scipy import sparse

from cluster_fits import fit_model
from sgdone import LinearClassifier, LinearRegressor, batches
from sgdone.cluster import LocalEngine, Partition, Rounds
from sgdone.cluster.partition import LabelCoding
from sgdone.cluster.partition_source import PartitionSource
from sgdone.cluster.statistics import Statistics
from sgdone.matrices.mixed_matrix import with_dense_columns
from sgdone.newton import exact_phase
from sgdone.readers import row_input
from sgdone.rows import ArraySource
from sgdone.rows.block_source import BlockSource
from sgdone.rows.blocks import ArrayBlocks, ColumnNumbers
from sgdone.sums.row_sum import DiskRows, MemoryRows
from tiers import slow

#: Columns of numbers in `rows_of`; the others have many zeros.
N_DENSE = 2
TASKS = ["two classes", "three classes", "regression"]
STORAGES = {
    "dense": np.ascontiguousarray,
    "sparse": sparse.csr_array,
    "mixed": lambda X: with_dense_columns(X, N_DENSE),
}


class RowKind(ABC):
    """A place for rows, and how they are stored there."""

    #: Largest difference of a score from that at the exact optimum.
    tolerance = 1e-4
    #: Whether the fit can weigh the classes by their frequencies.
    balances = True

    def __init__(self, storage):
        self.storage = storage
        self.matrix = STORAGES[storage]

    @abstractmethod
    def fit(self, model, X, y, weights=None):
        """Return the estimator, fitted to these rows, which are given as a dense array."""

    @abstractmethod
    def sums(self, X, labels, weights):
        """Rows that answer sums; labels are −1 and 1, or targets."""

    @abstractmethod
    def place(self, row, column, n_rows, value):
        """The words by which an error names a cell that holds NaN or infinity."""

    def units(self, X, weights=None):
        """The units in which coefficients are penalised: the scale and the shift of each column."""
        weights = np.ones(len(X)) if weights is None else weights
        means = np.average(X, axis=0, weights=weights)
        spreads = np.sqrt(np.average((X - means) ** 2, axis=0, weights=weights))
        counts = weights @ (X != 0)
        sizes = np.sqrt(weights @ X**2 / counts)
        rarity = 1.0 + np.log((1.0 + weights.sum()) / (1.0 + counts))
        dense = np.arange(X.shape[1]) < {"dense": X.shape[1], "sparse": 0, "mixed": N_DENSE}[self.storage]
        return np.where(dense, spreads, sizes / rarity), np.where(dense, means, 0.0)


@final
class InMemory(RowKind):
    """Rows that are given as a matrix."""

    def fit(self, model, X, y, weights=None):
        return model.fit(self.matrix(X), y, sample_weight=weights)

    def sums(self, X, labels, weights):
        source = ArraySource(self.matrix(X), labels, weights, shuffle=False)
        return MemoryRows(next(source.blocks(np.random.default_rng(0))), threads=2)

    def place(self, row, column, n_rows, value):
        return f"row {row} of X holds {value} in column {column}"


@final
class InBlocks(RowKind):
    """Batches of which few are kept in memory: they are cached on disk, and read again block by block."""

    #: The units are those of the training rows.
    tolerance = 0.05
    balances = False
    size = 150

    def fit(self, model, X, y, weights=None):
        columns = [self.matrix(X), np.asarray(y), *([] if weights is None else [np.asarray(weights, float)])]
        parts = (
            tuple(own[first : first + self.size] for own in columns) for first in range(0, max(1, len(y)), self.size)
        )
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_input, "IN_MEMORY", 0.0)
            # Reading takes so long that the exact phase always pays, as with many more rows.
            patch.setattr(exact_phase, "reading_work", lambda *arguments: np.inf)
            return model.fit(batches(parts, cache=folder))

    def sums(self, X, labels, weights):
        known = ColumnNumbers(np.arange(X.shape[1]), X.shape[1])  # columns keep their places
        blocks = ArrayBlocks(self.matrix(X), labels, weights, numbers=known)
        source = BlockSource(blocks.in_order, blocks, seed=0, shuffle=False)
        for _ in source.blocks(np.random.default_rng(0)):
            pass
        return DiskRows(source)

    def place(self, row, column, n_rows, value):
        return f"batch {row // self.size}, row {row % self.size}, column {column} is {value.lower()[:3]}"


@final
class InPartitions(RowKind):
    """Partitions of unequal sizes, one of them empty."""

    def _rows(self, n_rows):
        """The rows of each partition."""
        return np.split(np.arange(n_rows), [n_rows // 10, n_rows // 10, n_rows // 2])

    def _partitions(self, X, y, weights):
        return LocalEngine(
            Partition(number, self.matrix(X[rows]), y[rows], None if weights is None else weights[rows])
            for number, rows in enumerate(self._rows(len(y)))
        )

    def fit(self, model, X, y, weights=None):
        y = np.asarray(y)
        fit_model(model, self._partitions(X, y, None if weights is None else np.asarray(weights, float)))
        return model

    def sums(self, X, labels, weights):
        classes = np.unique(labels)
        task, coding = ("regression", None) if classes.size > 3 else ("classification", classes)
        rounds = Rounds(self._partitions(X, labels, weights))
        return PartitionSource(rounds, LabelCoding(coding), rounds.sum(Statistics(task)))

    def place(self, row, column, n_rows, value):
        (number,) = [number for number, rows in enumerate(self._rows(n_rows)) if row in rows]
        return f"partition {number}: row {row - self._rows(n_rows)[number][0]} of X holds {value} in column {column}"


KINDS = {
    "in memory, dense": InMemory("dense"),
    "in memory, sparse": InMemory("sparse"),
    "in memory, mixed": InMemory("mixed"),
    "in blocks, dense": InBlocks("dense"),
    "in blocks, sparse": InBlocks("sparse"),
    "in partitions, dense": InPartitions("dense"),
    "in partitions, mixed": InPartitions("mixed"),
}
#: Kinds, and tasks of kinds, whose fits need loops that no other fast test compiles.
SLOW = {"in blocks, sparse", "in partitions, mixed", ("in blocks, dense", "three classes")}
#: A test with an argument `kind` runs for every kind of rows.
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
#: The same for fits, of two classes if the test has no tasks.
every_fit = pytest.mark.parametrize(
    "kind", [pytest.param(kind, id=name, marks=[slow] * (name in SLOW)) for name, kind in KINDS.items()]
)
every_fit_and_task = pytest.mark.parametrize(
    ("kind", "task"),
    [
        pytest.param(kind, task, id=f"{name}, {task}", marks=[slow] * (name in SLOW or (name, task) in SLOW))
        for name, kind in KINDS.items()
        for task in TASKS
    ],
)


def rows_of(task, n_rows=900, seed=0):
    """Two columns of numbers in different units, three columns with zeros, and labels that depend on all of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 5))
    X[:, N_DENSE:] *= rng.random((n_rows, 3)) < [0.5, 0.3, 0.2]
    scores = X @ [1.0, -0.7, 0.8, -1.0, 0.5]
    X[:, 0] = 30.0 * X[:, 0] - 100.0
    noisy = scores + rng.logistic(size=n_rows)
    y = {"two classes": noisy > 0, "three classes": np.digitize(noisy, [-1.0, 1.0]), "regression": noisy}[task]
    return X, y.astype(int) if task == "two classes" else y


def estimator(task, **options):
    make = LinearRegressor if task == "regression" else LinearClassifier
    return make(**{"random_state": 0} | options)


def scores_of(model, X):
    """Scores of classes, or predicted numbers."""
    return model.predict(X) if isinstance(model, LinearRegressor) else model.decision_function(X)
