"""Threads: one for each piece of rows and one for BLAS within a piece, so that results do not depend on their number.

An iterator can also run in a thread of its own, a bounded number of items ahead of whoever uses them.
"""

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, TypeVar, final

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # it has no types

from sgdone.machine import interruption

Item = TypeVar("Item")
Value = TypeVar("Value")


@final
class _SingleThread:
    """Limits BLAS to one thread while any thread of this process is within it.

    All threads of the process share the number of threads of BLAS. If each thread restored it, the products of another
    thread that is still within would round differently.
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


def mapped(function: Callable[[Item], Value], items: Iterable[Item], threads: int) -> Iterable[Value]:
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


def _in_threads(function: Callable[[Item], Value], items: Iterable[Item], threads: int) -> Iterator[Value]:
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque[Future[Value]]()
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


#: Seconds between two checks whether the consumer has gone, or a signal was received.
_PATIENCE = 0.1
_END = object()


def in_background(items: Iterator[Item], ahead: int) -> Generator[Item, None, None]:
    """The items of an iterator that runs in a thread, at most ``ahead`` items before they are used.

    An exception in the thread is raised at the place of its item. If the consumer stops early, the iterator is closed.
    A signal can end the wait for an item.

    Examples
    --------
    >>> list(in_background(iter("abc"), ahead=1))
    ['a', 'b', 'c']
    """
    ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(max(1, ahead))
    gone = threading.Event()

    def put(item: Any, error: BaseException | None = None) -> bool:
        while not gone.is_set():
            try:
                ready.put((item, error), timeout=_PATIENCE)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not put(item):
                    break
            else:
                put(_END)
        except BaseException as error:  # whatever it is, the consumer must hear of it
            put(None, error)
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=work, name="sgdone-reader", daemon=True)
    thread.start()
    try:
        while True:
            try:
                item, error = ready.get(timeout=_PATIENCE)
            except queue.Empty:
                interruption.check()
                continue
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        gone.set()
        thread.join()
