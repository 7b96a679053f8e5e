"""Processes of their own whose anonymous memory is watched: buffers count, pages of files do not."""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, final

#: Seconds between two samples.
_INTERVAL = 0.05
_ANONYMOUS = re.compile(r"^RssAnon:\s+(\d+) kB$", re.MULTILINE)


class Watched(NamedTuple):
    """What a process has printed, the lines apart, and the largest anonymous memory before its first line, in bytes."""

    lines: list[str]
    peak: int
    #: Exit status; negative for a signal. 0 is success.
    status: int
    #: The end of what it wrote to standard error.
    errors: str


def watched(
    command: Sequence[str], environment: Mapping[str, str], before: Callable[[], None] | None = None
) -> Watched:
    """Run a command; ``before`` is called in the new process, before the command."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, preexec_fn=before
        )
        with process, AnonymousMemory(process.pid) as memory:
            assert process.stdout is not None
            first = process.stdout.readline()
            memory.stop()
            others = process.stdout.readlines()
        errors.seek(0)
        return Watched([first, *others], memory.peak, process.returncode, errors.read()[-2_000:])


@final
class AnonymousMemory:
    """The largest ``RssAnon`` of a process, sampled in a thread."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._status = Path(f"/proc/{pid}/status")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> "AnonymousMemory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take no further samples."""
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(_INTERVAL):
            try:
                found = _ANONYMOUS.search(self._status.read_text())
            except OSError:
                return
            if found is not None:
                self.peak = max(self.peak, 1024 * int(found[1]))


def machine() -> str:
    """Processors and load, for the first line of a benchmark."""
    return f"{len(os.sched_getaffinity(0))} processors, load average {os.getloadavg()[0]:.1f}"
