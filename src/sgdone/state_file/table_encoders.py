"""Encoders of tables as plain values: what they decided, numbers in arrays, and levels as an Arrow stream."""

from typing import Any

import numpy as np

from sgdone.state_file.level_stream import from_stream, to_stream
from sgdone.tables import EncoderState, TableEncoderCore


def pack_encoder_state(state: EncoderState) -> dict[str, Any]:
    """The parts of a state; its levels as bytes."""
    levels = None if state.levels is None else to_stream(state.levels)
    return {"header": state.header, "arrays": dict(state.arrays), "levels": levels}


def unpack_encoder_state(parts: Any) -> EncoderState:
    """The state; whether it fits together is checked by the encoder that is made of it."""
    header, arrays, levels = (parts[name] for name in ("header", "arrays", "levels"))
    if not isinstance(header, dict) or not isinstance(arrays, dict):
        raise ValueError("the state of an encoder has no header, or no arrays")
    if not all(isinstance(name, str) and isinstance(array, np.ndarray) for name, array in arrays.items()):
        raise ValueError("the arrays of an encoder are none")
    return EncoderState(header, arrays, None if levels is None else from_stream(levels))


def pack_encoder(encoder: TableEncoderCore) -> dict[str, Any]:
    """The state of a fitted encoder, with all its words."""
    return pack_encoder_state(encoder.state())


def unpack_encoder(parts: Any) -> TableEncoderCore:
    """The encoder; a state that does not fit together is a ValueError."""
    return TableEncoderCore.from_state(unpack_encoder_state(parts))
