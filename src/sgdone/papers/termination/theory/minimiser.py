"""Where the expected loss is least."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

from sgdone.papers.assumptions import positive
from sgdone.papers.termination.theory._losses import constants_of

__all__ = ["minimiser_scale"]

#: From this t on, 1/R(t) − t loses digits to cancellation and the continued fraction is exact to rounding.
_FAR = 4.0
_FRACTION_TERMS = 100


def minimiser_scale(loss: str, mean_norm: float, sigma: float) -> float:
    """Scale ρ* of the minimiser θ* = ρ*μ of the expected loss.

    Baghal, Paquette & Vavasis (2021), Lemma 2, eq. (14).

    Assumes samples ξ ~ N(μ, σ²I), μ ≠ 0, σ > 0.

    Parameters
    ----------
    loss : str
        "logistic", for which ρ* = 2/σ², or "hinge".
    mean_norm : float
        ‖μ‖, the distance of a class's mean from the midpoint of both.
    sigma : float
        Standard deviation σ of every feature within a class.

    Returns
    -------
    float
        For the hinge, r/σ² with r = (σ/‖μ‖)/(w + ‖μ‖/σ) and Φ(w)·exp(w²/2) = σ/(√(2π)‖μ‖); right to rounding
        for every ratio σ/‖μ‖.

    Examples
    --------
    >>> minimiser_scale("logistic", 3.0, 0.5)
    8.0
    >>> round(minimiser_scale("hinge", 1.0, 1.0), 6)
    1.433961
    """
    mean_norm, sigma = positive("mean_norm", mean_norm), positive("sigma", sigma)
    scale = {"logistic": _logistic_scale, "hinge": _hinge_scale}[constants_of(loss).name]
    return scale(positive("sigma/mean_norm", sigma / mean_norm)) / sigma / sigma


def _logistic_scale(ratio: float) -> float:
    """ρ*σ² of the logistic loss."""
    return 2.0


def _hinge_scale(ratio: float) -> float:
    """ρ*σ² of the hinge, ``ratio`` = σ/‖μ‖.

    With t = −w, eq. (14) asks for Mills' ratio R(t) = Φ(−t)/φ(t) to be σ/‖μ‖. At w ≥ 0 it is solved for log Φ(w) +
    w²/2, which never overflows; at t > 0 for R(t) = √(π/2)·erfcx(t/√2), which never underflows.
    """
    half_way = float(np.sqrt(np.pi / 2.0))  # R(0)
    if ratio >= half_way:
        target = float(np.log(ratio) - 0.5 * np.log(2.0 * np.pi))
        # Φ(w) ≥ 1/2 bounds w from above.
        w = _root(lambda w: log_ndtr(w) + 0.5 * w * w - target, 1.0 + np.sqrt(2.0 * (target + np.log(2.0))))
        return ratio / (w + 1.0 / ratio)
    # R(t) < 1/t bounds t from above.
    t = _root(lambda t: np.log(half_way * erfcx(t / np.sqrt(2.0)) / ratio), 2.0 / ratio)
    return ratio / (1.0 / ratio - t if t < _FAR else _mean_excess(t))


def _root(function: Callable[[float], float], upper: float) -> float:
    """The root of a monotone function between −1 and ``upper``, to rounding."""
    return float(brentq(function, -1.0, upper, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=1000))


def _mean_excess(t: float) -> float:
    """1/R(t) − t without cancellation: Laplace's continued fraction 1/R(t) = t + 1/(t + 2/(t + 3/(t + …)))."""
    tail = t
    for k in range(_FRACTION_TERMS, 1, -1):
        tail = t + k / tail
    return 1.0 / tail
