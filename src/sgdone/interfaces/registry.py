"""Short names of losses, step sizes, solvers and stopping rules, found by searching their packages."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any, TypeVar

from sgdone.message_text import did_you_mean

Interface = TypeVar("Interface")


def by_name(name: str, interface: Callable[..., Interface], package: ModuleType, what: str) -> Interface:
    """Create the object with a short name. Names may contain ``-`` or ``_``.

    Parameters
    ----------
    name : str
        Name given by the user.
    interface : abstract class
        Base class of the object. Typed as a callable, because mypy does not accept abstract classes as types.
    package : module
        Package to search: all classes and functions of its modules with a ``name``.
    what : str
        Kind of object, for the error message.
    """
    known = names(interface, package)
    key = name.lower().replace("-", "_")
    if key not in known:
        raise ValueError(f"unknown {what} {name!r}.{did_you_mean(key, known)} Known: {', '.join(sorted(known))}")
    made: Interface = known[key]()
    return made


@lru_cache(maxsize=32)
def names(interface: Any, package: ModuleType) -> dict[str, Any]:
    """Map the names of all implementations of ``interface`` in the modules of ``package`` to them.

    An implementation is a class with a ``name``, or a function with a ``name`` that creates an object (as ``asgd``).
    """
    found: dict[str, Any] = {}
    for file in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{file.name}")
        for thing in vars(module).values():
            if getattr(thing, "__module__", None) != module.__name__:
                continue  # imported from another module, where it is found
            leaf = inspect.isclass(thing) and issubclass(thing, interface) and not inspect.isabstract(thing)
            if (leaf or inspect.isfunction(thing)) and isinstance(getattr(thing, "name", None), str):
                found[thing.name] = thing
    return found
