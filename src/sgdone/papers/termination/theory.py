"""The margin test on two Gaussian classes: Baghal, Paquette & Vavasis (2021).

Classes are drawn from N(μ, σ²I) and N(−μ, σ²I) with equal odds: μ is the mean of the class 1 after the midpoint of
both means was subtracted. A sample of the class 0 counts with its sign turned, so that all are ξ ~ N(μ, σ²I).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr

from sgdone.message_text import did_you_mean
from sgdone.papers.assumptions import assume, finite, positive, vector, whole

__all__ = [
    "angle_bound",
    "expected_stop_bound",
    "minimiser_scale",
    "optimal_accuracy",
    "regime",
    "step_limit",
    "stop_probability",
]


@final
@dataclass(frozen=True)
class LossConstants:
    """Constants of Baghal et al. (2021), eqs. (39) and (40).

    Parameters
    ----------
    name : str
        The loss.
    low_variance : float
        c: the variance is low where σ ≤ c‖μ‖.
    proven : float
        The largest σ/‖μ‖ for which Theorem 5 follows from its proof.
    growth : float
        The printed k of M = 501 + k·α‖μ‖².
    growth_needed : float
        A k with which Theorem 5 follows from its proof wherever the variance is low.
    """

    name: str
    low_variance: float
    proven: float
    growth: float
    growth_needed: float


_LOSSES = (
    LossConstants("logistic", low_variance=0.33, proven=0.33, growth=640.0, growth_needed=640.0),
    # The proof needs 0.002·k ≥ 1 + (σ/‖μ‖)²: 782 gives that up to 0.75, 1282 up to 1.25.
    LossConstants("hinge", low_variance=1.25, proven=0.75, growth=782.0, growth_needed=1282.0),
)


def constants_of(loss: str) -> LossConstants:
    """The constants of a loss by its name."""
    known = {constants.name: constants for constants in _LOSSES}
    if loss not in known:
        near = did_you_mean(str(loss), known)
        raise ValueError(f"loss={loss!r} is not one that the paper treats.{near} Known: {', '.join(known)}")
    return known[loss]


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

    With t = −w, eq. (14) says that Mills' ratio R(t) = Φ(−t)/φ(t) is σ/‖μ‖. At w ≥ 0 it is solved for log Φ(w) +
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


def regime(loss: str, mean_norm: float, sigma: float) -> str:
    """Whether the variance is low (E[T] has a bound) or high (it is finite at small steps).

    Baghal, Paquette & Vavasis (2021), Theorem 5, eqs. (39) and (40).

    Assumes samples ξ ~ N(μ, σ²I).

    Parameters
    ----------
    loss : str
        "logistic", whose limit is σ ≤ 0.33‖μ‖, or "hinge", whose limit is σ ≤ 1.25‖μ‖.
    mean_norm : float
        ‖μ‖, the distance of a class's mean from the midpoint of both.
    sigma : float
        Standard deviation σ of every feature within a class.

    Examples
    --------
    >>> regime("logistic", 1.0, 0.5), regime("hinge", 1.0, 0.5)
    ('high variance', 'low variance')
    """
    limit = constants_of(loss).low_variance * positive("mean_norm", mean_norm)
    return "low variance" if positive("sigma", sigma) <= limit else "high variance"


def expected_stop_bound(loss: str, mean_norm: float, sigma: float, step: float) -> float:
    """Bound on E[T], the expected number of steps before the margin test on fresh samples stops.

    Baghal, Paquette & Vavasis (2021), Theorem 5, eq. (38).

    Assumes θ₀ = 0, samples ξ ~ N(μ, σ²I), a constant step, the test ξ̂ᵀθ ≥ 1 on a fresh sample, and σ ≤ 0.33‖μ‖
    (logistic) or σ ≤ 0.75‖μ‖ (hinge; printed as 1.25).

    Parameters
    ----------
    loss : str
        "logistic" or "hinge".
    mean_norm : float
        ‖μ‖, the distance of a class's mean from the midpoint of both.
    sigma : float
        Standard deviation σ of every feature within a class.
    step : float
        The step size α; any.

    Returns
    -------
    float
        2 + 2M²/b·(Φᶜ(‖μ‖/σ) + (ασ³/‖μ‖)·φ(‖μ‖/σ) + 1) with b = α‖μ‖² and M = 501 + 640α‖μ‖² (logistic) or
        501 + 782α‖μ‖² (hinge): at least 5·10⁵/(α‖μ‖²). True, and far from tight.

    Examples
    --------
    >>> round(expected_stop_bound("logistic", mean_norm=1.0, sigma=0.2, step=0.1))
    6384504
    """
    mean_norm, sigma, step = positive("mean_norm", mean_norm), positive("sigma", sigma), positive("step", step)
    constants = constants_of(loss)
    found = f"σ = {sigma / mean_norm:.4g}‖μ‖ (sigma={sigma:g}, mean_norm={mean_norm:g})"
    assume(
        sigma <= constants.low_variance * mean_norm,
        f"Theorem 5 for the {loss} loss assumes σ ≤ {constants.low_variance}‖μ‖",
        f"{found}; at such a variance Theorem 6 (step_limit) says that E[T] is finite, and no more",
    )
    assume(
        sigma <= constants.proven * mean_norm,
        f"Theorem 5 for the {loss} loss is printed for σ ≤ {constants.low_variance}‖μ‖, but with the constant "
        f"{constants.growth:g} follows from its proof for σ ≤ {constants.proven}‖μ‖ alone",
        f"{found}; the proof with {constants.growth_needed:g} for {constants.growth:g} covers all of the printed range",
    )
    b = step * mean_norm**2
    M = 501.0 + constants.growth * b
    density = np.exp(-0.5 * (mean_norm / sigma) ** 2) / np.sqrt(2.0 * np.pi)
    return float(2.0 + 2.0 * M**2 / b * (ndtr(-mean_norm / sigma) + step * sigma**3 / mean_norm * density + 1.0))


def step_limit(mean_norm: float, sigma: float, dim: int, constant: float, *, loss: str = "logistic") -> float:
    """Step size up to which E[T] is finite where the variance is high.

    Baghal, Paquette & Vavasis (2021), Theorem 6, eq. (41).

    Assumes samples ξ ~ N(μ, σ²I), a constant step, the test ξ̂ᵀθ ≥ 1 on a fresh sample, and σ > 0.33‖μ‖ (logistic)
    or σ > 1.25‖μ‖ (hinge).

    Parameters
    ----------
    mean_norm : float
        ‖μ‖, the distance of a class's mean from the midpoint of both.
    sigma : float
        Standard deviation σ of every feature within a class.
    dim : int
        The number d of features.
    constant : float
        A, which the theorem only says exists. Lemma 14 computes one, but slips: its 9.6e-5 for the logistic loss is
        too much at σ = 0.33‖μ‖, where its eq. (77) holds for no A above 4.9e-5.
    loss : str
        "logistic" or "hinge".

    Returns
    -------
    float
        A‖μ‖²/(σ²(‖μ‖² + dσ²)).

    Examples
    --------
    >>> step_limit(mean_norm=1.0, sigma=1.0, dim=99, constant=1.0)
    0.01
    """
    mean_norm, sigma = positive("mean_norm", mean_norm), positive("sigma", sigma)
    limit = constants_of(loss).low_variance
    assume(
        sigma > limit * mean_norm,
        f"Theorem 6 for the {loss} loss assumes σ > {limit}‖μ‖",
        f"σ = {sigma / mean_norm:.4g}‖μ‖ (sigma={sigma:g}, mean_norm={mean_norm:g}), where any step will do",
    )
    spread = sigma**2 * (mean_norm**2 + whole("dim", dim, 1) * sigma**2)
    return positive("constant", constant) * mean_norm**2 / spread


def stop_probability(theta: ArrayLike, mean: ArrayLike, sigma: float, threshold: float = 1.0) -> float:
    """Probability that a fresh sample stops SGD at θ.

    Baghal, Paquette & Vavasis (2021), eq. (22), its sign corrected.

    Assumes samples ξ ~ N(μ, σ²I).

    Parameters
    ----------
    theta : vector
        The weights θ.
    mean : vector
        The mean μ of the class 1, after the midpoint of both means was taken off.
    sigma : float
        Standard deviation σ of every feature within a class.
    threshold : float
        t of the test ξᵀθ ≥ t.

    Returns
    -------
    float
        P(ξᵀθ ≥ t) = Φᶜ((t − μᵀθ)/(σ‖θ‖)).

    Examples
    --------
    >>> stop_probability([2.0, 0.0], [0.5, 0.0], sigma=0.1)
    0.5
    """
    theta = vector("theta", theta)
    mean = vector("mean", mean, len(theta))
    excess = float(mean @ theta) - finite("threshold", threshold)
    spread = positive("sigma", sigma) * float(np.linalg.norm(theta))
    return float(ndtr(excess / spread)) if spread > 0 else float(excess >= 0)


def angle_bound(sigma: float, step: float, expected_stop: float) -> float:
    """Bound on E|vᵀθ_T| for any unit vector v orthogonal to the optimal classifier.

    Baghal, Paquette & Vavasis (2021), Theorem 7, eq. (42).

    Assumes θ₀ = 0, samples ξ ~ N(μ, σ²I), a constant step, the logistic or the hinge loss, and 1 ≤ E[T] < ∞.

    Parameters
    ----------
    sigma : float
        Standard deviation σ of every feature within a class.
    step : float
        The step size α.
    expected_stop : float
        E[T], or a bound on it such as `expected_stop_bound`.

    Returns
    -------
    float
        σα√(2/π)·E[T].

    Examples
    --------
    >>> round(angle_bound(sigma=0.2, step=0.1, expected_stop=25.0), 4)
    0.3989
    """
    sigma, step = positive("sigma", sigma), positive("step", step)
    expected_stop = positive("expected_stop", expected_stop)
    assume(expected_stop >= 1, "Theorem 7 assumes a stop after 1 step or more", f"expected_stop={expected_stop:g}")
    return float(sigma * step * np.sqrt(2.0 / np.pi) * expected_stop)


def optimal_accuracy(mean_norm: float, sigma: float) -> float:
    """Accuracy of the best linear classifier, which any positive multiple of μ is.

    Baghal, Paquette & Vavasis (2021), Lemma 3.

    Assumes samples ξ ~ N(μ, σ²I).

    Parameters
    ----------
    mean_norm : float
        ‖μ‖, the distance of a class's mean from the midpoint of both: half the distance between the means.
    sigma : float
        Standard deviation σ of every feature within a class.

    Returns
    -------
    float
        Φ(‖μ‖/σ).

    Examples
    --------
    >>> round(optimal_accuracy(mean_norm=1.0, sigma=0.5), 5)
    0.97725
    """
    return float(ndtr(positive("mean_norm", mean_norm) / positive("sigma", sigma)))
