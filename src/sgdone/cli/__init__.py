"""The command line: ``sgdone fit | predict | inspect | diagnose``."""

import gc
import os
import sys

#: Objects between two garbage collections: modules are most of what a small fit makes, and are never garbage.
_OBJECTS_BETWEEN_COLLECTIONS = 100_000


def main() -> None:
    """Run the command line; the entry point ``sgdone``."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows another; that is no reason to fail.
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    from sgdone.cli.app import app

    try:
        app(prog_name="sgdone")
    except SystemExit as end:
        _end_now(end)


def _end_now(end: SystemExit) -> None:
    """End the process with the same exit code, without freeing every object of every module first.

    That would take longer than a small fit. Functions registered with ``atexit`` are called, and output is flushed.
    """
    import atexit
    import threading

    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread() and not thread.daemon]
    if not isinstance(end.code, int | None) or others:
        raise end  # a message to be printed, or threads to wait for
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        raise end from None  # the reader of a pipe has gone: Python says it as always
    os._exit(end.code or 0)
