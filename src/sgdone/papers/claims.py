"""Statements of a paper beside the measurements that confirm or contradict them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

#: A claim names at most this number of exceptions.
_NAMED = 3


@final
@dataclass(frozen=True)
class Claim:
    """A measurable statement, what the paper says, what was measured, and whether the statement holds.

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
        Why it does not hold, where that is known; dropped if it holds.

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

    def __post_init__(self) -> None:
        if self.holds:
            object.__setattr__(self, "reason", "")

    def as_json(self) -> dict[str, Any]:
        """An entry of ``claims.json``, with the reason if there is one."""
        entry = {"claim": self.claim, "paper": self.paper, "measured": self.measured, "holds": bool(self.holds)}
        return entry | ({"reason": self.reason} if self.reason else {})


def every(claim: str, paper: str, comparisons: Mapping[str, bool], detail: str = "", reason: str = "") -> Claim:
    """A claim that holds if every one of the named comparisons is true.

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
    return Claim(claim, paper, measured, not wrong, reason)


def listed(values: Mapping[str, float], form: str) -> str:
    """Names and numbers.

    Examples
    --------
    >>> listed({"ASGD": 1.5, "SGD2": 3.0}, ".2f")
    'ASGD 1.50, SGD2 3.00'
    """
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def span(numbers: Iterable[float], form: str) -> str:
    """The smallest and the largest of some numbers; empty if there are none.

    Examples
    --------
    >>> span([0.5, -1.0, 2.0], ".1f")
    'from -1.0 to 2.0'
    """
    values = list(numbers)
    return f"from {min(values):{form}} to {max(values):{form}}" if values else ""
