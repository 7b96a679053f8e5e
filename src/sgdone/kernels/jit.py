"""Numba's decorators, typed and with the options that every loop shares."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import config
from numba.extending import register_jitable

from sgdone.kernels.disk_cache import keep_on_disk

Function = TypeVar("Function", bound=Callable[..., Any])

#: Sums may be reordered for SIMD, but NaN and infinity keep their meaning: with plain ``fastmath=True``,
#: ``isfinite(nan)`` is true and divergence goes unnoticed.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}

#: Whether Numba is switched off, so that everything here runs as plain Python.
INTERPRETED: bool = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]


def inlined(function: Function) -> Function:
    """Let compiled code call ``function``; it stays an ordinary Python function everywhere else.

    LLVM must inline it: a call between compiled functions counts references to every array passed, and these atomic
    counts took as long as the rest of a row's work.
    """
    inline: Any = register_jitable(forceinline=True)
    return cast("Function", inline(function))


def compiled(identity: str = "") -> Callable[[Function], Function]:
    """Compile a function for this machine, keep the result on disk, and release the GIL while it runs.

    Numba lists all compiled forms of a function in one index file, and two processes that write to it at once can leave
    it pointing to each other's code. So every form has its own files, named by its ``identity``: a digest of what its
    closure captures and of what the types of its arguments depend on.

    Nothing compiled here allocates, so reference counting of arrays is switched off (by a private option of Numba). It
    would leave a dozen atomic counts per row in the loop, a tenth of its time.
    """
    options: Any = {"nogil": True, "fastmath": FASTMATH, "error_model": "numpy", "_nrt": False}

    def compile_it(function: Function) -> Function:
        if identity:
            function.__qualname__ = f"{function.__name__}_{identity}"
        made = numba.njit(**options)(function)
        if not INTERPRETED:
            keep_on_disk(made, function)
        return cast("Function", made)

    return compile_it
