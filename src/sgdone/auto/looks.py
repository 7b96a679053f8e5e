"""Looks at the candidates on rows that are judged by, and the end that they lead to."""

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto import schedule
from sgdone.auto.folds import Folds
from sgdone.auto.gain import Look, Outlook, outlook
from sgdone.auto.learner import Learner
from sgdone.data.source import Block
from sgdone.stopping.base import Stop
from sgdone.verdict import Status

#: Passes over rows so few that none of them can be judged by.
_BLIND_PASSES = 32

Weights = tuple[NDArray[np.float64], NDArray[np.float64]]


@final
class Looks:
    """The last look, the best one with the weights it was at, and what another pass would gain."""

    def __init__(self, n_rows: int, tol: float, *, small: bool) -> None:
        self._n_rows, self._tol, self._small = n_rows, tol, small
        self._last: Look | None = None
        self._best: tuple[Look, Weights] | None = None
        self._calm = False
        self.expected: Outlook | None = None

    def take(self, learner: Learner, block: Block, folds: Folds, passes: int) -> Stop | None:
        """Compare the candidates; the end, if another pass would gain too little to tell."""
        before, now = self._last, learner.look(block, folds)
        self._last = now
        if self._best is None or not now.is_worse_than(self._best[0]):
            self._best = (now, learner.blend(now))
        learner.judge_look(before, now, schedule.most_candidates(passes, small=self._small))
        if before is None or now.steps <= before.steps:
            return None
        self.expected = outlook(before, now, self._n_rows)
        # Of a candidate that is new nobody knows where it is heading.
        known = now.candidates[now.lead] in before.candidates
        calm, self._calm = self._calm, known and self.expected.in_errors < self._tol
        # One look may be calm by chance, two in a row hardly; and training losses are told by their own end alone.
        enough = folds.count > 0 or passes >= _BLIND_PASSES
        if enough and self._calm and (calm or self.expected.surely_below(self._tol)):
            return Stop("Gain", Status.CONVERGED, self._in_words(self.expected), self._evidence(learner))
        if passes >= schedule.MOST_PASSES:
            reason = f"{schedule.MOST_PASSES} passes made; {self._in_words(self.expected)}"
            return Stop("Gain", Status.BUDGET_SPENT, reason, self._evidence(learner))
        return None

    def renew(self, learner: Learner) -> None:
        """Take the weights of the last look anew, if it is the best: models have learnt from more rows since."""
        if self._best is not None and self._best[0] is self._last:
            self._best = (self._best[0], learner.blend(self._best[0]))

    @property
    def best(self) -> Weights | None:
        """The weights of the best look; those of the last one unless it is clearly worse."""
        return None if self._best is None else self._best[1]

    @property
    def promise(self) -> bool:
        """Whether the last look promised a gain that matters."""
        return self.expected is not None and self.expected.in_errors > self._tol

    def may_overfit(self, learner: Learner) -> bool:
        """Whether what is learnt from these rows alone could cost more than noise hides.

        Of the excess at the optimum a penalty wins back half at best, unless the labels depend on nothing at all. Below
        ``tol`` it does not show whether there is a penalty, nor whether rows that are judged by were learnt from.
        """
        found = self.expected
        return found is None or learner.excess(found.loss, self._n_rows) / 2.0 > self._tol * found.noise

    def _in_words(self, found: Outlook) -> str:
        more = "another pass" if round(found.passes) == 1 else f"another {found.passes:.0f} passes"
        return (
            f"{more} would lower the loss, {found.loss:.4g} ± {found.noise:.2g}, by about {found.gain:.2g}: "
            f"{found.in_errors:.2g} of its standard errors (tol={self._tol:g})"
        )

    def _evidence(self, learner: Learner) -> dict[str, Any]:
        found = self.expected
        if found is None:
            return {}
        return {
            "loss": found.loss,
            "standard_error": found.noise,
            "gain": found.gain,
            "gain_standard_error": found.gain_error,
            "tol": self._tol,
            "step_gain": learner.lead.gain,
            "alpha": learner.problem.alpha,
        }
