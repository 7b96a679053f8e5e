"""The states of NumPy's random generators as plain values."""

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
#: Seeds of NumPy have as many words; far more would fill the memory.
_LARGEST_POOL = 64


def pack_random_state(generator: np.random.RandomState) -> dict[str, Any]:
    """Everything that decides what it will draw next."""
    state: dict[str, Any] = generator.get_state(legacy=False)
    _check_known(state["bit_generator"])
    return state


def unpack_random_state(state: Any) -> np.random.RandomState:
    """A generator that will draw what the other would have; raise a ValueError for a state that none can have."""
    generator = np.random.RandomState(_bit_generator(state)())
    _check("random state", state, generator.get_state(legacy=False))
    generator.set_state(state)
    return generator


def pack_generator(generator: np.random.Generator) -> dict[str, Any]:
    """Everything that decides what it will draw next, and which generators it will spawn."""
    bits: Any = generator.bit_generator
    state, seed = dict(bits.state), bits.seed_seq
    _check_known(state["bit_generator"])
    if type(seed) is not np.random.SeedSequence:
        raise TypeError(f"a file cannot hold a random generator whose seed is a {type(seed).__name__}")
    return {"state": state, "seed": seed.state}


def unpack_generator(parts: Any) -> np.random.Generator:
    """A generator that will draw and spawn what the other would have; raise for one that cannot be."""
    if not isinstance(parts, dict) or sorted(parts) != ["seed", "state"]:
        raise ValueError("a random generator has a state and a seed")
    state = parts["state"]
    made = _bit_generator(state)(_seed(parts["seed"]))
    _check("random state", state, made.state)
    made.state = state
    return np.random.Generator(made)


def _check_known(name: str) -> None:
    if name not in _GENERATORS:
        raise TypeError(f"a file cannot hold the random generator {name}: use one of NumPy's")


def _bit_generator(state: Any) -> Any:
    name = state.get("bit_generator") if isinstance(state, dict) else None
    if name not in _GENERATORS:
        raise ValueError(f"no random generator is called {name!r}")
    return getattr(np.random, name)


def _seed(parts: Any) -> np.random.SeedSequence:
    """The seed of a generator, which decides what it spawns."""
    if not isinstance(parts, dict) or sorted(parts) != ["entropy", "n_children_spawned", "pool_size", "spawn_key"]:
        raise ValueError("the seed of a random generator has other parts")
    entropy, spawned, size, key = (parts[name] for name in sorted(parts))
    numbers = [*(entropy if isinstance(entropy, (list, tuple)) else [entropy]), *key, spawned]
    if not all(type(number) is int and number >= 0 for number in numbers) or max(*key, spawned, 0) >= 2**32:
        raise ValueError("the seed of a random generator holds other values than whole numbers")
    if type(size) is not int or not 4 <= size <= _LARGEST_POOL:
        raise ValueError(f"the seed of a random generator has the size {size!r}")
    return np.random.SeedSequence(entropy, spawn_key=key, pool_size=size, n_children_spawned=spawned)


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
