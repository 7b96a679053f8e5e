"""The estimators: a scikit-learn interface to `sgdone.run.run`."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgdone.estimators.linear_classifier import LinearClassifier
    from sgdone.estimators.linear_regressor import LinearRegressor
    from sgdone.estimators.sgd_classifier import SGDClassifier
    from sgdone.estimators.sgd_regressor import SGDRegressor
else:
    _HOMES = {
        "LinearClassifier": "linear_classifier",
        "LinearRegressor": "linear_regressor",
        "SGDClassifier": "sgd_classifier",
        "SGDRegressor": "sgd_regressor",
    }

    def __getattr__(name: str) -> Any:
        # Imported when first used: the command does not wait for scikit-learn.
        if name not in _HOMES:
            raise AttributeError(f"module 'sgdone.estimators' has no attribute {name!r}")
        return getattr(importlib.import_module(f"sgdone.estimators.{_HOMES[name]}"), name)


__all__ = ["LinearClassifier", "LinearRegressor", "SGDClassifier", "SGDRegressor"]
