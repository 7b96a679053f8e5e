"""Means over x ~ N(0, Σ) of functions of x damped by λ = 1/(1 + γ‖x‖²), as one-dimensional integrals.

Since 1/(1 + γq) = ∫ e^(−t(1 + γq)) dt and 1/(1 + γq)² = ∫ t·e^(−t(1 + γq)) dt over t > 0, and e^(−tγ‖x‖²) turns
N(0, Σ) into N(0, V(t)), V(t) = Σ(I + 2γtΣ)⁻¹, at the weight det(I + 2γtΣ)^(−1/2), the mean of λ·g(x) is the
integral of that weight times e^(−t) times the mean of g under N(0, V(t)), which is a polynomial in V(t) for a
polynomial g; likewise for λ². With t = e^u the trapezoidal rule is exact to rounding: the integrands are analytic in
the strip |Im u| < π/2 and fall at both ends at least exponentially.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from sgdone.papers.assumptions import Array

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
