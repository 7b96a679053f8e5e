"""Rows that models cannot learn from."""

from sgdone.auto.bank import Advance
from sgdone.bad_rows import check_rows
from sgdone.data.source import Block
from sgdone.kernels.outcome import CONTINUE, NOT_SOUND


def refuse(block: Block, found: Advance) -> None:
    """Name the row of ``block.order`` that a stretch ended at, if it did not reach its end."""
    if found.outcome == CONTINUE:
        return
    row = block.order[found.position : found.position + 1]
    if found.outcome == NOT_SOUND:
        block.rows.check_indices()
    check_rows(block, row)
    raise ValueError(f"row {row[0]} cannot be learnt from: X or the label there is too large. Scale them")
