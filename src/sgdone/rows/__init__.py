"""Rows and where they come from: sources in memory and on disk, the stream of passes, validation rows."""

from sgdone.matrices.mixed_matrix import MixedMatrix
from sgdone.rows.rows import Block, Rows, Scaling
from sgdone.rows.source import ArraySource, Source

__all__ = ["ArraySource", "Block", "MixedMatrix", "Rows", "Scaling", "Source"]
