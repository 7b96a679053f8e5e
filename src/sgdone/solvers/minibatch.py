"""Minibatches: the next k rows of positive weight, wherever blocks and passes end among them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.data.csr_validation import check_csr
from sgdone.data.rows import Rows, frozen
from sgdone.data.source import Block
from sgdone.kernels.outcome import NOT_FINITE, NOT_SOUND
from sgdone.solvers.base import BlockReport, Ending
from sgdone.stopping.base import Watch


@final
@dataclass(frozen=True)
class Stretch:
    """What a loop made of some rows: see `BlockReport`; ``left`` are rows at the end that make no whole minibatch."""

    position: int
    outcome: int
    predictions: NDArray[np.float64]
    slopes: NDArray[np.float64]
    step_size: float
    left: NDArray[np.uint64]


#: Runs a loop over ``block.order[first:last]`` for at most so many updates.
Loop = Callable[[Block, int, int, int], Stretch]


@dataclass
class Waiting:
    """Rows that were read and wait for the rest of their minibatch.

    They are kept by value, for their block may be gone by then: ``arrays`` is a matrix, or the values, columns and
    boundaries of a sparse one.
    """

    arrays: tuple[NDArray[Any], ...] = ()
    labels: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return self.labels.size

    def keep(self, block: Block, rows: NDArray[np.uint64]) -> None:
        """Let some rows of a block wait, and no others."""
        if rows.size:
            X = block.rows.matrix(rows)
            self.arrays = (X,) if block.rows.access.vectors_first else (X.data, X.indices, X.indptr)
        else:
            self.arrays = ()
        self.labels, self.weights = block.labels[rows], block.weights_of(rows)

    def joined(self, block: Block, rows: NDArray[np.uint64]) -> Block:
        """A block of the rows that wait and, behind them, some rows of another block."""
        parts = [self._matrix(block.rows.n_features), block.rows.matrix(rows)]
        labels = np.concatenate([self.labels, block.labels[rows]])
        weights = np.concatenate([self.weights, block.weights_of(rows)])
        order = np.arange(labels.size, dtype=np.uint64)
        return Block(_like(block.rows, parts), frozen(labels), frozen(weights), order, order)

    def check(self, size: int, n_features: int, dtype: np.dtype[Any]) -> None:
        """Refuse rows, read from a file, that are not some of a minibatch of ``size`` rows."""
        count = len(self)
        fits = (
            count < size
            and self.labels.dtype == self.weights.dtype == np.float64
            and self.labels.shape == self.weights.shape == (count,)
            and len(self.arrays) in ((1, 3) if count else (0,))
            and all(isinstance(array, np.ndarray) for array in self.arrays)
        )
        if fits and count:
            fits = self.arrays[0].dtype == dtype
            if len(self.arrays) == 1:
                fits = fits and self.arrays[0].shape == (count, n_features)
            else:
                data, indices, indptr = self.arrays
                fits = fits and indptr.shape == (count + 1,) and indices.dtype.kind == indptr.dtype.kind == "i"
                fits = fits and data.ndim == indices.ndim == 1 and data.size == indices.size
                check_csr(indices, indptr, n_features)
        if not fits:
            raise ValueError(
                f"the rows that wait are not a part of a minibatch of {size} rows of {n_features} features"
            )

    def _matrix(self, n_features: int) -> Any:
        return self.arrays[0] if len(self.arrays) == 1 else sparse.csr_array(self.arrays, (len(self), n_features))


def advance_in_minibatches(
    waiting: Waiting,
    size: int,
    block: Block,
    first: int,
    last: int,
    updates: int,
    watches: tuple[Watch, ...],
    loop: Loop,
) -> BlockReport:
    """Use ``block.order[first:last]``, completing the minibatch that waits and leaving rows at the end to wait."""
    if watches and size > 1:
        # Between the rows of a minibatch nothing happens that such a rule could look at.
        raise ValueError(
            f"a rule that looks at every sample cannot watch minibatches of {size} rows: use minibatch=1, or a rule "
            "that looks at passes or at numbers of updates"
        )
    if len(waiting) >= size:
        raise ValueError(
            f"{len(waiting)} rows wait for a larger minibatch than one of {size} rows: go on with that one"
        )
    nothing = np.empty(0)
    report = BlockReport(first, "used", nothing, nothing, np.nan)
    if not updates or first >= last:
        return report
    if len(waiting):
        report = _complete(waiting, size, block, first, last, loop)
        if report.ending != "used" or report.position >= last or report.updates >= updates:
            return report
    ran = loop(block, report.position, last, updates - report.updates)
    if not _failed(ran):
        waiting.keep(block, ran.left)
    return BlockReport(
        ran.position,
        _ending(ran),
        np.concatenate([report.predictions, ran.predictions]),
        np.concatenate([report.slopes, ran.slopes]),
        ran.step_size if ran.predictions.size else report.step_size,
        fired=any(watch.fired for watch in watches),
    )


def _complete(waiting: Waiting, size: int, block: Block, first: int, last: int, loop: Loop) -> BlockReport:
    """The minibatch of the rows that wait and of those that it lacks, if they are there."""
    rows = block.order[first:last]
    places = np.flatnonzero(block.weights_of(rows))[: size - len(waiting)]
    if not places.size:
        return BlockReport(last, "used", np.empty(0), np.empty(0), np.nan)
    whole = places.size == size - len(waiting)
    joined = waiting.joined(block, rows[places])
    ran = loop(joined, 0, joined.order.size, 1)
    if _failed(ran):
        # A row that waits was sound when it was read: if it is not to blame, the weights are.
        place = places[max(0, ran.position - len(waiting))]
        return BlockReport(first + int(place), _ending(ran), ran.predictions, ran.slopes, ran.step_size)
    waiting.keep(joined, ran.left)
    position = first + int(places[-1]) + 1 if whole else last
    return BlockReport(position, "used", ran.predictions, ran.slopes, ran.step_size)


def check_minibatch(minibatch: Any) -> None:
    """Refuse what is no number of rows."""
    if isinstance(minibatch, bool) or not isinstance(minibatch, Integral) or int(minibatch) < 1:
        raise ValueError(f"minibatch={minibatch!r}: give the rows of an update, 1 or more")


def _failed(ran: Stretch) -> bool:
    return ran.outcome in (NOT_FINITE, NOT_SOUND)


def _ending(ran: Stretch) -> Ending:
    return "not finite" if ran.outcome == NOT_FINITE else "not sound" if ran.outcome == NOT_SOUND else "used"


def _like(rows: Rows, parts: list[Any]) -> Rows:
    """Rows of several matrices, reached in the same way as others and through arrays of the same types."""
    if rows.access.vectors_first:
        return rows.like(np.vstack([_dense(part) for part in parts]))
    X: Any = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    signed = np.int32 if rows.arrays[1].dtype == np.uint32 else np.int64
    X.indices = X.indices.astype(signed)
    return rows.like(X)


def _dense(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else X.toarray()
