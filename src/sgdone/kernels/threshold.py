"""The soft threshold: what an L1 penalty does to a weight."""

from typing import Any

from sgdone.kernels.jit import inlined


@inlined
def soft_threshold(weight: Any, threshold: Any) -> Any:
    """The weight, nearer to 0 by ``threshold``, and 0 if it is no further away than that."""
    if weight > threshold:
        return weight - threshold
    if weight < -threshold:
        return weight + threshold
    return weight * 0
