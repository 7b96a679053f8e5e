"""How ``partial_fit`` goes on, and when it refuses to."""

import copy
import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

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


def resumed(results: list[Result], stop: Any, *, resume: bool, same_rule: bool) -> list[Start]:
    """Copies of runs to go on from, unless the user's own rule has ended one of them.

    A rule that is not the one of the last call starts anew.
    """
    rule = as_rule(stop)
    starts = []
    for result in results:
        rule_state = copy.deepcopy(result.rule_state) if same_rule else None
        if not (resume or _is_default(stop)):
            _refuse_if_ended(result, rule, rule.start(None) if rule_state is None else rule_state, same_rule)
        starts.append(Start(resume=replace(result, state=result.state.copy(), rule_state=rule_state)))
    return starts


def _refuse_if_ended(result: Result, rule: StopRule, rule_state: Any, same_rule: bool) -> None:
    """Refuse if the rule has ended the run, or would before the next row."""
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
    ended = same_rule and result.verdict.rule not in _NO_RULES
    if ended or stop is not None:
        reason = result.verdict.reason if stop is None else stop.reason
        raise ValueError(
            f"the rule stop={rule!r} has ended this model ({reason}): "
            "pass resume=True to partial_fit to go on, or fit anew"
        )


def _is_default(stop: Any) -> bool:
    return isinstance(stop, str) and stop == "auto"
