"""Errors for rows that cannot be used."""

import numpy as np
from numpy.typing import NDArray

from sgdone.data.source import Block


class BadRowError(ValueError):
    """Raised for a row with NaN, infinity or values whose squares overflow."""


def check_rows(block: Block, rows: NDArray[np.uint64]) -> None:
    """Raise for the first of some rows that cannot be used."""
    for row in rows.tolist():
        fault = block.rows.find_fault(row)
        if fault is not None:
            raise BadRowError(fault)
        if not np.isfinite(block.labels[row]):
            raise BadRowError(f"the label of row {row} is {block.labels[row]}: impute or drop it before fit")
