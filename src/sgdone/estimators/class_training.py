"""Training on classes: a bank for all of them, or one method, once or for each class against the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from sgdone.auto import AutoResult
from sgdone.estimators.automatic import train_automatically
from sgdone.estimators.callbacks import FitTask, ModelTask
from sgdone.estimators.labels import signs
from sgdone.estimators.optimum import CheckOptimum, judged_automatically, judged_by_optimum
from sgdone.estimators.snapshots import snapshot_of_bank, snapshots
from sgdone.estimators.training import Plan, Start, train
from sgdone.run import Result


@final
@dataclass(frozen=True)
class LabelledRows:
    """Rows, the numbers of their classes, and their weights."""

    X: Any
    classes: NDArray[Any]
    numbers: NDArray[np.integer[Any]]
    weight: NDArray[np.float64] | None


def train_classes(
    plan: Plan, rows: LabelledRows, starts: list[Start], task: FitTask | None, check: CheckOptimum
) -> tuple[list[Result] | list[AutoResult], list[Any]]:
    """The runs behind a classifier, and the class that each stands for, if for one."""
    if plan.automatic:
        return [_train_bank(plan, rows, starts, task, check)], [None]
    n_models = len(starts)
    single = n_models == 1
    labels = [partial(signs, rows.numbers, k) for k in ([1] if single else range(n_models))]
    names = [""] if single else [f"class {label!r} " for label in rows.classes.tolist()]
    hooks: list[ModelTask | None] = [None] * n_models
    if task is not None:
        snapshot = snapshots(starts, rows.X.dtype, rows.classes)
        hooks = [task.hook(k, names[k].strip(), snapshot) for k in range(n_models)]
    results = train(plan, rows.X, labels, rows.weight, starts, hooks, names)
    judged = judged_by_optimum(check, results, plan, rows.X, labels, rows.weight)
    return judged, [None] if single else rows.classes.tolist()


def is_multinomial(results: Sequence[Result | AutoResult]) -> bool:
    """Whether the classes are coupled by a softmax."""
    return isinstance(results[0], AutoResult) and results[0].state.task.kind == "softmax"


def _train_bank(
    plan: Plan, rows: LabelledRows, starts: list[Start], task: FitTask | None, check: CheckOptimum
) -> AutoResult:
    """One bank for all classes."""
    two = rows.classes.size == 2
    labels = signs(rows.numbers, 1) if two else rows.numbers.astype(np.float64)
    hook = None if task is None else task.hook(0, "", snapshot_of_bank(rows.X.dtype, rows.classes))
    result = train_automatically(plan, rows.X, labels, rows.classes.size, rows.weight, starts, hook)
    return judged_automatically(check, result, plan, rows.X, labels, rows.weight)
