"""Parts of requests that are sent to the workers once, and kept there while rounds need them."""

import hashlib
from typing import final

from pyspark import Broadcast, SparkContext

from sgdone.cluster.messages import Parts

#: What a worker gets: bytes in its task, or a variable that it has from an earlier round.
Sent = bytes | Broadcast[bytes]

#: Bytes up to which a part is sent with the tasks.
_SMALL = 1 << 16


@final
class KeptBroadcasts:
    """Broadcast variables of the parts of the last request.

    Parameters
    ----------
    context : SparkContext
        Sends them.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._kept: dict[bytes, Broadcast[bytes]] = {}

    def send(self, parts: Parts) -> tuple[Sent, ...]:
        """Parts as the workers of this round get them; parts of earlier rounds that are not among them are dropped."""
        large = {hashlib.sha256(part).digest(): part for part in parts if len(part) > _SMALL}
        for digest in self._kept.keys() - large.keys():
            self._kept.pop(digest).destroy()
        for digest in large.keys() - self._kept.keys():
            self._kept[digest] = self._context.broadcast(large[digest])
        return tuple(part if len(part) <= _SMALL else self._kept[hashlib.sha256(part).digest()] for part in parts)

    def close(self) -> None:
        """Drop all of them."""
        self.send(())


def received(sent: tuple[Sent, ...]) -> Parts:
    """The parts that were sent, at a worker."""
    return tuple(part if isinstance(part, bytes) else part.value for part in sent)
