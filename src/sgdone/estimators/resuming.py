"""How ``partial_fit`` goes on, and when it refuses to."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto import AutoResult
from sgdone.estimators.specs import as_rule
from sgdone.estimators.training import Start
from sgdone.run import Result
from sgdone.stopping.base import Progress, Stop, StopRule

#: What ends a run without being a stopping rule.
_NO_RULES = ("single pass", "Ctrl-C", "callback", "divergence")


@final
@dataclass(frozen=True)
class Silenced(StopRule):
    """Keeps a rule's state but never fires: all the rows given to a call of ``partial_fit`` are read.

    So it is with the default rule, which has nothing to say about parts of a stream, and with ``resume=True``.
    """

    rule: StopRule

    @property
    def hold_out(self) -> int:
        """As the rule, which may be asked in a later call."""
        return self.rule.hold_out

    def validate_on(self, state: Any, X: Any, labels: NDArray[np.float64]) -> None:
        """Hand the rows on."""
        self.rule.validate_on(state, X, labels)

    def start(self, n_rows: int | None) -> Any:
        """The state of the rule."""
        return self.rule.start(n_rows)

    def observe(self, state: Any, progress: Progress) -> Stop | None:
        """Say nothing."""
        return None


def rule_for_rows(stop: Any, resume: bool) -> StopRule:
    """The rule that a call of ``partial_fit`` asks."""
    return Silenced(as_rule(stop)) if resume or _is_default(stop) else as_rule(stop)


def resumed(results: Sequence[Result | AutoResult], stop: Any, *, resume: bool, same_rule: bool) -> list[Start]:
    """Copies of runs to go on from; a run that the user's own rule has ended stays as it is.

    If it has ended all of them, that is an error. A rule that is not the one of the last call starts anew.
    """
    rule = as_rule(stop)
    starts, reasons = [], []
    for result in results:
        rule_state = copy.deepcopy(result.rule_state) if same_rule else None
        reason = None
        if not (resume or _is_default(stop)):
            reason = _why_ended(result, rule, rule.start(None) if rule_state is None else rule_state, same_rule)
        kept: Any = result.state.copy()  # of the result's own kind
        going_on = replace(result, state=kept, rule_state=rule_state)
        starts.append(Start(resume=result if reason is not None else going_on, ended=reason is not None))
        reasons.append(reason)
    if all(reason is not None for reason in reasons):
        raise ValueError(
            f"the rule stop={rule!r} has ended this model ({reasons[-1]}): "
            "pass resume=True to partial_fit to go on, or fit anew"
        )
    return starts


def _why_ended(result: Result | AutoResult, rule: StopRule, rule_state: Any, same_rule: bool) -> str | None:
    """Why the rule has ended the run, or would before the next row; ``None`` if neither."""
    state = result.state
    now = Progress(
        state.steps,
        result.rows_read,
        None,
        result.passes_begun,
        True,
        math.nan,
        0.0,
        iterate=state.running,
    )
    stop = rule.observe(copy.deepcopy(rule_state), now)
    if stop is not None:
        return stop.reason
    return result.verdict.reason if same_rule and result.verdict.rule not in _NO_RULES else None


def _is_default(stop: Any) -> bool:
    return isinstance(stop, str) and stop == "auto"
