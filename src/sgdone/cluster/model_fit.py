"""Fit an estimator to partitions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgdone.cluster.engine import Engine
from sgdone.cluster.fit import ClusterFit, fit_partitions
from sgdone.cluster.rounds import RoundLog
from sgdone.estimators.estimator_cores import LinearClassifierCore, LinearRegressorCore
from sgdone.estimators.source_fit import features_measured
from sgdone.fit.checkpoints import FitCheckpoints, custom_loss, identity_of
from sgdone.fit.options import as_alpha, as_bool, as_verbose, is_auto
from sgdone.interfaces.stop_rule import Progress
from sgdone.run import Hook

LinearCore = LinearClassifierCore | LinearRegressorCore


def fit_model(
    model: LinearCore,
    engine: Engine,
    *,
    checkpoints: FitCheckpoints | None = None,
    hooks: Sequence[Hook] = (),
    began: float | None = None,
) -> None:
    """Fit an estimator to the partitions of an engine, as its ``fit`` does to rows on one machine.

    Parameters
    ----------
    model : LinearClassifierCore or LinearRegressorCore
        Becomes fitted, with the attributes that ``fit`` gives it; it does not change if the fit fails.
    engine : Engine
        Where the rows are.
    checkpoints : FitCheckpoints, optional
        File that keeps the sums of all rounds, to go on from after the driver has died.
    hooks : sequence of callables
        Called after each round; a returned text ends the fit.
    began : float, optional
        When the fit began, by ``time.perf_counter``: reading the partitions may be part of it. Now by default.

    Examples
    --------
    >>> from sgdone import LinearRegressor
    >>> from sgdone.cluster import LocalEngine, Partition
    >>> X = np.linspace(-1.0, 1.0, 200)[:, None]
    >>> y = 3.0 * X[:, 0] + 1.0
    >>> model = LinearRegressor(alpha=0)
    >>> fit_model(model, LocalEngine([Partition(k, X[k::2], y[k::2]) for k in range(2)]))
    >>> model.coef_.round(6), model.predict([[2.0]]).round(6)
    (array([3.]), array([7.]))
    """
    if as_bool("warm_start", model.warm_start):
        raise ValueError("warm_start=True has no effect on a cluster: a fit ends at the optimum wherever it starts")
    if custom_loss(model) is not None:
        raise ValueError("a loss of your own cannot be sent to the workers of a cluster: use a loss of sgdone.losses")
    found = fit_partitions(
        engine,
        task=model._task,
        loss=model._loss(),
        alpha=None if is_auto(model.alpha) else as_alpha(model.alpha, 1),
        stop=model._rule(),
        fit_intercept=as_bool("fit_intercept", model.fit_intercept),
        class_weight=getattr(model, "class_weight", None),
        columns=model._kinds_of_columns(),
        random_state=model._seed(),
        hooks=[*hooks, *([_print_round] if as_verbose(model.verbose) else [])],
        log=None if checkpoints is None else RoundLog(checkpoints, _identity(model)),
        began=began,
    )
    _become_fitted(model, found)


def _identity(model: LinearCore) -> dict[str, Any]:
    """Options of a fit that change its rounds; budgets only end them."""
    return {name: value for name, value in identity_of(model).items() if name != "stop"}


def _become_fitted(model: LinearCore, found: ClusterFit) -> None:
    classes, encoder, objective = found.classes, found.encoder, found.result.objective
    given: Any = model
    for name in ("encoder_", "feature_names_in_"):
        given.__dict__.pop(name, None)
    n_features = given.n_features_in_ = found.model.coef.shape[1]
    if encoder is not None:
        given.encoder_ = given._encoder_class.from_state(encoder.state())
        given.n_features_in_, given.feature_names_in_ = encoder.n_features_in_, encoder.feature_names_in_
    elif found.names is not None:
        given.feature_names_in_ = np.array(found.names, dtype=object)
    given._n_outputs = objective.n_outputs
    attributes = model._fitted_attributes([found.result], [None], n_features)
    if classes is not None:
        attributes |= {"classes_": classes, "multinomial_": objective.predicts == "softmax"}
    model._keep(attributes | features_measured(found.units), partial_fit=False)


def _print_round(progress: Progress) -> None:
    loss = f"loss {progress.loss:.6g}, " if np.isfinite(progress.loss) else ""
    print(f"round {progress.pass_number}: {loss}{progress.seconds:.2f} s")
