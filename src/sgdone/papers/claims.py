"""Sentences of a paper, and the measurements that confirm or contradict them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from scipy import stats

#: A claim names at most this number of exceptions.
_NAMED = 3
#: Why a pooled claim fails whose interval contains one half.
_UNDECIDED = "the interval contains one half"


class Sentence(NamedTuple):
    """A sentence of a paper, in its words, and where it is."""

    words: str
    place: str


@final
@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, how it is read, what was measured, and whether it holds.

    Parameters
    ----------
    sentence : Sentence
        The paper's words, and where they are.
    reading : str
        A statement that is true or false of the measurements. It is fixed before the run and has none of its numbers.
    measured : str
        The numbers that decide it.
    holds : bool
        Whether the reading is true of the measurements.
    reason : str
        Why it does not hold, where that is known; dropped if it holds.
    agreeing, pairs : int
        Number of pairs that agree, and of all pairs, of a pooled claim; otherwise 0.

    Examples
    --------
    >>> Claim(Sentence("never dips below 0.95", "section 5.1"), "ratio ≥ 0.95", "0.947", False, "large steps").reason
    'large steps'
    """

    sentence: Sentence
    reading: str
    measured: str
    holds: bool
    reason: str = ""
    agreeing: int = 0
    pairs: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", bool(self.holds))
        if self.holds:
            object.__setattr__(self, "reason", "")


class AlsoTried(NamedTuple):
    """Another reading of a sentence or a test of our own, with its numbers; it is not counted.

    Examples
    --------
    >>> AlsoTried("burn-in 500, as printed", "significant for 1 of 8 γ").what
    'burn-in 500, as printed'
    """

    what: str
    measured: str


def pooled(
    sentence: Sentence,
    reading: str,
    outcomes: Mapping[Any, bool],
    detail: str = "",
    reason: str = "",
    of: str = "pairs",
) -> Claim:
    """A claim about many noisy pairs: it holds if the 95 % interval of the share that agrees lies above one half.

    Parameters
    ----------
    sentence, reading
        As in `Claim`.
    outcomes : mapping
        Whether each pair agrees with the sentence.
    detail : str
        More numbers.
    reason : str
        Why it fails, where that is known.
    of : str
        Noun for the pairs.

    Examples
    --------
    >>> claim = pooled(Sentence("is faster", "section 5"), "k is smaller", dict(enumerate([True] * 9 + [False])))
    >>> claim.measured, claim.holds
    ('9 of 10 pairs, 95 % interval 55 % to 100 %', True)
    """
    if not outcomes:
        return Claim(sentence, reading, "nothing to compare", False, "no two runs of both sides ended")
    share, low, high = share_with_interval(outcomes.values(), of)
    why = "; ".join(filter(None, (_UNDECIDED if low <= 0.5 < high else "", reason)))
    return Claim(sentence, reading, share + detail, low > 0.5, why, sum(map(bool, outcomes.values())), len(outcomes))


class Share(NamedTuple):
    """A share of pairs in words, and its exact 95 % interval (Clopper and Pearson)."""

    words: str
    low: float
    high: float


def share_with_interval(outcomes: Iterable[bool], of: str = "pairs") -> Share:
    """Number of outcomes that are true, with the exact 95 % interval of their share.

    Examples
    --------
    >>> share_with_interval([True, True, False], of="panels").words
    '2 of 3 panels, 95 % interval 9 % to 99 %'
    """
    found = list(outcomes)
    low, high = stats.binomtest(sum(map(bool, found)), len(found)).proportion_ci(method="exact")
    words = f"{sum(map(bool, found))} of {len(found)} {of}, 95 % interval {100 * low:.0f} % to {100 * high:.0f} %"
    return Share(words, float(low), float(high))


def every(
    sentence: Sentence, reading: str, comparisons: Mapping[str, bool], detail: str = "", reason: str = ""
) -> Claim:
    """A claim that holds if every one of the named comparisons is true: for theorems and small numbers of data sets.

    Examples
    --------
    >>> every(Sentence("convex", "Lemma 8"), "Ψ is convex", {"γ = 1": True, "γ = 2": False}).measured
    'in 1 of 2; not in γ = 2'
    """
    wrong = [name for name, right in comparisons.items() if not right]
    if not comparisons:
        return Claim(sentence, reading, "nothing to compare", False, "no two runs of both sides ended")
    measured = f"in {len(comparisons) - len(wrong)} of {len(comparisons)}{detail}"
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        measured += f"; not in {', '.join(wrong[:_NAMED])}{more}"
    return Claim(sentence, reading, measured, not wrong, reason)


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
