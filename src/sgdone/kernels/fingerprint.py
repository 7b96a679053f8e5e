"""Numba's disk cache does not notice an edit in another file: a fingerprint of the sources makes it do so.

The key of a compiled loop is its own file and the contents of its closure. The functions it calls (row access, losses)
are in other files, so every closure also contains a fingerprint of their contents.
"""

import hashlib
import inspect
import pickle
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


def fingerprint(*parts: Callable[..., Any] | str) -> str:
    """Digest of the kernel sources, and of names and functions with everything they refer to."""
    digest = hashlib.sha256(_kernel_sources())
    for part in parts:
        digest.update(b"\0" + (part.encode() if isinstance(part, str) else _definition(part, set())))
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def _kernel_sources() -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(_HERE.glob("*.py")))


def _definition(function: Callable[..., Any], seen: set[int]) -> bytes:
    """A function's name, file and code, and the functions and values of its closure and globals."""
    plain: Any = inspect.unwrap(getattr(function, "py_func", function))
    if id(plain) in seen or not inspect.isfunction(plain):
        return repr(plain).encode() if id(plain) not in seen and not callable(plain) else b""
    seen.add(id(plain))
    code = plain.__code__
    around = inspect.getclosurevars(plain)
    names = {**around.globals, **around.nonlocals}
    parts = [
        repr((plain.__module__, plain.__qualname__, code.co_names, _constants(code.co_consts))).encode(),
        _source(plain),
        bytes(code.co_code),
        *(name.encode() + _value(names[name], seen) for name in sorted(names)),
    ]
    return b"\0".join(parts)


def _value(value: Any, seen: set[int]) -> bytes:
    if inspect.ismodule(value):
        return value.__name__.encode()
    if callable(value):
        return _definition(value, seen)
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError):
        return repr(value).encode()


def _source(function: Callable[..., Any]) -> bytes:
    try:
        return Path(inspect.getsourcefile(function) or "").read_bytes()
    except (OSError, TypeError):
        return b""


def _constants(values: tuple[Any, ...]) -> list[str]:
    """Constants without the addresses that nested code objects print."""
    return [value.co_code.hex() if inspect.iscode(value) else repr(value) for value in values]
