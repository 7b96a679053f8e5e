"""Newton's method: its directions, and searches that ask for the sums they need, wherever the rows are."""

from sgdone.newton.search import EXACT, Problem, SearchProgress, SearchResult, minimise
from sgdone.sums.row_sum import SearchRunner, run_search, together

__all__ = ["EXACT", "Problem", "SearchProgress", "SearchResult", "SearchRunner", "minimise", "run_search", "together"]
