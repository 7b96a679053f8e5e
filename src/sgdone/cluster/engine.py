"""Interface of engines, which keep partitions and send requests to them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Self, TypeVar, final

from sgdone.cluster.messages import Parts, from_bytes, merge_answers, partition_work
from sgdone.cluster.partition import Partition, Preparation

Item = TypeVar("Item")

#: Answers that are merged in one task: a subtree of the sum.
FAN_IN = 16


class Engine(ABC):
    """Partitions, wherever they are.

    An engine schedules tasks, transports data and retries; it is independent of fits. It computes
    `sgdone.cluster.messages.partition_work` of each partition, a pure function: a partition that is lost is created
    again, and gives the same answer.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def ask(self, parts: Parts, *, in_order: bool = False) -> Iterable[bytes]:
        """Send a request to all partitions, and return their answers in any order.

        Neighbours may be merged on the way by `sgdone.cluster.messages.merge_answers`, `FAN_IN` at a time, unless they
        are to be merged ``in_order``.
        """

    @abstractmethod
    def encode(self, encoder: bytes) -> None:
        """Replace each partition by the result of `encode_partition`, for example the features of its table."""

    def close(self) -> None:  # noqa: B027  # there may be nothing to release
        """Release the partitions and other resources, at the end of a ``with`` block too."""


def encode_partition(encoder: bytes, partition: Partition) -> Partition:
    """The partition with encoded features, or changed by a `Preparation`; ``encoder`` is either of them as bytes."""
    found = from_bytes(encoder)
    return found.prepared(partition) if isinstance(found, Preparation) else partition.encoded(found)


@final
class LocalEngine(Engine):
    """Partitions in this process, asked one after the other: the reference for other engines.

    Parameters
    ----------
    partitions : iterable of Partition
        In their order.
    merges : bool, default=False
        Whether to merge neighbours on the way, as engines with many workers do; it never changes a result.
    """

    def __init__(self, partitions: Iterable[Partition], *, merges: bool = False) -> None:
        self._partitions, self._merges = list(partitions), merges

    def ask(self, parts: Parts, *, in_order: bool = False) -> Iterator[bytes]:
        """Answers in the order of the partitions."""
        answers = (partition_work(parts, partition) for partition in self._partitions)
        if in_order or not self._merges:
            yield from answers
            return
        for group in groups_of(list(answers)):
            yield merge_answers(group)

    def encode(self, encoder: bytes) -> None:
        """Encode the tables here."""
        self._partitions = [encode_partition(encoder, partition) for partition in self._partitions]


def groups_of(items: list[Item]) -> list[list[Item]]:
    """Groups of neighbours for `merge_answers`, of `FAN_IN` items each."""
    return [items[first : first + FAN_IN] for first in range(0, len(items), FAN_IN)]
