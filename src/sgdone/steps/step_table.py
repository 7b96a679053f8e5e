"""Step sizes of consecutive samples, bitwise independent of where a run is split into blocks."""

from collections.abc import Hashable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sgdone.steps.step_size import StepSize

_CHUNK = 8192


def step_sizes(step: StepSize, first: int, count: int) -> NDArray[np.float64]:
    """Step sizes of the samples first, first + 1, …, first + count − 1.

    Vectorised functions may round the same element differently at another position of an array. So step sizes are
    always computed for whole chunks and sliced afterwards.
    """
    chunks = range((first - 1) // _CHUNK, (first + count - 2) // _CHUNK + 1)
    make = _chunk if isinstance(step, Hashable) else _chunk.__wrapped__
    sizes = [make(step, chunk) for chunk in chunks]
    start = first - 1 - chunks.start * _CHUNK
    return (sizes[0] if len(sizes) == 1 else np.concatenate(sizes))[start : start + count]


@lru_cache(maxsize=8)
def _chunk(step: StepSize, chunk: int) -> NDArray[np.float64]:
    sizes = np.asarray(step(np.arange(chunk * _CHUNK + 1, (chunk + 1) * _CHUNK + 1)), dtype=np.float64)
    if sizes.shape != (_CHUNK,):
        raise ValueError(
            f"{step!r} returned an array of shape {sizes.shape} for {_CHUNK} samples: return one per sample"
        )
    if not (sizes.min() >= 0 and sizes.max() < np.inf):
        bad = int(np.flatnonzero(~((sizes >= 0) & np.isfinite(sizes)))[0])
        raise ValueError(
            f"{step!r} returned the step size {sizes[bad]} at sample {chunk * _CHUNK + 1 + bad}: "
            "return non-negative finite numbers"
        )
    return sizes
