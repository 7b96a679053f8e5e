"""SGD, one pass, done: linear models that choose their own step size, stop by themselves and say why."""

import importlib
from typing import TYPE_CHECKING, Any

from sgdone._version import __version__

if TYPE_CHECKING:
    from sgdone import datasets, diagnose, losses, solvers, steps, stopping
    from sgdone.estimators import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor
    from sgdone.losses import CustomLoss
    from sgdone.model_file import load, save
    from sgdone.readers.row_input import batches, files
    from sgdone.tables.table_encoder import TableEncoder
else:
    # Names are imported when first used: `sgdone --help` waits for neither Numba nor scikit-learn.
    _HOMES = {
        "CustomLoss": "losses",
        "LinearClassifier": "estimators",
        "LinearRegressor": "estimators",
        "SGDClassifier": "estimators",
        "SGDRegressor": "estimators",
        "TableEncoder": "tables.table_encoder",
        "batches": "readers.row_input",
        "files": "readers.row_input",
        "load": "model_file",
        "save": "model_file",
    }

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'sgdone' has no attribute {name!r}")
        home = importlib.import_module(f"sgdone.{_HOMES.get(name, name)}")
        thing = globals()[name] = getattr(home, name) if name in _HOMES else home
        return thing


__all__ = [
    "CustomLoss",
    "LinearClassifier",
    "LinearRegressor",
    "SGDClassifier",
    "SGDRegressor",
    "TableEncoder",
    "__version__",
    "batches",
    "datasets",
    "diagnose",
    "files",
    "load",
    "losses",
    "save",
    "solvers",
    "steps",
    "stopping",
]


def __dir__() -> list[str]:
    return __all__
