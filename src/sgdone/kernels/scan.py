"""Squared norms of rows, before training."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sgdone.kernels.fingerprint import fingerprint
from sgdone.kernels.jit import compiled
from sgdone.kernels.rows import RowAccess


@lru_cache(maxsize=16)
def make_scan(access: RowAccess, types: str) -> Callable[..., None]:
    """A loop that writes ‖x‖² of each row of ``order`` to ``norms`` (0 for a row that is not sound)."""
    dot, sound = access.dot, access.sound
    mark = fingerprint(access.dot, types)

    @compiled(mark)
    def scan(rows: Any, order: Any, weights: Any, offsets: Any, norms: Any) -> None:
        _ = mark
        for position in range(order.size):
            norms[position] = 0.0
            if sound(rows, order[position], weights):
                _product, norms[position] = dot(rows, order[position], weights, offsets)

    return scan
