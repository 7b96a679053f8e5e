"""Step sizes for a stretch of samples, the same bits wherever the stretch is cut."""

from collections.abc import Hashable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sgdone.steps.step_size import StepSize

_CHUNK = 8192


def step_sizes(step: StepSize, first: int, count: int) -> NDArray[np.float64]:
    """γ at the samples first, first + 1, …, first + count − 1.

    Vectorised functions may round an element differently at another place of an array; so whole chunks are
    always computed, and cut afterwards.
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
        raise ValueError(f"{step!r} gave {sizes.shape} step sizes for {_CHUNK} samples: it must give one for each")
    if not (sizes.min() >= 0 and sizes.max() < np.inf):
        bad = int(np.flatnonzero(~((sizes >= 0) & np.isfinite(sizes)))[0])
        raise ValueError(f"{step!r} gave the step size {sizes[bad]} at sample {chunk * _CHUNK + 1 + bad}")
    return sizes
