"""The state of the exact finish, and how it begins."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sgdone.auto import work
from sgdone.auto.both_units import BothUnits
from sgdone.auto.exact_path import ExactPath
from sgdone.auto.fold_path import FoldPath, has_unit_norms
from sgdone.auto.penalty_path import PenaltyPath
from sgdone.auto.ridge_path import RidgePath
from sgdone.auto.row_span import RowSpan, is_smaller
from sgdone.auto.units import Units
from sgdone.data.rows import Scaling
from sgdone.data.source import Block
from sgdone.data.stream import Stream
from sgdone.data.validation_rows import ValidationRows
from sgdone.interfaces.objective import Objective
from sgdone.interfaces.progress import Judgement, Model
from sgdone.run.constant_prediction import constant_model
from sgdone.sums.gram import Gram, gram
from sgdone.sums.pieces import Pieces, in_units, is_extreme
from sgdone.sums.second_order import free_model

Array = NDArray[np.float64]


@dataclass
class FinishState:
    """Where the path of penalties is."""

    objective: Objective
    block: Block
    units: Units
    pieces: Pieces
    path: PenaltyPath
    evaluations: Iterator[None]
    start: Array
    span: RowSpan | None = None
    steps: int = 0
    done: bool = False
    judgement: Judgement | None = None

    @property
    def weight(self) -> float:
        """Sum of the frequencies of all rows."""
        return self.pieces.frequency * self.block.total_weight


def start_path(
    objective: Objective, stream: Stream, start: Model | None, threads: int, *, one_pass: bool
) -> FinishState:
    """Measure the columns, and choose the path: least squares, factors or conjugate gradients."""
    block, frequency = stream.block, stream.source.frequency
    block.rows.check_indices()
    if not work.factorises(objective, block):
        return _start_folds(objective, stream, threads)
    sums = None
    if work.is_least_squares(objective) and not is_smaller(block.n_used, block.rows.n_features):
        units, sums = _units_and_sums(objective, block, frequency, threads)
    else:
        units = Units.of_all_rows(block, centred=objective.fit_intercept, frequency=frequency)
    block.rows.in_units(units.scaling)  # raises for columns too small for their coefficients
    pieces = Pieces(block, units.scaling, frequency, threads)
    if is_extreme(units.scaling):
        pieces, sums = Pieces(in_units(block, units.scaling), _unscaled(units.scaling), frequency, threads), None
    path, begin, span = _path(objective, pieces, sums, _start_in(units, start, objective), one_pass)
    if objective.alpha is not None or not has_unit_norms(pieces):
        return _state(objective, block, units, pieces, path, begin, span)
    given, _, span_given = _path(
        objective, Pieces(block, _unscaled(units.scaling), frequency, threads), None, None, one_pass
    )
    scale = np.append(np.where(np.isfinite(units.scaling.scale), units.scaling.scale, 0.0), 1.0)[:, None]

    def of_given(model: Array) -> Array:
        return scale * (model if span_given is None else span_given.model(model))

    both = BothUnits(path, given, ((lambda model: model) if span is None else span.model, of_given))
    return _state(objective, block, units, pieces, both, constant_model(objective, block, pieces.width))


def _path(
    objective: Objective, pieces: Pieces, sums: Gram | None, start: Array | None, one_pass: bool
) -> tuple[PenaltyPath, Array, RowSpan | None]:
    """The path for rows in some units, where it begins, and the span of the rows if it is followed there."""
    span = RowSpan.of(pieces) if is_smaller(pieces.n_rows, pieces.n_features) else None
    rows = pieces if span is None else span.pieces
    begin = constant_model(objective, pieces.block, rows.width)
    if work.is_least_squares(objective):
        return RidgePath(objective, rows, sums, one_pass=one_pass), begin, span
    if start is not None and span is None:
        begin = start
    return ExactPath(objective, rows, begin), begin, span


def _start_in(units: Units, start: Model | None, objective: Objective) -> Array | None:
    if start is None:
        return None
    return free_model(objective, units.scaling, start.coef.astype(np.float64), start.intercept)


def _start_folds(objective: Objective, stream: Stream, threads: int) -> FinishState:
    block, frequency = stream.block, stream.source.frequency
    units = Units.of_all_rows(block, centred=objective.fit_intercept, frequency=frequency)
    pieces = Pieces(block, units.scaling, frequency, threads)
    scaled = replace(block, rows=block.rows.in_units(units.scaling))
    folds = replace(ValidationRows.drawn(scaled, block.all_used(), stream.draws), block=block)
    begin = constant_model(objective, block, pieces.width)
    path = FoldPath(objective, pieces, begin, folds)
    return _state(objective, block, units, pieces, path, begin)


def _state(
    objective: Objective,
    block: Block,
    units: Units,
    pieces: Pieces,
    path: PenaltyPath,
    begin: Array,
    span: RowSpan | None = None,
) -> FinishState:
    """A state before the first evaluation."""
    evaluations = path.evaluations()
    next(evaluations)
    return FinishState(objective, block, units, pieces, path, evaluations, begin, span)


def _unscaled(scaling: Scaling) -> Scaling:
    """Units of rows that are scaled; constant columns stay as they are."""
    return Scaling(np.where(np.isfinite(scaling.scale), 1.0, np.inf))


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
