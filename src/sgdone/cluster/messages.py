"""Requests and sums as bytes: what travels between the driver of a fit and its partitions."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
from safetensors import numpy as safetensors

from sgdone.state_file.codec import Decoder, Encoder
from sgdone.state_file.file_bytes import header_of
from sgdone.sums.columns import ColumnMoments, EntryMoments
from sgdone.sums.row_sum import MESSAGES, message

for _kind in (ColumnMoments, EntryMoments):
    message(_kind)


def to_bytes(value: Any) -> bytes:
    """A message as bytes, the same for the same values.

    Examples
    --------
    >>> sums = EntryMoments(2.0, np.array([1.0, 0.0]), np.array([9.0, 0.0]))
    >>> from_bytes(to_bytes(sums)).merge(sums).squares
    array([18.,  0.])
    """
    encoder = Encoder()
    content = json.dumps(encoder.encode(_plain(value), "value"), allow_nan=False)
    if encoder.custom_loss is not None:
        raise ValueError("a loss of your own cannot be sent to the workers of a cluster: use a loss of sgdone.losses")
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in encoder.tensors.items()}
    made: bytes = safetensors.save(tensors, metadata={"content": content})
    return made


def from_bytes(data: bytes) -> Any:
    """The message that was sent."""
    content = json.loads(header_of(data))["__metadata__"]["content"]
    decoder = Decoder(safetensors.load(data), None)
    return _message(decoder.decode(json.loads(content)))


def _plain(value: Any) -> Any:
    """A message as a dict of its name and fields, also in a tuple; other values as they are."""
    if type(value) is tuple:
        return tuple(map(_plain, value))
    if MESSAGES.get(type(value).__name__) is not type(value):
        return value
    return {"message": type(value).__name__} | {own.name: _plain(getattr(value, own.name)) for own in fields(value)}


def _message(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_message, value))
    if not isinstance(value, dict) or "message" not in value:
        return value
    kind = MESSAGES[value["message"]]
    return kind(**{name: _message(part) for name, part in value.items() if name != "message"})
