"""Whether Pflug's sum grows or falls at θ, for implicit steps.

With λ = 1/(1 + γ‖x‖²) the gradients of two implicit steps have the inner product
λ₁λ₂(y₁ − x₁ᵀθ)[y₂ − x₂ᵀθ − γλ₁(y₁ − x₁ᵀθ)x₁ᵀx₂]x₁ᵀx₂ (proof of Theorem 4). Its mean over independent noise is, with
δ = θ − θ* and A = E[λxxᵀ], exactly ‖Aδ‖² − γ·E[λ²((xᵀδ)² + σ²)·xᵀAx].
"""

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import assume, matrix, non_negative, positive, spectrum, symmetric, vector
from sgdone.papers.diagnostics.theory._gaussian import damped
from sgdone.papers.diagnostics.theory.pflug import pflug_drift

__all__ = ["pflug_drift_implicit", "pflug_drift_implicit_as_printed", "pflug_drift_implicit_of_rows"]


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
