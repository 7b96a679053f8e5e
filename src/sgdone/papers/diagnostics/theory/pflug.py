"""Whether Pflug's sum grows or falls at θ, for explicit steps."""

from numpy.typing import ArrayLike

from sgdone.papers.assumptions import non_negative, positive, symmetric, vector

__all__ = ["pflug_drift", "pflug_drift_glm_bound", "step_threshold"]


def pflug_drift(error: ArrayLike, gamma: float, *, C: ArrayLike, D: ArrayLike, c2: float, noise: float) -> float:
    """Expected change of Pflug's sum S_n at θ, squared loss.

    Chee & Toulis (2018), Theorem 3.

    Assumes the squared loss ½(y − xᵀθ)², independent samples, and noise ε independent of x.

    Parameters
    ----------
    error : vector
        θ − θ*.
    gamma : float
        The step size γ.
    C, D : matrix
        E[x₁x₂ᵀ(x₁ᵀx₂)] and E[x₁x₁ᵀ(x₁ᵀx₂)²]; `gaussian_design` or `design_of_rows` has them.
    c2 : float
        c² = E[(x₁ᵀx₂)²].
    noise : float
        The variance σ² of ε = y − xᵀθ*.

    Returns
    -------
    float
        (θ − θ*)ᵀ(C − γD)(θ − θ*) − γc²σ²: negative in the region where the diagnostic is on its way to fire.

    Examples
    --------
    >>> round(pflug_drift([0.7, 0.0], 0.05, C=[[1, 0], [0, 1]], D=[[4, 0], [0, 4]], c2=2.0, noise=2.25), 6)
    0.167
    """
    error = vector("error", error)
    C, D = symmetric("C", C, len(error)), symmetric("D", D, len(error))
    gamma, c2, noise = positive("gamma", gamma), non_negative("c2", c2), non_negative("noise", noise)
    return float(error @ (C - gamma * D) @ error - gamma * c2 * noise)


def pflug_drift_glm_bound(gamma: float, *, C: ArrayLike, D2: float, c2: float, noise: float, slope_min: float) -> float:
    """Printed bound on the expected change of Pflug's sum S_n at θ, generalised linear loss.

    Chee & Toulis (2018), Theorem 5.

    Assumes the loss −y·xᵀθ + f(xᵀθ), h = f′ with h′ ≥ k > 0, and a small γ (terms of order γ² are left out). The
    proof also takes E[ε²(x₁ᵀx₂)²] for σ²c², which noise that depends on x breaks.

    Such noise is the rule in generalised linear models, so this is no bound in general: for the logistic loss with
    x = 0.001 or 1 at equal odds and θ = θ* = 4 the drift is −7.8e-5·γ, above this "upper bound" of −5.9e-4·γ.

    Parameters
    ----------
    gamma : float
        The step size γ.
    C : vector
        C(θ, θ*) = E[(h(xᵀθ) − h(xᵀθ*))x].
    D2 : float
        D²(θ, θ*) = E[(h(x₁ᵀθ) − h(x₁ᵀθ*))²(x₁ᵀx₂)²].
    c2 : float
        c² = E[(x₁ᵀx₂)²].
    noise : float
        The variance σ² = E[(y − h(xᵀθ*))²].
    slope_min : float
        k, a lower bound on h′.

    Returns
    -------
    float
        ‖C(θ, θ*)‖² − γk(σ²c² + D²(θ, θ*)).

    Examples
    --------
    >>> round(pflug_drift_glm_bound(1.0, C=[0.0], D2=0.0, c2=0.2500005, noise=0.1338305, slope_min=0.0176627), 6)
    -0.000591
    """
    C = vector("C", C)
    gamma, slope_min = positive("gamma", gamma), positive("slope_min", slope_min)
    c2, noise, D2 = non_negative("c2", c2), non_negative("noise", noise), non_negative("D2", D2)
    return float(C @ C - gamma * slope_min * (noise * c2 + D2))


def step_threshold(
    *, lipschitz: float, error_constant: float, curvature_min: float, gradient_noise: float, K: float = 1.0
) -> float:
    """Step size above which successive gradients end up opposed on average, so that Pflug's test fires.

    Chee & Toulis (2018), Theorem 2, condition (c).

    Assumes E‖θ_n − θ*‖² ≤ γM for large n, and a gradient f(x, θ) + e with f L-Lipschitz in θ, E[e | x, θ] = 0,
    E‖e‖² ≥ τ² and E[f(x, θ − γz)ᵀz] ≤ E[f(x, θ)ᵀz] − γK·E[zᵀCz]. The proof leaves out terms of order γ².

    Parameters
    ----------
    lipschitz : float
        L.
    error_constant : float
        M.
    curvature_min : float
        μ, the smallest eigenvalue of C; for the linear model C is E[xxᵀ].
    gradient_noise : float
        τ², a lower bound on the variance E‖e‖² of the gradient.
    K : float
        K; 1 for the linear model.

    Returns
    -------
    float
        (L²M − μKτ²)/(μKL²M); every step will do where it is not positive.

    Examples
    --------
    >>> step_threshold(lipschitz=1.0, error_constant=2.0, curvature_min=0.5, gradient_noise=1.0)
    1.5
    """
    spread = positive("lipschitz", lipschitz) ** 2 * positive("error_constant", error_constant)
    curvature = positive("curvature_min", curvature_min) * positive("K", K)
    return (spread - curvature * non_negative("gradient_noise", gradient_noise)) / (curvature * spread)
