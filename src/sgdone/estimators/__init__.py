"""The estimators: a scikit-learn interface to `sgdone.fit.fit`."""

import importlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sgdone.fit.fitted_model import FittedModel

if TYPE_CHECKING:
    from sgdone.estimators.linear import LinearClassifier, LinearRegressor
    from sgdone.estimators.sgd import SGDClassifier, SGDRegressor
else:

    def __getattr__(name: str) -> Any:
        # Imported when first used: the command does not wait for scikit-learn.
        if name not in __all__:
            raise AttributeError(f"module 'sgdone.estimators' has no attribute {name!r}")
        home = "sgd" if name.startswith("SGD") else "linear"
        return getattr(importlib.import_module(f"sgdone.estimators.{home}"), name)


def estimator_of(model: FittedModel) -> "LinearClassifier | LinearRegressor | SGDClassifier | SGDRegressor":
    """The estimator of a fitted model, with the parameters of its fit."""
    kind = getattr(sys.modules[__name__], model.options.estimator)
    return kind(**model.options.parameters)._adopt(model)  # type: ignore[no-any-return]


def fitted_model(estimator: Any) -> FittedModel:
    """The fitted model of an estimator, with its present parameters; raise if it is not fitted."""
    model: FittedModel = replace(estimator._model(), options=estimator._options())
    return model


__all__ = ["LinearClassifier", "LinearRegressor", "SGDClassifier", "SGDRegressor", "estimator_of", "fitted_model"]
