"""The state of a NumPy random generator as plain values."""

from typing import Any

import numpy as np

_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

#: Largest value of each whole number in the states; the smallest is 0. NumPy uses positions without checking them.
_LARGEST = {
    "pos": 624,
    "buffer_pos": 4,
    "has_gauss": 1,
    "has_uint32": 1,
    "uinteger": 2**32 - 1,
    "state": 2**128 - 1,
    "inc": 2**128 - 1,
}


def pack(generator: np.random.RandomState) -> dict[str, Any]:
    """Everything that decides what it will draw next."""
    state: dict[str, Any] = generator.get_state(legacy=False)
    if state["bit_generator"] not in _GENERATORS:
        raise TypeError(f"a model file cannot hold the random generator {state['bit_generator']}: use one of NumPy's")
    return state


def unpack(state: Any) -> np.random.RandomState:
    """A generator that will draw what the other would have; raise a ValueError for a state that none can have."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if name not in _GENERATORS:
        raise ValueError(f"no random generator is called {name!r}")
    generator = np.random.RandomState(getattr(np.random, name)())
    _check("random state", state, generator.get_state(legacy=False))
    generator.set_state(state)
    return generator


def _check(name: str, found: Any, example: Any) -> None:
    """Raise a ValueError unless a part of a state is like the same part of another generator's."""
    if isinstance(example, dict):
        if not isinstance(found, dict) or found.keys() != example.keys():
            raise ValueError(f"{name} does not have the parts {', '.join(example)}")
        for key, value in example.items():
            _check(key, found[key], value)
    elif isinstance(example, np.ndarray):
        if not isinstance(found, np.ndarray) or found.dtype != example.dtype or found.shape != example.shape:
            raise ValueError(f"{name} of a random state is no array of {example.size} numbers of {example.dtype}")
    elif isinstance(example, str):
        if found != example:
            raise ValueError(f"{name} of a random state is {found!r}")
    elif isinstance(example, float):
        if type(found) is not float or not np.isfinite(found):
            raise ValueError(f"{name} of a random state is {found!r}, not a finite number")
    elif type(found) is not int or not 0 <= found <= _LARGEST[name]:
        raise ValueError(f"{name} of a random state is {found!r}, not a whole number from 0 to {_LARGEST[name]}")
