"""Data sources: arrays in memory, and files read into arrays."""

from sgdone.data.arrays import ArraySource
from sgdone.data.rows import Rows, Scaling
from sgdone.data.source import Block, Source

__all__ = ["ArraySource", "Block", "Rows", "Scaling", "Source"]
