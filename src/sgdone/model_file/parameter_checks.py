"""Parameters of a model, checked as ``fit`` would."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from sgdone.estimators.classification import Classification
from sgdone.fit.labels import with_class_weight
from sgdone.fit.optimum_check import as_check_optimum
from sgdone.fit.options import as_bool, as_random_state
from sgdone.model_file.attribute_checks import Model
from sgdone.tables.kinds import check_choices


def check_parameters(model: Model) -> None:
    """Raise a ValueError or a TypeError for parameters with which ``fit`` or ``partial_fit`` would fail."""
    classes = model.classes_ if isinstance(model, Classification) else None
    model._method()
    model._rule()
    model._objective(1, None if classes is None else classes.size)
    model._run_options()
    model._phases()
    as_bool("shuffle", model.shuffle)
    as_random_state(model.random_state)
    if isinstance(model, Classification):
        as_check_optimum(model.check_optimum)
        with_class_weight(model.class_weight, None, model.classes_, np.arange(model.classes_.size))
    kinds = model._kinds_of_columns()
    check_choices(kinds, list(kinds))
    as_bool("warm_start", model.warm_start)
    n_jobs: Any = model.n_jobs
    _check("n_jobs", n_jobs, n_jobs is None or (isinstance(n_jobs, Integral) and n_jobs != 0))
    _check("verbose", model.verbose, isinstance(model.verbose, Real) and abs(model.verbose) < np.inf)


def _check(name: str, value: Any, valid: bool) -> None:
    if not valid:
        raise ValueError(f"{name}={value!r} is not valid")
