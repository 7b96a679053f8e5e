"""The excess risk of Algorithm 1, as the shape of a bound."""

import math

from sgdone.papers.assumptions import assume, non_negative, positive, whole
from sgdone.papers.margin_pursuit.theory.calibration import psi_inverse, psi_transform
from sgdone.papers.margin_pursuit.theory.influence import STEEPEST

__all__ = ["excess_risk_bound", "excess_surrogate_risk_bound"]


def excess_surrogate_risk_bound(
    steps: int,
    n: int,
    features: int,
    *,
    scale: float,
    step_size: float,
    strong_convexity: float,
    input_variance: float,
    start_distance: float,
    delta: float,
    c: float,
    diameter: float = 1.0,
) -> float:
    """Excess surrogate risk of margin pursuit after some steps of gradient descent, with probability 1 − 2δ.

    Holland (2018), Theorem 11, the argument of Ψ⁻¹.

    Assumes A0 to A3: weights in a set of diameter Δ, a stationary point w* there, a κ-strongly convex surrogate risk,
    sub-Gaussian gradients with the constant c; 0 < step < 2/(κ + v_X), κ ≤ v_X, δ < 1/2. The constant c is unknown, and
    Lemma 15 chooses its direction from the data: read it as the shape of a bound, not as a number. E‖xxᵀ‖ is v_X. The
    diameter, which the cover in the proof brings in, is lost in print (Δ = 1).

    Parameters
    ----------
    steps : int
        T, the gradient steps of Algorithm 1.
    n : int
        How many rows there are.
    features : int
        d, how many features there are.
    scale : float
        s, the scale of the loss.
    step_size : float
        α, the constant step size.
    strong_convexity : float
        κ, that of the surrogate risk.
    input_variance : float
        v_X, the expectation of ‖x‖².
    start_distance : float
        The distance ‖w₀ − w*‖ of the start from the minimiser.
    delta : float
        δ, a half of the probability with which the bound may fail.
    c : float
        The constant of the sub-Gaussian gradients, which data do not determine.
    diameter : float, default=1
        Δ, that of the set of weights.

    Returns
    -------
    float
        (1 − αβ)ᵀ·v_X‖w₀ − w*‖² + 4v_X/(β²n)·((1 + δ)v_X + 2sε*)², β = 2κv_X/(κ + v_X),
        ε*² = c·(8/9)·v_X·(d·log(3Δ√n/(2δ)) + log(1/δ)).

    Examples
    --------
    >>> known = dict(scale=1.0, step_size=0.5, strong_convexity=0.5, input_variance=1.0, start_distance=1.0)
    >>> [round(excess_surrogate_risk_bound(100, n, 10, **known, delta=0.01, c=1.0), 6) for n in (10**4, 10**6, 10**8)]
    [0.357772, 0.004352, 5.1e-05]
    """
    steps, n, features = whole("steps", steps, 0), whole("n", n, 1), whole("features", features, 1)
    scale, step_size = positive("scale", scale), positive("step_size", step_size)
    kappa, variance = positive("strong_convexity", strong_convexity), positive("input_variance", input_variance)
    distance, diameter = non_negative("start_distance", start_distance), positive("diameter", diameter)
    delta, c = positive("delta", delta), positive("c", c)
    assume(delta < 0.5, "Theorem 11 assumes δ < 1/2", f"delta={delta:g}: it holds with probability 1 − 2δ")
    assume(
        distance <= diameter,
        "assumption A0 puts the start and the minimiser into a set of diameter Δ",
        f"start_distance={distance:g} and diameter={diameter:g}",
    )
    assume(
        kappa <= variance,
        "assumption A2 and Lemma 14 make κ ≤ v_X",
        f"strong_convexity={kappa:g} and input_variance={variance:g}",
    )
    assume(
        step_size < 2.0 / (kappa + variance),
        "Theorem 11 assumes a step size below 2/(κ + v_X)",
        f"step_size={step_size:g} and 2/(κ + v_X) = {2.0 / (kappa + variance):g}",
    )
    beta = 2.0 * kappa * variance / (kappa + variance)
    cover = max(math.log(1.5 * diameter) + 0.5 * math.log(n) - math.log(delta), 0.0)
    spread = math.sqrt(c * STEEPEST**2 * variance * (features * cover - math.log(delta)))
    statistical = 4.0 * variance / (beta**2 * n) * ((1.0 + delta) * variance + 2.0 * scale * spread) ** 2
    return (1.0 - step_size * beta) ** steps * variance * distance**2 + statistical


def excess_risk_bound(
    steps: int,
    n: int,
    features: int,
    *,
    gamma: float,
    scale: float,
    step_size: float,
    strong_convexity: float,
    input_variance: float,
    start_distance: float,
    delta: float,
    c: float,
    diameter: float = 1.0,
) -> float:
    """Excess error rate of margin pursuit after some steps of gradient descent, with probability 1 − 2δ.

    Holland (2018), Theorem 11.

    Assumes what `excess_surrogate_risk_bound` does, γ > 0, and that no measurable classifier beats the linear ones:
    Lemma 8 compares with the best of all.

    Parameters
    ----------
    steps : int
        T, the gradient steps of Algorithm 1.
    n : int
        How many rows there are.
    features : int
        d, how many features there are.
    gamma : float
        γ, the margin level.
    scale : float
        s, the scale of the loss.
    step_size : float
        α, the constant step size.
    strong_convexity : float
        κ, that of the surrogate risk.
    input_variance : float
        v_X, the expectation of ‖x‖².
    start_distance : float
        The distance ‖w₀ − w*‖ of the start from the minimiser.
    delta : float
        δ, a half of the probability with which the bound may fail.
    c : float
        The constant of the sub-Gaussian gradients, which data do not determine.
    diameter : float, default=1
        Δ, that of the set of weights.

    Returns
    -------
    float
        Ψ⁻¹ of the bound on the surrogate risk, or 1, which says nothing, where that is beyond Ψ(1).

    Examples
    --------
    >>> known = dict(scale=1.0, step_size=0.5, strong_convexity=0.5, input_variance=1.0, start_distance=1.0)
    >>> [round(excess_risk_bound(100, n, 10, gamma=1.0, **known, delta=0.01, c=1.0), 4) for n in (10**4, 10**6, 10**8)]
    [0.851, 0.0793, 0.0086]
    """
    surrogate = excess_surrogate_risk_bound(
        steps,
        n,
        features,
        scale=scale,
        step_size=step_size,
        strong_convexity=strong_convexity,
        input_variance=input_variance,
        start_distance=start_distance,
        delta=delta,
        c=c,
        diameter=diameter,
    )
    gamma = positive("gamma", gamma)
    return 1.0 if surrogate >= psi_transform(1.0, gamma, scale) else float(psi_inverse(surrogate, gamma, scale))
