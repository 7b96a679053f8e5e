"""Memory that a fit or a file needs, compared with what is available before it is allocated."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

_MEMINFO, _STATM = Path("/proc/meminfo"), Path("/proc/self/statm")
_CGROUPS, _OWN_CGROUP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
#: Names of the files with the limit and the usage of a cgroup: version 2, then version 1.
_LIMIT_AND_USAGE = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
#: What to do if the columns of a matrix are too many.
FEWER_COLUMNS = (
    "use fewer columns or classes. Columns of a sparse matrix without entries can be left out: "
    "X[:, numpy.unique(X.indices)]"
)
#: Below this size nothing is compared: an allocation that small is not worth the system calls.
_SMALL = 1 << 26


class NotEnoughMemoryError(MemoryError):
    """Raised if memory does not suffice; the message names the size needed and what to reduce."""


def check_memory(n_bytes: float, what: str, advice: str) -> None:
    """Raise :class:`NotEnoughMemoryError` if ``what`` needs more bytes than are available."""
    if n_bytes < _SMALL:
        return
    available = available_memory()
    if available is not None and n_bytes > available:
        raise NotEnoughMemoryError(
            f"{what} needs about {size_text(n_bytes)} of memory, but {size_text(available)} are available: {advice}"
        )


class MemoryBudget:
    """Memory that was available before something grew whose final size is unknown.

    Parameters
    ----------
    error : callable
        Builds the exception from the size needed, the size available, and what needs it.
    """

    def __init__(self, error: Callable[[str, str, str], Exception]) -> None:
        self._available, self._error = available_memory(), error

    def check(self, n_bytes: float, what: str) -> None:
        """Raise if ``what`` needs more bytes than were available."""
        if self._available is not None and n_bytes > self._available:
            raise self._error(size_text(n_bytes), size_text(self._available), what)


@contextmanager
def memory_errors_explained(what: str, advice: str) -> Iterator[None]:
    """Convert a MemoryError of NumPy or Arrow to :class:`NotEnoughMemoryError`."""
    try:
        yield
    except NotEnoughMemoryError:
        raise
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        raise NotEnoughMemoryError(f"{what} needs more memory than is available{reason}: {advice}") from error


def check_training_memory(n_bytes: float, n_features: int, n_outputs: int) -> None:
    """Raise :class:`NotEnoughMemoryError` if the weights of a model do not fit into memory."""
    check_memory(n_bytes, training_text(n_features, n_outputs), FEWER_COLUMNS)


def training_text(n_features: int, n_outputs: int) -> str:
    """Name a fit by its size.

    Examples
    --------
    >>> training_text(2_000_000_000, 3)
    'training on 2,000,000,000 columns for 3 outputs'
    """
    return f"training on {n_features:,} columns" + (f" for {n_outputs:,} outputs" if n_outputs > 1 else "")


def size_text(n_bytes: float) -> str:
    """Format a number of bytes.

    Examples
    --------
    >>> size_text(84e9), size_text(3.2e6)
    ('84 GB', '3.2 MB')
    """
    unit, name = (1e9, "GB") if n_bytes >= 1e9 else (1e6, "MB")
    return f"{n_bytes / unit:.3g} {name}"


def available_memory() -> int | None:
    """Bytes that can still be allocated: of the machine, the control group and the process limit; None if unknown."""
    known = [found for found in (_of_machine(), _of_cgroup(), _of_process()) if found is not None]
    return max(0, min(known)) if known else None


def _of_machine() -> int | None:
    """Free memory, swap included: a fit that swaps is slow, but it is not refused."""
    try:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        return sum(int(lines[name].split()[0]) * 1024 for name in ("MemAvailable", "SwapFree"))
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return None


def _of_cgroup() -> int | None:
    found = [_left_in(folder, *names) for folder in _cgroup_folders() for names in _LIMIT_AND_USAGE]
    return min((left for left in found if left is not None), default=None)


@lru_cache(maxsize=1)
def _cgroup_folders() -> tuple[Path, ...]:
    """Folders of the control group of this process and of those that contain it."""
    folders = []
    try:
        lines = _OWN_CGROUP.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = _CGROUPS / controllers if controllers else _CGROUPS
        own = root / path.lstrip("/")
        folders += [folder for folder in (own, *own.parents) if folder == root or root in folder.parents]
    return tuple(dict.fromkeys(folders))


def _left_in(folder: Path, limit: str, usage: str) -> int | None:
    try:
        allowed, used = int((folder / limit).read_text()), int((folder / usage).read_text())
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # no such group, or "max"
        return None
    # Cached file contents are given back when memory is needed.
    return allowed - used + int(statistics.get("inactive_file", 0))


def _of_process() -> int | None:
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        return limit - int(_STATM.read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return None
