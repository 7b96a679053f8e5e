"""How far Catoni's location is from the expectation, the mean and the median, and what one wild value does to it."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, assume, non_negative, positive, vector, whole
from sgdone.papers.margin_pursuit.theory.influence import ROOT2

__all__ = [
    "location_deviation",
    "location_deviation_as_printed",
    "location_deviation_at_scale",
    "location_scale",
    "mean_distance_bound",
    "median_scale",
    "one_value_shift_bound",
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


def median_scale(margins: ArrayLike) -> float:
    """Scale s′ up to which Catoni's location of these margins is their median.

    Holland (2018), Proposition 2, part 1.

    Assumes as many margins above the median as below it. The paper leaves this out: of 0, 0, 1 the location is above
    the median 0 at every scale. In its proof the saturated summands are ±2√2/3, not ±√2.

    Parameters
    ----------
    margins : array-like of shape (n,)
        The margins, or any values.

    Returns
    -------
    float
        The distance from the median to the nearest margin beyond the middle ones, over √2; infinite if there is none.

    Examples
    --------
    >>> round(median_scale([0.0, 1.0, 5.0]) * 2**0.5, 12)
    1.0
    """
    values = np.sort(vector("margins", margins))
    n = len(values)
    median = float(np.median(values))
    if n % 2 == 0 and values[n // 2 - 1] < values[n // 2]:
        values = np.delete(values, [n // 2 - 1, n // 2])  # at equal distances, whose influences cancel at every scale
    below, above = int(np.sum(values < median)), int(np.sum(values > median))
    assume(
        below == above,
        "Proposition 2, part 1, assumes as many margins above the median as below",
        f"{below} below and {above} above {median:g}",
    )
    away = np.abs(values - median)
    return float(np.min(away[away > 0], initial=math.inf) / ROOT2)


def mean_distance_bound(margins: ArrayLike, scale: float) -> float:
    """Distance of Catoni's location from the mean, at most.

    Holland (2018), Proposition 2, part 2, with its constant.

    Assumes nothing of the margins. As |ψ(u) − u| ≤ |u|³/6, it is no more than the mean of |γ̂ − margin|³/(6s²), which is
    convex in γ̂, and γ̂ is between the smallest margin and the largest.

    Parameters
    ----------
    margins : array-like of shape (n,)
        The margins, or any values.
    scale : float
        s, the scale of the estimate.

    Returns
    -------
    float
        c/s², c the larger of the means of |margin − smallest|³/6 and |margin − largest|³/6.

    Examples
    --------
    >>> [round(mean_distance_bound([0.0, 1.0, 5.0], scale), 4) for scale in (1.0, 10.0)]
    [10.5, 0.105]
    """
    values, scale = vector("margins", margins), positive("scale", scale)
    return max(_mean_cube(values - values.min()), _mean_cube(values - values.max())) / (6.0 * scale**2)


def one_value_shift_bound(margins: ArrayLike, scale: float) -> float:
    """Distance by which Catoni's location moves, at most, when one margin becomes any other number.

    Holland (2018), Proposition 4.

    Assumes that at least n/2 > 24 of the n margins are within s·√2/2 of the location. The proof's slope is
    ¾ − (√m + 1)/m, and the width √(2/m) it works with gives 2s/√n; the same argument with the width 1/√n gives s/√n.

    Parameters
    ----------
    margins : array-like of shape (n,)
        The margins, or any values, before the change.
    scale : float
        s, the scale of the estimate.

    Returns
    -------
    float
        s/√n.

    Examples
    --------
    >>> one_value_shift_bound(np.linspace(0.5, 1.5, 100), scale=1.0)
    0.1
    """
    # Imported late: it imports Numba, for which `sgdone theory` should not wait.
    from sgdone.diagnose.catoni import catoni_location

    values, scale = vector("margins", margins), positive("scale", scale)
    n = len(values)
    near = int(np.sum(np.abs(catoni_location(values, scale) - values) <= scale * ROOT2 / 2))
    assume(n / 2 > 24, "Proposition 4 assumes n/2 > 24", f"n={n}")
    assume(
        near >= n / 2,
        "Proposition 4 assumes at least n/2 margins within s·√2/2 of the location",
        f"{near} of {n} (scale={scale:g}): take a larger scale",
    )
    return scale / math.sqrt(n)


def _mean_cube(values: Array) -> float:
    return float(np.mean(np.abs(values) ** 3))
