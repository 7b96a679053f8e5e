"""Moments of the features x that the theorems need.

Means over x ~ N(0, Σ) of functions of x damped by λ = 1/(1 + γ‖x‖²) are one-dimensional integrals.
Since 1/(1 + γq) = ∫ e^(−t(1 + γq)) dt and 1/(1 + γq)² = ∫ t·e^(−t(1 + γq)) dt over t > 0, and e^(−tγ‖x‖²) turns
N(0, Σ) into N(0, V(t)), V(t) = Σ(I + 2γtΣ)⁻¹, at the weight det(I + 2γtΣ)^(−1/2), the mean of λ·g(x) is the
integral of that weight times e^(−t) times the mean of g under N(0, V(t)), which is a polynomial in V(t) for a
polynomial g; likewise for λ². With t = e^u the trapezoidal rule is exact to rounding: the integrands are analytic in
the strip |Im u| < π/2 and fall at both ends at least exponentially.
"""

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, matrix, positive, spectrum, symmetric

__all__ = [
    "DesignMoments",
    "design_of_rows",
    "gaussian_design",
    "gaussian_shrinkage",
    "shrinkage_of_rows",
]

#: The error of the rule is e^(−π²/spacing).
_SPACING = 0.125
#: Below e^(−40) of its scale an integrand adds nothing to a float, and above e^(6.7) it is 0.
_LOWEST, _HIGHEST = -40.0, 6.7


@final
@dataclass(frozen=True)
class Damped:
    """Nodes of the integrals.

    Parameters
    ----------
    once : array, (nodes,)
        Weights for a mean of λ·g.
    twice : array, (nodes,)
        Weights for a mean of λ²·g.
    variances : array, (nodes, features)
        Eigenvalues of V(t) at each node, under which g is averaged.
    """

    once: Array
    twice: Array
    variances: Array


def damped(eigenvalues: Array, gamma: float) -> Damped:
    """Nodes for the design N(0, Σ) with the given eigenvalues of Σ."""
    scale = np.log1p(2.0 * gamma * eigenvalues.sum())
    t = np.exp(np.arange(_LOWEST - scale, _HIGHEST, _SPACING))
    growth = 2.0 * gamma * t[:, None] * eigenvalues
    once = _SPACING * t * np.exp(-t - 0.5 * np.log1p(growth).sum(axis=1))
    return Damped(once, once * t, eigenvalues / (1.0 + growth))


class DesignMoments(NamedTuple):
    """C, D and c² of Theorem 3, for ``pflug_drift(error, gamma, noise=noise, **moments._asdict())``.

    Parameters
    ----------
    C : array, (features, features)
        E[x₁x₂ᵀ(x₁ᵀx₂)], which is the square of E[xxᵀ].
    D : array, (features, features)
        E[x₁x₁ᵀ(x₁ᵀx₂)²].
    c2 : float
        E[(x₁ᵀx₂)²].
    """

    C: Array
    D: Array
    c2: float


def gaussian_design(covariance: ArrayLike) -> DesignMoments:
    """C, D and c² of a Gaussian design x ~ N(0, Σ).

    Chee & Toulis (2018), the constants of Theorem 3.

    Assumes x ~ N(0, Σ): then C = Σ², D = 2Σ³ + tr(Σ²)Σ and c² = tr(Σ²).

    Parameters
    ----------
    covariance : matrix
        Σ.

    Examples
    --------
    >>> gaussian_design([[1.0, 0.0], [0.0, 2.0]])
    DesignMoments(C=array([[1., 0.],
           [0., 4.]]), D=array([[ 7.,  0.],
           [ 0., 26.]]), c2=5.0)
    """
    spectrum("covariance", covariance)
    sigma = symmetric("covariance", covariance)
    C = sigma @ sigma
    c2 = float(np.trace(C))
    return DesignMoments(C, 2.0 * C @ sigma + c2 * sigma, c2)


def design_of_rows(X: ArrayLike) -> DesignMoments:
    """C, D and c² of rows drawn from a data matrix.

    Chee & Toulis (2018), the constants of Theorem 3.

    Assumes x₁ and x₂ are drawn independently from the rows: exact for that, an estimate for a population that the
    rows were sampled from.

    Parameters
    ----------
    X : matrix
        One row a sample.

    Examples
    --------
    >>> design_of_rows([[1.0, 0.0], [0.0, 2.0]])
    DesignMoments(C=array([[0.25, 0.  ],
           [0.  , 4.  ]]), D=array([[ 0.25,  0.  ],
           [ 0.  , 16.  ]]), c2=4.25)
    """
    X = matrix("X", X)
    second = X.T @ X / len(X)
    sizes = np.einsum("ij,ij->i", X @ second, X)  # xᵀE[x₂x₂ᵀ]x
    C = second @ second
    return DesignMoments(C, (X.T * sizes) @ X / len(X), float(np.trace(C)))


def gaussian_shrinkage(covariance: ArrayLike, gamma: float) -> float:
    """Mean shrinkage λ_γ = E[1/(1 + γ‖x‖²)] of the implicit step under a Gaussian design.

    Chee & Toulis (2018), Theorem 4.

    Assumes x ~ N(0, Σ).

    Parameters
    ----------
    covariance : matrix
        Σ.
    gamma : float
        The step size γ.

    Returns
    -------
    float
        By one-dimensional quadrature, exact to rounding.

    Examples
    --------
    >>> round(gaussian_shrinkage([[1.0, 0.0], [0.0, 1.0]], gamma=0.5), 6)
    0.596347
    """
    eigenvalues, _ = spectrum("covariance", covariance)
    return float(damped(eigenvalues, positive("gamma", gamma)).once.sum())


def shrinkage_of_rows(X: ArrayLike, gamma: float) -> float:
    """Mean shrinkage λ_γ = E[1/(1 + γ‖x‖²)] of the implicit step over the rows of a data matrix.

    Chee & Toulis (2018), Theorem 4.

    Assumes x is drawn from the rows.

    Parameters
    ----------
    X : matrix
        One row a sample.
    gamma : float
        The step size γ.

    Examples
    --------
    >>> shrinkage_of_rows([[1.0, 0.0], [0.0, 0.0]], gamma=1.0)
    0.75
    """
    X = matrix("X", X)
    return float(np.mean(1.0 / (1.0 + positive("gamma", gamma) * np.einsum("ij,ij->i", X, X))))
