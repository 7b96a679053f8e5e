"""Pflug's diagnostic: successive gradients that point against each other."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.stop_rule import Needs, Progress, Status, Stop, StopRule, Watch
from sgdone.kernels.jit import inlined
from sgdone.kernels.loop import UNIT
from sgdone.kernels.probes import FIRED, Probe, let_pass
from sgdone.kernels.rows import RowAccess, make_memory
from sgdone.losses.loss import is_whole
from sgdone.rows.rows import Rows
from sgdone.stopping.state_checks import check_arrays, check_count, check_flag, check_numbers

#: Places in the numbers of the probe: samples since the (re)start, the sum of products, the burn-in, and the scalar
#: of the last gradient.
_SINCE: Final = 1
_SUM: Final = 2
_BURN_IN: Final = 3
_LAST: Final = 4


@dataclass
class _Memory:
    """The probe's numbers, and the last row in the form that one way of reaching rows keeps it in."""

    numbers: NDArray[np.float64]
    arrays: tuple[NDArray[Any], ...] = field(default=())
    #: Whether the arrays are of dense rows.
    dense: bool = True


@final
@dataclass(frozen=True)
class Pflug(StopRule):
    """Stop when the inner products of successive gradients sum to less than 0: Chee & Toulis (2018), Algorithm 1.

    The gradients are those of the loss, without the penalty and with the intercept's part; of implicit steps, at
    the new iterate. On the way to the optimum they agree, around it they disagree. It is made for constant steps.
    Its false alarms are known (Pesme, Dieuleveut & Flammarion 2020): see `Distance` for the alternative.

    Parameters
    ----------
    burn_in : int or "auto"
        Samples before which it never fires. "auto" is a hundredth of the rows, at least 50; 1000 if that is not known
        how many rows there are.

    Examples
    --------
    >>> from sgdone import SGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4000, 3))
    >>> y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(4000)
    >>> model = SGDRegressor(solver="sgd", step=0.05, alpha=0, stop=Pflug(burn_in=100), random_state=0)
    >>> print(model.fit(X, y).verdict_)  # doctest: +ELLIPSIS
    Converged after ... samples (... passes): successive gradients point against each other: their inner ...
    """

    burn_in: int | Literal["auto"] = "auto"
    name: ClassVar[str] = "pflug"
    needs: ClassVar[Needs] = Needs(iterate=True)

    def __post_init__(self) -> None:
        if self.burn_in != "auto" and not is_whole(self.burn_in, 1):
            raise ValueError(
                f'burn_in={self.burn_in!r}: give the number of samples (1 or more) before which not to fire, or "auto"'
            )

    def check(self, state: Any, n_features: int) -> None:
        """Five numbers, and room for a row."""
        self.check_kind(state, _Memory)
        check_numbers(self, state.numbers, 5)
        check_flag(self, state.numbers[FIRED])
        check_count(self, state.numbers[_SINCE], state.numbers[_BURN_IN])
        dense, arrays = state.dense, state.arrays
        if not arrays:
            return
        shapes = [(n_features,)] if dense else [(n_features,), (2, n_features + 1), (3,), (1,)]
        kinds = [("f4", "f8")] if dense else [("u4",), ("f8",), ("u4",), ("f8",)]
        check_arrays(self, arrays, shapes, kinds)
        if not dense and (arrays[2][1] > n_features or arrays[2][2] > 1):
            raise ValueError(f"the last row in the state of {self!r} has an index outside of it")

    def start(self, n_rows: int | None) -> _Memory:
        """State before the first row."""
        automatic = 1000 if n_rows is None else max(50, n_rows // 100)
        numbers = np.zeros(5)
        numbers[_BURN_IN] = automatic if self.burn_in == "auto" else int(self.burn_in)
        return _Memory(numbers)

    def restart(self, state: _Memory, n_rows: int | None) -> _Memory:
        """Reset the sum and the burn-in; keep the last gradient (Algorithm 2, lines 6 to 9)."""
        state.numbers[[FIRED, _SINCE, _SUM]] = 0.0
        return state

    def watches(self, state: _Memory, rows: Rows) -> tuple[Watch, ...]:
        """The sum, kept by the loop."""
        dense = rows.is_dense
        if not state.arrays or state.dense != dense:
            # A last row that was kept in another form is forgotten: its product with the next is left out.
            state.arrays, state.dense = _place_for_a_row(rows), dense
            state.numbers[_LAST] = 0.0
        return (Watch(make_pflug, state.numbers, state.arrays),)

    def observe(self, state: _Memory, progress: Progress) -> Stop | None:
        """Fire where the sum fell below 0 after the burn-in."""
        if not state.numbers[FIRED]:
            return None
        total = float(state.numbers[_SUM])
        reason = (
            f"successive gradients point against each other: their inner products sum to {total:.3g} < 0 "
            f"at sample {progress.step:,}{progress.where}"
        )
        evidence = {"sum": total, "burn_in": int(state.numbers[_BURN_IN])}
        return Stop("Pflug", Status.CONVERGED, reason, evidence)

    def describe(self, state: _Memory, progress: Progress) -> str:
        """The sum so far."""
        numbers = state.numbers
        if numbers[_SINCE] <= numbers[_BURN_IN]:
            return f"was still in its burn-in of {numbers[_BURN_IN]:,.0f} samples"
        return f"saw successive gradients agree (sum of inner products {numbers[_SUM]:.3g})"


def _place_for_a_row(rows: Rows) -> tuple[NDArray[Any], ...]:
    """Arrays in which `RowAccess.overlap` keeps a row."""
    if rows.is_dense:
        return (np.zeros(rows.n_features, rows.dtype),)
    return make_memory(rows.n_features)


def make_pflug(access: RowAccess) -> Probe:
    """Lines 7 and 8 of Algorithm 1."""
    overlap = access.overlap

    @inlined
    def after(row: Any, arrays: Any, model: Any, numbers: Any, memory: Any) -> Any:
        i, v, slope = row
        rows, settings, _parameters, _weights, _offsets = arrays
        numbers[_SINCE] += 1.0
        product = overlap(rows, i, memory) + settings[UNIT]
        gradient = v * slope
        numbers[_SUM] += gradient * numbers[_LAST] * product
        numbers[_LAST] = gradient
        fired = numbers[_SINCE] > numbers[_BURN_IN] and numbers[_SUM] < 0.0
        if fired:
            numbers[FIRED] = 1.0
        return fired

    return Probe(let_pass, after)
