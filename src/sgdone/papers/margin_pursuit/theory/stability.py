"""What the scale does to Catoni's location: the median, the mean, and one wild value."""

import math

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, assume, positive, vector
from sgdone.papers.margin_pursuit.theory.influence import ROOT2

__all__ = ["mean_distance_bound", "median_scale", "one_value_shift_bound"]


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
