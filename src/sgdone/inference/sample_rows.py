"""Rows of a summary that this process has, and facts about them: weights, labels, groups, and how the columns vary."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.margin_signs import separated_rows
from sgdone.interfaces.objective import Objective
from sgdone.machine.threads import blas_threads
from sgdone.rows.rows import Block, Rows, Scaling, check_rows, frozen
from sgdone.sums.pieces import BlockPieces, Piece, Pieces, in_units, parts_of, pieces_of
from sgdone.sums.row_sum import ArraySum, MemoryRows, ReadableRows, RowSource, RowSum, message
from sgdone.sums.system import System
from sgdone.sums.units import ColumnMoments, column_moments, moments_of

Array = NDArray[np.float64]

Value = TypeVar("Value")


@final
@message
@dataclass(frozen=True)
class SamplePreparation:
    """Preparation of rows before they are added up; the same for all of them.

    ``units`` divide the columns, so that their squares neither overflow nor underflow (empty for 1), and ``origin`` is
    subtracted from the targets. A row of weight 1 stands for ``frequency`` rows. Of two classes, rows on one side of
    one of the ``separated`` directions × (features + 1) are left out. ``starts`` numbers the first row of each
    partition among all rows of positive weight.
    """

    units: Array = field(default_factory=lambda: np.empty(0))
    origin: float = 0.0
    frequency: float = 1.0
    separated: Array = field(default_factory=lambda: np.empty((0, 0)))
    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))


class SampleSource(RowSource, Protocol):
    """The rows of a summary, in memory or in partitions."""

    @property
    def local_rows(self) -> "SampleRows | None":
        """The rows, if they are all in this process, as linear programs need them; otherwise None."""

    def prepared(self, preparation: SamplePreparation) -> "SampleSource":
        """The rows, prepared for sums."""


@final
class SampleRows(ReadableRows):
    """The rows of a summary that this process has.

    A row of weight 1 stands for ``frequency`` rows. ``number`` is that of the partition, and ``first_row`` the number
    of its first row of positive weight among those of all partitions.
    """

    has_cache: ClassVar[bool] = True

    def __init__(
        self,
        block: Block,
        groups: NDArray[Any] | None = None,
        *,
        frequency: float = 1.0,
        threads: int = 1,
        number: int = 0,
        first_row: int = 0,
    ) -> None:
        self.block, self.groups, self.frequency, self.threads = block, groups, frequency, threads
        self.number, self.first_row = number, first_row
        self._rows = MemoryRows(block, frequency, threads)

    @classmethod
    def of(
        cls,
        X: Any,
        labels: Array,
        sample_weight: Array | None = None,
        groups: NDArray[np.intp] | None = None,
        names: Sequence[str] | None = None,
    ) -> "SampleRows":
        """Rows of an array or CSR matrix."""
        block = Block.of(Rows.of(X, names=names), labels, sample_weight)
        block.rows.check_indices()
        return cls(block, groups, threads=blas_threads())

    @property
    def local_rows(self) -> "SampleRows":
        """The rows of this object."""
        return self

    def prepared(self, preparation: SamplePreparation) -> "SampleRows":
        """The rows in other units, with other targets, and without those that are separated."""
        block = self.block
        if (preparation.units != 1.0).any():
            block = in_units(block, Scaling(preparation.units))
        if preparation.origin:
            block = replace(block, labels=frozen(block.labels - preparation.origin))
        if preparation.separated.size:
            block = _without(block, separated_rows(block, preparation.separated))
        return SampleRows(
            block,
            self.groups,
            frequency=preparation.frequency,
            threads=self.threads,
            number=self.number,
            first_row=int(preparation.starts[self.number]) if self.number < preparation.starts.size else 0,
        )

    def without(self, rows: NDArray[np.bool_]) -> "SampleRows":
        """Rows without the marked ones, before they are prepared."""
        return SampleRows(_without(self.block, rows), self.groups, threads=self.threads, number=self.number)

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return self.block.n_used

    @property
    def used(self) -> NDArray[np.intp]:
        """Rows of positive weight."""
        return self.block.all_used().astype(np.intp)

    def pieces(self, system: System) -> BlockPieces:
        """Rows in the units of a system; the last pieces are cached."""
        return self._rows.pieces(system)

    def numbered_pieces(self, system: System) -> Iterator[tuple[NDArray[np.intp], Piece]]:
        """Pieces, each with the places of its rows among the rows of positive weight."""
        first = 0
        for piece in self.pieces(system):
            yield np.arange(first, first + piece.labels.size), piece
            first += piece.labels.size

    def cached(self, objective: Objective, pieces: Pieces, model: Array, make: Callable[[], Value]) -> Value:
        """Value computed for an objective from pieces at a model; values of the last models are cached."""
        return self._rows.cached(objective, pieces, model, make)


def _without(block: Block, rows: NDArray[np.bool_]) -> Block:
    return replace(block, sample_weight=frozen(np.where(rows, 0.0, block.sample_weight)))


#: Rows that are read at once.
_ROWS = 1 << 16


@final
@message
@dataclass(frozen=True)
class SampleFacts:
    """Facts about rows of positive weight.

    ``parts`` has the numbers of the partitions in its first column, and of their rows. Dense columns come first.
    ``first``, ``low`` and ``high`` are the first row, and the least and the largest value of each column; ``entries``
    counts its nonzero entries, or all rows if it is dense. ``classes`` are the weights of the classes, and
    ``target_squares`` is Σv·y² of a regression. Labels of groups are sorted; the rows of ``divided_groups`` are in
    several partitions.
    """

    parts: NDArray[np.int64]
    n_dense: int
    weight: float
    has_whole_weights: bool
    first: Array
    low: Array
    high: Array
    entries: Array
    moments: ColumnMoments
    classes: Array
    targets: ColumnMoments | None
    target_squares: float
    groups: NDArray[Any]
    divided_groups: NDArray[Any]

    def merge(self, other: "SampleFacts") -> "SampleFacts":
        """The facts about the rows of both."""
        if self.n_dense != other.n_dense:
            raise ValueError(
                f"partition {other.parts[0, 0]} has {other.n_dense} dense columns, partition {self.parts[0, 0]} has "
                f"{self.n_dense}: convert both to the same storage"
            )
        both = np.intersect1d(self.groups, other.groups)
        divided = joined_labels(joined_labels(self.divided_groups, other.divided_groups), both)
        return replace(
            self,
            parts=np.concatenate([self.parts, other.parts]),
            weight=self.weight + other.weight,
            has_whole_weights=self.has_whole_weights and other.has_whole_weights,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            entries=self.entries + other.entries,
            moments=self.moments.merge(other.moments),
            classes=self.classes + other.classes,
            targets=None if self.targets is None or other.targets is None else self.targets.merge(other.targets),
            target_squares=self.target_squares + other.target_squares,
            groups=joined_labels(self.groups, other.groups),
            divided_groups=divided,
        )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.parts[:, 1].sum())

    @property
    def starts(self) -> NDArray[np.int64]:
        """Number of the first row of each partition, if rows are numbered in the order of the partitions."""
        counts = np.zeros(int(self.parts[:, 0].max()) + 1, np.int64)
        counts[self.parts[:, 0]] = self.parts[:, 1]
        return np.cumsum(counts) - counts

    @property
    def largest(self) -> Array:
        """Largest absolute value of each column."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def joined_labels(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Labels of both, sorted; raise if some are numbers and others are text."""
    if (first.dtype.kind in "OU") != (second.dtype.kind in "OU"):
        raise ValueError("the groups are numbers in some partitions and text in others: convert them to one type")
    return np.unique(np.concatenate([first, second]))


@final
@message
@dataclass(frozen=True)
class SampleFactsSum(RowSum):
    """The facts about rows, after a check that all numbers are finite; ``n_classes`` is 0 in a regression."""

    n_classes: int

    def of(self, rows: SampleRows) -> SampleFacts | None:
        """The facts about these rows."""
        block, used = rows.block, rows.used
        if not used.size:
            return None
        labels, weights = block.labels[used], block.weights_of(block.all_used())
        low, high, entries = _ranges(block, used)
        if not np.all(np.isfinite(low) & np.isfinite(high)) or not np.all(np.isfinite(labels)):
            check_rows(block, block.all_used())
        classes, targets, squares = np.empty(0), None, 0.0
        if self.n_classes:
            numbers = (labels > 0 if self.n_classes == 2 else labels).astype(np.intp)
            classes = np.bincount(numbers, weights, minlength=self.n_classes).astype(np.float64)
        else:
            targets, squares = moments_of(labels[:, None], weights), float(weights @ labels**2)
        first = block.rows.whole()[[int(used[0])]]
        groups = np.empty(0) if rows.groups is None else np.unique(rows.groups[used])
        return SampleFacts(
            np.array([[rows.number, used.size]], np.int64),
            block.rows.n_dense,
            float(weights.sum()),
            bool(np.allclose(weights * rows.frequency, np.round(weights * rows.frequency), rtol=1e-9)),
            np.asarray(first.toarray() if hasattr(first, "toarray") else first, dtype=np.float64).ravel(),
            low,
            high,
            entries,
            column_moments(block, weighted=True),
            classes,
            targets,
            squares,
            groups,
            groups[:0],
        )


def _ranges(block: Block, used: NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """The least and the largest value of each column, and the number of its entries."""
    low, high = np.full(block.rows.n_features, np.inf), np.full(block.rows.n_features, -np.inf)
    entries = np.zeros(low.size)
    chosen = [used[first : first + _ROWS] for first in range(0, used.size, _ROWS)]
    for columns, of_columns in block.parts:
        for part, _, _ in parts_of(of_columns, chosen):
            if isinstance(part, np.ndarray):
                counts, least, most = np.full(part.shape[1], part.shape[0]), part.min(axis=0), part.max(axis=0)
            else:
                counts = np.bincount(part.indices, minlength=part.shape[1])
                full = counts == part.shape[0]
                least, most = np.where(full, np.inf, 0.0), np.where(full, -np.inf, 0.0)
                with np.errstate(invalid="ignore"):
                    np.minimum.at(least, part.indices, part.data)
                    np.maximum.at(most, part.indices, part.data)
            low[columns], high[columns] = np.minimum(low[columns], least), np.maximum(high[columns], most)
            entries[columns] += counts
    return low, high, entries


#: Largest absolute values of columns between which their fourth powers neither overflow nor underflow.
_SMALL, _LARGE = 1e-60, 1e60


def safe_units(largest: Array) -> Array:
    """Powers of two that bring extreme columns to a size of about 1; 1 for other columns."""
    units = np.ones(largest.size)
    extreme = (largest > 0) & ((largest < _SMALL) | (largest > _LARGE))
    if extreme.any():
        exponents = np.minimum(np.frexp(largest[extreme])[1], np.finfo(np.float64).maxexp - 1)
        units[extreme] = np.ldexp(1.0, exponents)
    return units


def comparable_scaling(facts: SampleFacts, *, fit_intercept: bool) -> Scaling:
    """Units in which dense columns have mean 0 and spread 1, and sparse columns a root mean square of 1.

    Infinite for columns that are constant if there is an intercept, and for those that are 0.
    """
    moments, d = facts.moments, facts.n_dense
    size = np.sqrt(moments.squares / moments.rows + moments.means**2)
    if not fit_intercept:
        return Scaling(np.where(size > 0, size, np.inf))
    spreads = moments.spreads
    # For sparse columns, squares less the square of the mean: rounding hides a small spread.
    constant = ~(spreads[d:] > 1e-6 * size[d:]) & (facts.low[d:] == facts.high[d:])
    scale = np.where(spreads > 0, spreads, np.inf)
    scale[d:] = np.where((size[d:] > 0) & ~constant, size[d:], np.inf)
    shift = np.where(np.arange(size.size) < d, moments.means, 0.0)
    return Scaling(scale, shift if d else None)


@final
@message
@dataclass(frozen=True)
class ColumnPowers(RowSum):
    """Σvd² and Σvd⁴ of each column, v² in place of the last v if ``sampling``.

    d is the distance from the mean, or from 0 if ``means`` is None, in units of ``scaling``.
    """

    scaling: Scaling
    means: Array | None
    sampling: bool

    def of(self, rows: SampleRows) -> ArraySum | None:
        """The sums over these rows."""
        if not rows.n_rows:
            return None
        inverse = 1.0 / self.scaling.scale
        centres = np.zeros(inverse.size) if self.means is None else self.means * inverse
        found = np.empty((2, inverse.size))
        for columns, part in rows.block.parts:
            powers = _powers_of_dense if part.rows.is_dense else _powers_of_sparse
            found[:, columns] = powers(part, inverse[columns], centres[columns], sampling=self.sampling)
        return ArraySum(found)


def _powers_of_dense(block: Block, inverse: Array, means: Array, *, sampling: bool) -> tuple[Array, Array]:
    squares, fourths = np.zeros(means.size), np.zeros(means.size)
    for part, _, weights in pieces_of(block):
        apart = part * inverse - means
        apart *= apart
        squares += weights @ apart
        fourths += (weights * weights if sampling else weights) @ (apart * apart)
    return squares, fourths


def _powers_of_sparse(block: Block, inverse: Array, means: Array, *, sampling: bool) -> tuple[Array, Array]:
    """Σvd² and Σvd⁴ of sparse columns, from the powers of their entries."""
    squares, powers, total = np.zeros(means.size), np.zeros((4, means.size)), 0.0
    for part, _, weights in pieces_of(block):
        own = weights * weights if sampling else weights
        values = part.data * inverse[part.indices]
        of_rows, of_own = (np.repeat(each, np.diff(part.indptr)) for each in (weights, own))
        total += float(own.sum())
        for power in range(4):
            powers[power] += np.bincount(part.indices, of_own * values ** (power + 1), minlength=means.size)
        squares += np.bincount(part.indices, of_rows * values**2, minlength=means.size)
    squares = squares - block.total_weight * means * means
    fourths = powers[3] - 4 * means * powers[2] + 6 * means**2 * powers[1] - 4 * means**3 * powers[0]
    return squares, fourths + total * means**4
