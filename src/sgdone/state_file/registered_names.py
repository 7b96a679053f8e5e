"""The classes that a file may contain, by the names that files use."""

import importlib
import inspect
import pkgutil
from dataclasses import fields, is_dataclass
from functools import lru_cache

#: Packages whose dataclasses are stored. They are found by name when first needed: most of them use this package.
_FOLDERS = {
    "auto": "sgdone.bank",
    "loss": "sgdone.losses",
    "method": "sgdone.solvers",
    "step": "sgdone.steps",
    "rule": "sgdone.stopping",
}
_FURTHER_MODULES = {"auto": ("sgdone.sums.units", "sgdone.rows.faults")}
#: Classes of other packages.
_CLASSES = {
    "units": ("sgdone.rows.rows", "Scaling"),
    "verdict": ("sgdone.run.result", "Verdict"),
    "stop": ("sgdone.interfaces.stop_rule", "Stop"),
    "objective": ("sgdone.interfaces.objective", "Objective"),
    "judgement": ("sgdone.interfaces.objective", "Judgement"),
    "rule/AnyOf": ("sgdone.interfaces.stop_rule", "AnyOf"),
    "rule/AllOf": ("sgdone.interfaces.stop_rule", "AllOf"),
    "rule/Then": ("sgdone.interfaces.stop_rule", "Then"),
    "rule/Parts": ("sgdone.interfaces.stop_rule", "_Parts"),
    "rule/Going": ("sgdone.interfaces.stop_rule", "_ThenState"),
    "loss watch": ("sgdone.run.loss_change", "LossWatch"),
    "loss change": ("sgdone.run.loss_change", "LossChange"),
    "block": ("sgdone.rows.source", "Block"),
    "validation rows": ("sgdone.rows.validation_rows", "ValidationRows"),
}
#: It contains functions, which a file never does.
_NEVER = ("sgdone.losses", "CustomLoss")

#: Fields that ``__init__`` does not take, and that a checkpoint has nevertheless: the rest of a running fit.
_OF_A_RUN = {"auto/BankState": ("run",), "auto/Units": ("examined_at",)}
#: Fields that are computed again from others when they are needed.
_COMPUTED_AGAIN = {"auto/RunState": ("folds",)}


@lru_cache(maxsize=1)
def registered() -> dict[str, type]:
    """Every dataclass of the losses, methods, step sizes and rules, and of their states.

    The name is that of the folder's concept and the ``name`` of the class, as users write it, or else the name of the
    class itself: "loss/huber", "rule/GainState". Where a class is defined does not matter.
    """
    found: dict[str, type] = {name: _named(*place) for name, place in _CLASSES.items()}
    never = _named(*_NEVER)
    for concept, package in _FOLDERS.items():
        files = pkgutil.iter_modules(importlib.import_module(package).__path__)
        for place in (*(f"{package}.{file.name}" for file in files), *_FURTHER_MODULES.get(concept, ())):
            for thing in vars(importlib.import_module(place)).values():
                own = inspect.isclass(thing) and thing.__module__ == place and is_dataclass(thing)
                if own and thing is not never:
                    name = f"{concept}/{vars(thing).get('name', thing.__name__.lstrip('_'))}"
                    if name in found:
                        raise RuntimeError(f"{thing} and {found[name]} have the same name in files, {name!r}")
                    found[name] = thing
    return found


def name_of(thing: type) -> str | None:
    """The name of a class, if a file may contain it."""
    return _names().get(thing)


@lru_cache(maxsize=256)
def stored_fields(name: str, *, running: bool) -> tuple[str, ...]:
    """Names of the fields of a class that are stored; those of a ``running`` fit include what belongs to the run."""
    own = fields(registered()[name])
    left_out, added = _COMPUTED_AGAIN.get(name, ()), _OF_A_RUN.get(name, ()) if running else ()
    return tuple(one.name for one in own if (one.init and one.name not in left_out) or one.name in added)


@lru_cache(maxsize=1)
def _names() -> dict[type, str]:
    return {thing: name for name, thing in registered().items()}


def _named(module: str, name: str) -> type:
    found: type = getattr(importlib.import_module(module), name)
    return found
