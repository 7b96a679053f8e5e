"""The rows of one partition, as the rounds of a fit need them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sgdone.cluster.problem import Problem
from sgdone.data.arrays import ArraySource
from sgdone.data.mixed_matrix import MixedMatrix
from sgdone.data.row_hash import row_hashes
from sgdone.data.source import Block
from sgdone.sums.pieces import Pieces
from sgdone.sums.second_order import curvature_products

Array = NDArray[np.float64]
#: All rows, those without the validation rows, or the validation rows alone.
RowSet = Literal["all", "training", "validation"]

#: Rows whose hash is below this, a tenth of all, are validation rows.
_TENTH = np.uint64((1 << 64) // 10)


@final
class Partition:
    """Rows with their labels and weights, and what was computed from them in earlier rounds.

    What is kept never changes a result: a worker that is lost, or that keeps nothing, computes the same bits again.

    Parameters
    ----------
    number : int
        Place among the partitions, counted from 0.
    X : array, sparse matrix or MixedMatrix of shape (n_rows, n_features)
        Features.
    y : array of shape (n_rows,)
        Classes or targets.
    sample_weight : array of shape (n_rows,), optional
        Weights, as frequencies.
    names : sequence of str, optional
        Names of the columns, which must be the same in all partitions.
    roles : array of int32, optional
        What each column is part of, as in `sgdone.data.column_roles`.

    Examples
    --------
    >>> Partition(0, [[1, 2], [3, 4]], ["a", "b"]).n_rows
    2
    """

    def __init__(
        self,
        number: int,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        roles: NDArray[np.int32] | None = None,
    ) -> None:
        self.number, self.X, self.y = number, _matrix(X), np.asarray(y)
        self.names, self.roles = None if names is None else list(names), roles
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if self.y.ndim != 1 or self.y.size != self.X.shape[0]:
            raise ValueError(f"X has {self.X.shape[0]:,} rows, but y has the shape {self.y.shape}")
        if self.sample_weight is not None and self.sample_weight.shape != self.y.shape:
            raise ValueError(f"X has {self.y.size:,} rows, but sample_weight has the shape {self.sample_weight.shape}")
        self._source: tuple[NDArray[Any] | None, ArraySource] | None = None
        self._pieces: dict[RowSet, tuple[Problem, Pieces]] = {}
        self._products: tuple[Pieces, Array, Callable[[Array], Array]] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def is_empty(self) -> bool:
        """Whether no row has a positive weight."""
        weight = self.sample_weight
        return self.n_rows == 0 or (weight is not None and not np.any(weight != 0))

    def block_of(self, labels: Array) -> Block:
        """All rows, with other labels; raise for weights and labels that cannot be used."""
        source = self._source_of(labels)
        rows = np.arange(self.n_rows, dtype=np.uint64)
        return Block(source.rows, source.labels, source.sample_weight, rows, rows)

    def source(self, problem: Problem) -> ArraySource:
        """The rows in random order, a block at a time, with the labels of a problem."""
        known = self._source
        if known is None or not _same(known[0], problem.classes):
            known = self._source = problem.classes, self._source_of(problem.labels(self.y))
        return known[1]

    def pieces(self, problem: Problem, rows: RowSet, key: int) -> Pieces:
        """Rows in the units of a problem; ``key`` draws the validation rows."""
        known = self._pieces.get(rows)
        if known is not None and _is_same_problem(known[0], problem):
            return known[1]
        source = self.source(problem)
        block = self.block_of(source.labels)
        if rows != "all":
            chosen = row_hashes(self.X, key) < _TENTH
            keep = chosen if rows == "validation" else ~chosen
            weights = np.where(keep, np.broadcast_to(block.sample_weight, keep.shape), 0.0)
            block = replace(block, sample_weight=weights)
        made = Pieces(block, problem.scaling)
        self._pieces[rows] = problem, made
        return made

    def products(self, problem: Problem, pieces: Pieces, model: Array) -> Callable[[Array], Array]:
        """The function u ↦ Hu at a model."""
        known = self._products
        if known is None or known[0] is not pieces or not np.array_equal(known[1], model):
            known = self._products = pieces, model, curvature_products(problem.objective, pieces, model)
        return known[2]

    def _source_of(self, labels: Array) -> ArraySource:
        return ArraySource(self.X, labels, self.sample_weight, feature_names=self.names, roles=self.roles)


def _matrix(X: Any) -> Any:
    """A matrix as the loops read it: C-contiguous, CSR or mixed, of float32 or float64."""
    if isinstance(X, MixedMatrix):
        return X
    if sparse.issparse(X):
        given: Any = X
        rows = given.tocsr()
        return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must have two dimensions; got an array of shape {array.shape}")
    return np.ascontiguousarray(array, dtype=None if array.dtype in (np.float32, np.float64) else np.float64)


def _same(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    return first is second if first is None or second is None else np.array_equal(first, second)


def _is_same_problem(first: Problem, second: Problem) -> bool:
    """Whether rows have the same labels and units."""
    scaling, other = first.scaling, second.scaling
    units = np.array_equal(scaling.scale, other.scale) and _same(scaling.shift, other.shift)
    return units and _same(first.classes, second.classes)
