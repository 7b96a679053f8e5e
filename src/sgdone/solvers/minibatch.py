"""Minibatches: the next k rows of positive weight, wherever blocks and passes end among them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sgdone.interfaces.method import Report
from sgdone.interfaces.stop_rule import Watch
from sgdone.kernels.loop import RowMethod
from sgdone.kernels.minibatch import FILLED, N_TOTALS
from sgdone.losses.loss import is_whole
from sgdone.matrices.csr import check_csr
from sgdone.rows.rows import Block, Rows
from sgdone.solvers.state import State
from sgdone.solvers.stretch import LoopResult, run_method
from sgdone.steps.step_size import step_sizes


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
            self.arrays = (X,) if block.rows.is_dense else (X.data, X.indices, X.indptr)
        else:
            self.arrays = ()
        self.labels, self.weights = block.labels[rows], block.weights_of(rows)

    def joined(self, block: Block, rows: NDArray[np.uint64]) -> Block:
        """A block of the rows that wait and, behind them, some rows of another block."""
        parts = [self._matrix(block.rows.n_features), block.rows.matrix(rows)]
        labels = np.concatenate([self.labels, block.labels[rows]])
        weights = np.concatenate([self.weights, block.weights_of(rows)])
        return Block.of(_like(block.rows, parts), labels, weights)

    def check(self, size: int, n_features: int, dtype: np.dtype[Any]) -> None:
        """Raise a ValueError for rows, read from a file, that are not part of a minibatch of ``size`` rows."""
        count = len(self)
        fits = (
            count < size
            and self.labels.shape == self.weights.shape == (count,)
            and len(self.arrays) in ((1, 3) if count else (0,))
            and all(np.isfinite(array).all() for array in (self.labels, self.weights, *self.arrays))
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


@final
@dataclass(frozen=True)
class Minibatches:
    """A method on minibatches of ``size`` rows: its kernel, its settings, and what it needs for some rows and steps."""

    make_method: Callable[..., RowMethod]
    size: int
    settings: list[float]
    own: Callable[[Block, NDArray[np.float64]], tuple[Any, ...]]

    def advance(
        self,
        state: State,
        waiting: Waiting,
        block: Block,
        first: int,
        last: int,
        updates: int,
        watches: tuple[Watch, ...],
    ) -> Report:
        """Use ``block.order[first:last]``: complete the minibatch that waits, and let rows at the end wait."""
        if watches and self.size > 1:
            # Between the rows of a minibatch nothing happens that such a rule could check.
            raise ValueError(
                f"a rule that checks every sample cannot be used with minibatches of {self.size} rows: "
                "use minibatch=1, or a rule that counts passes or updates"
            )
        if len(waiting) >= self.size:
            raise ValueError(
                f"{len(waiting)} rows wait for a minibatch of more than {self.size} rows: "
                "continue with the larger minibatch"
            )
        report = Report(first)
        if not updates or first >= last:
            return report
        if len(waiting):
            report = self._complete(state, waiting, block, first, last)
            if report.ending != "used" or report.position >= last or report.predictions.size >= updates:
                return report
        ran, step_size, left = self._run(
            state, block, report.position, last, updates - report.predictions.size, watches
        )
        if ran.ending == "used":
            waiting.keep(block, left)
        return Report(
            ran.position,
            ran.ending,
            np.concatenate([report.predictions, ran.predictions]),
            np.concatenate([report.slopes, ran.slopes]),
            step_size if ran.updates else report.step_size,
            fired=ran.fired,
        )

    def _complete(self, state: State, waiting: Waiting, block: Block, first: int, last: int) -> Report:
        """Use the rows that wait with those that their minibatch lacks, if these are there."""
        rows = block.order.rows[first:last]
        lacking = self.size - len(waiting)
        places = np.flatnonzero(block.weights_of(rows))[:lacking]
        if not places.size:
            return Report(last)
        with_them = waiting.joined(block, rows[places])
        ran, step_size, left = self._run(state, with_them, 0, with_them.order.size, 1)
        if ran.ending != "used":
            # A row that waits was sound when it was read: if it is not to blame, the weights are.
            place = places[max(0, ran.position - len(waiting))]
            return Report(first + int(place), ran.ending, ran.predictions, ran.slopes, step_size)
        waiting.keep(with_them, left)
        position = first + int(places[-1]) + 1 if places.size == lacking else last
        return Report(position, "used", ran.predictions, ran.slopes, step_size)

    def _run(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> tuple[LoopResult, float, NDArray[np.uint64]]:
        """Run the loop; also the size of the last step, and the rows at the end that make no whole minibatch."""
        kernel = state.objective.loss.kernel
        count = min(updates, (last - first) // self.size + 1)
        sizes = step_sizes(state.step, state.steps + 1, count)
        members, totals = np.empty(self.size, dtype=np.uint64), np.zeros(N_TOTALS)
        own = (members, np.empty(self.size), totals), self.own(block, sizes)
        functions = kernel.value, kernel.slope
        ran = run_method(state, block, first, last, count, self.make_method, functions, self.settings, own, watches)
        return ran, ran.last_of(sizes), members[: int(totals[FILLED])]


def check_minibatch(minibatch: Any) -> None:
    """Raise a ValueError unless it is a positive whole number."""
    if not is_whole(minibatch, 1):
        raise ValueError(f"minibatch={minibatch!r}: give the rows of an update, 1 or more")


def _like(rows: Rows, parts: list[Any]) -> Rows:
    """Rows of several matrices, reached in the same way as others and through arrays of the same types."""
    if rows.is_dense:
        return rows.like(np.vstack([_dense(part) for part in parts]))
    X: Any = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    signed = np.int32 if rows.arrays[1].dtype == np.uint32 else np.int64
    X.indices = X.indices.astype(signed)
    return rows.like(X)


def _dense(X: Any) -> Any:
    return X if isinstance(X, np.ndarray) else X.toarray()
