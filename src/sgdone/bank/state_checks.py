"""Checks of a state of the default fit that was read from a file: the compiled loops do not check anything.

Types of the fields are checked where they are read.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sgdone.bank.bank_state import BankState
from sgdone.bank.candidates import Candidate
from sgdone.bank.models import Models
from sgdone.bank.progressive_losses import ProgressiveLosses
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import NEVER
from sgdone.kernels.bank import ALL_ROWS, CLOCK, GAIN, LEAVES_OUT, PENALTY, STEPS, TOLD
from sgdone.rows.column_roles import ENTRIES, LEVEL
from sgdone.rows.label_order import GroupMeans
from sgdone.rows.rows import SMALLEST_SCALE
from sgdone.solvers.stretch import LARGEST
from sgdone.sums.units import LIFT, Units


def check_state(state: Any, objective: Objective, n_features: int) -> None:
    """Raise a ValueError for a state that no fit of such a model leaves."""
    _require(isinstance(state, BankState), "a state of the default fit")
    _check_objective(state.objective, objective)
    _require(all(0 < n < np.inf for n in (state.energy, state.smoothness, state.weight)), "step sizes")
    _check_models(state.models, state.objective, n_features)
    _require(state.lead in state.models.candidates, "a leader")
    _check_units(state.units, n_features)
    _require(bool(np.isfinite(state.order.pivot)), "an order of labels")
    _check_groups(state.order.groups, objective.n_outputs)
    _check_candidates(state.tried)
    _check_progressive(state.progressive, len(state.models.alive))


def _check_objective(found: Objective, expected: Objective) -> None:
    _require(found.n_outputs == expected.n_outputs, "an objective for these outputs")
    _require(found.predicts == expected.predicts, "an objective of this kind")


def _check_models(models: Models, objective: Objective, n_features: int) -> None:
    _require(models.objective == objective, "models of the objective")
    _require(models.n_models > 0 and models.folds == [ALL_ROWS] * models.n_models, "models of all rows")
    _check_candidates(models.candidates)
    width = models.n_models * objective.n_outputs
    _require(models.weights.dtype in LARGEST and models.weights.flags.c_contiguous, "weights")
    _require(models.weights.shape == (n_features, 2 * width) and bool(np.isfinite(models.weights).all()), "weights")
    _check_arrays([models.intercepts], (2, width))
    _check_arrays([models.numbers], (models.n_models, 4))
    _check_arrays([models.plans], (models.n_models, 5))
    steps, plans = models.numbers[:, STEPS], models.plans
    _require(bool(np.all((steps >= 0) & (steps < NEVER) & (steps == np.floor(steps)))), "numbers of rows")
    _require(bool(np.all(plans[:, [GAIN, CLOCK, PENALTY]] >= 0)), "step sizes and penalties")
    _require(bool(np.all(plans[:, LEAVES_OUT] == ALL_ROWS) and np.all(np.isin(plans[:, TOLD], (0, 1)))), "plans")


def _check_candidates(candidates: Sequence[Candidate]) -> None:
    fit = all(0 < found.multiplier < np.inf and 0 <= found.penalty < np.inf for found in candidates)
    _require(fit and len(set(candidates)) == len(candidates), "candidates")


def _check_units(units: Units, n_features: int) -> None:
    _require(units.n_features == n_features, "units of these features")
    _require(0 <= units.n_dense <= n_features and (units.n_dense > 0 or not units.centred), "units")
    _require(0 <= units.made_from <= units.rows < NEVER and 0 <= units.version < NEVER, "units")
    _check_arrays([units.firsts, units.squares, units.lift, units.scale], (n_features,))
    _require(units.roles.dtype == np.int32 and units.roles.shape == (n_features,), "units")
    _require(bool(np.all((units.roles >= ENTRIES) & (units.roles <= max(LEVEL, n_features)))), "units")
    _require(bool(np.isin(units.lift, (1.0, LIFT)).all()), "units")
    _check_arrays([units.pivot], (units.n_dense,))
    _check_arrays([units.shift], (n_features if units.centred else 0,))
    _require(bool(np.all((units.scale == 0) | (units.scale >= SMALLEST_SCALE))), "units")
    _require(bool(np.all(units.scale >= 0) and np.all(units.squares >= 0)), "units")
    counts, sparse = units.firsts[units.n_dense :], slice(units.n_dense, None)
    _require(bool(np.all((counts >= 0) & (counts <= units.rows)) and not units.shift[sparse].any()), "units")
    _check_groups(units.groups, units.n_dense)


def _check_groups(groups: GroupMeans, width: int) -> None:
    _require(0 <= groups.groups <= groups.rows < np.inf, "groups of rows")
    _check_arrays([groups.sums, groups.squares, groups.between], (width if groups.groups else 0,))


def _check_progressive(sums: ProgressiveLosses, count: int) -> None:
    _require(0 <= sums.rows < NEVER and all(np.isfinite(n) for n in (sums.unit, sums.weight, sums.heavy)), "losses")
    if sums.rows:
        _require(sums.unit > 0 and sums.weight > 0 and sums.heavy > 0, "losses")
        _check_arrays([sums.sums, sums.heavy_sums], (count,))
        _check_arrays([sums.products], (count, count))


def _check_arrays(arrays: Sequence[Any], shape: tuple[int, ...]) -> None:
    for array in arrays:
        _require(isinstance(array, np.ndarray) and array.shape == shape, f"an array of shape {shape}")
        _require(array.dtype == np.float64 and bool(np.isfinite(array).all()), "numbers")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"the state of a fit does not hold {what}, as this model needs")
