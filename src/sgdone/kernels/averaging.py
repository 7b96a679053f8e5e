"""The scalars of averaged SGD, for one model (`sgdone.kernels.storage`) and for many (`sgdone.kernels.bank`).

Xu (2011), Algorithm 1, for any rate η of averaging. With w = s·u and w̄ = A·û + T·u, the step w⁺ = ρw − g·x and
w̄⁺ = (1 − η)w̄ + η·w⁺ become s⁺ = ρs, u⁺ = u − (g/s⁺)x, û⁺ = û + (T/A)(g/s⁺)x, A⁺ = (1 − η)A, T⁺ = (1 − η)T + η·s⁺:
both vectors change along the row alone. The first average (η = 1) starts from A = 1. In the code s, A and T are
``scale``, ``own`` and ``share``.
"""

from typing import Any

from sgdone.kernels.jit import inlined


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
