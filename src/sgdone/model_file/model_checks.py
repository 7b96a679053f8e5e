"""Checks of a fitted model before it is written, and after it is read."""

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgdone.fit.fitted_model import FittedModel
from sgdone.fit.labels import with_class_weight
from sgdone.fit.optimum_check import as_check_optimum
from sgdone.fit.options import FitOptions, as_random_state
from sgdone.losses.loss import real_or_nan
from sgdone.run.result import Trace, Verdict
from sgdone.tables.kinds import check_choices

#: Attributes that ``fit`` leaves in every model, in every classifier, and in some models.
_ALWAYS = ("coef_", "intercept_", "n_iter_", "n_features_in_", "verdict_", "trace_", "alpha_")
_OF_CLASSIFIERS = ("classes_", "multinomial_")
_SOMETIMES = ("feature_names_in_", "feature_std_", "feature_share_")
ATTRIBUTES = (*_ALWAYS, *_OF_CLASSIFIERS, *_SOMETIMES)


def check_notes(extra: dict[str, str]) -> None:
    """Raise a TypeError for notes that are not strings."""
    if not all(isinstance(text, str) for pair in extra.items() for text in pair):
        raise TypeError(f"extra={extra!r}: give a dict of texts")


def attributes_of(options: FitOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The attributes that a fitted model has, and those that it may have."""
    return (*_ALWAYS, *(_OF_CLASSIFIERS if options.is_classifier else ())), _SOMETIMES


def check_attributes(model: FittedModel) -> None:
    """Raise for attributes that no fit leaves."""
    _check_number("n_features_in_", model.n_features_in_, whole=True, least=1)
    _check_number("n_iter_", model.n_iter_, whole=True, least=1)
    _check_number("alpha_", model.alpha_, whole=False, least=0)
    if model.feature_names_in_ is not None:
        _check_names(model.feature_names_in_, model.n_features_in_)
    n_features = _n_features(model)
    shape: tuple[int, ...] = (n_features,)
    n_models, labels = 1, list[Any]()
    if model.options.is_classifier:
        _check_classes(model.classes_)
        assert model.classes_ is not None
        n_models, labels = 1 if model.classes_.size == 2 else model.classes_.size, model.classes_.tolist()
        if not isinstance(model.multinomial_, (bool, np.bool_)) or (model.multinomial_ and n_models == 1):
            raise ValueError(f"multinomial_ is {model.multinomial_!r}, with {len(labels)} classes")
        shape = (n_models, *shape)
    _check_array("coef_", model.coef_, shape)
    _check_array("intercept_", model.intercept_, (n_models,))
    if model.feature_std_ is not None:
        _check_array("feature_std_", model.feature_std_, (n_features,))
    if model.feature_share_ is not None:
        _check_shares(model.feature_share_, n_features)
    _check_verdict(model.verdict_, labels)
    _check_trace(model.trace_, model.options.task, labels)


def _n_features(model: FittedModel) -> int:
    """Number of features of the coefficients: the input columns, or what their encoder makes of them."""
    encoder = model.columns.encoder
    if encoder is None:
        return int(model.n_features_in_)
    names = model.feature_names_in_
    if encoder.feature_names_in_.tolist() != ([] if names is None else names.tolist()):
        raise ValueError("the encoder is one of other columns than feature_names_in_")
    if not model.options.encodes_tables:
        raise ValueError(f"a {model.options.estimator} has no encoder")
    n_features, found = encoder.n_features_out_, np.shape(model.coef_)[-1:]
    if found != (n_features,):
        count = found[0] if found else 0
        raise ValueError(f"the encoder makes {n_features} features of the columns, and coef_ has {count}")
    return n_features


def _check_shares(shares: Any, n_features: int) -> None:
    _check_array("feature_share_", shares, (n_features,))
    if shares.dtype != np.float64 or not 0 <= shares.min(initial=0.0) <= shares.max(initial=1.0) <= 1:
        raise ValueError("feature_share_ holds numbers that are no shares of rows, from 0 to 1")


def _check_number(name: str, value: Any, *, whole: bool, least: int) -> None:
    kinds = (Integral,) if whole else (Integral, float, np.floating)
    if not isinstance(value, kinds) or isinstance(value, bool) or not least <= float(value) < np.inf:
        raise ValueError(f"{name} is {value!r}, not a {'whole ' if whole else ''}number of {least} or more")


def _check_array(name: str, array: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype not in (np.float32, np.float64) or array.shape != shape:
        raise ValueError(f"{name} is no array of floats of shape {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity")


def _check_classes(classes: Any) -> None:
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or classes.size < 2:
        raise ValueError("classes_ are not two labels or more")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("classes_ hold NaN or infinity")
    labels = classes.tolist()
    if not all(isinstance(label, (str, int, float)) for label in labels):
        raise ValueError("classes_ are neither numbers nor texts")
    if not all(one < other for one, other in pairwise(labels)):
        raise ValueError("classes_ are not sorted, or not distinct")


def _check_verdict(verdict: Any, classes: Sequence[Any]) -> None:
    if not isinstance(verdict, Verdict):
        raise TypeError(f"verdict_ is a {type(verdict).__name__}")
    if verdict.per_class and list(verdict.per_class) != list(classes):
        raise ValueError("the verdicts are not those of the classes")
    for each in (verdict, *verdict.per_class.values()):
        _check_number("step of a verdict", each.step, whole=True, least=0)
        _check_number("passes of a verdict", each.passes, whole=False, least=0)


def _check_trace(trace: Any, task: str, classes: Sequence[Any]) -> None:
    if not isinstance(trace, Trace) or trace.task != task:
        raise TypeError("trace_ is no trace of such a model")
    if not all(label is None or label in classes for label in trace.labels()):
        raise ValueError("trace_ has rows of other classes")


def _check_names(names: NDArray[Any], n_features: int) -> None:
    fits = isinstance(names, np.ndarray) and names.shape == (n_features,)
    if not fits or not all(isinstance(name, str) for name in names.tolist()):
        raise ValueError(f"feature_names_in_ are not {n_features} names")


def check_parameters(model: FittedModel) -> None:
    """Raise a ValueError or a TypeError for parameters with which ``fit`` or ``partial_fit`` would fail."""
    options, classes = model.options, model.classes_
    options.objective(1, None if classes is None else classes.size)
    for name in ("method", "stop", "shuffle", "warm_start", "step", "monitors"):
        getattr(options, name)
    given = options.parameters
    as_random_state(given["random_state"])
    if classes is not None:
        as_check_optimum(given["check_optimum"])
        with_class_weight(options.class_weight, None, classes, np.arange(classes.size))
    kinds = options.kinds_of_columns
    check_choices(kinds, list(kinds))
    n_jobs, verbose = given["n_jobs"], given["verbose"]
    if not (n_jobs is None or (isinstance(n_jobs, Integral) and n_jobs != 0)):
        raise ValueError(f"n_jobs={n_jobs!r} is not valid")
    if not abs(real_or_nan(verbose)) < np.inf:
        raise ValueError(f"verbose={verbose!r} is not valid")
