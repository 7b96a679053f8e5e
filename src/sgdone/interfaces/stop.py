"""Why a run ends."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, final


class Status(StrEnum):
    """How a fit ended, from best to worst; each member is the text that users read."""

    CONVERGED = "converged"
    IN_PROGRESS = "in progress"
    BUDGET_SPENT = "budget spent"
    STALLED = "stalled"
    NO_OPTIMUM = "no finite optimum"
    STOPPED = "stopped by a callback"
    INTERRUPTED = "interrupted"
    DIVERGED = "diverged"


@final
@dataclass(frozen=True)
class Stop:
    """A reason to stop.

    Parameters
    ----------
    rule : str
        Name of the rule or method that ended the run; empty if no rule did (Ctrl-C, a callback, divergence).
    status : Status
        How the run ended.
    reason : str
        What was observed.
    evidence : dict
        The numbers behind the reason.
    advice : str
        What to do next.
    assumes_scaled : bool
        Whether features of very different scales can mislead the rule.
    """

    rule: str
    status: Status
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)
    advice: str = ""
    assumes_scaled: bool = False
