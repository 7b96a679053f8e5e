"""The rows of a summary, wherever they are, and those of this process: all of them, or those of a partition."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective, Predicts
from sgdone.machine.threads import blas_threads
from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Block, Rows, Scaling, frozen
from sgdone.sums.pieces import BlockPieces, Piece, Pieces, in_units, pieces_of
from sgdone.sums.row_sum import MemoryRows, ReadableRows, RowSource, message
from sgdone.sums.system import System

Array = NDArray[np.float64]
Signs = NDArray[np.int8]

#: Sums of whole numbers up to this are exact.
_EXACT = 2.0**52
#: Most scores of a partition that are computed again in exact arithmetic.
_MOST_EXACT = 2000


def separated_rows(block: Block, directions: Array) -> NDArray[np.bool_]:
    """Whether each row of a block of two classes is on one side of a direction, of directions × (features + 1)."""
    away = np.zeros(block.rows.n_rows, dtype=bool)
    used = block.all_used().astype(np.intp)
    for direction in directions:
        away[used] |= margin_signs("two_classes", block, direction[:, None])[:, 0] != 0
    return away


def margin_signs(predicts: Predicts, block: Block, direction: Array) -> Signs:
    """Signs of the margins of rows of positive weight along a direction; 2 if a sign was not decided.

    Parameters
    ----------
    predicts : {"two_classes", "one_vs_rest", "softmax"}
        Meaning of the outputs.
    block : Block
        The rows.
    direction : ndarray
        (features + 1) × outputs.

    Returns
    -------
    ndarray of int8
        Rows × outputs. The margin of two classes is y·z; of a class against the rest, that of its label; of several
        classes, the score of the row's class less that of each class.
    """
    found, left = [], _MOST_EXACT
    for part, labels, _ in pieces_of(block):
        scores, errors = _scores(part, direction)
        margins, bounds = _margins(predicts, scores, labels), _bounds(predicts, errors, labels)
        signs = np.where(np.abs(margins) > bounds, np.sign(margins), 0.0).astype(np.int8)
        doubtful = np.flatnonzero(((np.abs(margins) <= bounds) & (bounds > 0)).any(axis=1))
        if doubtful.size > left:
            signs[doubtful] = 2
        for row in doubtful.tolist() if doubtful.size <= left else ():
            exact = _exact_scores(part[[row]], direction)
            signs[row] = [(margin > 0) - (margin < 0) for margin in _margins(predicts, exact, labels[[row]])[0]]
        left -= min(left, doubtful.size)
        found.append(signs)
    return np.concatenate(found)


def _margins(predicts: Predicts, scores: NDArray[Any], labels: Array) -> NDArray[Any]:
    if predicts == "two_classes":
        return np.where(labels[:, None] > 0, scores, -scores)
    if predicts == "one_vs_rest":
        return np.where(labels[:, None] == np.arange(scores.shape[1]), scores, -scores)
    own: NDArray[Any] = scores[np.arange(labels.size), labels.astype(np.intp)][:, None] - scores
    return own


def _bounds(predicts: Predicts, errors: Array, labels: Array) -> Array:
    """Largest errors of margins."""
    if predicts != "softmax":
        return errors
    own = labels.astype(np.intp)
    both = errors[np.arange(labels.size), own][:, None] + errors
    both[np.arange(labels.size), own] = 0.0
    return both


def _scores(part: Any, direction: Array) -> tuple[Array, Array]:
    """Scores of rows, and bounds of their rounding errors: 0 where all numbers are whole and small."""
    coef, intercept = direction[:-1], direction[-1]
    scores = np.asarray(part @ coef) + intercept
    sizes = np.asarray(_absolute(part) @ np.abs(coef)) + np.abs(intercept)
    errors = 4.0 * np.finfo(np.float64).eps * (coef.shape[0] + 2) * sizes
    if np.all(direction == np.rint(direction)):
        errors[_has_whole_numbers(part, (coef != 0).any(axis=1))[:, None] & (sizes < _EXACT)] = 0.0
    return scores, errors


def _absolute(part: Any) -> Any:
    if isinstance(part, MixedMatrix):
        return MixedMatrix(np.abs(part.dense), abs(part.sparse))
    return abs(part)


def _has_whole_numbers(part: Any, columns: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each row has whole numbers in all of some columns."""
    if isinstance(part, MixedMatrix):
        dense, entries = columns[: part.n_dense], columns[part.n_dense :]
        return _has_whole_numbers(part.dense, dense) & _has_whole_numbers(part.sparse, entries)
    if isinstance(part, np.ndarray):
        chosen = part[:, columns]
        return np.asarray((chosen == np.rint(chosen)).all(axis=1))
    broken = (part.data != np.rint(part.data)) & columns[part.indices]
    rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
    return np.asarray(np.bincount(rows[broken], minlength=part.shape[0]) == 0)


def _exact_scores(row: Any, direction: Array) -> NDArray[Any]:
    """The scores of one row as fractions."""
    values = np.asarray(row.toarray() if hasattr(row, "toarray") else row).ravel().tolist()
    found = np.empty((1, direction.shape[1]), dtype=object)
    for output, (*coef, intercept) in enumerate(direction.T.tolist()):
        pairs = ((x, w) for x, w in zip(values, coef, strict=True) if x and w)
        found[0, output] = sum((Fraction(x) * Fraction(w) for x, w in pairs), Fraction(intercept))
    return found


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
        block = Block.of(Rows.of(X, names=names), labels, sample_weight)
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
