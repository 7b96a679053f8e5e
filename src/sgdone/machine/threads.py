"""Threads: one for each piece of rows, and one for BLAS within a piece: results do not depend on their number."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, TypeVar, final

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # it has no types

from sgdone.machine import interruption

Item = TypeVar("Item")
Found = TypeVar("Found")


@final
class _SingleThread:
    """Limits BLAS to one thread while any thread of this process is within it.

    The number of threads of BLAS is that of the process. If each thread restored it, the products of another thread
    that is still within would round differently.
    """

    def __init__(self) -> None:
        self._lock, self._within = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._within += 1
            if self._within == 1:
                self._limit = _controller().limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                self._release()
                self._limit.restore_original_limits()
                self._release()

    def _release(self) -> None:
        """Let this thread change the limit: newer versions of threadpoolctl ignore all but the one that set it."""
        for library in _controller().lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)


_SINGLE_THREAD = _SingleThread()


def single_thread() -> AbstractContextManager[None]:
    """Context in which BLAS uses one thread; on small matrices, several threads are slower."""
    return _SINGLE_THREAD


def blas_threads() -> int:
    """Threads that BLAS would use, at most as many as there are processors for this process."""
    found = [library.num_threads or 1 for library in _controller().lib_controllers if library.user_api == "blas"]
    return min(max(found, default=1), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


def n_processors() -> int:
    """Processors for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_threads() -> int:
    """Threads that parse text: as many as there are processors for this process, at most four."""
    return min(n_processors(), 4)


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
