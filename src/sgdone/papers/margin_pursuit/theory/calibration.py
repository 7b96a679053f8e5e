"""From the surrogate risk to the error rate: H, Ψ and its inverse.

Of the scale 1 they have closed forms, roots of cubics, written so that nothing cancels: ``u`` is 2η − 1 ≥ 0 and
``level`` the margin level γ in units of the scale.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgdone.papers.assumptions import Array, as_given, assume, numbers
from sgdone.papers.margin_pursuit.theory.influence import ROOT2, STEEPEST, psi_of, rho_of

__all__ = [
    "conditional_risk_minimiser",
    "conditional_risk_minimum",
    "psi_inverse",
    "psi_transform",
]

_MAX_ITERATIONS = 200


def is_double(u: Array, level: Array) -> Array:
    """Whether both distances level ± u* are within ±√2, eq. (18): ηψ(2·level − √2) ≤ (1 − η)ψ(√2)."""
    inner = (1.0 + u) * psi_of(2.0 * level - ROOT2) <= (1.0 - u) * STEEPEST
    return np.asarray(inner & (level < ROOT2))


def double(u: Array, level: Array) -> Array:
    """The root of the double-cube condition (14) in [0, γ], for s = 1 and u = 2η − 1 ≥ 0.

    With t = τ + uγ it is τ³ − 3k²τ + 2uγ³(1 − u²) = 0, k² = 2 − γ²(1 − u²). It has a root below 0, as it is positive
    at t = 0; hence one in [0, γ] makes all three real (Δ ≥ 0, not Δ < 0 as printed), and that is the middle one.
    """
    level = np.minimum(level, ROOT2)
    square = (ROOT2 - level) * (ROOT2 + level) + (level * u) ** 2
    k = np.sqrt(square)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sine = u * (1.0 - u * u) * (level / k) ** 3
    angle = np.arcsin(np.clip(np.nan_to_num(sine, nan=1.0, posinf=1.0), 0.0, 1.0)) / 3.0
    return np.asarray(u * level + 2.0 * k * np.sin(angle))


def edge(u: Array) -> Array:
    """√2 − x at the root x of the single-cube conditions (16) and (17): ψ(x) = ψ(√2)·w, w = (1 − u)/(1 + u).

    x³ − 6x + 4√2·w = 0 has the middle root 2√2·sin(⅓·arcsin(w)), whose distance to √2 at w = 1 is a product of sines.
    """
    h = np.arcsin(np.sqrt(u / (1.0 + u))) / 3.0
    return np.asarray(4.0 * ROOT2 * np.sin(h) * np.sin(h + np.pi / 3.0))


def best(u: Array, level: Array) -> Array:
    """u* for s = 1 and u = 2η − 1 ≥ 0."""
    single = np.clip(level - ROOT2 + edge(u), 0.0, level)
    found = np.where(is_double(u, level), np.clip(double(u, level), 0.0, level), single)
    return np.asarray(np.where(u == 0.0, 0.0, found))


def transform(u: Array, level: Array) -> Array:
    """Ψ for s = 1 and u ≥ 0: the integral of −C′ from 0 to u*, C = ηφ(·) + (1 − η)φ(−·)."""
    t, inner = double(u, level), np.minimum(level, ROOT2)
    both = u * inner * t * (1.0 - (inner**2 + t**2) / 6.0) - t**2 * (0.5 - inner**2 / 4.0 - t**2 / 24.0)
    e, short = edge(u), np.maximum(ROOT2 - level, 0.0)
    single = u * STEEPEST * (level - ROOT2 + e) - 0.5 * (1.0 + u) * _quartic(e) + _quartic(short)
    return np.asarray(np.maximum(np.where(is_double(u, level), both, single), 0.0))


def _quartic(e: Array) -> Array:
    """ρ(√2 − e) − (5/6 − e·2√2/3): how much the loss bends away from its tangent at the join."""
    return np.asarray(e * e * e * (4.0 * ROOT2 - e) / 24.0)


def inverse(target: Array, level: Array) -> Array:
    """Ψ⁻¹ for s = 1: Newton's method on √Ψ, which is nearly straight where Ψ starts flat, within a bracket.

    Ψ′(u) = ½(ρ(γ + u*) − ρ(γ − u*)), the derivative of −C at its minimiser. Ψ is convex, so that Ψ(u) ≤ u·ρ(γ).
    """
    low, high = target / rho_of(level), np.ones_like(target)
    root = np.sqrt(target)
    u = np.sqrt(low)
    for _ in range(_MAX_ITERATIONS):
        here = np.sqrt(transform(u, level))
        at = best(u, level)
        rise = rho_of(level + at) - rho_of(level - at)
        high, low = np.where(here >= root, u, high), np.where(here <= root, u, low)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            new = u - (here - root) * here * 4.0 / rise
        new = np.where((new > low) & (new < high), new, np.sqrt(low) * np.sqrt(high))
        done = np.abs(new - u) <= 2.0**-51 * u
        u = np.where((here == root) | (high == low), u, new)
        if np.all(done | (here == root)):
            break
    return np.asarray(u)


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
