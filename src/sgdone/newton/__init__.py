"""Newton's method: its directions, and searches that ask for the sums they need, wherever the rows are."""

from sgdone.newton.search import EXACT, Followed, Minimum, Position, Problem, answered, minimise, together

__all__ = ["EXACT", "Followed", "Minimum", "Position", "Problem", "answered", "minimise", "together"]
