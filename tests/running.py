"""One model by one method, from a loss and numbers: a shorter call of `sgdone.run.run` for tests."""

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgdone import run as run_package
from sgdone.interfaces.objective import Model, Objective


@dataclass(frozen=True)
class Run:
    """A result whose model has one score: its coefficients as a vector, its intercept as a number."""

    result: Any

    @property
    def coef(self):
        return self.result.model.coef[0]

    @property
    def intercept(self):
        return float(self.result.model.intercept[0])

    def __getattr__(self, name):
        return getattr(self.result, name)


def with_new_rule(run):
    """The same run, to be continued under a rule that starts again."""
    return Run(replace(run.result, rule_state=None))


def objective_of(loss, n_classes=2, fit_intercept=True, alpha=None):
    """The objective of one model for all classes; without classes, of a regression."""
    if n_classes is None:
        return Objective(loss, alpha, fit_intercept=fit_intercept, predicts="target")
    return Objective.of_classes(loss, n_classes, alpha, fit_intercept=fit_intercept)


def run(
    source,
    loss,
    method,
    stop,
    *,
    alpha,
    task="classification",
    l1_ratio=0.0,
    fit_intercept=True,
    center=False,
    coef=None,
    intercept=0.0,
    resume=None,
    single_pass=False,
    feature_names=None,
    hook=None,
    **options,
):
    """Train one model; parameters as those of `Objective` and of `sgdone.run.run`."""
    predicts = "target" if task == "regression" else "two_classes"
    objective = Objective(loss, alpha, l1_ratio, fit_intercept, center, predicts)
    source = copy.copy(source)
    source.part_of_stream = source.part_of_stream or single_pass
    source.feature_names = feature_names
    start = None
    if coef is not None or intercept:
        coef = np.zeros(source.n_features) if coef is None else np.asarray(coef)
        start = Model(coef[None, :], np.array([intercept]))
    done = run_package.run(
        source,
        objective,
        method,
        stop,
        run_package.RunOptions(
            start=start,
            resume=None if resume is None else resume.result,
            hooks=() if hook is None else (hook,),
            **options,
        ),
    )
    return Run(done)
