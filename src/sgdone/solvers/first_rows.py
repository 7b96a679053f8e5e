"""What the first rows tell a step size."""

from functools import partial

import numpy as np

from sgdone.data.class_means import scale_of_classes
from sgdone.data.row_norms import squared_norms, typical
from sgdone.data.source import Block
from sgdone.interfaces.objective import Objective
from sgdone.steps.step_size import PRELIMINARY_ROWS, Preliminary


def first_rows(objective: Objective, block: Block, *, all_rows: bool = False, relative: bool = False) -> Preliminary:
    """Sizes of the first 1000 rows, or of all rows of the matrix; they are trained on like the others.

    If ``relative``, sample weights are divided by their mean.
    """
    rows = block.all_used() if all_rows else block.used(0, block.order.size)[:PRELIMINARY_ROWS]
    norms = squared_norms(block.rows, rows)
    weights = block.weights_of(rows)
    if relative and rows.size:
        weights = weights / weights.mean()
    energies = weights * (norms + float(objective.fit_intercept))
    finite = np.isfinite(energies)
    return Preliminary(
        objective.loss,
        objective.penalty,
        norm=float(norms[finite].max(initial=0.0)),
        energy=float(energies[finite].max(initial=0.0)),
        class_scale=partial(scale_of_classes, block) if objective.task == "classification" else None,
        typical_energy=typical(energies[finite]),
        mean_energy=float(np.mean(energies[finite])) if finite.any() else 0.0,
    )
