"""The constants of a design: moments of x that the theorems speak of."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, matrix, positive, spectrum, symmetric
from sgdone.papers.diagnostics.theory._gaussian import damped

__all__ = ["DesignMoments", "design_of_rows", "gaussian_design", "gaussian_shrinkage", "shrinkage_of_rows"]


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
