"""Errors for rows that cannot be used for training."""

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block
from sgdone.solvers.base import BlockReport


class BadRowError(ValueError):
    """Raised for a row with NaN, infinity or values whose squares overflow."""


def raise_for_bad_row(block: Block, report: BlockReport) -> None:
    """Raise if the row at which training stopped is invalid. If it is valid, the weights have diverged."""
    row = int(block.order[report.position]) if report.blamed is None else report.blamed
    if report.ending == "not sound":
        block.rows.check_indices()
    check_rows(block, np.array([row], dtype=np.uint64))


def check_rows(block: Block, rows: NDArray[np.uint64]) -> None:
    """Raise for the first of the given rows that cannot be used for training."""
    for row in rows.tolist():
        fault = block.rows.find_fault(row)
        if fault is not None:
            raise BadRowError(fault)
        if not np.isfinite(block.labels[row]):
            raise BadRowError(f"the label of row {row} is {block.labels[row]}: impute or drop it before fit")
