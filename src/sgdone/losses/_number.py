"""Numbers that a user passed, for range checks in which anything else fails."""

from math import nan
from numbers import Real


def number(given: object) -> float:
    """``given`` as a float, or NaN, which is in no range, if it is not a real number."""
    return float(given) if isinstance(given, Real) else nan
