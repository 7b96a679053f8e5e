"""Rows that are held out for the scores."""

import numpy as np
from numpy.typing import NDArray

from sgdone.losses.learning_task import Task

#: Fewest rows of which some are held out: the scores of fewer than five rows say nothing.
FEWEST_ROWS = 50
#: One row of this many is held out.
_EVERY = 10


def held_out_rows(labels: NDArray[np.generic], task: Task, seed: int) -> NDArray[np.bool_]:
    """Which rows are held out: a random tenth, of each class alike; none of fewer than 50 rows.

    A class of few rows is never held out whole.

    Examples
    --------
    >>> held_out_rows(np.array([0, 1] * 50), "classification", 0).reshape(-1, 2).sum(axis=0)
    array([5, 5])
    """
    held_out = np.zeros(labels.size, dtype=np.bool_)
    if labels.size < FEWEST_ROWS:
        return held_out
    order = np.random.default_rng(seed).permutation(labels.size)
    if task == "classification":
        order = order[np.argsort(labels[order], kind="stable")]
    held_out[order[_EVERY - 1 :: _EVERY]] = True
    if task == "classification":
        held_out &= np.isin(labels, np.unique(labels[~held_out]))
    return held_out
