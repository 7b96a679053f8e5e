"""Where rows come from: arrays in memory, and files read into them."""

from sgdone.data.arrays import ArraySource
from sgdone.data.base import Block, Source
from sgdone.data.rows import Rows, Scaling

__all__ = ["ArraySource", "Block", "Rows", "Scaling", "Source"]
