"""Short names for losses, step sizes, solvers and rules: found in their folders, not registered anywhere."""

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import ModuleType
from typing import Any, TypeVar

Interface = TypeVar("Interface")


def by_name(name: str, interface: Callable[..., Interface], package: ModuleType, what: str) -> Interface:
    """Make the object that a short name stands for; names take ``-`` or ``_``.

    Parameters
    ----------
    name : str
        What the user wrote.
    interface : abstract class
        What a leaf is wanted of (a callable to the type checker, which takes no abstract class for a type).
    package : module
        The folder to look in: every class or function of its files with a ``name``.
    what : str
        The word for it in the error message.
    """
    known = names(interface, package)
    key = name.lower().replace("-", "_")
    if key not in known:
        raise ValueError(f"unknown {what} {name!r}.{did_you_mean(key, known)} Known: {', '.join(sorted(known))}")
    made: Interface = known[key]()
    return made


@lru_cache(maxsize=32)
def names(interface: Any, package: ModuleType) -> dict[str, Any]:
    """Every named leaf of ``interface`` in the files of ``package``, by name.

    A leaf is a class with a ``name`` or a function with a ``name`` that builds one (as ``asgd`` does).
    """
    found: dict[str, Any] = {}
    for file in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{file.name}")
        for thing in vars(module).values():
            if getattr(thing, "__module__", None) != module.__name__:
                continue  # imported: it is found where it lives
            leaf = inspect.isclass(thing) and issubclass(thing, interface) and not inspect.isabstract(thing)
            if (leaf or inspect.isfunction(thing)) and isinstance(getattr(thing, "name", None), str):
                found[thing.name] = thing
    return found


def did_you_mean(key: str, known: Iterable[str]) -> str:
    """A question naming the nearest of the known names, if one is near."""
    close = difflib.get_close_matches(key, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
