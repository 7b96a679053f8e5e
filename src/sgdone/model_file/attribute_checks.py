"""What must be so before a model is written, and after it is read."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.estimators import LinearClassifier, LinearRegressor, SGDClassifier, SGDRegressor
from sgdone.losses.loss import Loss
from sgdone.model_file.errors import ModelFileError
from sgdone.run.trace import Trace
from sgdone.run.verdict import Verdict

Model = LinearClassifier | LinearRegressor | SGDClassifier | SGDRegressor


def check_notes(extra: dict[str, str]) -> None:
    """Raise a TypeError for notes that are not strings."""
    if not all(isinstance(text, str) for pair in extra.items() for text in pair):
        raise TypeError(f"extra={extra!r}: give a dict of texts")


def check_loss(path: str | os.PathLike[str], stored: dict[str, str] | None, given: Loss | None) -> None:
    """Raise if the loss is missing, or not the one that the model was trained with."""
    if stored is None:
        if given is not None:
            raise ModelFileError(f"{path}: was not trained with a loss of your own: leave loss= out")
        return
    what = f"was trained with a loss of your own, {stored['name']!r} (for {stored['task']}), which no file holds"
    if given is None:
        raise ModelFileError(f"{path}: {what}: bring it along, load(path, loss=...)")
    if not isinstance(given, Loss):
        raise ModelFileError(f"{path}: {what}; loss={given!r} is not a sgdone.CustomLoss: give the object itself")
    if (given.name, given.task) != (stored["name"], stored["task"]):
        raise ModelFileError(f"{path}: {what}; loss= is {given.name!r} (for {given.task}): give the same one")


def check_attributes(model: Model) -> None:
    """Raise for attributes with which ``predict`` would fail or read beyond its arrays."""
    shape: tuple[int, ...] = (model.n_features_in_,)
    n_models = 1
    if model._task == "classification":
        n_classes = model.classes_.size
        n_models = 1 if n_classes == 2 else n_classes
        model._n_outputs = n_models
        shape = (n_models, *shape)
    _check_array("coef_", model.coef_, shape)
    _check_array("intercept_", model.intercept_, (n_models,))
    if hasattr(model, "feature_std_"):
        _check_array("feature_std_", model.feature_std_, (model.n_features_in_,))
    if not isinstance(model.verdict_, Verdict) or not isinstance(model.trace_, Trace):
        raise TypeError("verdict_ or trace_ is of another kind")
    if len(getattr(model, "feature_names_in_", range(model.n_features_in_))) != model.n_features_in_:
        raise ValueError(f"feature_names_in_ are not {model.n_features_in_} names")


def _check_array(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or array.shape != shape:
        raise ValueError(f"{name} is no array of floats of shape {shape}")
