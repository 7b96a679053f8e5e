"""Implicit SGD with a constant step: its mean squared error, and whether Pflug's sum grows or falls at θ.

With λ = 1/(1 + γ‖x‖²) the gradients of two implicit steps have the inner product
λ₁λ₂(y₁ − x₁ᵀθ)[y₂ − x₂ᵀθ − γλ₁(y₁ − x₁ᵀθ)x₁ᵀx₂]x₁ᵀx₂ (proof of Theorem 4). Its mean over independent noise is, with
δ = θ − θ* and A = E[λxxᵀ], exactly ‖Aδ‖² − γ·E[λ²((xᵀδ)² + σ²)·xᵀAx].
"""

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import assume, matrix, non_negative, positive, spectrum, symmetric, vector, whole
from sgdone.papers.diagnostics.theory.designs import damped
from sgdone.papers.diagnostics.theory.pflug import pflug_drift

__all__ = [
    "isgd_error_bound",
    "pflug_drift_implicit",
    "pflug_drift_implicit_as_printed",
    "pflug_drift_implicit_of_rows",
]


def isgd_error_bound(
    n: int,
    initial_squared_error: float,
    gamma: float,
    *,
    trace_min: float,
    trace_max: float,
    curvature_min: float,
    lipschitz: float,
    gradient_noise: float,
) -> float:
    """Bound on E‖θ_n − θ*‖² after n implicit steps of constant size.

    Chee & Toulis (2018), Theorem 8, θ_{n−1} on its right read as θ₀.

    Assumes a convex, twice differentiable loss; (b) b ≤ tr ∇²ℓ ≤ t almost surely, which no Gaussian design meets, and
    Fisher information of at least λ; (c) E‖∇ℓ(θ*)‖² ≤ σ²; (d) E‖∇ℓ(θ) − ∇ℓ(θ′)‖² ≤ L²‖θ − θ′‖²; (e) γL²(1 + γt) <
    λ(1 + γb)². The proof also takes the shrinkage of a step as independent of the noise: true of the squared loss.

    Parameters
    ----------
    n : int
        Steps made.
    initial_squared_error : float
        E‖θ₀ − θ*‖².
    gamma : float
        The step size γ.
    trace_min, trace_max : float
        b and t, bounds on the trace of a sample's Hessian; on ‖x‖² for the squared loss.
    curvature_min : float
        λ, the smallest eigenvalue of the Fisher information; of E[xxᵀ] for the squared loss.
    lipschitz : float
        L; for the squared loss L² is the largest eigenvalue of E[‖x‖²xxᵀ].
    gradient_noise : float
        σ², a bound on E‖∇ℓ(θ*)‖²; the variance of y − xᵀθ* times E‖x‖² for the squared loss.

    Returns
    -------
    float
        (1 − 2γλ/(1 + γt) + 2γ²L²/(1 + γb)²)ⁿ·E‖θ₀ − θ*‖² + γσ²(1 + γt)/(λ(1 + γb)² − γL²(1 + γt)).

    Examples
    --------
    >>> sphere = {"trace_min": 4.0, "trace_max": 4.0, "curvature_min": 1.0, "lipschitz": 2.0}
    >>> [round(isgd_error_bound(n, 10.0, 0.1, gradient_noise=4.0, **sphere), 4) for n in (0, 10, 1000)]
    [10.4, 3.8085, 0.4]
    """
    n, start, gamma = (
        whole("n", n, 0),
        non_negative("initial_squared_error", initial_squared_error),
        positive("gamma", gamma),
    )
    b, t = positive("trace_min", trace_min), positive("trace_max", trace_max)
    weakest, L = positive("curvature_min", curvature_min), positive("lipschitz", lipschitz)
    noise = non_negative("gradient_noise", gradient_noise)
    assume(b <= t, "assumption (b) of Theorem 8 is trace_min ≤ trace_max", f"trace_min={b:g}, trace_max={t:g}")
    assume(
        weakest <= min(L, t),
        "assumptions (b) and (d) of Theorem 8 make curvature_min at most lipschitz and at most trace_max",
        f"curvature_min={weakest:g}, lipschitz={L:g}, trace_max={t:g}",
    )
    stretched, margin = gamma * L**2 * (1.0 + gamma * t), weakest * (1.0 + gamma * b) ** 2
    assume(
        stretched < margin,
        "assumption (e) of Theorem 8 is γL²(1 + γt) < λ(1 + γb)²",
        f"{stretched:.4g} on the left and {margin:.4g} on the right at gamma={gamma:g}: take a smaller step",
    )
    factor = 1.0 - 2.0 * gamma * weakest / (1.0 + gamma * t) + 2.0 * (gamma * L / (1.0 + gamma * b)) ** 2
    return factor**n * start + gamma * noise * (1.0 + gamma * t) / (margin - stretched)


def pflug_drift_implicit(error: ArrayLike, gamma: float, *, covariance: ArrayLike, noise: float) -> float:
    """Expected change of Pflug's sum S_n at θ for implicit steps, squared loss, Gaussian design: exact.

    Chee & Toulis (2018), the proof of Theorem 4 before its last step.

    Assumes the squared loss ½(y − xᵀθ)², independent samples, x ~ N(0, Σ), and noise ε independent of x.

    Parameters
    ----------
    error : vector
        θ − θ*.
    gamma : float
        The step size γ.
    covariance : matrix
        Σ.
    noise : float
        The variance σ² of ε = y − xᵀθ*.

    Returns
    -------
    float
        By one-dimensional quadrature, exact to rounding.

    Examples
    --------
    >>> round(pflug_drift_implicit([0.7, 0, 0, 0, 0], 0.05, covariance=np.eye(5), noise=2.25), 4)
    -0.0316
    """
    error = vector("error", error)
    gamma, noise = positive("gamma", gamma), non_negative("noise", noise)
    eigenvalues, axes = spectrum("covariance", covariance, len(error))
    nodes = damped(eigenvalues, gamma)
    squares = (axes.T @ error) ** 2
    A = nodes.once @ nodes.variances  # diagonal in the eigenvectors of Σ, as E[λxxᵀ] is
    along, across = nodes.variances @ squares, nodes.variances @ A
    # E[(xᵀδ)²·xᵀAx] under N(0, V) is (δᵀVδ)·tr(AV) + 2δᵀVAVδ.
    fourth = along * across + 2.0 * nodes.variances**2 @ (squares * A)
    return float(squares @ A**2 - gamma * nodes.twice @ (fourth + noise * across))


def pflug_drift_implicit_of_rows(error: ArrayLike, gamma: float, *, X: ArrayLike, noise: float) -> float:
    """Expected change of Pflug's sum S_n at θ for implicit steps, squared loss, rows of a data matrix: exact.

    Chee & Toulis (2018), the proof of Theorem 4 before its last step.

    Assumes the squared loss ½(y − xᵀθ)², noise ε independent of x, and x₁ and x₂ drawn independently from the rows:
    exact for that, an estimate for a population that the rows were sampled from.

    Parameters
    ----------
    error : vector
        θ − θ*.
    gamma : float
        The step size γ.
    X : matrix
        One row a sample.
    noise : float
        The variance σ² of ε = y − xᵀθ*.

    Examples
    --------
    >>> pflug_drift_implicit_of_rows([1.0], 1.0, X=[[1.0], [-1.0]], noise=1.0)
    0.0
    """
    error, X = vector("error", error), matrix("X", X)
    gamma, noise = positive("gamma", gamma), non_negative("noise", noise)
    if X.shape[1] != len(error):
        raise ValueError(f"X has {X.shape[1]} columns where error has {len(error)} entries")
    shrinkage = 1.0 / (1.0 + gamma * np.einsum("ij,ij->i", X, X))
    A = (X.T * shrinkage) @ X / len(X)
    sizes = np.einsum("ij,ij->i", X @ A, X)
    return float(np.sum((A @ error) ** 2) - gamma * np.mean(shrinkage**2 * ((X @ error) ** 2 + noise) * sizes))


def pflug_drift_implicit_as_printed(
    error: ArrayLike, gamma: float, *, C: ArrayLike, D: ArrayLike, c2: float, noise: float, shrinkage: float
) -> float:
    """Printed formula for the expected change of Pflug's sum S_n at θ, implicit steps; see `pflug_drift_implicit`.

    Chee & Toulis (2018), Theorem 4.

    Assumes what Theorem 3 does and, wrongly, that 1/(1 + γ‖x‖²) is independent of x.

    For x ~ N(0, I) in 5 features, γ = 0.05, σ² = 2.25 and ‖θ − θ*‖ = 0.7 it gives −0.070 where the drift is −0.031.

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
    shrinkage : float
        λ_γ = E[1/(1 + γ‖x‖²)]; `gaussian_shrinkage` or `shrinkage_of_rows` has it.

    Returns
    -------
    float
        λ_γ²·Δ + γλ_γ²(1 − λ_γ)((θ − θ*)ᵀD(θ − θ*) + σ²c²), Δ the drift of explicit steps (Theorem 3).

    Examples
    --------
    >>> pflug_drift_implicit_as_printed([1.0], 1.0, C=[[1]], D=[[1]], c2=1.0, noise=1.0, shrinkage=0.5)
    0.0
    """
    explicit = pflug_drift(error, gamma, C=C, D=D, c2=c2, noise=noise)
    shrinkage = positive("shrinkage", shrinkage)
    assume(shrinkage <= 1, "λ_γ of Theorem 4 is 1 or less", f"shrinkage={shrinkage:g}")
    error = vector("error", error)
    spread = error @ symmetric("D", D, len(error)) @ error + noise * c2
    return float(shrinkage**2 * (explicit + gamma * (1.0 - shrinkage) * spread))
