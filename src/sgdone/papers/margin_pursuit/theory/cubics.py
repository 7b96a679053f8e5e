"""The cubic equations behind H and Ψ, as the paper has them, and their real roots."""

from typing import NamedTuple

import numpy as np

from sgdone.papers.assumptions import Array, assume, finite, positive
from sgdone.papers.margin_pursuit.theory.influence import ROOT2, STEEPEST, psi_of

__all__ = ["Cubic", "cubic_condition", "cubic_roots"]


class Cubic(NamedTuple):
    """The polynomial au³ + bu² + cu + d: Holland (2018), eq. (28).

    Parameters
    ----------
    a, b, c, d : float
        Its coefficients.

    Examples
    --------
    >>> Cubic(1.0, 0.0, -1.0, 6.0)(2.0)
    12.0
    """

    a: float
    b: float
    c: float
    d: float

    def __call__(self, u: float) -> float:
        """The polynomial at u."""
        return ((self.a * u + self.b) * u + self.c) * u + self.d

    @property
    def discriminant(self) -> float:
        """Δ of eq. (15)."""
        a, b, c, d = self
        return 18 * a * b * c * d - 4 * b**3 * d + b * b * c * c - 4 * a * c**3 - 27 * a * a * d * d


def cubic_condition(eta: float, gamma: float) -> Cubic:
    """Polynomial whose root in (−γ, γ), the middle one of three, is the best prediction for the scale 1.

    Holland (2018), eq. (14), (16) and (17), chosen by (18) and (19).

    Assumes 0 < η < 1 and γ > 0. The double-cube condition (14) holds where both γ ± u* are within ±√2, the minus
    single-cube condition (16) for larger η, the plus one (17) for smaller. The constants d of (16) and (17) are
    swapped in print. For another scale s take γ/s, and s times the root.

    Parameters
    ----------
    eta : float
        η, the probability of the class 1.
    gamma : float
        γ, the margin level.

    Returns
    -------
    Cubic
        With α = (η − 1)/η: (1 − α, −3γ(1 + α), 3(1 − α)(γ² − 2), (1 + α)(6γ − γ³)), or (1, −3γ, 3γ² − 6,
        6(γ + α·2√2/3 − γ³/6)), or (1, 3γ, 3γ² − 6, −6(γ + 2√2/(3α) − γ³/6)).

    Examples
    --------
    >>> cubic = cubic_condition(0.75, 1.0)
    >>> [round(coefficient, 4) for coefficient in cubic]
    [1.0, -3.0, -3.0, 3.1144]
    >>> cubic_roots(*cubic).round(4)
    array([-1.2739,  0.6803,  3.5936])
    """
    eta, gamma = positive("eta", eta), positive("gamma", gamma)
    assume(eta < 1, "eq. (13) assumes 0 < η < 1", f"eta={eta:g}, where the best prediction is γ")
    alpha = (eta - 1.0) / eta
    join, rest = gamma - ROOT2, gamma - gamma**3 / 6
    more = max(eta, 1.0 - eta)
    if join < 0 and more * float(psi_of(np.asarray(gamma + join))) <= (1.0 - more) * STEEPEST:
        even, odd = 1.0 - alpha, 1.0 + alpha
        return Cubic(even, -3 * gamma * odd, 3 * even * (gamma**2 - 2), 6 * odd * rest)
    if eta >= 0.5:
        return Cubic(1.0, -3 * gamma, 3 * gamma**2 - 6, 6 * (rest + alpha * STEEPEST))
    return Cubic(1.0, 3 * gamma, 3 * gamma**2 - 6, -6 * (rest + STEEPEST / alpha))


def cubic_roots(a: float, b: float, c: float, d: float) -> Array:
    """Real roots of au³ + bu² + cu + d, in order, each once.

    Holland (2018), section 6.3 (``getroot``).

    Assumes a ≠ 0. Whether roots coincide is decided by Δ = 0 in floating point: roots that nearly do are right to
    half of the digits only. In the line before (32) read k² for k³.

    Parameters
    ----------
    a, b, c, d : float
        The coefficients.

    Returns
    -------
    array
        One root if Δ < 0 (Cardano), one or two if Δ = 0, three if Δ > 0 (Viète's cosines).

    Examples
    --------
    >>> cubic_roots(1.0, -6.0, 11.0, -6.0).round(12)
    array([1., 2., 3.])
    >>> cubic_roots(1.0, 0.0, 0.0, -8.0), cubic_roots(2.0, 0.0, 0.0, 0.0)
    (array([2.]), array([0.]))
    """
    a, b, c, d = finite("a", a), finite("b", b), finite("c", c), finite("d", d)
    assume(a != 0, "a cubic has a ≠ 0", "a=0")
    discriminant = Cubic(a, b, c, d).discriminant
    delta0, delta1 = b * b - 3 * a * c, 2 * b**3 - 9 * a * b * c + 27 * a * a * d
    if discriminant < 0:
        root = np.sqrt(max(delta1**2 - 4 * delta0**3, 0.0))
        C = np.cbrt((delta1 + np.copysign(root, delta1)) / 2)  # of the two signs the one without cancellation
        return np.array([-(b + C + delta0 / C) / (3 * a)])
    if discriminant == 0 and delta0 == 0:
        return np.array([-b / (3 * a) + 0.0])
    if discriminant == 0:
        return np.sort([(9 * a * d - b * c) / (2 * delta0), (4 * a * b * c - 9 * a * a * d - b**3) / (a * delta0)])
    k, q = np.sqrt(delta0) / (3 * abs(a)), delta1 / (27 * a**3)
    x = np.arccos(np.clip(-q / (2 * k**3), -1.0, 1.0)) / 3
    return np.asarray(np.sort(2 * k * np.cos(x + np.array([0.0, 2.0, 4.0]) * np.pi / 3) - b / (3 * a)))
