"""Adding up in a fixed tree, so that the result does not depend on where and when each part was computed."""

from collections.abc import Iterable
from typing import Any, Protocol, Self, TypeVar, final


class Mergeable(Protocol):
    """A sum over rows."""

    def merge(self, other: Self) -> Self:
        """The sum over the rows of both."""


S = TypeVar("S", bound=Mergeable)


def merged(parts: Iterable[S]) -> S:
    """The sum of all parts: of two neighbours, then of two neighbouring pairs, and so on.

    At most one sum for each power of two is kept, and rounding errors grow as the logarithm of the number of parts.

    Examples
    --------
    >>> class Text(str):
    ...     def merge(self, other):
    ...         return Text(f"({self}{other})")
    >>> str(merged(map(Text, "abcde")))
    '(((ab)(cd))e)'
    """
    total = TreeSum()
    for number, part in enumerate(parts):
        total.add(number, part)
    if not total.numbers:
        raise ValueError("there is nothing to add up")
    found: S = total.value()
    return found


def merged_pair(first: Any, second: Any) -> Any:
    """The sum of two parts, either of which may be None."""
    if first is None or second is None:
        return second if first is None else first
    return first.merge(second)


@final
class TreeSum:
    """Sums of neighbours, then of neighbouring pairs, and so on, by the numbers of the parts.

    It is the tree of `merged`, whatever the order in which parts arrive. Parts without rows are None. A sum is made as
    soon as both its parts are there, so that few of them are kept.

    Examples
    --------
    >>> class Text(str):
    ...     def merge(self, other):
    ...         return Text(f"({self}{other})")
    >>> total = TreeSum()
    >>> for number in (3, 0, 4, 2, 1):
    ...     total.add(number, Text("abcde"[number]))
    >>> str(total.value())
    '(((ab)(cd))e)'
    """

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        #: Sums that wait for their neighbours, by the logarithm of their length and their place.
        self._waiting: dict[tuple[int, int], Any] = {}

    def add(self, number: int, part: Any, count: int = 1) -> None:
        """Add the part with this number, or the sum of ``count`` parts from it on.

        Sums of several parts are those of a subtree: they begin at a multiple of a power of two that is at least
        ``count``, and have fewer parts than that only if they are the last.
        """
        numbers = set(range(number, number + count))
        if not self.numbers.isdisjoint(numbers):
            raise ValueError(f"partition {min(self.numbers & numbers)}: the engine returned two answers of it")
        self.numbers |= numbers
        level = (count - 1).bit_length()
        place, total = number >> level, part
        while (level, place ^ 1) in self._waiting:
            other = self._waiting.pop((level, place ^ 1))
            total = merged_pair(other, total) if place % 2 else merged_pair(total, other)
            level, place = level + 1, place // 2
        self._waiting[level, place] = total

    def value(self) -> Any:
        """The sum of all parts."""
        total = None
        for key in sorted(self._waiting, key=lambda key: key[1] << key[0], reverse=True):
            total = merged_pair(self._waiting[key], total)
        return total
