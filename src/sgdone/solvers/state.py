"""All that changes during a run: it can be copied, saved, and resumed bit for bit."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from sgdone.kernels.model import LENGTH, Numbers
from sgdone.kernels.rows import RowAccess
from sgdone.solvers.problem import Problem
from sgdone.steps.step_size import StepSize

#: What vector 1 is: not there (or not yet), a moving average, the average, the gradient at an anchor, or what each
#: feature has paid of an L1 penalty.
Phase = Literal["plain", "searching", "averaged", "anchored", "truncated"]


@final
@dataclass
class State:
    """A model in the making: weight vectors, their offsets, and the scalars of `sgdone.kernels.model.Numbers`."""

    problem: Problem
    step: StepSize
    phase: Phase
    weights: NDArray[Any]
    offsets: NDArray[np.float64]
    numbers: NDArray[np.float64]
    #: The sample after which averaging began (t₀), once it has.
    average_start: int | None = None
    #: The solver that made it, in its own words.
    method: str = ""
    #: What only that solver knows.
    extra: Any = None

    @classmethod
    def at(
        cls,
        problem: Problem,
        step: StepSize,
        phase: Phase,
        vectors: int,
        coef: NDArray[Any],
        intercept: float,
    ) -> "State":
        """A state whose iterate is the given one, in the user's units."""
        shape = (vectors, problem.n_features) if problem.access.vectors_first else (problem.n_features, vectors)
        state = cls(problem, step, phase, np.zeros(shape, problem.dtype), np.zeros((vectors, 2)), np.zeros(LENGTH))
        scaling = problem.scaling
        if scaling is not None:
            if scaling.shift is not None:
                intercept = intercept + float(coef @ scaling.shift)
            coef = coef * scaling.scale
        state.vector(0)[:] = coef
        if scaling is not None and scaling.shift is not None:
            state.offsets[0, 1] = state.vector(0) @ (scaling.shift / scaling.scale)
        state._set(scale=1.0, own=1.0, intercept=intercept)
        if phase == "truncated":
            state._set(own=0.0)
        if phase == "searching":
            state._set(share=1.0, averaged_intercept=intercept)
        return state

    def _set(self, **numbers: float) -> None:
        for name, number in numbers.items():
            self.numbers[Numbers._fields.index(name)] = number

    def number(self, name: str) -> float:
        """One of the scalars by its name."""
        return float(self.numbers[Numbers._fields.index(name)])

    @property
    def steps(self) -> int:
        """Updates made."""
        return int(self.number("steps"))

    def vector(self, k: int) -> NDArray[Any]:
        """A view of one of the stored vectors."""
        view: NDArray[Any] = self.weights[k] if self.problem.access.vectors_first else self.weights[:, k]
        return view

    def begin_pass(self) -> None:
        """Forget the sums of the last pass."""
        self._set(pass_loss=0.0, pass_weight=0.0)

    def begin_stretch(self) -> None:
        """Forget the sums of the last stretch of rows."""
        self._set(stretch_loss=0.0, stretch_weight=0.0, stretch_wrong=0.0, stretch_squares=0.0)

    @property
    def pass_mean(self) -> float:
        """Mean progressive loss of the pass so far; NaN before its first update."""
        weight = self.number("pass_weight")
        return self.number("pass_loss") / weight if weight > 0 else float("nan")

    def begin_average(self) -> None:
        """From the next update on, vector 1 holds the mean of the iterates."""
        self.phase = "averaged"
        self.average_start = self.steps
        self.vector(1)[:] = 0
        self.offsets[1] = 0
        self._set(own=1.0, share=0.0, averaged_intercept=0.0, averaged_steps=0.0)

    def solution(self) -> tuple[NDArray[Any], float]:
        """The model so far in the user's units: the average over (t₀, k], or the iterate if there is none yet."""
        averaged = self.phase == "averaged" and self.number("averaged_steps") > 0
        return self._in_user_units(averaged)

    def iterate(self) -> tuple[NDArray[Any], float]:
        """The running iterate in the user's units."""
        return self._in_user_units(averaged=False)

    def running(self) -> tuple[NDArray[np.float64], float]:
        """The running iterate in the units in which the rows are learnt from."""
        return self._combined(averaged=False), self.number("intercept")

    def _in_user_units(self, averaged: bool) -> tuple[NDArray[Any], float]:
        problem = self.problem
        combined = self._combined(averaged)
        intercept = self.number("averaged_intercept" if averaged else "intercept")
        if problem.scaling is not None:
            combined /= problem.scaling.scale
            if problem.scaling.shift is not None:
                intercept -= float(combined @ problem.scaling.shift)
        return combined.astype(problem.dtype), intercept

    def _combined(self, averaged: bool) -> NDArray[np.float64]:
        """The iterate or the average out of the vectors and, of shifted sparse rows, their offsets."""
        factors = [self.number("share"), self.number("own")] if averaged else [self.number("scale")]
        if self.phase == "anchored":
            factors.append(self.number("share"))
        combined = factors[0] * self._settled()
        for k, factor in enumerate(factors[1:], start=1):
            combined += factor * self.vector(k).astype(np.float64)
        scaling = self.problem.scaling
        if scaling is not None and scaling.shift is not None and not self.problem.access.vectors_first:
            delta = sum(factor * self.offsets[k, 0] for k, factor in enumerate(factors))
            combined -= delta * (scaling.shift / scaling.scale)
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
        self._set(scale=scale, share=share, intercept=intercept)

    def set_running(self, weights: NDArray[np.float64], intercept: float) -> None:
        """Make weights, in the units in which the rows are learnt from, the running iterate of a plain state."""
        scaling = self.problem.scaling
        self.vector(0)[:] = weights
        self.offsets[0] = 0
        if scaling is not None and scaling.shift is not None:
            self.offsets[0, 1] = self.vector(0) @ (scaling.shift / scaling.scale)
        self._set(scale=1.0, intercept=intercept)

    def fold_gradient(self) -> None:
        """Write the iterate of an anchored state into vector 0 alone, and clear vector 1 for a new gradient."""
        scale, share, _ = self.place()
        self.vector(0)[:] = scale * self.vector(0) + share * self.vector(1)
        self.offsets[0] = scale * self.offsets[0] + share * self.offsets[1]
        self.vector(1)[:] = 0
        self.offsets[1] = 0
        self._set(scale=1.0, share=0.0)

    def reached_by(self, access: RowAccess) -> "State":
        """The same state for rows reached in another way (dense after sparse, say)."""
        if access is self.problem.access:
            return self
        problem = replace(self.problem, access=access)
        if access.vectors_first == self.problem.access.vectors_first:
            return replace(self, problem=problem)
        turned = replace(self, problem=problem, weights=self.weights.T.copy(), offsets=np.zeros_like(self.offsets))
        if problem.scaling is not None and problem.scaling.shift is not None:
            # Dense rows know no offsets: what these stand for is in the vectors themselves.
            centre = problem.scaling.shift / problem.scaling.scale
            for k in range(len(self.offsets)):
                vector = turned.vector(k)
                if access.vectors_first:
                    vector -= (self.offsets[k, 0] * centre).astype(problem.dtype)
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

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What must be kept to resume, beside the problem, the step size, the phase and t₀."""
        return {"weights": self.weights, "offsets": self.offsets, "numbers": self.numbers}

    def with_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> "State":
        """The same kind of state with other arrays."""
        weights, offsets, numbers = (np.array(arrays[name]) for name in ("weights", "offsets", "numbers"))
        return replace(self, weights=weights, offsets=offsets, numbers=numbers)
