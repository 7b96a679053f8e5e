"""The path of penalties for rows in memory: least squares, factors of the curvature, or conjugate gradients."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgdone.interfaces.objective import Model, Objective
from sgdone.newton import work
from sgdone.newton.exact_path import ExactPath
from sgdone.newton.fold_path import FoldPath, has_unit_norms
from sgdone.newton.penalty_path import BothUnits, PenaltyPath
from sgdone.newton.ridge_path import RidgePath
from sgdone.rows.source import Block
from sgdone.rows.validation_rows import ValidationRows
from sgdone.sums.constant_prediction import constant_model
from sgdone.sums.gram import Gram, gram
from sgdone.sums.pieces import BlockPieces, is_extreme
from sgdone.sums.row_span import RowSpan, is_smaller
from sgdone.sums.row_sum import MemoryRows
from sgdone.sums.system import System
from sgdone.sums.units import Units

Array = NDArray[np.float64]


class Begun(NamedTuple):
    """A path, the units of the model that it finds, where it begins, and the units of the columns."""

    path: PenaltyPath
    system: System
    start: Array
    units: Units


def path_in_memory(
    objective: Objective, rows: MemoryRows, start: Model | None, draws: np.random.Generator, *, one_pass: bool
) -> Begun:
    """Measure the columns, and choose the path.

    Parameters
    ----------
    objective : Objective
        The loss, and the penalty if it is given.
    rows : MemoryRows
        The rows.
    start : Model or None
        The model to start from.
    draws : numpy.random.Generator
        Draws folds.
    one_pass : bool
        Whether the rows cannot be read again.
    """
    block, frequency = rows.block, rows.frequency
    block.rows.check_indices()
    if not work.factorises(objective, block):
        return _folds(objective, rows, draws)
    sums = None
    if work.is_least_squares(objective) and not is_smaller(block.n_used, block.rows.n_features):
        units, sums = _units_and_sums(objective, block, frequency, rows.threads)
    else:
        units = Units.of_all_rows(block, centred=objective.fit_intercept, frequency=frequency)
    block.rows.in_units(units.scaling)  # raises for columns too small for their coefficients
    system = System(objective, units.scaling)
    path, begin = _path(system, rows, None if is_extreme(units.scaling) else sums, start, one_pass)
    if objective.alpha is not None or not has_unit_norms(rows.block):
        return Begun(path, path.system, begin, units)
    other, _ = _path(System(objective, units.scaling.as_given()), rows, None, None, one_pass)
    scale = np.append(np.where(np.isfinite(units.scaling.scale), units.scaling.scale, 0.0), 1.0)[:, None]
    both = BothUnits(path, other, (path.system.of_features, lambda model: scale * other.system.of_features(model)))
    return Begun(both, system, constant_model(objective, block, system.shape[0]), units)


def _path(
    system: System, rows: MemoryRows, sums: Gram | None, start: Model | None, one_pass: bool
) -> tuple[ExactPath | RidgePath, Array]:
    """The path for rows in some units, and where it begins; it is followed in the span of the rows if that is small."""
    objective, block = system.objective, rows.block
    if is_smaller(block.n_used, block.rows.n_features):
        system = replace(system, span=RowSpan.of(rows.pieces(system)))
    begin = constant_model(objective, block, system.shape[0])
    if work.is_least_squares(objective):
        return RidgePath(system, rows.pieces(system), sums, one_pass=one_pass), begin
    if start is not None and system.span is None:
        begin = system.from_user(start.coef, start.intercept)
    return ExactPath(system, rows.pieces(system), begin), begin


def _folds(objective: Objective, rows: MemoryRows, draws: np.random.Generator) -> Begun:
    block = rows.block
    units = Units.of_all_rows(block, centred=objective.fit_intercept, frequency=rows.frequency)
    scaled = replace(block, rows=block.rows.in_units(units.scaling))
    folds = replace(ValidationRows.drawn(scaled, block.all_used(), draws), block=block)
    system = System(objective, units.scaling)
    begin = constant_model(objective, block, system.shape[0])
    path = FoldPath(objective, BlockPieces(block, units.scaling, rows.frequency, rows.threads), begin, folds)
    return Begun(path, system, begin, units)


def _units_and_sums(objective: Objective, block: Block, frequency: float, threads: int) -> tuple[Units, Gram | None]:
    """Units of the columns, and sums for least squares, which give those of dense columns."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = gram(block, centred=objective.fit_intercept, frequency=frequency, threads=threads)
        n_dense = block.rows.n_dense
        squares = np.diagonal(sums.products)[:n_dense] / frequency
    units = Units.of_all_rows(
        block, centred=objective.fit_intercept, frequency=frequency, means=sums.means[:n_dense], squares=squares
    )
    return units, sums if np.all(np.isfinite(sums.products)) else None
