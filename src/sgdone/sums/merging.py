"""Adding up in a fixed tree, so that the result does not depend on who computed which part when."""

from collections.abc import Iterable
from typing import Any, Protocol, Self, TypeVar


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
    waiting: list[tuple[int, S]] = []
    for part in parts:
        size, total = 1, part
        while waiting and waiting[-1][0] == size:
            size, total = 2 * size, waiting.pop()[1].merge(total)
        waiting.append((size, total))
    if not waiting:
        raise ValueError("there is nothing to add up")
    total = waiting.pop()[1]
    while waiting:
        total = waiting.pop()[1].merge(total)
    return total


def merged_pair(first: Any, second: Any) -> Any:
    """The sum of two parts, either of which may be None."""
    if first is None or second is None:
        return second if first is None else first
    return first.merge(second)
