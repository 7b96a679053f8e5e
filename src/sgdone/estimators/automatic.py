"""When a fit is left to itself, and how it is then made."""

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse

from sgdone.auto import AutoResult, Request, Task, train_bank
from sgdone.data import ArraySource
from sgdone.estimators.callbacks import ModelTask, both
from sgdone.estimators.training import Plan, Start, talk
from sgdone.losses.loss import Loss
from sgdone.solvers.rescaling import rescales
from sgdone.stopping.base import StopRule


def is_automatic(model: Any, loss: Loss, rule: StopRule) -> bool:
    """Whether nothing was named that speaks of a single method: a solver, a step, a rule that watches an iterate."""
    named = (
        not _is_auto(model.solver)
        or not _is_auto(model.step)
        or model.average is not None
        or model.penalty != "l2"
        or getattr(model, "center", False)
        or getattr(model, "monitors", None)
    )
    budget = _is_auto(model.stop) or rule.at_looks_alone
    return not named and budget and loss.convex and not rescales(loss)


def train_automatically(
    plan: Plan,
    X: Any,
    labels: NDArray[np.float64],
    n_classes: int | None,
    weight: NDArray[np.float64] | None,
    starts: list[Start],
    task: ModelTask | None,
) -> AutoResult:
    """One fit of a bank, with the callbacks told; ``starts`` are one an output, or what the last call left."""
    resume = starts[0].resume
    if not (resume is None or isinstance(resume, AutoResult)):
        raise TypeError("a single method does not go on as a bank")
    if resume is not None and starts[0].ended:
        return resume
    effective_n_jobs(plan.n_jobs)  # which it does not need, but refuses if it makes no sense
    if task is not None:
        task.begin()
    if resume is not None and sparse.issparse(X) == resume.state.units.dense:
        X = X.toarray() if resume.state.units.dense else sparse.csr_array(X)
    source = ArraySource(X, labels, weight, shuffle=plan.shuffle, part_of_stream=plan.single_pass)
    hook: Any = both(both(talk("") if plan.verbose else None, plan.progress), task)
    request = Request(
        Task.of(plan.loss, n_classes, plan.fit_intercept),
        plan.given_alpha,
        plan.stop if plan.rule_given else None,
        plan.tol,
        plan.single_pass,
        _start(starts),
        hook,
        plan.feature_names,
    )
    result = train_bank(source, request, np.random.default_rng(plan.seed), resume)
    if task is not None:
        task.end(result.state)  # type: ignore[arg-type]  # all that callbacks ask of a state is its solution
    return result


def _start(starts: list[Start]) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """The weights to start from, unless they are all zero: then the intercept has a better start."""
    coef = np.array([start.coef for start in starts if start.coef is not None])
    intercept = np.array([start.intercept for start in starts])
    return (coef, intercept) if coef.any() or intercept.any() else None


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
