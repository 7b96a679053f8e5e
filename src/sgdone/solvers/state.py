"""All that changes while one model is trained: it can be copied, saved, and resumed bit for bit."""

import copy
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop_rule import NEVER
from sgdone.kernels import rows as row_access
from sgdone.kernels.model import LENGTH, Numbers
from sgdone.kernels.rows import RowAccess
from sgdone.rows.rows import BlockScaler, Rows, Scaling
from sgdone.steps.step_size import StepSize

#: What vector 1 is: not there (or not yet), a moving average, the average, the gradient at an anchor, or what each
#: feature has paid of an L1 penalty.
Phase = Literal["plain", "searching", "averaged", "anchored", "truncated"]


@final
@dataclass
class State:
    """A model in training: weight vectors, their offsets, and the scalars of `sgdone.kernels.model.Numbers`.

    ``access``, ``n_features``, ``dtype`` and ``scaling`` are those of the rows it is trained on.
    """

    objective: Objective
    access: RowAccess
    n_features: int
    dtype: np.dtype[Any]
    scaling: Scaling | None
    step: StepSize
    phase: Phase
    weights: NDArray[Any]
    offsets: NDArray[np.float64]
    numbers: NDArray[np.float64]
    #: The sample after which averaging began (t₀), once it has.
    average_start: int | None = None
    #: Repr of the method that made it.
    method: str = ""
    #: What the method keeps beside it.
    extra: Any = None
    #: Blocks in the units of ``scaling``, made from the blocks of a source.
    in_units: BlockScaler | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def at(
        cls,
        objective: Objective,
        rows: Rows,
        step: StepSize,
        phase: Phase,
        vectors: int,
        coef: NDArray[Any],
        intercept: float,
    ) -> "State":
        """A state whose iterate is the given one, in the user's units."""
        shape = (vectors, rows.n_features) if rows.access.vectors_first else (rows.n_features, vectors)
        scaling = rows.scaling
        state = cls(
            objective,
            rows.access,
            rows.n_features,
            rows.dtype,
            scaling,
            step,
            phase,
            np.zeros(shape, rows.dtype),
            np.zeros((vectors, 2)),
            np.zeros(LENGTH),
        )
        if scaling is not None:
            if scaling.shift is not None:
                intercept = intercept + float(coef @ scaling.shift)
            coef = coef * scaling.scale
        state.set_running(coef, intercept)
        state.set_numbers(own=0.0 if phase == "truncated" else 1.0)
        if phase == "searching":
            state.set_numbers(share=1.0, averaged_intercept=intercept)
        return state

    def set_numbers(self, **numbers: float) -> None:
        """Set scalars by their names."""
        for name, number in numbers.items():
            self.numbers[Numbers._fields.index(name)] = number

    def add_numbers(self, **amounts: float) -> None:
        """Add to scalars by their names."""
        for name, amount in amounts.items():
            self.numbers[Numbers._fields.index(name)] += amount

    def number(self, name: str) -> float:
        """One of the scalars by its name."""
        return float(self.numbers[Numbers._fields.index(name)])

    @property
    def steps(self) -> int:
        """Updates made."""
        return int(self.number("steps"))

    @property
    def centre(self) -> NDArray[np.float64] | None:
        """What is subtracted from the scaled features; None if nothing is."""
        scaling = self.scaling
        return None if scaling is None or scaling.shift is None else scaling.shift / scaling.scale

    def vector(self, k: int) -> NDArray[Any]:
        """A view of one of the stored vectors."""
        view: NDArray[Any] = self.weights[k] if self.access.vectors_first else self.weights[:, k]
        return view

    def begin_pass(self) -> None:
        """Forget the sums of the last pass."""
        self.set_numbers(pass_loss=0.0, pass_weight=0.0)

    def begin_stretch(self) -> None:
        """Forget the sums of the last stretch of rows."""
        self.set_numbers(stretch_loss=0.0, stretch_weight=0.0, stretch_wrong=0.0, stretch_squares=0.0)

    @property
    def pass_mean(self) -> float:
        """Mean progressive loss of the pass so far; NaN before its first update."""
        weight = self.number("pass_weight")
        return self.number("pass_loss") / weight if weight > 0 else float("nan")

    @property
    def stretch_loss(self) -> float:
        """Mean progressive loss of the stretch; NaN before its first update."""
        weight = self.number("stretch_weight")
        return self.number("stretch_loss") / weight if weight > 0 else float("nan")

    def stretch_error(self, updates: int) -> float:
        """Fraction of wrong signs, or root mean squared error, of the updates of the stretch."""
        if not updates:
            return float("nan")
        if self.objective.task == "classification":
            return self.number("stretch_wrong") / updates
        return float(np.sqrt(self.number("stretch_squares") / updates))

    def begin_average(self) -> None:
        """From the next update on, vector 1 holds the mean of the iterates."""
        self.phase = "averaged"
        self.average_start = self.steps
        self.vector(1)[:] = 0
        self.offsets[1] = 0
        self.set_numbers(own=1.0, share=0.0, averaged_intercept=0.0, averaged_steps=0.0)

    def solution(self) -> tuple[NDArray[Any], float]:
        """The model so far in the user's units: the average over (t₀, k], or the iterate if there is none yet."""
        averaged = self.phase == "averaged" and self.number("averaged_steps") > 0
        return self._in_user_units(averaged)

    def iterate(self) -> tuple[NDArray[Any], float]:
        """The running iterate in the user's units."""
        return self._in_user_units(averaged=False)

    def running(self) -> tuple[NDArray[np.float64], float]:
        """The running iterate in the units in which the method sees the rows."""
        return self._combined(averaged=False), self.number("intercept")

    def _in_user_units(self, averaged: bool) -> tuple[NDArray[Any], float]:
        combined = self._combined(averaged)
        intercept = self.number("averaged_intercept" if averaged else "intercept")
        if self.scaling is not None:
            combined /= self.scaling.scale
            if self.scaling.shift is not None:
                intercept -= float(combined @ self.scaling.shift)
        return combined.astype(self.dtype), intercept

    def _combined(self, averaged: bool) -> NDArray[np.float64]:
        """The iterate or the average out of the vectors and, of shifted sparse rows, their offsets."""
        factors = [self.number("share"), self.number("own")] if averaged else [self.number("scale")]
        if self.phase == "anchored":
            factors.append(self.number("share"))
        combined = factors[0] * self._settled()
        for k, factor in enumerate(factors[1:], start=1):
            combined += factor * self.vector(k).astype(np.float64)
        if self.centre is not None and not self.access.vectors_first:
            delta = sum(factor * self.offsets[k, 0] for k, factor in enumerate(factors))
            combined -= delta * self.centre
        return combined

    def _settled(self) -> NDArray[np.float64]:
        """Vector 0, less what it owes of an L1 penalty: all that is due, and all that will be."""
        vector: NDArray[np.float64] = self.vector(0).astype(np.float64)
        if self.phase == "truncated":
            owed = self.number("own") - self.vector(1).astype(np.float64) + self.number("share") / self.number("scale")
            vector = np.where(np.abs(vector) > owed, vector - np.sign(vector) * owed, 0.0)
        return vector

    def place(self) -> tuple[float, float, float]:
        """The numbers that, with the vectors, make the running iterate: scale, share and intercept."""
        return self.number("scale"), self.number("share"), self.number("intercept")

    def set_iterate(
        self, weights: NDArray[Any], offsets: NDArray[np.float64], scale: float, share: float, intercept: float
    ) -> None:
        """Go back to an iterate of before: its vectors, and what `place` gave."""
        self.weights[:] = weights
        self.offsets[:] = offsets
        self.set_numbers(scale=scale, share=share, intercept=intercept)

    def set_running(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Make weights, in the units in which the method sees the rows, the running iterate of a plain state."""
        self.vector(0)[:] = weights
        self.offsets[0] = 0
        if self.centre is not None:
            self.offsets[0, 1] = self.vector(0) @ self.centre
        self.set_numbers(scale=1.0, intercept=intercept)

    def fold_gradient(self) -> None:
        """Write the iterate of an anchored state into vector 0 alone, and clear vector 1 for a new gradient."""
        scale, share, _ = self.place()
        self.vector(0)[:] = scale * self.vector(0) + share * self.vector(1)
        self.offsets[0] = scale * self.offsets[0] + share * self.offsets[1]
        self.vector(1)[:] = 0
        self.offsets[1] = 0
        self.set_numbers(scale=1.0, share=0.0)

    def reached_by(self, access: RowAccess) -> "State":
        """The same state for rows reached in another way (dense after sparse, say)."""
        if access is self.access:
            return self
        if access.vectors_first == self.access.vectors_first:
            return replace(self, access=access)
        turned = replace(self, access=access, weights=self.weights.T.copy(), offsets=np.zeros_like(self.offsets))
        centre = self.centre
        if centre is not None:
            # Dense rows have no offsets: what these stand for is in the vectors themselves.
            for k in range(len(self.offsets)):
                vector = turned.vector(k)
                if access.vectors_first:
                    vector -= (self.offsets[k, 0] * centre).astype(self.dtype)
                else:
                    turned.offsets[k, 1] = vector @ centre
        return turned

    def copy(self) -> "State":
        """A copy that shares nothing that changes."""
        return replace(
            self,
            weights=self.weights.copy(),
            offsets=self.offsets.copy(),
            numbers=self.numbers.copy(),
            extra=copy.deepcopy(self.extra),
        )

    def check(self, n_features: int, vectors: int) -> None:
        """Raise a ValueError for a state, read from a file, that the compiled loops do not expect or cannot use."""
        first = self.access.vectors_first
        fits = (
            self.n_features == n_features
            and self.weights.shape == ((vectors, n_features) if first else (n_features, vectors))
            and self.weights.dtype == self.dtype
            and self.weights.flags.c_contiguous
            and self.offsets.shape == (vectors, 2)
            and self.numbers.shape == (LENGTH,)
        )
        if not fits:
            raise ValueError(f"weights of shape {self.weights.shape} do not fit a model of {n_features} features")
        # The numbers after these are sums of losses, which may overflow in a fit that diverges.
        used = [self.number(name) for name in ("scale", "own", "share", "intercept", "averaged_intercept")]
        if not all(bool(np.isfinite(array).all()) for array in (self.weights, self.offsets, used)):
            raise ValueError("weights or their factors are not finite")
        counts = self.number("steps"), self.number("averaged_steps")
        if not all(0 <= count < NEVER and count == int(count) for count in counts):
            raise ValueError(f"numbers of samples are {counts}")
        if (self.average_start is None) == (self.phase == "averaged") or not 0 <= (self.average_start or 0) <= counts[
            0
        ]:
            raise ValueError(f"the average of {counts[0]:g} samples starts at {self.average_start}")
        self._check_units()
        sizes = self.step(np.array([1, self.steps + 1], dtype=np.int64))
        if np.shape(sizes) != (2,) or not np.all(sizes >= 0):
            raise ValueError(f"{self.step!r} gives the step sizes {sizes}")

    def _check_units(self) -> None:
        scaling, dense = self.scaling, self.access.vectors_first
        expected = row_access.DENSE if dense else row_access.CSR
        if scaling is not None:
            sparse = row_access.CSR_SCALED if scaling.shift is None else row_access.CSR_SHIFTED
            expected = row_access.DENSE_SCALED if dense else sparse
            shift = np.zeros(self.n_features) if scaling.shift is None else scaling.shift
            if not scaling.scale.shape == shift.shape == (self.n_features,):
                raise ValueError(f"units are not of {self.n_features} features")
            if not np.all(scaling.scale > 0) or not np.isfinite(shift).all():
                raise ValueError("units are not positive and finite")
        if self.access != expected:  # a copy that was pickled is another object
            raise ValueError("rows are reached in a way that does not suit their units")
