"""A claim over several seeds: in how many of them it holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from sgdone.papers.claims import Claim, share_with_interval


@final
@dataclass(frozen=True)
class ClaimVerdict:
    """A claim, and in which of the seeds it holds.

    Parameters
    ----------
    words, place, reading : str
        As in `~sgdone.papers.claims.Claim`.
    measured : tuple of str
        Measurement with each seed.
    holds_in : tuple of bool
        Whether the claim holds, for each seed.
    reason : str
        Why it does not hold in the first seed in which it does not.
    agreeing, pairs : int
        Number of pairs that agree, and of all pairs, over all seeds, of a pooled claim; otherwise 0.

    Examples
    --------
    >>> ClaimVerdict("faster", "section 5", "k is smaller", ("1 < 2", "3 > 2", "1 < 2"), (True, False, True), "").text
    'holds in 2 of 3 seeds'
    """

    words: str
    place: str
    reading: str
    measured: tuple[str, ...]
    holds_in: tuple[bool, ...]
    reason: str
    agreeing: int = 0
    pairs: int = 0

    @property
    def holds(self) -> bool:
        """Whether it holds in more than half of the seeds."""
        return 2 * sum(self.holds_in) > len(self.holds_in)

    @property
    def text(self) -> str:
        """The verdict in words; without the number of seeds if there is only one."""
        if len(self.holds_in) == 1:
            return "holds" if self.holds else "fails"
        if not any(self.holds_in):
            return f"fails in all {len(self.holds_in)} seeds"
        return f"holds in {sum(self.holds_in)} of {len(self.holds_in)} seeds"

    @property
    def together(self) -> str:
        """The share of the pairs of all seeds together, of a pooled claim with several seeds.

        Examples
        --------
        >>> ClaimVerdict("faster", "section 5", "k is smaller", ("", ""), (False, False), "", 9, 12).together
        'with all seeds together 9 of 12, 95 % interval 43 % to 95 %'
        """
        if not self.pairs or len(self.holds_in) == 1:
            return ""
        outcomes = [k < self.agreeing for k in range(self.pairs)]
        return f"with all seeds together {share_with_interval(outcomes, of='').words.replace(' ,', ',')}"

    @classmethod
    def of(cls, claims: Sequence[Claim]) -> "ClaimVerdict":
        """One claim, measured with each seed."""
        first = claims[0]
        return cls(
            *first.sentence,
            first.reading,
            tuple(claim.measured for claim in claims),
            tuple(claim.holds for claim in claims),
            next((claim.reason for claim in claims if claim.reason), ""),
            sum(claim.agreeing for claim in claims),
            sum(claim.pairs for claim in claims),
        )

    def as_json(self) -> dict[str, Any]:
        """An entry of ``claims.json``."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> "ClaimVerdict":
        """The inverse of `as_json`."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
        }
        return cls(**values)


def verdicts_of(by_seed: Sequence[Sequence[Claim]]) -> list[ClaimVerdict]:
    """The claims of each seed, which are the same but for their numbers, joined."""
    readings = [[claim.reading for claim in claims] for claims in by_seed]
    if any(other != readings[0] for other in readings):
        raise ValueError("the seeds differ in the readings of their claims; a reading must not contain measurements")
    return [ClaimVerdict.of(claims) for claims in zip(*by_seed, strict=True)]


def held(verdicts: Sequence[ClaimVerdict]) -> str:
    """Number of sentences that hold.

    Examples
    --------
    >>> held([ClaimVerdict("", "", "", ("1",), (True,), ""), ClaimVerdict("", "", "", ("1",), (False,), "")])
    '1 of 2'
    """
    return f"{sum(verdict.holds for verdict in verdicts)} of {len(verdicts)}"
