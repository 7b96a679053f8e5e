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
            raise BadRowError(label_fault(block.labels, row))


def label_fault(labels: NDArray[np.float64], row: int) -> str:
    """Describe a label that is not finite."""
    return f"the label of row {row} is {labels[row]}: impute or drop it before fit"
