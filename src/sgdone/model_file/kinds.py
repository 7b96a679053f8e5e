"""The classes a model file may speak of, and no others."""

import importlib
import inspect
import pkgutil
from dataclasses import is_dataclass
from functools import lru_cache
from types import ModuleType

from sgdone import auto, losses, solvers, steps, stopping
from sgdone.data.rows import Scaling
from sgdone.losses import CustomLoss
from sgdone.verdict import Verdict

_PACKAGES = (auto, losses, solvers, steps, stopping)


@lru_cache(maxsize=1)
def kinds() -> dict[str, type]:
    """Every dataclass of the losses, solvers, step sizes and rules by the name a file gives it.

    ``losses.Huber`` for what its package exports, ``stopping.progressive._Passes`` for the rest. A
    `CustomLoss` holds functions, which a file never does.
    """
    found: dict[str, type] = {"data.Scaling": Scaling, "verdict.Verdict": Verdict}
    for package in _PACKAGES:
        for file in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{file.name}")
            for thing in vars(module).values():
                if inspect.isclass(thing) and _is_storable(thing, module):
                    found[_name(thing, package)] = thing
    return found


def kind_of(thing: type) -> str | None:
    """The name of a class, if a file may hold it."""
    return next((name for name, known in kinds().items() if known is thing), None)


def _is_storable(thing: type, module: ModuleType) -> bool:
    return thing.__module__ == module.__name__ and is_dataclass(thing) and thing is not CustomLoss


def _name(thing: type, package: ModuleType) -> str:
    exported = getattr(package, thing.__name__, None) is thing
    full = f"{package.__name__}.{thing.__name__}" if exported else f"{thing.__module__}.{thing.__name__}"
    return full.removeprefix("sgdone.")
