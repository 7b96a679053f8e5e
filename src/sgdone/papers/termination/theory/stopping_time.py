"""How long the margin test takes to stop SGD."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from sgdone.papers.assumptions import assume, finite, positive, vector, whole
from sgdone.papers.termination.theory._losses import constants_of

__all__ = ["expected_stop_bound", "regime", "step_limit", "stop_probability"]


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
