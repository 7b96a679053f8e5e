"""The two functions that everything is made of."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, as_given, numbers

__all__ = ["psi", "rho"]

ROOT2 = float(np.sqrt(2.0))
#: ψ(√2) = ρ′(√2), the largest influence.
STEEPEST = 2.0 * ROOT2 / 3.0


def rho(u: ArrayLike) -> Any:
    """Loss of a distance u from the margin level, in units of the scale.

    Holland (2018), eq. (4).

    Assumes nothing of u. It is convex, continuous (5/6 at √2) and twice differentiable.

    Parameters
    ----------
    u : float or array-like
        Distances (γ − margin)/s.

    Returns
    -------
    float or array
        u²/2 − u⁴/24 for |u| ≤ √2, else |u|·2√2/3 − 1/2.

    Examples
    --------
    >>> rho([-1.0, 0.0, 3.0]).round(4)
    array([0.4583, 0.    , 2.3284])
    """
    return as_given(rho_of(numbers("u", u)))


def psi(u: ArrayLike) -> Any:
    """Influence of a value at a distance u from the location, in units of the scale: the slope of `rho`.

    Holland (2018), eq. (3).

    Assumes nothing of u. It satisfies −log(1 − u + u²/2) ≤ ψ(u) ≤ log(1 + u + u²/2), eq. (12) with C = 1/2.

    Parameters
    ----------
    u : float or array-like
        Distances (location − value)/s.

    Returns
    -------
    float or array
        u − u³/6 for |u| ≤ √2, else ±2√2/3.

    Examples
    --------
    >>> psi([-1.0, 0.0, 3.0]).round(4)
    array([-0.8333,  0.    ,  0.9428])
    """
    return as_given(psi_of(numbers("u", u)))


def rho_of(u: Array) -> Array:
    """ρ of numbers known to be good."""
    size = np.abs(u)
    near = np.minimum(size, ROOT2)
    return np.asarray(np.where(size > ROOT2, STEEPEST * size - 0.5, near * near * (0.5 - near * near / 24.0)))


def psi_of(u: Array) -> Array:
    """ψ of numbers known to be good."""
    near = np.clip(u, -ROOT2, ROOT2)
    return np.asarray(near * (1.0 - near * near / 6.0))
