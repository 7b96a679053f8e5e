"""The soft threshold, the proximal step of an L1 penalty."""

from typing import Any

from sgdone.kernels.jit import inlined


@inlined
def soft_threshold(weight: Any, threshold: Any) -> Any:
    """The weight moved towards 0 by ``threshold``, but not beyond 0."""
    if weight > threshold:
        return weight - threshold
    if weight < -threshold:
        return weight + threshold
    return weight * 0
