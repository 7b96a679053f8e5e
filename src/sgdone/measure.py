"""What a run measures: the first rows before it starts, and every block as it goes."""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sgdone.data.base import Block
from sgdone.data.class_means import scale_of_classes
from sgdone.kernels.scan import make_scan
from sgdone.solvers.base import BlockReport
from sgdone.solvers.problem import Problem
from sgdone.solvers.state import State
from sgdone.steps.base import PRELIMINARY_ROWS, Preliminary
from sgdone.stopping.base import Progress
from sgdone.trace import TraceRow


def look_ahead(problem: Problem, block: Block) -> Preliminary:
    """The sizes of the first rows, which are then trained on like the others."""
    rows = block.used(0, block.order.size)[:PRELIMINARY_ROWS]
    shape = (1, problem.n_features) if problem.access.vectors_first else (problem.n_features, 1)
    norms = np.empty(rows.size)
    make_scan(problem.access, block.rows.types)(
        block.rows.arrays, rows, np.zeros(shape, problem.dtype), np.zeros((1, 2)), norms
    )
    energies = block.weights_of(rows) * (norms + float(problem.fit_intercept))
    finite = np.isfinite(energies)
    return Preliminary(
        problem.loss,
        problem.alpha,
        norm=float(norms[finite].max(initial=0.0)),
        energy=float(energies[finite].max(initial=0.0)),
        class_scale=partial(scale_of_classes, block) if problem.task == "classification" else None,
        typical_energy=_typical(energies[finite]),
    )


def _typical(energies: NDArray[np.float64]) -> float:
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
