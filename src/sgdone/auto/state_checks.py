"""Checks of a state of the default fit that was read from a file: the compiled loops do not check anything."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgdone.auto.bank_state import BankState
from sgdone.auto.candidates import Candidate
from sgdone.auto.label_order import GroupMeans, LabelOrder
from sgdone.auto.models import Models
from sgdone.auto.progressive_losses import ProgressiveLosses
from sgdone.auto.units import Units
from sgdone.interfaces.objective import Objective
from sgdone.kernels.bank import ALL_ROWS
from sgdone.solvers.stretch import LARGEST


def check_state(state: Any, objective: Objective, n_features: int) -> None:
    """Raise a ValueError for a state that no fit of such a model leaves."""
    _require(isinstance(state, BankState), "a state of the default fit")
    _check_objective(state.objective, objective)
    _require(all(_is_number(n) for n in (state.energy, state.smoothness, state.weight)), "step sizes")
    _check_models(state.models, state.objective, n_features)
    _require(state.lead in state.models.candidates, "a leader")
    _check_units(state.units, n_features)
    _require(isinstance(state.order, LabelOrder) and _is_number(state.order.pivot), "an order of labels")
    _check_groups(state.order.groups, objective.n_outputs)
    _require(isinstance(state.tried, list), "candidates tried")
    _require(all(isinstance(found, Candidate) for found in state.tried), "candidates tried")
    _check_progressive(state.progressive, len(state.models.alive))


def _check_objective(found: Any, expected: Objective) -> None:
    _require(isinstance(found, Objective) and found.n_outputs == expected.n_outputs, "an objective for these outputs")
    _require(found.predicts == expected.predicts, "an objective of this kind")
    _require(isinstance(found.fit_intercept, bool), "an objective")
    _require(found.alpha is None or _is_number(found.alpha), "a penalty")


def _check_models(models: Any, objective: Objective, n_features: int) -> None:
    _require(isinstance(models, Models) and models.objective == objective, "models of the objective")
    _require(isinstance(models.candidates, list) and isinstance(models.folds, list) and models.n_models > 0, "models")
    _require(all(isinstance(found, Candidate) for found in models.candidates), "candidates")
    _require(models.folds == [ALL_ROWS] * models.n_models, "models of all rows")
    width = models.n_models * objective.n_outputs
    _require(models.weights.dtype in LARGEST and models.weights.flags.c_contiguous, "weights")
    _require(models.weights.shape == (n_features, 2 * width) and bool(np.isfinite(models.weights).all()), "weights")
    for array, shape in (
        (models.intercepts, (2, width)),
        (models.numbers, (models.n_models, 4)),
        (models.plans, (models.n_models, 5)),
    ):
        _check_arrays([array], shape)


def _check_units(units: Any, n_features: int) -> None:
    _require(isinstance(units, Units) and units.n_features == n_features, "units of these features")
    _require(all(isinstance(flag, bool) for flag in (units.dense, units.centred, units.ordered)), "units")
    _require(units.dense or not units.centred, "units")
    _require(all(_is_count(n) for n in (units.rows, units.made_from, units.version)), "units")
    _check_arrays([units.firsts, units.squares, units.scale], (n_features,))
    _check_arrays([units.lift], (n_features if np.size(units.lift) else 0,))  # files of before have none
    _check_arrays([units.pivot], (n_features if units.dense else 0,))
    _check_arrays([units.shift], (n_features if units.centred else 0,))
    _check_groups(units.groups, n_features)


def _check_groups(groups: Any, width: int) -> None:
    _require(isinstance(groups, GroupMeans) and _is_number(groups.rows) and _is_count(groups.groups), "groups of rows")
    _check_arrays([groups.sums, groups.squares, groups.between], (width if groups.groups else 0,))


def _check_progressive(sums: Any, count: int) -> None:
    _require(isinstance(sums, ProgressiveLosses) and _is_count(sums.rows), "progressive losses")
    _require(all(_is_number(n) for n in (sums.unit, sums.weight, sums.heavy)), "progressive losses")
    if sums.rows:
        _check_arrays([sums.sums, sums.heavy_sums], (count,))
        _check_arrays([sums.products], (count, count))


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
