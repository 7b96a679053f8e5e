"""Numbers of a summary as text."""

import math

from sgdone.inference.summary import Summary

#: A coefficient that would need more decimals, or is at least this large, is printed with exponents.
_MOST_DECIMALS, _LARGE = 7, 1e8
#: P-values below are printed as this bound.
_SMALL_P = 0.001

MISSING = "—"


def coefficient_cells(summary: Summary, k: int) -> tuple[str, ...]:
    """Coefficient, standard error, z, p and interval of one coefficient.

    All but z and p have the same decimals: four significant digits of the standard error.
    """
    coef = float(summary.coef[k])
    if math.isnan(coef) and k in summary.refused:
        coef = summary.refused[k].sign * math.inf if summary.refused[k].sign else math.nan
    std_err, low, high = (float(values[k]) for values in (summary.std_err, summary.low, summary.high))
    known = math.isfinite(std_err) and std_err > 0
    decimals = _decimals(std_err if known else coef, max(map(abs, filter(math.isfinite, (coef, low, high))), default=0))
    coef_text, error_text, low_text, high_text = (_text(value, decimals) for value in (coef, std_err, low, high))
    return coef_text, error_text, z_text(float(summary.z[k])), p_text(float(summary.p[k])), low_text, high_text


def _decimals(resolution: float, largest: float) -> int | None:
    """Decimals for four significant digits of ``resolution``; None if exponents are shorter."""
    if not math.isfinite(resolution) or resolution == 0:
        return 3
    decimals = max(0, 3 - math.floor(math.log10(abs(resolution))))
    return decimals if decimals <= _MOST_DECIMALS and largest < _LARGE else None


def _text(value: float, decimals: int | None) -> str:
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "+∞" if value > 0 else "−∞"
    return f"{value:.3e}" if decimals is None else f"{value:.{decimals}f}"


def z_text(z: float) -> str:
    """A test statistic with three decimals."""
    return _text(z, 3 if abs(z) < 1e5 else None)


def p_text(p: float) -> str:
    """A p-value with three decimals.

    Examples
    --------
    >>> p_text(0.0456), p_text(1e-9)
    ('0.046', '<0.001')
    """
    return MISSING if math.isnan(p) else f"<{_SMALL_P}" if p < _SMALL_P else f"{p:.3f}"


def statistic_text(value: float | None) -> str:
    """A likelihood or a criterion, with two decimals unless it is small; empty if it is missing.

    Examples
    --------
    >>> statistic_text(-12345.678), statistic_text(0.0123456), statistic_text(None)
    ('-12,345.68', '0.01235', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.4g}"
