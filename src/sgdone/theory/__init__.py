"""What the papers prove: a folder or file a paper, a function a statement, assumptions checked.

A function returns the number that its theorem gives, or raises: `AssumptionError`, with the numbers found, where an
assumption that numbers can show does not hold, and ValueError where an argument makes no sense. `statements` lists
them all; a file put into this folder is found by itself.
"""

import importlib
import pkgutil
from types import ModuleType

from sgdone.theory._catalogue import Statement, statements
from sgdone.theory._checks import AssumptionError

__all__ = ["AssumptionError", "Statement", "statements"]


def _files() -> list[str]:
    return [file.name for file in pkgutil.iter_modules(__path__) if not file.name.startswith("_")]


def __getattr__(name: str) -> ModuleType:
    if name not in _files():
        raise AttributeError(f"module 'sgdone.theory' has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_files()])
