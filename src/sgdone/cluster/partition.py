"""The rows of one partition, as the rounds of a fit need them."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sgdone.cluster.label_coding import ClassWeights, LabelCoding
from sgdone.estimators.labels import plain_labels
from sgdone.matrices.masked_arrays import refuse_masked
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.readers.row_places import Place
from sgdone.readers.table import errors_located, shortened
from sgdone.rows.arrays import ArraySource
from sgdone.rows.block_maker import rows_of
from sgdone.rows.column_roles import roles_of_features
from sgdone.rows.rows import aligned
from sgdone.rows.source import Block
from sgdone.sums.row_sum import MemoryRows
from sgdone.tables import TableEncoderCore, arrow_table, is_frame

Array = NDArray[np.float64]


@final
class Partition:
    """Rows with their labels and weights, and values cached from earlier rounds.

    The cache never changes a result: a worker that is lost, or that caches nothing, computes the same bits again.

    Parameters
    ----------
    number : int
        Place among the partitions, counted from 0.
    X : array, sparse matrix, MixedMatrix or data frame of shape (n_rows, n_features)
        Features, or a table that is yet to be `encoded`.
    y : array of shape (n_rows,)
        Classes or targets.
    sample_weight : array of shape (n_rows,), optional
        Weights, as frequencies.
    names : sequence of str, optional
        Names of the columns, which must be the same in all partitions.
    roles : array of int32, optional
        Role of each column, as in `sgdone.rows.column_roles`.
    groups : array of shape (n_rows,), optional
        The group of each row, for standard errors of rows that are not independent.

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
        groups: ArrayLike | None = None,
    ) -> None:
        self.number, self.fault = number, ""
        self.X, self.y = aligned(_matrix(X)), aligned(_labels(y))
        self.names, self.roles = None if names is None else list(names), roles
        self.sample_weight = None if sample_weight is None else aligned(np.asarray(sample_weight, dtype=np.float64))
        if self.y.ndim != 1 or self.y.size != self.X.shape[0]:
            raise ValueError(f"X has {self.X.shape[0]:,} rows, but y has the shape {self.y.shape}")
        if self.sample_weight is not None and self.sample_weight.shape != self.y.shape:
            raise ValueError(f"X has {self.y.size:,} rows, but sample_weight has the shape {self.sample_weight.shape}")
        self.groups = None if groups is None else plain_labels(np.asarray(groups))
        if self.groups is not None and self.groups.shape != self.y.shape:
            raise ValueError(f"X has {self.y.size:,} rows, but groups has the shape {self.groups.shape}")
        #: Rows that are not trained on, for scores, and the number of rows that were left out without a label.
        self.held_out: Partition | None = None
        self.unlabelled = 0
        #: Maps a row to its place in a file; None for rows that are not from files.
        self.place: Place | None = None
        self._forget()

    @classmethod
    def of(cls, number: int, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> "Partition":
        """A partition, or one that says in its ``fault`` why these rows cannot be used."""
        try:
            return cls(number, X, y, sample_weight, groups=groups)
        except (TypeError, ValueError) as error:
            return cls.failed(number, str(error))

    @classmethod
    def failed(cls, number: int, fault: str) -> "Partition":
        """A partition without rows, which answers each request with a fault."""
        made = cls(number, np.empty((0, 1)), np.empty(0))
        made.fault = fault
        return made

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling, without values that can be computed again."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The arrays of a partition that has been sent lie anywhere in a message.
        self.__dict__.update({name: aligned(value) for name, value in state.items()})
        self._forget()

    def _forget(self) -> None:
        self._labelled: tuple[LabelCoding, ArraySource, MemoryRows] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, and about as many for a copy in the units of training."""
        parts: list[Any] = [self.X.dense, self.X.sparse] if isinstance(self.X, MixedMatrix) else [self.X]
        sizes = [
            sum(own.nbytes for own in (part.data, part.indices, part.indptr))
            if hasattr(part, "indptr")
            else part.nbytes
            for part in parts
        ]
        weight = 0 if self.sample_weight is None else self.sample_weight.nbytes
        return int(2 * sum(sizes) + self.y.nbytes + weight)

    @property
    def is_table(self) -> bool:
        """Whether the rows are a table that is not encoded."""
        return isinstance(self.X, pa.Table)

    @property
    def is_empty(self) -> bool:
        """Whether no row has a positive weight."""
        weight = self.sample_weight
        return self.n_rows == 0 or (weight is not None and not np.any(weight != 0))

    def encoded(self, encoder: TableEncoderCore) -> "Partition":
        """The partition with features instead of a table, by the encoder of all partitions."""
        if self.fault or self.n_rows == 0:
            return self
        try:
            with errors_located(self.place):
                rows = rows_of(encoder.encode(self.X))
        except (TypeError, ValueError) as error:
            return Partition.failed(self.number, str(error))
        roles = roles_of_features(encoder.n_dense_, encoder.texts())
        made = Partition(self.number, rows, self.y, self.sample_weight, roles=roles, groups=self.groups)
        made.held_out = None if self.held_out is None else self.held_out.encoded(encoder)
        made.unlabelled, made.place = self.unlabelled, self.place
        return made

    def weights(self, class_weights: ClassWeights | None) -> Array | None:
        """Sample weights times those of the classes."""
        if class_weights is None:
            return self.sample_weight
        found = class_weights.of(self.y)
        return found if self.sample_weight is None else found * self.sample_weight

    def block_of(self, labels: Array, class_weights: ClassWeights | None = None) -> Block:
        """All rows, with other labels; raise for weights and labels that cannot be used."""
        return self._block(self._source_of(labels, class_weights))

    def source(self, coding: LabelCoding) -> ArraySource:
        """The rows in random order, a block at a time, with their labels."""
        return self._with_labels(coding)[0]

    def labelled(self, coding: LabelCoding) -> MemoryRows:
        """The rows with their labels, for sums; those with the last labels are cached."""
        return self._with_labels(coding)[1]

    def _with_labels(self, coding: LabelCoding) -> tuple[ArraySource, MemoryRows]:
        if self._labelled is None or not self._labelled[0].is_same(coding):
            source = self._source_of(coding.labels(self.y), coding.class_weights)
            self._labelled = coding, source, MemoryRows(self._block(source))
        return self._labelled[1:]

    def _block(self, source: ArraySource) -> Block:
        rows = np.arange(self.n_rows, dtype=np.uint64)
        return Block(source.rows, source.labels, source.sample_weight, rows, rows)

    def _source_of(self, labels: Array, class_weights: ClassWeights | None) -> ArraySource:
        weights = self.weights(class_weights)
        return ArraySource(self.X, labels, weights, feature_names=self.names, roles=self.roles)


def _labels(y: Any) -> NDArray[Any]:
    """Labels as a one-dimensional array, also if they are a single column."""
    refuse_masked("y", y)
    labels = plain_labels(np.asarray(y))
    if labels.dtype.kind not in "biufOU":
        raise ValueError(f"y holds values of type {labels.dtype}: use numbers or text")
    return labels.ravel() if labels.ndim == 2 and labels.shape[1] == 1 else labels


def _matrix(X: Any) -> Any:
    """A matrix as the loops read it: C-contiguous, CSR or mixed, of float32 or float64; or an Arrow table."""
    if isinstance(X, MixedMatrix):
        return X
    if is_frame(X):
        return arrow_table(X)
    if sparse.issparse(X):
        given: Any = X
        rows = given.tocsr()
        return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
    refuse_masked("X", X)
    array = np.asarray(X)
    if array.dtype.kind not in "biufOUS":
        raise ValueError(f"X holds values of type {array.dtype}: convert them to numbers, or give a data frame")
    if array.ndim != 2:
        raise ValueError(f"X must have two dimensions; got an array of shape {array.shape}")
    if array.dtype.kind not in "biuf":
        array = _numbers(array)
    return np.ascontiguousarray(array, dtype=None if array.dtype in (np.float32, np.float64) else np.float64)


def _numbers(array: NDArray[Any]) -> Array:
    """Objects or texts as numbers; raise for the first cell that is none."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        for row, cells in enumerate(array.tolist()):
            for column, cell in enumerate(cells):
                try:
                    float(cell)
                except (TypeError, ValueError):
                    raise ValueError(
                        f"row {row} of X holds {shortened(repr(cell))} in column {column}, which is no number: give a "
                        "data frame, whose columns are encoded"
                    ) from None
        raise
