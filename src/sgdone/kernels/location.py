"""Catoni's M-estimate of location for weighted values."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from sgdone.kernels.jit import compiled, fingerprint

_ROOT2: Final = math.sqrt(2.0)
_STEEPEST: Final = 2.0 * _ROOT2 / 3.0
_MOST: Final = 200


@lru_cache(maxsize=1)
def make_location() -> Callable[..., float]:
    """A function of values, their weights, s and a guess: the θ with Σ v·ψ((θ − value)/s) = 0, Holland (2018), eq. (2).

    Newton's method within the bracket of the smallest and the largest value, halved where a step leaves it.
    """
    mark = fingerprint("location")

    @compiled(mark)
    def location(values: Any, weights: Any, scale: Any, guess: Any) -> Any:
        _ = mark
        low = math.inf
        high = -math.inf
        for i in range(values.size):
            low = min(low, values[i])
            high = max(high, values[i])
        theta = min(max(guess, low), high)
        for _ in range(_MOST):
            total = 0.0
            rise = 0.0
            for i in range(values.size):
                u = (theta - values[i]) / scale
                if abs(u) <= _ROOT2:
                    total += weights[i] * u * (1.0 - u * u / 6.0)
                    rise += weights[i] * (1.0 - 0.5 * u * u)
                else:
                    total += math.copysign(weights[i] * _STEEPEST, u)
            if total > 0.0:
                high = theta
            elif total < 0.0:
                low = theta
            else:
                break
            new = theta - scale * total / rise if rise > 0.0 else math.inf
            if not low <= new <= high:
                new = low + 0.5 * (high - low)
            step = abs(new - theta)
            theta = new
            if step <= 2.0**-52 * abs(theta):
                break
        return theta

    return location
