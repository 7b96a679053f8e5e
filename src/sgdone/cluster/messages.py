"""Messages between the driver of a fit and its partitions: requests and sums as bytes, and the partitions' answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, final

import numpy as np
from safetensors import numpy as safetensors

from sgdone.cluster.partition import Partition
from sgdone.machine.threads import single_thread
from sgdone.readers.table import errors_located
from sgdone.state_file.codec import Decoder, Encoder
from sgdone.state_file.container import header_of
from sgdone.sums.row_sum import MESSAGES, SHARED, TreeSum, message
from sgdone.sums.units import ColumnMoments, EntryMoments

for _kind in (ColumnMoments, EntryMoments):
    message(_kind)


def to_bytes(value: Any) -> bytes:
    """A message as bytes, the same for the same values."""
    return _packed(_plain(value, None))


def from_bytes(data: bytes) -> Any:
    """The message that was sent."""
    return request_from(data, ())


def split_request(request: Any) -> tuple[bytes, list[Any]]:
    """A request as bytes without its `sgdone.sums.row_sum.SHARED` fields, and the distinct values of these.

    They are found in requests within requests, too.
    """
    shared: dict[int, Any] = {}
    return _packed(_plain(request, shared)), list(shared.values())


def request_from(data: bytes, shared: Sequence[Any]) -> Any:
    """The request that was sent, with the values of its shared fields."""
    content = json.loads(header_of(data))["__metadata__"]["content"]
    decoder = Decoder(safetensors.load(data), None)
    return _message(decoder.decode(json.loads(content)), shared)


def _packed(plain: Any) -> bytes:
    encoder = Encoder()
    content = json.dumps(encoder.encode(plain, "value"), allow_nan=False)
    if encoder.custom_loss is not None:
        raise ValueError("a loss of your own cannot be sent to the workers of a cluster: use a loss of sgdone.losses")
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in encoder.tensors.items()}
    made: bytes = safetensors.save(tensors, metadata={"content": content})
    return made


def _plain(value: Any, shared: dict[int, Any] | None) -> Any:
    """A message as a dict of its fields, also in a tuple, with its name under None; other values unchanged.

    With a dict for shared values, these are collected there, and replaced by numbers.
    """
    if type(value) is tuple:
        return tuple(_plain(item, shared) for item in value)
    if MESSAGES.get(type(value).__name__) is not type(value):
        return value
    made: dict[str | None, Any] = {None: type(value).__name__}
    for own in fields(value):
        part = getattr(value, own.name)
        if shared is not None and own.metadata == SHARED:
            shared.setdefault(id(part), part)
            made[own.name] = {None: list(shared).index(id(part))}
        else:
            made[own.name] = _plain(part, shared)
    return made


def _message(value: Any, shared: Sequence[Any]) -> Any:
    if type(value) is tuple:
        return tuple(_message(item, shared) for item in value)
    if not isinstance(value, dict) or None not in value:
        return value
    name = value.pop(None)
    if isinstance(name, int):
        return shared[name]
    if name not in MESSAGES:
        raise ValueError(
            f"this process does not know the message {name}: its module must be imported by sgdone.cluster"
        )
    return MESSAGES[name](**{field: _message(part, shared) for field, part in value.items()})


#: A request, and its shared values: workers may cache parts that were sent before.
Parts = tuple[bytes, ...]

#: Largest number of shared values that are cached: the labels, the units, and the models of several searches.
_MOST_SHARED = 8


class PartitionError(ValueError):
    """Raised for a partition that cannot be used; it names the partition and, where known, the row."""


@final
@message
@dataclass(frozen=True)
class Answer:
    """Answer of one partition, or of a merged group of neighbours: a sum, None if there are no rows."""

    #: Number of the partition, or of the first one of a group.
    number: int
    value: Any
    #: Why the partition cannot be used; empty if it can.
    fault: str = ""
    #: Number of partitions, and bytes of their answers; 0 for an answer of one partition.
    count: int = 1
    size: int = 0


def partition_work(parts: Parts, partition: Partition) -> bytes:
    """Compute the answer of a partition to a request: a pure function of both.

    Bad rows are part of the answer, so that an engine does not repeat the computation.
    """
    if partition.fault or partition.is_empty:
        return to_bytes(Answer(partition.number, None, partition.fault))
    request = request_from(parts[0], [_shared(part) for part in parts[1:]])
    try:
        with errors_located(partition.place), single_thread(), np.errstate(over="ignore", invalid="ignore"):
            return to_bytes(Answer(partition.number, request.of(partition)))
    except (TypeError, ValueError) as error:
        return to_bytes(Answer(partition.number, None, str(error)))


@lru_cache(maxsize=_MOST_SHARED)
def _shared(part: bytes) -> Any:
    """Decode a shared value, once for several partitions of this process and several rounds."""
    return from_bytes(part)


def merge_answers(answers: Sequence[bytes]) -> bytes:
    """The answers of neighbouring partitions as one, by the subtree of the sum that they are part of."""
    total, size = TreeSum(), 0
    found = [from_bytes(data) for data in answers]
    for data, answer in zip(answers, found, strict=True):
        size += answer.size or len(data)
    first = min(answer.number for answer in found)
    count = sum(answer.count for answer in found)
    failed = min((answer for answer in found if answer.fault), key=lambda answer: answer.number, default=None)
    if failed is not None:
        return to_bytes(Answer(failed.number, None, failed.fault, 1, size))
    try:
        for answer in found:
            total.add(answer.number - first, answer.value, answer.count)
        return to_bytes(Answer(first, total.value(), "", count, size))
    except ValueError as error:
        return to_bytes(Answer(first, None, str(error), count, size))
