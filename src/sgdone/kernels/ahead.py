"""What a loop asks the memory for while it works on a row: the next rows, and where rows behind them begin."""

from collections.abc import Callable
from typing import Any

from sgdone.kernels.jit import inlined
from sgdone.kernels.prefetch import AHEAD, FAR_AHEAD, prefetch


def make_ask_ahead(fetch: Callable[..., None], locate: Callable[..., None]) -> Callable[..., None]:
    """``ask_ahead(rows, labels, order, upcoming, position, last)`` for rows reached by ``fetch`` and ``locate``."""

    @inlined
    def ask_ahead(rows: Any, labels: Any, order: Any, upcoming: Any, position: Any, last: Any) -> None:
        fetch(rows, upcoming[position])
        if position + FAR_AHEAD < last:
            far = order[position + FAR_AHEAD]
            prefetch(labels, far)
            locate(rows, far)
        if position + AHEAD < last:
            fetch(rows, order[position + AHEAD])

    return ask_ahead
