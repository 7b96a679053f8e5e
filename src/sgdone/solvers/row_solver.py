"""Methods whose step is one scalar along the row: what they share, and what varies."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.method import Ending, Report
from sgdone.interfaces.stop_rule import Watch
from sgdone.kernels.outcome import AVERAGE_IS_BETTER, ENERGY_EXCEEDED
from sgdone.kernels.row_step import make_row_step
from sgdone.kernels.storage import make_averaged, make_plain, make_searching, make_truncated
from sgdone.losses.loss import Loss, ScalarFunction
from sgdone.rows.rows import Block
from sgdone.solvers.single_model import SingleModel
from sgdone.solvers.state import State
from sgdone.solvers.stretch import LoopResult, run_method
from sgdone.steps import InverseTime
from sgdone.steps.step_size import Preliminary, StepSize, step_sizes

_STORAGE = {
    "plain": make_plain,
    "averaged": make_averaged,
    "searching": make_searching,
    "truncated": make_truncated,
}


class RowSolver(SingleModel):
    """A method that moves the weights along each row by one scalar; `Averaged` wraps any of them."""

    def with_average(self, after: int | Literal["auto"]) -> SingleModel:
        """`Averaged` around the method."""
        from sgdone.solvers.averaged import Averaged

        return Averaged(self, after)

    @property
    @abstractmethod
    def make_update(self) -> Callable[..., Any]:
        """The factory in `sgdone.kernels.updates` of this kind of step."""

    def slope_of(self, loss: Loss) -> ScalarFunction:
        """The function of the loss that the step calls: the slope at the prediction before it."""
        return loss.kernel.slope

    def alphas_of(self, state: State, block: Block) -> Callable[[int, int], NDArray[np.float64]] | None:
        """A function of the first of some samples and their number: α of each; None if all have the same α."""
        return None

    @property
    def default_step(self) -> StepSize:
        """The best schedule for an iterate that is not averaged (Xu 2011, eq. (8))."""
        return InverseTime()

    def use_rows(
        self, state: State, block: Block, first: int, last: int, updates: int, watches: tuple[Watch, ...] = ()
    ) -> Report:
        """Use rows of a block."""
        return self.step_along(state, block, first, last, updates, watches)

    def step_along(
        self,
        state: State,
        block: Block,
        first: int,
        last: int,
        updates: int,
        watches: tuple[Watch, ...],
        *,
        average_after: int | None = None,
        truncate_every: int = 1,
        decay: float = 0.0,
    ) -> Report:
        """Run steps along the rows of ``block.order[first:last]``, continuing after each outcome that is not an end.

        A row that is larger than the step size allows for gives a new step size and is then used. Averaging begins when
        the search for its start has succeeded, or after the sample ``average_after``. For ``truncate_every`` and
        ``decay`` see `sgdone.solvers.Truncated` and `sgdone.solvers.Averaged`.
        """
        objective, alphas_of = state.objective, self.alphas_of(state, block)
        loss = objective.loss
        parts: list[LoopResult] = []
        position, made, size = first, 0, np.nan
        ending: Ending = "used"
        fired = False
        while position < last and made < updates and not fired and ending == "used":
            if state.phase == "plain" and average_after is not None and state.steps >= average_after:
                state.begin_average()
            count = min(last - position, updates - made)
            if state.phase == "plain" and average_after is not None:
                count = min(count, average_after - state.steps)
            sizes = step_sizes(state.step, state.steps + 1, count)
            alphas = np.array([objective.l2]) if alphas_of is None else alphas_of(state.steps + 1, count)
            ran = run_method(
                state,
                block,
                position,
                last,
                count,
                make_row_step,
                (_STORAGE[state.phase], self.make_update, loss.kernel.value, self.slope_of(loss)),
                [state.step.energy_limit, objective.l1, float(truncate_every), decay],
                (sizes, alphas, 0 if alphas_of is None else 1),
                watches,
            )
            parts.append(ran)
            position, made, fired, ending = ran.position, made + ran.updates, ran.fired, ran.ending
            size = ran.last_of(sizes) if ran.updates else size
            if ran.outcome == ENERGY_EXCEEDED:
                if np.isfinite(ran.energy):
                    _allow_for(state, ran.energy)
                else:
                    ending = "not finite"
            if ran.outcome == AVERAGE_IS_BETTER:
                state.begin_average()
        predictions, slopes = (_joined([getattr(part, name) for part in parts]) for name in ("predictions", "slopes"))
        return Report(position, ending, predictions, slopes, size, fired)


def _allow_for(state: State, energy: float) -> None:
    """Resolve the step size again for a larger row."""
    state.step = state.step.resolve(Preliminary(state.objective.loss, state.objective.known_alpha, energy, energy))
    if state.step.energy_limit < energy:
        raise RuntimeError(f"{state.step!r} was resolved for a row of size {energy:g} but does not allow for it")


def _joined(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Arrays one after the other, without a copy if there is but one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0)
