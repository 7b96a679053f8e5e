"""Sentences of a paper beside what was measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

#: Exceptions named in a claim at most.
_NAMED = 3


@final
@dataclass(frozen=True)
class Claim:
    """A statement of a paper made measurable, what the paper has, what was found, and whether it holds.

    Parameters
    ----------
    claim : str
        A sentence that is true or false of the measurements.
    paper : str
        What the paper says or prints, and where.
    measured : str
        The numbers that decide it.
    holds : bool
        Whether the sentence is true of the measurements.
    reason : str
        Why it does not hold, where that is known.

    Examples
    --------
    >>> Claim("the ratio is at least 0.95", "never below 0.95", "0.947 at σ = 2", False).as_json()
    {'claim': 'the ratio is at least 0.95', 'paper': 'never below 0.95', 'measured': '0.947 at σ = 2', 'holds': False}
    """

    claim: str
    paper: str
    measured: str
    holds: bool
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """An entry of ``claims.json``; a reason is given where there is one."""
        entry = {"claim": self.claim, "paper": self.paper, "measured": self.measured, "holds": bool(self.holds)}
        return entry | ({"reason": self.reason} if self.reason else {})


def every(claim: str, paper: str, comparisons: Mapping[str, bool], detail: str = "", reason: str = "") -> Claim:
    """A claim that holds if every comparison, by its name, comes out as stated.

    Examples
    --------
    >>> every("(12) is faster", "faster", {"σ = 1 (h/10)": True, "σ = 1 (l/10)": False}).measured
    'in 1 of 2; not in σ = 1 (l/10)'
    """
    wrong = [name for name, right in comparisons.items() if not right]
    if not comparisons:
        return Claim(claim, paper, "nothing to compare", False, "no two runs of both sides ended as the claim has it")
    measured = f"in {len(comparisons) - len(wrong)} of {len(comparisons)}{detail}"
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        measured += f"; not in {', '.join(wrong[:_NAMED])}{more}"
    return Claim(claim, paper, measured, not wrong, reason if wrong else "")
