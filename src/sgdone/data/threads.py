"""Threads: one for each piece of rows, and one for BLAS within a piece: results do not depend on their number."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # it has no types

from sgdone import interruption

Item = TypeVar("Item")
Found = TypeVar("Found")


def single_thread() -> AbstractContextManager[Any]:
    """Context in which BLAS uses one thread; on small matrices, several threads are slower."""
    if blas_threads() == 1:
        return nullcontext()
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


def blas_threads() -> int:
    """Threads that BLAS would use, at most as many as there are processors for this process."""
    found = [library.num_threads or 1 for library in _controller().lib_controllers if library.user_api == "blas"]
    return min(max(found, default=1), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


def mapped(function: Callable[[Item], Found], items: Iterable[Item], threads: int) -> Iterable[Found]:
    """``map``, in several threads, and in order; few items are alive at a time. A signal can end it between two items.

    Examples
    --------
    >>> list(mapped(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    items = _checked(items)
    return map(function, items) if threads <= 1 else _in_threads(function, items, threads)


def _checked(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        interruption.check()
        yield item


def _in_threads(function: Callable[[Item], Found], items: Iterable[Item], threads: int) -> Iterator[Found]:
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque[Future[Found]]()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@lru_cache(maxsize=1)
def _controller() -> Any:
    # Cached: searching for the libraries takes longer than a small fit.
    return ThreadpoolController()
