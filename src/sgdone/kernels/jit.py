"""Numba's decorators, typed and with the options that every loop shares; and fingerprints for its disk cache.

Numba is imported when a compiled function is first called: small files are read and predicted without it. The key of a
compiled loop on disk is its own file and the contents of its closure. The functions it calls (row access, losses) are
in other files, whose edits Numba does not see, so the name of every loop on disk has a fingerprint of their contents.
"""

import hashlib
import inspect
import os
import pickle
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, TypeVar, cast, final

Function = TypeVar("Function", bound=Callable[..., Any])
Found = TypeVar("Found")

#: Sums may be reordered for SIMD, but NaN and infinity keep their meaning: with plain ``fastmath=True``,
#: ``isfinite(nan)`` is true and divergence goes unnoticed.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}

#: Whether Numba is switched off, so that everything here runs as plain Python.
INTERPRETED: bool = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class _Start:
    """Settings applied when Numba is imported; a class, because no fingerprint contains classes."""

    #: None once they have been applied.
    waiting: ClassVar[list[Callable[[], None]] | None] = []
    lock: ClassVar[Any] = threading.RLock()


def with_numba(tell: Callable[[], None]) -> Callable[[], None]:
    """Call ``tell`` once Numba has been imported, before anything is compiled."""
    with _Start.lock:
        if _Start.waiting is None:
            tell()
        elif not INTERPRETED:
            _Start.waiting.append(tell)
    return tell


def _import_numba() -> Any:
    import numba

    with _Start.lock:
        told, _Start.waiting = _Start.waiting or [], None
        for tell in told:
            tell()
    return numba


def inlined(function: Function) -> Function:
    """Let compiled code call ``function``; it stays an ordinary Python function everywhere else.

    LLVM must inline it: a call between compiled functions counts references to every array passed, and these atomic
    counts took as long as the rest of a row's work. It must have a name: a loop that captures a lambda is not found in
    the disk cache.
    """
    compiled_as(function, function)
    return function


def compiled_as(function: Callable[..., Any], made: Callable[..., Any]) -> None:
    """Let compiled code call ``made`` where ``function`` is written."""

    def tell() -> None:
        from numba import extending

        overload = cast("Any", extending.overload)
        overload(function, jit_options={"forceinline": True}, strict=False)(lambda *arguments, **named: made)

    with_numba(tell)


@final
class CompiledLater:
    """A function that is compiled, or found in the disk cache, when it is first called."""

    def __init__(self, function: Callable[..., Any], parts: tuple[Callable[..., Any] | str, ...]) -> None:
        self.py_func, self._parts = function, parts
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        if self._dispatcher is None:
            self._compile()
        return self._dispatcher(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._dispatcher is None:
            self._compile()
        return getattr(self._dispatcher, name)

    def _compile(self) -> None:
        with _Start.lock:
            if self._dispatcher is not None:
                return
            numba = _import_numba()
            from sgdone.kernels.disk_cache import keep_on_disk

            self.py_func.__qualname__ = f"{self.py_func.__name__}_{fingerprint(*self._parts)}"
            options: Any = {"nogil": True, "fastmath": FASTMATH, "error_model": "numpy", "_nrt": False}
            made = numba.njit(**options)(self.py_func)
            keep_on_disk(made, self.py_func)
            self._dispatcher = made


def interpreted(function: Function) -> Function:
    """The Python function behind a compiled one; of whole numbers only, both return the same."""
    return cast("Function", getattr(function, "py_func", function))


def compiled(*parts: Callable[..., Any] | str) -> Callable[[Function], Function]:
    """Compile a function for this machine, keep the result on disk, and release the GIL while it runs.

    Numba lists all compiled forms of a function in one index file, and two processes that write to it at once can leave
    it pointing to each other's code. So every form has its own files, named by a fingerprint of its ``parts``: the
    functions that its closure captures, and names of the types of its arguments.

    Nothing compiled here allocates, so reference counting of arrays is switched off (by a private option of Numba). It
    would leave a dozen atomic counts per row in the loop, a tenth of its time.
    """

    def compile_it(function: Function) -> Function:
        return function if INTERPRETED else cast("Function", CompiledLater(function, parts))

    return compile_it


def compiled_by_types(function: Callable[..., Found]) -> Callable[[str], Callable[..., Found]]:
    """Compile a function once for each set of types: ``loop(types)`` is the function for arrays of these types."""
    plain: Any = function

    @lru_cache(maxsize=16)
    def form(types: str) -> Callable[..., Found]:
        return compiled(types)(FunctionType(plain.__code__, plain.__globals__, plain.__name__))

    return form


def fingerprint(*parts: Callable[..., Any] | str) -> str:
    """Digest of the kernel sources, and of names and functions with everything they refer to."""
    digest = _kernel_sources().copy()
    for part in parts:
        digest.update(b"\0" + (part.encode() if isinstance(part, str) else _definition(part, set())))
    return str(digest.hexdigest()[:16])


@lru_cache(maxsize=1)
def _kernel_sources() -> Any:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))))


def _definition(function: Callable[..., Any], seen: set[int]) -> bytes:
    """A function's name, file and code, and the functions and values of its closure and globals."""
    plain: Any = inspect.unwrap(getattr(function, "py_func", function))
    if id(plain) in seen or not inspect.isfunction(plain):
        return repr(plain).encode() if id(plain) not in seen and not callable(plain) else b""
    seen.add(id(plain))
    code = plain.__code__
    around = inspect.getclosurevars(plain)
    names = {**around.globals, **around.nonlocals}
    parts = [
        repr((plain.__module__, plain.__qualname__, code.co_names, _constants(code.co_consts))).encode(),
        _source(plain),
        bytes(code.co_code),
        *(name.encode() + _value(names[name], seen) for name in sorted(names)),
    ]
    return b"\0".join(parts)


def _value(value: Any, seen: set[int]) -> bytes:
    if inspect.ismodule(value):
        return value.__name__.encode()
    if callable(value):
        return _definition(value, seen)
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError):
        return repr(value).encode()


def _source(function: Callable[..., Any]) -> bytes:
    try:
        return Path(inspect.getsourcefile(function) or "").read_bytes()
    except (OSError, TypeError):
        return b""


def _constants(values: tuple[Any, ...]) -> list[str]:
    """Constants without the addresses that nested code objects print."""
    return [value.co_code.hex() if inspect.iscode(value) else repr(value) for value in values]
