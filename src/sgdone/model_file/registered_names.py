"""The classes that a model file may contain, by the names that files use."""

import importlib
import inspect
import pkgutil
from dataclasses import is_dataclass
from functools import lru_cache
from types import ModuleType

from sgdone import auto, losses, solvers, steps, stopping
from sgdone.data.rows import Scaling
from sgdone.interfaces import composition, then
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.stop import Stop
from sgdone.losses import CustomLoss
from sgdone.run.verdict import Verdict

_FOLDERS = {"auto": auto, "loss": losses, "method": solvers, "step": steps, "rule": stopping}


@lru_cache(maxsize=1)
def registered() -> dict[str, type]:
    """Every dataclass of the losses, methods, step sizes and rules, and of their states.

    The name is that of the folder's concept and the ``name`` of the class, as users write it, or else the name of the
    class itself: "loss/huber", "rule/GainState". Where a class is defined does not matter. A `CustomLoss` contains
    functions, which a file never does.
    """
    found: dict[str, type] = {"units": Scaling, "verdict": Verdict, "stop": Stop, "objective": Objective}
    for concept, package in _FOLDERS.items():
        for module in _modules(package):
            for thing in vars(module).values():
                if inspect.isclass(thing) and _is_storable(thing, module):
                    name = f"{concept}/{vars(thing).get('name', thing.__name__.lstrip('_'))}"
                    if name in found:
                        raise RuntimeError(f"{thing} and {found[name]} have the same name in model files, {name!r}")
                    found[name] = thing
    return found


def _modules(package: ModuleType) -> list[ModuleType]:
    names = [file.name for file in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return [*modules, composition, then] if package is stopping else modules


def name_of(thing: type) -> str | None:
    """The name of a class, if a file may contain it."""
    return next((name for name, known in registered().items() if known is thing), None)


def _is_storable(thing: type, module: ModuleType) -> bool:
    return thing.__module__ == module.__name__ and is_dataclass(thing) and thing is not CustomLoss
