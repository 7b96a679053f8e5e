"""Newton's method: its directions, and searches that ask for the sums they need, wherever the rows are."""

from sgdone.newton.search import EXACT, Minimum, Position, Problem, minimise
from sgdone.sums.row_sum import Followed, answered, together

__all__ = ["EXACT", "Followed", "Minimum", "Position", "Problem", "answered", "minimise", "together"]
