"""Stop at the minimum of the training objective."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

from sgdone.interfaces.stop_rule import Needs, Progress, Status, Stop, StopRule
from sgdone.losses.loss import real_or_nan


@dataclass
class DecrementState:
    """The last decrement; NaN before the first."""

    last: float = math.nan


@final
@dataclass(frozen=True)
class Decrement(StopRule):
    """Stop when Newton's decrement falls below ``tol``.

    The decrement gᵀH⁻¹g/2 is, to second order, by how much the objective, summed over the rows, exceeds its minimum; in
    a regression it is divided by the variance of the residuals.
    Below 5e-9 every coefficient is within 1e-4 standard errors of the exact one: the square of a distance in standard
    errors is at most twice the decrement.

    Parameters
    ----------
    tol : float, default=5e-9
        Largest decrement of a model at the minimum.

    Examples
    --------
    >>> from sgdone import SGDClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SGDClassifier(solver="newton", alpha=0.01, stop=Decrement(1e-3)).fit(X, y)
    >>> model.verdict_.rule
    'Decrement'
    """

    tol: float = 5e-9
    name: ClassVar[str] = "decrement"
    needs: ClassVar[Needs] = Needs(decrement=True)

    def __post_init__(self) -> None:
        if not 0 <= real_or_nan(self.tol) < math.inf:
            raise ValueError(f"tol must be a non-negative number; got {self.tol!r}")

    def start(self, n_rows: int | None) -> DecrementState:
        """No decrement yet."""
        return DecrementState()

    def check(self, state: Any, n_features: int) -> None:
        """A number."""
        self.check_kind(state, DecrementState)

    def observe(self, state: DecrementState, progress: Progress) -> Stop | None:
        """Fire if the decrement is small enough."""
        if progress.judgement is None or math.isnan(progress.judgement.decrement):
            return None
        state.last = progress.judgement.decrement
        if not state.last <= self.tol:
            return None
        evidence, value = {"decrement": state.last, "tol": self.tol}, ""
        if progress.judgement.estimated_by == "training":
            evidence["objective"], value = progress.judgement.loss, f", {progress.judgement.loss:.6g},"
        reason = f"the training objective{value} is at its minimum ({_text(state.last)})"
        return Stop("Decrement", Status.CONVERGED, reason, evidence)

    def describe(self, state: DecrementState, progress: Progress) -> str:
        """The last decrement, and the one that it waits for."""
        now = "" if math.isnan(state.last) else f"; {_text(state.last)}"
        return f"waits for a decrement below {self.tol:g}{now}"


def _text(decrement: float) -> str:
    return f"Newton's decrement is {decrement:.2g}"
