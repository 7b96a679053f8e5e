"""Rows of one partition with their labels, read from files and prepared, as the rounds of a fit need them."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sgdone.fit.hold_out import FEWEST_DIFFERENT, Hashes, RowChoice, below, first_rows, held_out_share
from sgdone.fit.labels import encode_known, plain_labels, signs
from sgdone.losses.learning_task import Task
from sgdone.matrices.mixed_matrix import MixedMatrix, arrays_of
from sgdone.matrices.stacking import widened
from sgdone.readers.file_parts import FilePart
from sgdone.readers.locations import Place
from sgdone.readers.table import DataError, Table, errors_located, shortened
from sgdone.rows.blocks import rows_of
from sgdone.rows.faults import as_classes, refuse_masked
from sgdone.rows.rows import Block, aligned, roles_of_features
from sgdone.rows.source import ArraySource
from sgdone.sums.row_sum import MemoryRows, RowSum, message
from sgdone.tables import TableEncoding, arrow_table, is_frame

Array = NDArray[np.float64]


@final
@message
@dataclass(frozen=True)
class ClassWeights:
    """Weights of classes: ``values[k]`` is that of ``classes[k]``, and other classes have 1."""

    classes: NDArray[Any]
    values: Array

    def of(self, y: NDArray[Any]) -> Array:
        """The weight of each label."""
        found = np.ones(y.size)
        for label, value in zip(self.classes.tolist(), self.values.tolist(), strict=True):
            found[y == label] = value
        return found


@final
@message
@dataclass(frozen=True)
class LabelCoding:
    """Conversion of labels and sample weights to those of the sums; ``classes`` are sorted, None in regression.

    Examples
    --------
    >>> LabelCoding(np.array(["no", "yes"])).labels(np.array(["yes", "no"]))
    array([ 1., -1.])
    """

    classes: NDArray[Any] | None
    class_weights: ClassWeights | None = None

    def labels(self, y: NDArray[Any]) -> Array:
        """Labels as the sums need them: −1 and 1, class numbers, or targets."""
        if self.classes is None:
            return np.ascontiguousarray(y, dtype=np.float64)
        numbers = encode_known(y, self.classes)
        return signs(numbers, 1) if self.classes.size == 2 else numbers.astype(np.float64)

    def is_same(self, other: "LabelCoding") -> bool:
        """Whether rows have the same labels and weights in both."""
        return self is other or all(map(np.array_equal, self._arrays(), other._arrays()))

    def _arrays(self) -> list[Any]:
        weights = self.class_weights
        return [self.classes, *((None, None) if weights is None else (weights.classes, weights.values))]


@final
class Partition:
    """Rows of a `Table` as a part of a fit: with a number, groups, held-out rows, and values of earlier rounds.

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
        groups: ArrayLike | None = None,
    ) -> None:
        self.number, self.fault = number, ""
        #: Rows that are not trained on, for scores; further facts as in `Table`.
        self.held_out: Partition | None = None
        self.unlabelled = 0
        self.place: Place | None = None
        self.X, self.y = aligned(_matrix(X)), aligned(_labels(y))
        self.names = None if names is None else list(names)
        #: Role of each column, as in `sgdone.rows.rows.ENTRIES`.
        self.roles: NDArray[np.int32] | None = None
        self.sample_weight = None if sample_weight is None else aligned(np.asarray(sample_weight, dtype=np.float64))
        self.groups = None if groups is None else plain_labels(np.asarray(groups))
        for name in ("y", "sample_weight", "groups"):
            values = getattr(self, name)
            if values is not None and values.shape != (self.n_rows,):
                raise ValueError(f"X has {self.n_rows:,} rows, but {name} has the shape {values.shape}")
        self._labelled: tuple[LabelCoding, ArraySource, MemoryRows] | None = None

    @classmethod
    def of_table(cls, number: int, table: Table, held_out: "Partition | None" = None) -> "Partition":
        """The rows of a table, which must have labels."""
        made = cls(number, table.X, table.labels, table.weights)
        made.held_out, made.unlabelled, made.place = held_out, table.unlabelled, table.place
        return made

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

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> "Partition":
        """The partition that has this state."""
        made = cls.__new__(cls)
        made.__setstate__(state)
        return made

    def changed(self, **values: Any) -> "Partition":
        """The partition with other values of some attributes."""
        return Partition.of_state(self.__getstate__() | values)

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling, without values that can be computed again."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The arrays of a partition that has been sent lie anywhere in a message.
        self.__dict__.update({name: aligned(value) for name, value in state.items()})
        self._labelled = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, and about as many for a copy in the units of training."""
        weight = 0 if self.sample_weight is None else self.sample_weight.nbytes
        return int(2 * sum(part.nbytes for part in arrays_of(self.X)) + self.y.nbytes + weight)

    @property
    def is_table(self) -> bool:
        """Whether the rows are a table that is not encoded."""
        return isinstance(self.X, pa.Table)

    @property
    def is_empty(self) -> bool:
        """Whether no row has a positive weight."""
        weight = self.sample_weight
        return self.n_rows == 0 or (weight is not None and not np.any(weight != 0))

    def encoded(self, encoder: TableEncoding) -> "Partition":
        """The partition with features instead of a table, by the encoder of all partitions."""
        if self.fault or self.n_rows == 0:
            return self
        try:
            with errors_located(self.place):
                rows = rows_of(encoder.encode(self.X))
        except (TypeError, ValueError) as error:
            return Partition.failed(self.number, str(error))
        roles = roles_of_features(encoder.n_dense_, encoder.texts())
        held_out = None if self.held_out is None else self.held_out.encoded(encoder)
        return self.changed(X=_matrix(rows), names=None, roles=roles, held_out=held_out)

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
        return Block.of(source.rows, source.labels, source.sample_weight)

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


def read_partition(number: int, part: FilePart) -> Partition:
    """Read a part of a file; a part that cannot be read has the reason, with file and row, as its ``fault``."""
    try:
        return Partition.of_table(number, part.read())
    except (MemoryError, OSError, TypeError, ValueError) as error:
        return Partition.failed(number, _fault(part, error))


def _fault(part: FilePart, error: Exception) -> str:
    text = str(error) if isinstance(error, DataError) else f"{part}: {str(error) or type(error).__name__}"
    if isinstance(error, MemoryError):
        return f"{text}: the part does not fit into the memory of the worker: write smaller files or row groups"
    if isinstance(error.__cause__, OSError) and error.__cause__.errno is not None:
        return (
            f"{text} on the worker {socket.gethostname()}: all workers need the files under the same names, on a "
            "shared disk or at addresses such as s3://clicks/day-1.csv"
        )
    return text


@final
@message
@dataclass(frozen=True)
class HoldOutFacts:
    """Facts about all rows, by which partitions hold out the rows that would be held out in memory.

    Parameters
    ----------
    partitions, rows : ndarray of int64
        Numbers of the partitions, and of their rows.
    smallest : ndarray of uint64
        The 200 smallest different hashes of rows.
    classes : ndarray
        The classes, sorted; empty in regression.
    first : ndarray of int64
        The first partition that has each class.
    """

    partitions: NDArray[np.int64]
    rows: NDArray[np.int64]
    smallest: Hashes
    classes: NDArray[Any]
    first: NDArray[np.int64]

    def merge(self, other: "HoldOutFacts") -> "HoldOutFacts":
        """The facts about the rows of both."""
        classes, inverse = np.unique(np.concatenate([self.classes, other.classes]), return_inverse=True)
        first = np.full(classes.size, np.iinfo(np.int64).max)
        np.minimum.at(first, inverse, np.concatenate([self.first, other.first]))
        return HoldOutFacts(
            np.concatenate([self.partitions, other.partitions]),
            np.concatenate([self.rows, other.rows]),
            np.unique(np.concatenate([self.smallest, other.smallest]))[:FEWEST_DIFFERENT],
            classes,
            first,
        )

    def held_out_rows(self, hold_out: RowChoice, number: int, X: Any, y: NDArray[Any], task: Task) -> NDArray[np.bool_]:
        """Mask of the rows of a partition that are held out."""
        n_rows = int(self.rows.sum())
        choice = hold_out.unless_few_differ(self.smallest.size, n_rows)
        hashes = choice.hashes(X, int(self.rows[self.partitions < number].sum()))
        held_out = np.asarray(hashes < below(held_out_share(n_rows)))
        if task == "classification":
            rows = first_rows(y)
            held_out[rows[self.first[np.searchsorted(self.classes, y[rows])] == number]] = False
        return held_out


@final
@message
@dataclass(frozen=True)
class HoldOutFactsSum(RowSum):
    """Ask for `HoldOutFacts`."""

    task: Task
    hold_out: RowChoice

    def of(self, partition: Partition) -> HoldOutFacts | None:
        """The facts about the rows of a partition."""
        if not partition.n_rows:
            return None
        hashes = np.unique(self.hold_out.hashes(partition.X))[:FEWEST_DIFFERENT]
        classes = np.unique(as_classes(partition.y)) if self.task == "classification" else np.empty(0)
        number, rows = np.array([partition.number]), np.array([partition.n_rows])
        return HoldOutFacts(number, rows, hashes, classes, np.full(classes.size, partition.number))


@final
@message
@dataclass(frozen=True)
class Preparation:
    """Labels as the task needs them, the same number of columns everywhere, and rows held out for scores.

    Examples
    --------
    >>> rows, choice = Partition(0, np.arange(1000.0)[:, None], np.ones(1000)), RowChoice(2**61)
    >>> facts = HoldOutFactsSum("classification", choice).of(rows)
    >>> made = Preparation("classification", None, choice, facts).prepared(rows)
    >>> made.n_rows, made.held_out.n_rows, made.y.dtype.kind
    (910, 90, 'i')
    """

    #: Labels that are whole numbers become integers in classification.
    task: Task
    #: Number of columns of sparse rows: parts of svmlight files have as many as their largest index. None leaves them.
    n_columns: int | None
    #: Hashes by which rows are held out: the same rows however they are cut into partitions.
    hold_out: RowChoice | None = None
    #: Facts about all rows, which that needs.
    facts: "HoldOutFacts | None" = None

    def prepared(self, partition: Partition) -> Partition:
        """The rows to train on, with those that are held out."""
        if partition.fault:
            return partition
        X = partition.X
        if self.n_columns is not None and not partition.is_table:
            X = widened(X, self.n_columns)
        y = as_classes(partition.y) if self.task == "classification" else partition.y
        number = partition.number
        table = Table(X, y, weights=partition.sample_weight, unlabelled=partition.unlabelled, place=partition.place)
        if self.hold_out is None or self.facts is None:
            return Partition.of_table(number, table)
        chosen = self.facts.held_out_rows(self.hold_out, number, X, y, self.task)
        return Partition.of_table(number, table.at(~chosen), held_out=Partition.of_table(number, table.at(chosen)))
