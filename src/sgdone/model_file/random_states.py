"""The state of a NumPy random generator as plain values."""

from typing import Any

import numpy as np

_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def pack(generator: np.random.RandomState) -> dict[str, Any]:
    """Everything that decides what it will draw next."""
    state: dict[str, Any] = generator.get_state(legacy=False)
    return state


def unpack(state: dict[str, Any]) -> np.random.RandomState:
    """A generator that will draw what the other would have."""
    name = state["bit_generator"]
    if name not in _GENERATORS:
        raise ValueError(f"no random generator is called {name!r}")
    generator = np.random.RandomState(getattr(np.random, name)())
    generator.set_state(state)
    return generator
