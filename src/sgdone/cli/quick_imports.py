"""Imports of a command: they are most of the time before it reads data."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import without garbage collection, which would look at ever more objects and free none.

    Examples
    --------
    >>> with quick_imports():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
