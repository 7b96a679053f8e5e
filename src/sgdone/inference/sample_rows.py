"""The rows of a summary, wherever they are, and those of this process: all of them, or those of a partition."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.inference.separation_margins import separated_rows
from sgdone.interfaces.objective import Objective
from sgdone.machine.threads import blas_threads
from sgdone.rows.rows import Rows, Scaling, frozen
from sgdone.rows.source import Block
from sgdone.sums.pieces import BlockPieces, Piece, Pieces, in_units
from sgdone.sums.row_sum import MemoryRows, ReadableRows, RowSource, message
from sgdone.sums.system import System

Array = NDArray[np.float64]
Found = TypeVar("Found")


@final
@message
@dataclass(frozen=True)
class SamplePreparation:
    """Preparation of rows before they are added up; the same for all of them.

    Parameters
    ----------
    units : ndarray
        Divisors of the columns, so that their squares neither overflow nor underflow; empty for 1.
    origin : float
        Offset subtracted from the targets.
    frequency : float
        How many rows a row of weight 1 stands for.
    separated : ndarray
        Directions × (features + 1), of two classes: rows on one side of one of them are left out.
    starts : ndarray of int
        Number of the first row of each partition among all rows of positive weight.
    """

    units: Array = field(default_factory=lambda: np.empty(0))
    origin: float = 0.0
    frequency: float = 1.0
    separated: Array = field(default_factory=lambda: np.empty((0, 0)))
    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))


class SummaryRows(RowSource, Protocol):
    """The rows of a summary, in memory or in partitions."""

    @property
    def at_hand(self) -> "SampleRows | None":
        """The rows, if they are all in this process, as linear programs need them; otherwise None."""

    def prepared(self, preparation: SamplePreparation) -> "SummaryRows":
        """The rows, prepared for sums."""


@final
class SampleRows(ReadableRows):
    """The rows of a summary that this process has.

    Parameters
    ----------
    block : Block
        The rows; a weight of 1 stands for ``frequency`` rows.
    groups : ndarray or None
        The group of each row.
    frequency : float
        How many rows a row of weight 1 stands for.
    threads : int
        Threads of the sums.
    number : int
        Number of the partition.
    first_row : int
        Number of the first row of positive weight among those of all partitions.
    """

    keeps: ClassVar[bool] = True

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
        order = np.arange(X.shape[0], dtype=np.uint64)
        weight = np.ones(1) if sample_weight is None else sample_weight
        block = Block(Rows.of(X, names=names), frozen(labels), frozen(weight), order, order)
        block.rows.check_indices()
        return cls(block, groups, threads=blas_threads())

    @property
    def at_hand(self) -> "SampleRows":
        """These rows."""
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

    def labels_and_weights(self) -> tuple[Array, Array]:
        """Labels and weights of the rows of positive weight."""
        used = self.block.all_used()
        return self.block.labels[used], self.block.weights_of(used) * self.frequency

    def pieces(self, system: System) -> BlockPieces:
        """Rows in the units of a system; the last pieces are cached."""
        return self._rows.pieces(system)

    def numbered_pieces(self, system: System) -> Iterator[tuple[NDArray[np.intp], Piece]]:
        """Pieces, each with the places of its rows among the rows of positive weight."""
        first = 0
        for piece in self.pieces(system):
            yield np.arange(first, first + piece.labels.size), piece
            first += piece.labels.size

    def kept(self, objective: Objective, pieces: Pieces, model: Array, make: Callable[[], Found]) -> Found:
        """Value computed for an objective from pieces at a model; values of the last models are cached."""
        return self._rows.kept(objective, pieces, model, make)


def _without(block: Block, rows: NDArray[np.bool_]) -> Block:
    return replace(block, sample_weight=frozen(np.where(rows, 0.0, block.sample_weight)))
