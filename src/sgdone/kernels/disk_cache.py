"""Numba's disk cache, without its errors: a file that cannot be read or written costs a compilation, nothing more."""

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, final

from numba.core import caching
from numba.core.runtime.nrt import rtsys

_FunctionCache: Any = caching.FunctionCache  # Numba is not typed


@final
class TolerantCache(_FunctionCache):  # type: ignore[misc]
    """The cache of one function.

    A file may be cut short (by a full disk or a killed process), empty, unreadable, or gone. Then the function is
    compiled, and the file is written again if that is possible.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None if it must be compiled."""
        # Numba would first import all that compilation needs, which takes a quarter of a second. Code that is compiled
        # needs the symbols of the run time only. Unpickling a damaged file can raise anything.
        with suppress(Exception):
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function; an index that cannot be read is started again."""
        try:
            super().save_overload(sig, data)
        except Exception:
            with suppress(Exception):
                self.flush()
                super().save_overload(sig, data)


def keep_on_disk(dispatcher: Any, function: Callable[..., Any]) -> None:
    """Let a compiled function use the disk cache, or warn if there is no folder that can be written to."""
    try:
        dispatcher._cache = TolerantCache(function)
    except (RuntimeError, OSError):
        _warn_once()


@lru_cache
def _warn_once() -> None:
    warnings.warn(
        "compiled code cannot be kept, because neither the folder of the package nor the user's cache folder can be "
        "written to: each process compiles it again, which may take a minute. Set NUMBA_CACHE_DIR to a folder",
        stacklevel=2,
    )
