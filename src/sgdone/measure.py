"""What a run measures: the first rows before it starts, and every block as it goes."""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sgdone.data.class_means import scale_of_classes
from sgdone.data.rows import Rows
from sgdone.data.source import Block
from sgdone.kernels.outcome import CONTINUE
from sgdone.kernels.scan import make_scan
from sgdone.margin_statistics import MarginStatistics
from sgdone.solvers.base import BlockReport, Solver
from sgdone.solvers.batch import predictions_of
from sgdone.solvers.problem import Problem
from sgdone.solvers.state import State
from sgdone.steps.step_size import PRELIMINARY_ROWS, Preliminary
from sgdone.stopping.base import Progress
from sgdone.trace import TraceRow


def look_ahead(problem: Problem, block: Block, *, at_all: bool = False) -> Preliminary:
    """The sizes of the first rows, or of all rows at hand, which are then trained on like the others."""
    rows = block.all_used() if at_all else block.used(0, block.order.size)[:PRELIMINARY_ROWS]
    norms = squared_norms(block.rows, rows)
    energies = block.weights_of(rows) * (norms + float(problem.fit_intercept))
    finite = np.isfinite(energies)
    return Preliminary(
        problem.loss,
        problem.alpha,
        norm=float(norms[finite].max(initial=0.0)),
        energy=float(energies[finite].max(initial=0.0)),
        class_scale=partial(scale_of_classes, block) if problem.task == "classification" else None,
        typical_energy=typical(energies[finite]),
        mean_energy=float(np.mean(energies[finite])) if finite.any() else 0.0,
    )


def squared_norms(rows: Rows, some: NDArray[np.uint64]) -> NDArray[np.float64]:
    """‖x‖² of some rows, in the units that they are reached in."""
    shape = (1, rows.n_features) if rows.access.vectors_first else (rows.n_features, 1)
    norms = np.empty(some.size)
    make_scan(rows.access, rows.types)(rows.arrays, some, np.zeros(shape, rows.dtype), np.zeros((1, 2)), norms)
    return norms


def typical(energies: NDArray[np.float64]) -> float:
    """The mean, values beyond ten times the median cut to that."""
    if not energies.size:
        return 0.0
    median = float(np.median(energies))
    return float(np.mean(np.minimum(energies, 10.0 * median) if median > 0 else energies))


def measure(state: State, report: BlockReport, progress: Progress) -> TraceRow:
    """Mean progressive loss and error of the updates of a stretch."""
    loss = state.number("stretch_loss") / state.number("stretch_weight")
    if state.problem.task == "classification":
        error = state.number("stretch_wrong") / report.updates
    else:
        error = math.sqrt(state.number("stretch_squares") / report.updates)
    return TraceRow(progress.step, progress.passes, loss, error, report.step_size, progress.seconds)


def margins_of(solver: Solver, state: State, block: Block, report: BlockReport, first: int) -> MarginStatistics | None:
    """The margins of the rows of a stretch, each before it was learnt from; nothing if a row could not be used.

    Where an update reads more rows than one, or one that it does not learn from, they are those of the running iterate
    after the stretch, which reads the rows once more. Rows count by their weights.
    """
    rows = block.used(first, report.position)
    if not rows.size:
        rows = block.all_used()
    predictions = report.predictions
    if predictions.size != rows.size or solver.whole_passes or getattr(solver, "minibatch", 1) != 1:
        with np.errstate(over="ignore", invalid="ignore"):
            coef, intercept = state.iterate()
        model = State.at(state.problem, state.step, "plain", 1, coef, intercept)
        predictions, outcome, _ = predictions_of(model, block, rows)
        if outcome != CONTINUE:
            return None
    weights = None if block.sample_weight.size == 1 else block.weights_of(rows)
    gamma = float(getattr(state.problem.loss, "gamma", 1.0))
    return MarginStatistics.of(block.labels[rows] * predictions, gamma, weights)
