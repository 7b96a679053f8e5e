"""Bottou's SGD2: a loss step at every sample, the penalty now and then."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Report
from sgdone.interfaces.stop_rule import Watch
from sgdone.kernels.updates import make_shrunk
from sgdone.rows.rows import Block
from sgdone.solvers.bottou_schedule import check_skip, settle_t0, skip_of, t0_in_words, t0_of
from sgdone.solvers.row_solver import RowSolver
from sgdone.solvers.state import State
from sgdone.steps.bottou import Bottou
from sgdone.steps.step_size import StepSize, step_sizes

#: Up to this sum of rates a shrinkage is linear in them.
_LINEAR = 0.2


@dataclass
class Shrinking:
    """The samples between two shrinkages, as the first rows have settled it."""

    skip: int


@final
@dataclass(frozen=True)
class SGD2(RowSolver):
    """w ← w − γ·v·ℓ′(z, y)·x at every sample, and w ← (1 − γα)^skip·w after each ``skip``-th: Bottou (2007).

    A shrinkage that is small is 1 − skip·γα instead. Its own steps are 1/(α(t + t₀)), with t counted from 0 and a t₀
    that did best on the first 1000 rows: see `sgdone.steps.Bottou`.

    Parameters
    ----------
    skip : int or "auto"
        The samples between two shrinkages; "auto" is 16 times features over entries of a row.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> model = SGDClassifier(solver="sgd2", alpha=0.01).fit([[-1.0], [1.0]], [0, 1])
    >>> model.predict([[3.0]]), model.verdict_.evidence["skip"]
    (array([1]), 16)
    """

    skip: int | Literal["auto"] = "auto"
    name: ClassVar[str] = "sgd2"

    def __post_init__(self) -> None:
        check_skip(self.skip)

    @property
    def default_step(self) -> StepSize:
        """1/(α(t + t₀)), t₀ found on a sample."""
        return Bottou("sample")

    @property
    def make_update(self) -> Callable[..., Any]:
        """The explicit step, and then the shrinkage."""
        return make_shrunk

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows of a block, having found t₀ on the very first of them."""
        ended = settle_t0(state, block, first, last, self.use_rows)
        if ended is not None:
            return ended
        return super().use_rows(state, block, first, last, updates, watches)

    def alphas_of(self, state: State, block: Block) -> Callable[[int, int], NDArray[np.float64]]:
        """α of each of some samples, whose shrinkage is 1 − γα: 0 except at each ``skip``-th."""
        if self.skip == "auto" and state.extra is None:
            state.extra = Shrinking(skip_of(block.rows))
        skip = self._skip(state)
        if skip is None:
            raise ValueError(f"{self!r} within another method has no memory for an automatic skip: give it a number")
        return lambda first, count: _alphas(state, skip, first, count)

    def check_memory(self, state: State) -> None:
        """An automatic number of samples, once the rows are known."""
        kept = state.extra
        if kept is not None and not (isinstance(kept, Shrinking) and kept.skip > 0):
            raise ValueError(f"the state of {self!r} is not a number of samples")

    def _skip(self, state: State) -> int | None:
        if self.skip != "auto":
            return int(self.skip)
        return state.extra.skip if isinstance(state.extra, Shrinking) else None

    def summary(self, state: State) -> str:
        """The t₀ of the steps."""
        return t0_in_words(state)

    def evidence(self, state: State) -> dict[str, Any]:
        """The t₀ and the skip."""
        return super().evidence(state) | {"t0": t0_of(state), "skip": self._skip(state)}


def _alphas(state: State, skip: int, first: int, count: int) -> NDArray[np.float64]:
    """(1 − shrinkage)/γ at each ``skip``-th of the samples ``first``, …, ``first + count − 1``."""
    alphas = np.zeros(count)
    alpha = state.objective.known_alpha
    due = np.arange(-first % skip, count, skip)
    sizes = step_sizes(state.step, first, count)[due]
    alphas[due] = skip * alpha
    large = np.flatnonzero(skip * (sizes * alpha) > _LINEAR)
    # One by one: NumPy may round a power differently at another place of an array, and blocks may be of any size.
    with np.errstate(over="ignore"):
        powers = [(1.0 - (1.0 - size * alpha) ** skip) / size for size in sizes[large]]
    alphas[due[large]] = powers
    return alphas
