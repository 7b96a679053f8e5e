"""The small validation set that Baghal et al. compare with, after Prechelt."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sgdone.interfaces.stop_rule import Needs, Progress, Status, Stop, StopRule, Watch
from sgdone.kernels.jit import inlined
from sgdone.kernels.probes import FIRED, Probe, let_pass
from sgdone.kernels.rows import RowAccess
from sgdone.losses.loss import is_whole
from sgdone.matrices.csr import check_csr
from sgdone.rows.rows import Rows
from sgdone.stopping.state_checks import check_arrays, check_count, check_flag, check_numbers

#: Places in the numbers of the probe: samples between two checks, samples since the last, and the fractions of
#: right answers at the last check and at the one before.
_EVERY: Final = 1
_SINCE: Final = 2
_FRACTION: Final = 3
_BEFORE: Final = 4


@dataclass
class _Held:
    """The probe's numbers, and the rows held out: as arrays that can be kept, and as the loop reaches its own rows."""

    numbers: NDArray[np.float64]
    #: A matrix, or the values, columns and boundaries of a sparse one.
    arrays: tuple[NDArray[Any], ...] = ()
    labels: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    rows: Rows | None = field(default=None, init=False)

    def matrix(self, n_features: int) -> Any:
        """The rows as a matrix."""
        return self.arrays[0] if len(self.arrays) == 1 else csr_array(self.arrays, (self.labels.size, n_features))


@final
@dataclass(frozen=True)
class SmallValidationSet(StopRule):
    """Stop when a check on a few rows held out brings no more right answers: Baghal et al. (2021), section 5.

    The first rows of the stream are held out and never trained on. After every ``every`` samples the fraction of them
    that the iterate classifies right is compared with that of the check before; the first check compares with
    nothing.

    Parameters
    ----------
    size : int
        Rows held out.
    every : int, optional
        Samples between two checks; twice the size if not given, which makes the overhead about a half.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SGDClassifier(stop=SmallValidationSet(32), random_state=0).fit(X / X.max(axis=0), y)
    >>> print(model.verdict_)  # doctest: +ELLIPSIS
    Converged after ... samples (... passes): ... of 32 rows held out are classified right, ... at the check before, ...
    """

    size: int = 32
    every: int | None = None
    name: ClassVar[str] = "small_validation_set"
    needs: ClassVar[Needs] = Needs(classes=True, iterate=True)
    bounded: ClassVar[bool] = True  # the number of right answers cannot rise for ever

    def __post_init__(self) -> None:
        for what, value in (("size", self.size), ("every", 1 if self.every is None else self.every)):
            if not is_whole(value, 1):
                raise ValueError(f"{what}={value!r}: give a whole number of 1 or more")

    @property
    def hold_out(self) -> int:
        """The size of the validation set."""
        return int(self.size)

    def check(self, state: Any, n_features: int) -> None:
        """Five numbers, and as many rows and labels as the size."""
        self.check_kind(state, _Held)
        check_numbers(self, state.numbers, 5)
        check_flag(self, state.numbers[FIRED])
        check_count(self, state.numbers[_SINCE], state.numbers[_EVERY] - 1)
        if not (state.arrays or state.labels.size):
            return  # no rows yet
        check_arrays(self, (state.labels,), [(self.size,)], [("f8",)])
        if len(state.arrays) == 1:
            check_arrays(self, state.arrays, [(self.size, n_features)], [("f4", "f8")])
        else:
            data, indices, indptr = state.arrays
            check_arrays(self, (data,), [(indices.size,)], [("f4", "f8")])
            check_arrays(self, (indices, indptr), [(indices.size,), (self.size + 1,)], [("i4", "i8")] * 2)
            check_csr(indices, indptr, n_features)
        self.check_kind(state, _Held, holds=all(np.isfinite(array).all() for array in (state.labels, state.arrays[0])))

    def start(self, n_rows: int | None) -> _Held:
        """No check yet."""
        numbers = np.zeros(5)
        numbers[_EVERY] = 2 * self.size if self.every is None else self.every
        numbers[[_FRACTION, _BEFORE]] = -1.0
        return _Held(numbers)

    def restart(self, state: _Held, n_rows: int | None) -> _Held:
        """Start the checks again on the same rows."""
        return _Held(self.start(n_rows).numbers, state.arrays, state.labels)

    def validate_on(self, state: _Held, X: Any, labels: NDArray[np.float64]) -> None:
        """Take the rows."""
        state.arrays = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
        state.labels = labels

    def watches(self, state: _Held, rows: Rows) -> tuple[Watch, ...]:
        """The checks, made by the loop."""
        if not state.arrays:
            raise ValueError("SmallValidationSet has no validation rows: they are held out when a run starts")
        if state.rows is None or state.rows.access is not rows.access:
            state.rows = rows.like(state.matrix(rows.n_features))
        return (Watch(make_check, state.numbers, (state.rows.arrays, state.labels), reads_model=True),)

    def observe(self, state: _Held, progress: Progress) -> Stop | None:
        """Fire where a check brought no more right answers."""
        if not state.numbers[FIRED]:
            return None
        now, before = (round(float(state.numbers[k]) * self.size) for k in (_FRACTION, _BEFORE))
        reason = (
            f"{now} of {self.size} rows held out are classified right, {before} at the check before, "
            f"at sample {progress.step:,}{progress.where}"
        )
        evidence = {"right": now, "right_before": before, "size": self.size, "every": int(state.numbers[_EVERY])}
        return Stop("SmallValidationSet", Status.CONVERGED, reason, evidence)

    def describe(self, state: _Held, progress: Progress) -> str:
        """The last check."""
        if state.numbers[_FRACTION] < 0:
            return "has made no check"
        right = round(float(state.numbers[_FRACTION]) * self.size)
        return f"last found {right} of {self.size} rows held out right, more than before"


def make_check(access: RowAccess) -> Probe:
    """After every ``every`` samples, count the held-out rows that are classified right."""
    dot, sound = access.dot, access.sound

    @inlined
    def after(row: Any, arrays: Any, model: Any, numbers: Any, memory: Any) -> Any:
        numbers[_SINCE] += 1.0
        if numbers[_SINCE] < numbers[_EVERY]:
            return False
        numbers[_SINCE] = 0.0
        _rows, _settings, _parameters, weights, offsets = arrays
        held_out, labels = memory
        right = 0.0
        for k in range(labels.size):
            place = np.uint64(k)
            if sound(held_out, place, weights):
                product, _norm = dot(held_out, place, weights, offsets)
                if (model.scale * product + model.intercept > 0.0) == (labels[k] > 0.0):
                    right += 1.0
        numbers[_BEFORE] = numbers[_FRACTION]
        numbers[_FRACTION] = right / labels.size
        fired = numbers[_FRACTION] <= numbers[_BEFORE]
        if fired:
            numbers[FIRED] = 1.0
        return fired

    return Probe(let_pass, after)
