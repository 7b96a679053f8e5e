"""How far Catoni's location is from the expectation."""

import math

from sgdone.papers.assumptions import assume, non_negative, positive, whole

__all__ = [
    "location_deviation",
    "location_deviation_as_printed",
    "location_deviation_at_scale",
    "location_scale",
]


def location_scale(variance: float, n: int, delta: float) -> float:
    """Scale s at which the bound on the deviation of Catoni's location is least.

    Holland (2018), Lemma 6.

    Assumes independent values of a variance of no more than ``variance``. Margin pursuit does not take this s: it
    grows like √n, and with it the surrogate risk no longer bounds the error rate (section 4).

    Parameters
    ----------
    variance : float
        v, an upper bound on the variance of a value.
    n : int
        How many values there are.
    delta : float
        δ, the probability with which the bound may fail.

    Returns
    -------
    float
        √(nv/(2·log(2/δ))).

    Examples
    --------
    >>> round(location_scale(variance=4.0, n=1000, delta=0.05), 4)
    23.2845
    """
    variance, n = positive("variance", variance), whole("n", n, 1)
    return math.sqrt(n * variance / (2.0 * _log_of(delta)))


def location_deviation(variance: float, n: int, delta: float) -> float:
    """Distance of Catoni's location from the expectation, exceeded with probability δ at most, at `location_scale`.

    Holland (2018), Lemma 6 with the width that eq. (6) gives.

    Assumes independent values of a variance of no more than ``variance``, and n ≥ 4·log(2/δ), without which the
    quadratic inequality of the proof has no solution; the paper does not say so.

    Parameters
    ----------
    variance : float
        v, an upper bound on the variance of a value.
    n : int
        How many values there are.
    delta : float
        δ, the probability with which the bound may fail.

    Returns
    -------
    float
        2√(2v·log(2/δ)/n): twice what is printed.

    Examples
    --------
    >>> round(location_deviation(variance=4.0, n=1000, delta=0.05), 4)
    0.3436
    """
    return location_deviation_at_scale(variance, location_scale(variance, n, delta), n, delta)


def location_deviation_as_printed(variance: float, n: int, delta: float) -> float:
    """Printed deviation of Catoni's location; see `location_deviation`.

    Holland (2018), Lemma 6.

    Assumes what `location_deviation` does. It is half of eq. (6) at its own scale; for large n a sharper solution of
    the proof's inequality, s(1 − √(1 − 4·log(2/δ)/n)), comes down to it from above.

    Parameters
    ----------
    variance : float
        v, an upper bound on the variance of a value.
    n : int
        How many values there are.
    delta : float
        δ, the probability with which the bound may fail.

    Returns
    -------
    float
        √(2v·log(2/δ)/n).

    Examples
    --------
    >>> round(location_deviation_as_printed(variance=4.0, n=1000, delta=0.05), 4)
    0.1718
    """
    return 0.5 * location_deviation(variance, n, delta)


def location_deviation_at_scale(variance: float, scale: float, n: int, delta: float) -> float:
    """Distance of Catoni's location at any scale from the expectation, exceeded with probability δ at most.

    Holland (2018), eq. (6).

    Assumes independent values of a variance of no more than ``variance``, and v/s² + 2·log(2/δ)/n ≤ 1, without which
    the quadratic inequality of the proof has no solution; the paper does not say so.

    Parameters
    ----------
    variance : float
        v, an upper bound on the variance of a value.
    scale : float
        s, the scale of the estimate.
    n : int
        How many values there are.
    delta : float
        δ, the probability with which the bound may fail.

    Returns
    -------
    float
        v/s + 2s·log(2/δ)/n.

    Examples
    --------
    >>> round(location_deviation_at_scale(variance=4.0, scale=10.0, n=1000, delta=0.05), 4)
    0.4738
    """
    variance, scale, n = non_negative("variance", variance), positive("scale", scale), whole("n", n, 1)
    log = _log_of(delta)
    spent = variance / scale**2 + 2.0 * log / n
    assume(
        spent <= 1.0 + 1e-12,
        "eq. (6) assumes v/s² + 2·log(2/δ)/n ≤ 1",
        f"{spent:.4g} (variance={variance:g}, scale={scale:g}, n={n}, delta={delta:g}): take more values or a larger δ",
    )
    return variance / scale + 2.0 * scale * log / n


def _log_of(delta: float) -> float:
    """The logarithm of 2/δ."""
    if not positive("delta", delta) < 1:
        raise ValueError(f"delta={delta:g} is not a probability between 0 and 1")
    return math.log(2.0 / delta)
