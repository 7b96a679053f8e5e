"""What a learner that was read from a file must be, before compiled loops, which do not look, take it for one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgdone.auto.bank import Bank
from sgdone.auto.candidates import Candidate
from sgdone.auto.learner import Learner
from sgdone.auto.order import Between, LabelOrder
from sgdone.auto.tally import Tally
from sgdone.auto.task import Task
from sgdone.auto.units import Units
from sgdone.kernels.bank import ALL_ROWS
from sgdone.solvers.stretch import LARGEST


def check_learner(learner: Any, n_features: int, n_outputs: int, *, regression: bool) -> None:
    """Refuse a learner that no fit of such a model leaves."""
    _require(isinstance(learner, Learner), "a bank")
    _check_task(learner.task, n_outputs, regression=regression)
    _require(learner.alpha is None or _is_number(learner.alpha), "a penalty")
    _require(all(_is_number(n) for n in (learner.energy, learner.smoothness, learner.weight)), "step sizes")
    _check_bank(learner.bank, learner.task, n_features)
    _require(learner.lead in learner.bank.candidates, "a leader")
    _check_units(learner.units, n_features)
    _require(isinstance(learner.order, LabelOrder) and _is_number(learner.order.pivot), "an order of labels")
    _check_groups(learner.order.groups, n_outputs)
    _require(isinstance(learner.tried, list), "candidates tried")
    _require(all(isinstance(found, Candidate) for found in learner.tried), "candidates tried")
    _check_tally(learner.tally, len(learner.bank.alive))


def _check_task(task: Any, n_outputs: int, *, regression: bool) -> None:
    _require(isinstance(task, Task) and task.n_outputs == n_outputs, "a task for these outputs")
    kinds = ("softmax", "one_vs_rest") if n_outputs > 1 else ("target",) if regression else ("two_classes",)
    _require(task.kind in kinds and isinstance(task.fit_intercept, bool), "a task of this kind")


def _check_bank(bank: Any, task: Task, n_features: int) -> None:
    _require(isinstance(bank, Bank) and bank.task == task, "a bank for its task")
    _require(isinstance(bank.candidates, list) and isinstance(bank.folds, list) and bank.n_models > 0, "models")
    _require(all(isinstance(found, Candidate) for found in bank.candidates), "candidates")
    _require(bank.folds == [ALL_ROWS] * bank.n_models, "models of all rows")
    width = bank.n_models * task.n_outputs
    _require(bank.weights.dtype in LARGEST and bank.weights.flags.c_contiguous, "weights")
    _require(bank.weights.shape == (n_features, 2 * width) and bool(np.isfinite(bank.weights).all()), "weights")
    for array, shape in (
        (bank.intercepts, (2, width)),
        (bank.numbers, (bank.n_models, 4)),
        (bank.plans, (bank.n_models, 5)),
    ):
        _check_arrays([array], shape)


def _check_units(units: Any, n_features: int) -> None:
    _require(isinstance(units, Units) and units.n_features == n_features, "units of these features")
    _require(all(isinstance(flag, bool) for flag in (units.dense, units.centred, units.ordered)), "units")
    _require(units.dense or not units.centred, "units")
    _require(all(_is_count(n) for n in (units.rows, units.made_from, units.version)), "units")
    _check_arrays([units.firsts, units.squares, units.scale], (n_features,))
    _check_arrays([units.pivot], (n_features if units.dense else 0,))
    _check_arrays([units.shift], (n_features if units.centred else 0,))
    _check_groups(units.groups, n_features)


def _check_groups(groups: Any, width: int) -> None:
    _require(isinstance(groups, Between) and _is_number(groups.rows) and _is_count(groups.groups), "groups of rows")
    _check_arrays([groups.sums, groups.squares, groups.between], (width if groups.groups else 0,))


def _check_tally(tally: Any, count: int) -> None:
    _require(isinstance(tally, Tally) and _is_count(tally.rows), "losses added up")
    _require(all(_is_number(n) for n in (tally.unit, tally.weight, tally.heavy)), "losses added up")
    if tally.rows:
        _check_arrays([tally.sums, tally.heavy_sums], (count,))
        _check_arrays([tally.products], (count, count))


def _check_arrays(arrays: Sequence[Any], shape: tuple[int, ...]) -> None:
    for array in arrays:
        _require(isinstance(array, np.ndarray) and array.shape == shape, f"an array of shape {shape}")
        _require(array.dtype == np.float64 and bool(np.isfinite(array).all()), "numbers")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"the state of a fit does not hold {what}, as this model needs")
