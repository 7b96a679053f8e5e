"""Sums over some of the rows."""

import numpy as np

from sgdone.data import ArraySource
from sgdone.data.rows import Scaling
from sgdone.interfaces.objective import Objective
from sgdone.losses import Logistic
from sgdone.sums.row_sum import MemoryRows, OfSomeRows
from sgdone.sums.second_order import LossesAt
from sgdone.sums.system import System


def test_validation_rows_and_the_others_are_all_rows():
    """Copies of a row are in the same set."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.standard_normal((150, 3)), 2, axis=0), rng.choice([-1.0, 1.0], 300)
    rows = MemoryRows(next(ArraySource(X, y, shuffle=False).blocks(rng)))
    system = System(Objective.of_classes(Logistic(), 2), Scaling(np.ones(3)))
    request = LossesAt(system, np.ones((1, *system.shape)))
    parts = [rows.sum(OfSomeRows(request, row_set, 3)).values for row_set in ("training", "validation")]
    np.testing.assert_allclose(sum(parts), rows.sum(request).values)
    assert 0 < parts[1][-1] < 90
    chosen = rows.some("validation", 3).block.all_used()
    np.testing.assert_array_equal(chosen[::2] + 1, chosen[1::2])
