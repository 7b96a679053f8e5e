"""A measured number and its standard error as text."""

import math


def measured(value: float, error: float) -> str:
    """Format a number with three significant digits and its standard error with two.

    Examples
    --------
    >>> measured(0.064428, 0.01834), measured(1507.3, 101.2), measured(0.5, float("nan"))
    ('0.0644 ± 0.018', '1,507 ± 101', '0.5')
    """
    return f"{_rounded(value, 3)} ± {_rounded(error, 2)}" if math.isfinite(error) else _rounded(value, 3)


def _rounded(value: float, digits: int) -> str:
    """Without an exponent where a reader would rather see the number."""
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e9 else f"{value:.{digits}g}"
