"""Work in a thread of its own, a bounded number of steps ahead of whoever uses the results."""

import queue
import threading
from collections.abc import Generator, Iterator
from typing import Any, TypeVar

from sgdone.machine import interruption

Item = TypeVar("Item")

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
