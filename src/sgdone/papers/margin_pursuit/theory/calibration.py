"""From the surrogate risk to the error rate: H, Ψ and its inverse."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, as_given, assume, numbers
from sgdone.papers.margin_pursuit.theory._closed_form import best, inverse, transform
from sgdone.papers.margin_pursuit.theory.influence import rho_of

__all__ = ["conditional_risk_minimiser", "conditional_risk_minimum", "psi_inverse", "psi_transform"]

_LINEAR = 1e9


def conditional_risk_minimiser(eta: ArrayLike, gamma: ArrayLike, scale: ArrayLike) -> Any:
    """Prediction u* at which the expected loss ηφ(u) + (1 − η)φ(−u) of one x is least.

    Holland (2018), proof of Lemma 8, eq. (13) to (20).

    Assumes γ > 0 and s > 0. The misprints of (16) and (17) do not matter here: both cubics have three real roots, and
    their middle ones are written with sines. Where η = 1/2 and γ > √2·s a whole interval is best: 0 is returned.

    Parameters
    ----------
    eta : float or array-like
        η, the probability of the class 1, from 0 to 1.
    gamma : float or array-like
        γ, the margin level.
    scale : float or array-like
        s, the scale.

    Returns
    -------
    float or array
        u* in [−γ, γ].

    Examples
    --------
    >>> conditional_risk_minimiser([0.5, 0.7, 1.0], gamma=1.0, scale=1.0).round(4)
    array([0.    , 0.5839, 1.    ])
    """
    eta, level, scale = _checked(numbers("eta", eta, 0.0, 1.0), gamma, scale)
    u = 2.0 * eta - 1.0
    return as_given(np.sign(u) * scale * best(np.abs(u), level))


def conditional_risk_minimum(eta: ArrayLike, gamma: ArrayLike, scale: ArrayLike) -> Any:
    """Least expected loss H(η) of one x of the class 1 with probability η: concave, from 0 at η = 0 to 0 at η = 1.

    Holland (2018), Lemma 8.

    Assumes γ > 0 and s > 0.

    Parameters
    ----------
    eta : float or array-like
        η, the probability of the class 1, from 0 to 1.
    gamma : float or array-like
        γ, the margin level.
    scale : float or array-like
        s, the scale.

    Returns
    -------
    float or array
        min over u of ηφ(u) + (1 − η)φ(−u).

    Examples
    --------
    >>> conditional_risk_minimum([0.5, 0.7, 1.0], gamma=1.0, scale=1.0).round(4)
    array([0.4583, 0.3577, 0.    ])
    """
    eta, level, scale = _checked(numbers("eta", eta, 0.0, 1.0), gamma, scale)
    at = best(np.abs(2.0 * eta - 1.0), level)
    more = np.maximum(eta, 1.0 - eta)
    return as_given(scale * (scale * (more * rho_of(level - at) + (1.0 - more) * rho_of(level + at))))


def psi_transform(u: ArrayLike, gamma: ArrayLike, scale: ArrayLike) -> Any:
    """Excess surrogate risk Ψ(u) that an excess error rate u costs at least: Ψ(R − R*) ≤ R_φ − R_φ*.

    Holland (2018), Lemma 8.

    Assumes γ > 0 and s > 0, and as R* and R_φ* the infima over all measurable h, as Bartlett et al. (2006) have it:
    over a smaller class of classifiers the inequality does not follow.

    Parameters
    ----------
    u : float or array-like
        The excess error rate, from 0 to 1; Ψ(−u) = Ψ(u).
    gamma : float or array-like
        γ, the margin level.
    scale : float or array-like
        s, the scale.

    Returns
    -------
    float or array
        s²ρ(γ/s) − H((1 + u)/2), without the cancellation of that difference.

    Examples
    --------
    >>> psi_transform([0.0, 0.1, 1.0], gamma=1.0, scale=1.0).round(4)
    array([0.    , 0.0069, 0.4583])
    """
    u, level, scale = _checked(np.abs(numbers("u", u, -1.0, 1.0)), gamma, scale)
    return as_given(scale * (scale * transform(u, level)))


def psi_inverse(a: ArrayLike, gamma: ArrayLike, scale: ArrayLike) -> Any:
    """Largest excess error rate that an excess surrogate risk a leaves possible.

    Holland (2018), Lemma 8 and Remark 9.

    Assumes γ > 0, s > 0 and 0 ≤ a ≤ s²ρ(γ/s) = Ψ(1), beyond which every error rate is possible.

    Parameters
    ----------
    a : float or array-like
        The excess surrogate risk.
    gamma : float or array-like
        γ, the margin level.
    scale : float or array-like
        s, the scale.

    Returns
    -------
    float or array
        Ψ⁻¹(a), from 0 to 1; the paper reads it off a grid of 2500 points.

    Examples
    --------
    >>> psi_inverse([0.0, 0.1, 0.25], gamma=1.0, scale=1.0).round(4)
    array([0.    , 0.3986, 0.6796])
    """
    a, level, scale = _checked(numbers("a", a, 0.0), gamma, scale)
    most = scale * (scale * rho_of(level))
    if np.any(a > most * (1.0 + 1e-12)):
        i = int(np.argmax(a - most))
        assume(
            False,
            "Lemma 8 assumes an excess risk a of no more than Ψ(1) = s²ρ(γ/s), beyond which no error rate is excluded",
            f"a={a.flat[i]:g} and Ψ(1) = {most.flat[i]:g} (gamma={(level * scale).flat[i]:g}, scale={scale.flat[i]:g})",
        )
    return as_given(inverse(np.minimum(a, most) / scale / scale, level))


def _checked(first: Array, gamma: ArrayLike, scale: ArrayLike) -> tuple[Array, Array, Array]:
    """The first argument, γ/s and s, of one shape."""
    levels, scales = numbers("gamma", gamma, 0.0, above=True), numbers("scale", scale, 0.0, above=True)
    first, levels, scales = np.broadcast_arrays(first, levels, scales)
    with np.errstate(over="ignore"):
        # Beyond that scale φ is quadratic to rounding, and (γ/s)² would underflow.
        scales = np.minimum(scales, _LINEAR * levels)
        return first, numbers("gamma/scale", levels / scales, 0.0, above=True), scales
