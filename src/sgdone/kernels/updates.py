"""Kinds of step, each a shrinkage of the weights and one scalar along the row; the soft threshold; and averages.

The scalars of averaged SGD are those of one model (`sgdone.kernels.storage`) or of many (`sgdone.kernels.bank`). Xu
(2011), Algorithm 1, for any rate η of averaging: with w = s·u and w̄ = A·û + T·u, the step w⁺ = ρw − g·x and
w̄⁺ = (1 − η)w̄ + η·w⁺ become s⁺ = ρs, u⁺ = u − (g/s⁺)x, û⁺ = û + (T/A)(g/s⁺)x, A⁺ = (1 − η)A, T⁺ = (1 − η)T + η·s⁺:
both vectors change along the row alone. The first average (η = 1) starts from A = 1. In the code s, A and T are
``scale``, ``own`` and ``share``.
"""

from collections.abc import Callable
from typing import Any

from sgdone.kernels.jit import inlined


def make_explicit(slope: Callable[..., float]) -> Callable[..., Any]:
    """W ← (1 − γα)w − γ·v·ℓ′(z)·x and b ← b − γ·v·ℓ′(z)."""

    @inlined
    def explicit(wx: Any, b: Any, norm: Any, y: Any, v: Any, step: Any, alpha: Any, unit: Any, parameters: Any) -> Any:
        s = slope(wx + b, y, parameters)
        amount = step * v * s
        return 1.0 - step * alpha, amount, amount * unit, s

    return explicit


@inlined
def implicit_shrinkage(step: Any, alpha: Any, norm: Any, v: Any, unit: Any) -> Any:
    """1/(1 + γα) and q = γv(‖x‖²/(1 + γα) + 1) of an implicit step; without an intercept, the last 1 is 0."""
    shrink = 1.0 / (1.0 + step * alpha)
    return shrink, step * v * (norm * shrink + unit)


def make_implicit(implicit_slope: Callable[..., float]) -> Callable[..., Any]:
    """W ← (w − γvs·x)/(1 + γα) and b ← b − γvs with s = ℓ′ at the *new* prediction, wx/(1 + γα) + b − q·s."""

    @inlined
    def implicit(wx: Any, b: Any, norm: Any, y: Any, v: Any, step: Any, alpha: Any, unit: Any, parameters: Any) -> Any:
        shrink, q = implicit_shrinkage(step, alpha, norm, v, unit)
        s = implicit_slope(wx * shrink + b, y, q, parameters)
        amount = step * v * s
        return shrink, amount * shrink, amount * unit, s

    return implicit


def make_shrunk(slope: Callable[..., float]) -> Callable[..., Any]:
    """W ← (1 − γα)(w − γ·v·ℓ′(z)·x) and b ← b − γ·v·ℓ′(z): α may differ from row to row."""

    @inlined
    def shrunk(wx: Any, b: Any, norm: Any, y: Any, v: Any, step: Any, alpha: Any, unit: Any, parameters: Any) -> Any:
        s = slope(wx + b, y, parameters)
        amount = step * v * s
        shrink = 1.0 - step * alpha
        return shrink, amount * shrink, amount * unit, s

    return shrunk


@inlined
def soft_threshold(weight: Any, threshold: Any) -> Any:
    """The weight moved towards 0 by ``threshold``, but not beyond 0."""
    if weight > threshold:
        return weight - threshold
    if weight < -threshold:
        return weight + threshold
    return weight * 0


@inlined
def polynomial_rate(count: Any, decay: Any) -> Any:
    """The rate η at the ``count``-th iterate: Shamir & Zhang (2013), eq. (6). 1/count without decay."""
    return (1.0 + decay) / (count + decay)


@inlined
def average_step(amount: Any, scale: Any, own: Any, share: Any, rate: Any) -> Any:
    """The multiples of the row that u and û take in a step of g = ``amount``, and A⁺ and T⁺; ``scale`` is s⁺."""
    along = amount * (1.0 / scale)
    keep = 1.0 - rate
    return -along, along * (share / own), own * keep if rate < 1.0 else 1.0, share * keep + rate * scale
