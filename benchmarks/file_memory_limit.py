"""A limit on the memory of a process: a control group of Linux, or a limit on its addresses."""

import contextlib
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

_MOUNT = Path("/sys/fs/cgroup")


class Limit(NamedTuple):
    """What is limited, and the function that a new process must call."""

    name: str
    enter: Callable[[], None]


@contextlib.contextmanager
def limited(memory: int, addresses: int) -> Iterator[Limit]:
    """A group with ``memory.max``, if one can be made; otherwise a limit on addresses, which mapped files take too."""
    group = _new_group(memory)
    if group is None:

        def limit_addresses() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))

        yield Limit(f"RLIMIT_AS of {addresses / 1e9:.1f} GB", limit_addresses)
        return

    def join() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    try:
        yield Limit(f"memory.max of {memory / 1e9:.1f} GB", join)
    finally:
        group.rmdir()


def _new_group(memory: int) -> Path | None:
    """A control group (version 2) with a limit, without swap; None if the system allows none."""
    group = _MOUNT / f"sgdone-{os.getpid()}"
    try:
        if "memory" not in (_MOUNT / "cgroup.subtree_control").read_text().split():
            return None
        group.mkdir()
    except OSError:
        return None
    try:
        (group / "memory.max").write_text(str(memory))
        with contextlib.suppress(OSError):
            (group / "memory.swap.max").write_text("0")
    except OSError:
        group.rmdir()
        return None
    return group
