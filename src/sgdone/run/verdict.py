"""How a fit ended, as text and as numbers."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

from sgdone.interfaces.stop import Status

#: Statuses from best to worst, for a verdict over several classes.
_SEVERITY = list(Status)


@final
@dataclass(frozen=True)
class Verdict:
    """Why a fit ended, where, and what to do next.

    Attributes
    ----------
    status : Status
        One of "converged", "in progress" (``partial_fit`` has used all rows given), "budget spent", "stalled",
        "no finite optimum", "stopped by a callback", "interrupted", "diverged".
    rule : str
        The rule that ended the fit; empty if none did (Ctrl-C, a callback, divergence).
    step : int
        Updates made.
    passes : float
        Rows read divided by the number of rows; after ``partial_fit``, which does not know that number, 1.
    reason : str
        What the rule observed.
    evidence : dict
        The numbers behind the reason.
    advice : str
        What to do next; empty if there is nothing to do.
    per_class : dict
        For several classes one-vs-rest, each class's own verdict.
    counts : {"sample", "update"}
        Unit of ``step``: an update that uses one row is called a sample.
    streamed : bool
        Whether the rows came by ``partial_fit``.
    finish_passes : float
        Passes of the exact phase, which ``passes`` includes.

    Examples
    --------
    >>> print(Verdict(Status.BUDGET_SPENT, "MaxPasses", 300, 3.0, "3 of 3 passes made"))
    Budget spent after 300 samples (3 passes): 3 of 3 passes made.
    """

    status: Status
    rule: str
    step: int
    passes: float
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)
    advice: str = ""
    per_class: "dict[Any, Verdict]" = field(default_factory=dict)
    counts: Literal["sample", "update"] = "sample"
    streamed: bool = False
    finish_passes: float = 0.0

    def __str__(self) -> str:
        unit = "pass" if self.passes == 1 else "passes"
        passes = f"{self.passes:.3g}" if self.passes < 100 else f"{self.passes:,.0f}"
        exact = f", {self.finish_passes:.3g} of them exact" if 0 < self.finish_passes < self.passes else ""
        read = "" if self.streamed else f" ({passes} {unit}{exact})"
        where = f"after {self.step:,} {self.counts}{'' if self.step == 1 else 's'}{read}"
        sentence = f"{self.status.capitalize()} {where}: {self.reason}."
        return f"{sentence} {self.advice}".rstrip()

    @property
    def is_minimum(self) -> bool:
        """Whether the training objective is at its minimum, by Newton's decrement; otherwise that was not tested."""
        return self.status is Status.CONVERGED and self.rule == "Decrement"

    def interrupted(self, by: str) -> "Verdict":
        """The verdict of a trained model, if what comes after training was interrupted."""
        reason = f"{by}; the fit itself: {self.status}, {self.reason}"
        return replace(self, status=Status.INTERRUPTED, rule="", reason=reason)

    @classmethod
    def of_classes(cls, verdicts: "dict[Any, Verdict]") -> "Verdict":
        """One verdict for several one-vs-rest fits: the worst class's status is reported."""
        label, worst = max(verdicts.items(), key=lambda item: (_SEVERITY.index(item[1].status), item[1].step))
        like = sum(verdict.status == worst.status for verdict in verdicts.values())
        return cls(
            worst.status,
            worst.rule,
            worst.step,
            worst.passes,
            f"{like} of {len(verdicts)} classes; class {label!r}: {worst.reason}",
            worst.evidence,
            worst.advice,
            dict(verdicts),
            worst.counts,
            worst.streamed,
            worst.finish_passes,
        )
