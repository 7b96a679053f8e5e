"""Stop when further training would gain less than the noise of the loss."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

from sgdone.interfaces.objective import Judgement
from sgdone.interfaces.stop_rule import Needs, Progress, Status, Stop, StopRule
from sgdone.losses.loss import real_or_nan

#: Standard errors of the gain within which one evaluation is enough; tolerances within which such an error lies if two
#: evaluations are to be.
_CERTAIN = 2.0
#: A model that no further training is expected to improve on new rows may be far from the minimum on the training rows.
_NOT_TESTED = "the training objective was not minimised"


@dataclass
class GainState:
    """Whether the last evaluation was below the tolerance, and what it said."""

    was_small: bool = False
    last: str = ""


@final
@dataclass(frozen=True)
class Gain(StopRule):
    """Stop when the expected gain of further training falls below ``tol`` standard errors of the loss.

    The standard error is that of a mean loss over as many rows as were trained on (`Judgement.noise`). One evaluation
    may fall below by chance: it takes two in a row, with standard errors of the gain itself of at most twice the
    tolerance, or one that is below by two of these. A model that is clearly worse than a constant prediction has not
    converged, nor one that the method doubts (`Judgement.doubt`), whatever the gain. The loss is that of validation
    rows: the rule says nothing about the minimum of the training objective, as `Decrement` does.

    Parameters
    ----------
    tol : float, default=0.2
        Smallest gain worth further training, in standard errors of the loss. 0 never stops.

    Examples
    --------
    >>> from sgdone import LinearClassifier
    >>> from sgdone.stopping import MaxPasses
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifier("hinge", stop=Gain(tol=0.5) | MaxPasses(20), random_state=0).fit(X, y)
    >>> model.verdict_.rule
    'Gain'
    """

    tol: float = 0.2
    name: ClassVar[str] = "gain"
    needs: ClassVar[Needs] = Needs(judgement=True)

    def __post_init__(self) -> None:
        tol: Any = self.tol
        if not 0 <= real_or_nan(tol) < math.inf:
            raise ValueError(f"tol must be a non-negative number; got {tol!r}")

    @property
    def tolerance(self) -> float:
        """``tol``."""
        return float(self.tol)

    def start(self, n_rows: int | None) -> GainState:
        """No evaluation yet."""
        return GainState()

    def check(self, state: Any, n_features: int) -> None:
        """Check the stored flag and text."""
        self.check_kind(state, GainState)

    def observe(self, state: GainState, progress: Progress) -> Stop | None:
        """Fire if the gain is certainly below the tolerance or was below it twice in a row, and nothing is in doubt."""
        judgement = progress.judgement
        if judgement is None:
            return None
        state.last = _reason(judgement, self.tol)
        enough = self.tol * judgement.noise
        small = judgement.gain_in_errors < self.tol and judgement.gain_error <= _CERTAIN * enough
        small = small and judgement.beats_constant and not judgement.doubt
        if small and (state.was_small or judgement.gain + _CERTAIN * judgement.gain_error < enough):
            reason = _reason(judgement, self.tol, _NOT_TESTED if math.isnan(judgement.decrement) else "")
            return Stop("Gain", Status.CONVERGED, reason, _evidence(judgement, self.tol))
        state.was_small = small
        return None

    def describe(self, state: GainState, progress: Progress) -> str:
        """The last evaluation."""
        if not state.last:
            return "needs two evaluations to tell whether more passes would help"
        return f"{'never fires with tol=0' if self.tol == 0 else 'did not fire'}: {state.last}"


def _reason(judgement: Judgement, tol: float, remark: str = "") -> str:
    """The expected gain as a clause of a sentence, with a remark in brackets."""
    if not judgement.beats_constant:
        return "the model is worse than a constant prediction"
    if judgement.doubt:
        return judgement.doubt
    if math.isnan(judgement.gain):
        return "too few evaluations to know what further passes gain"
    if judgement.gain == 0:
        return f"more passes are not expected to lower the {judgement.estimated_by} loss{remark and f' ({remark})'}"
    count = round(judgement.passes)
    more = "1 more pass" if count <= 1 else f"{count:,} more passes"
    errors = f"{judgement.gain_in_errors:.2g} standard errors; tol={tol:g}{remark and f'; {remark}'}"
    return f"{more} would lower the {judgement.estimated_by} loss by about {judgement.gain:.1g} ({errors})"


def _evidence(judgement: Judgement, tol: float) -> dict[str, float]:
    return {
        "loss": judgement.loss,
        "standard_error": judgement.loss_error,
        "gain": judgement.gain,
        "gain_standard_error": judgement.gain_error,
        "tol": tol,
    }
