"""Errors for rows that cannot be used."""

import numpy as np
from numpy.typing import NDArray

from sgdone.message_text import RowError
from sgdone.rows.rows import Rows
from sgdone.rows.source import Block


class BadRowError(RowError):
    """Raised for a row with NaN, infinity or values whose squares overflow."""


def check_rows(block: Block, rows: NDArray[np.uint64]) -> None:
    """Raise for the first of some rows that cannot be used."""
    for row in rows.tolist():
        check_row(block.rows, row)
        if not np.isfinite(block.labels[row]):
            raise label_fault(block.labels, row)


def check_row(rows: Rows, row: int) -> None:
    """Raise for a row that cannot be used."""
    fault = rows.find_fault(row)
    if fault is not None:
        raise BadRowError("", row, fault.removeprefix(f"row {row}"))


def label_fault(labels: NDArray[np.float64], row: int) -> BadRowError:
    """The error for a label that is not finite."""
    return BadRowError("the label of ", row, f" is {labels[row]}: impute or drop it before fit")
