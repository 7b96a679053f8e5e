"""H, Ψ and Ψ⁻¹ of the scale 1 in closed form: roots of cubics, written so that nothing cancels.

``u`` is 2η − 1 ≥ 0 and ``level`` the margin level γ in units of the scale.
"""

import numpy as np

from sgdone.papers.assumptions import Array
from sgdone.papers.margin_pursuit.theory.influence import ROOT2, STEEPEST, psi_of, rho_of

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
