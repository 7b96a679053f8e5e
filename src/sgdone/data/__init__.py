"""Data sources: arrays and matrices in memory, and files read into arrays."""

from sgdone.data.arrays import ArraySource
from sgdone.data.mixed_matrix import MixedMatrix
from sgdone.data.rows import Rows, Scaling
from sgdone.data.source import Block, Source

__all__ = ["ArraySource", "Block", "MixedMatrix", "Rows", "Scaling", "Source"]
